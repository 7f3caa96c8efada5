"""An attempt that takes too long, and one that is cut off by a stop."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.unit.runtime.desk import Desk, Door, StubbornDoor, Unlisted, notices, order, outline, paid, scenario
from tests.unit.runtime.shop import app
from wow_ray import Event
from wow_ray.policy.parked import Verb

TWO_SECONDS = {"subscription": {"retry": {"timeout": "2s"}}}


async def test_an_attempt_that_runs_too_long_is_cancelled_and_counts_as_failed() -> None:
    """B4: cancelled at its timeout, called again after the first wait."""
    desk, door = Desk(), Door()
    desk.next("A", door)
    async with scenario(app, desk, settings=TWO_SECONDS) as running:
        await paid(running, "A")
        await running.advance("3s")
    assert desk.times("A") == [0.0, 2.1]
    assert door.cancelled == 1


async def test_five_attempts_that_run_too_long_park_the_aggregate() -> None:
    """B4, D2: the row says what happened; each attempt had its whole timeout."""
    desk = Desk()
    desk.always("A", desk.sleeping(60))
    async with scenario(app, desk, settings=TWO_SECONDS) as running:
        await paid(running, "A")
        await running.advance("30s")
        assert desk.waits("A") == [2.1, 2.2, 2.4, 2.8]
        (row,) = await running.parked()
        assert row.reason == "budget_spent"
        assert row.error.startswith("TimeoutError")


async def test_a_handler_that_swallows_its_cancellation_and_returns_has_failed_all_the_same() -> None:
    """B4, S64: the return after the timeout is no success."""
    desk = Desk()

    async def swallow(event: Event[Any]) -> None:
        del event
        try:
            await desk.clock.sleep(10)
        except asyncio.CancelledError:
            return

    desk.next("A", swallow)
    async with scenario(app, desk, settings=TWO_SECONDS) as running:
        await paid(running, "A")
        await running.advance("5s")
    assert desk.times("A") == [0.0, 2.1]


async def test_the_next_attempt_waits_until_the_cancelled_call_has_really_ended() -> None:
    """B4, S64: a handler that needs 5 s more after its cancellation is not overlapped."""
    desk = Desk()

    async def clean_up(event: Event[Any]) -> None:
        del event
        try:
            await desk.clock.sleep(10)
        finally:
            await desk.clock.sleep(5)

    desk.next("A", clean_up)
    async with scenario(app, desk, settings=TWO_SECONDS) as running:
        await paid(running, "A")
        await running.advance("10s")
    assert desk.times("A") == [0.0, 7.1]
    assert desk.most_running == {"A": 1}


async def test_a_call_that_does_not_end_is_parked_as_such_and_not_called_again_before_it_has_ended() -> None:
    """B4, B5, S64, H25: 30 s after its timeout the aggregate is parked; only the call's end frees it."""
    desk, door = Desk(), StubbornDoor()
    desk.next("A", door)
    async with scenario(app, desk, settings=TWO_SECONDS) as running:
        await paid(running, "A", "A", "B")
        await running.advance("31s")
        assert await running.parked() == []
        await running.advance("2s")
        assert await outline(running) == [("A", "parked", "not_ending", 1)]
        assert await notices(running) == ["parked"]
        await running.advance("30m")
        assert desk.versions("A") == [1]
        assert desk.versions("B") == [1]
        door.open()
        await running.advance("10m")
        assert desk.versions("A") == [1, 1, 2]
        assert desk.most_running["A"] == 1
        assert await running.parked() == []


async def test_a_call_that_does_not_end_gives_its_permit_back() -> None:
    """B5, H30, H25: with one call at a time, the next aggregate is called once the first has been given up."""
    desk, door = Desk(), StubbornDoor()
    desk.next("A", door)
    settings = {"subscription": {"concurrency": 1, "retry": {"timeout": "2s"}}}
    async with scenario(app, desk, settings=settings, slots=1) as running:
        await paid(running, "A", "B", "C", "D")
        await running.advance("31s")
        assert desk.done == []
        await running.advance("2s")
        assert desk.done == [("B", 1), ("C", 1), ("D", 1)]
        door.open()
        await running.advance("1s")
        desk.always("E", desk.sleeping(1))
        desk.always("F", desk.sleeping(1))
        await paid(running, "E", "F")
        await running.advance("500ms")
        assert [desk.running[each] for each in ("E", "F") if each in desk.running] == [1]
        await running.advance("5s")


async def test_a_timeout_inside_the_handler_is_an_ordinary_failure() -> None:
    """S65 (d), K7: the handler's own `asyncio.timeout` is neither ours nor an outage: the next wait is B1's."""
    desk = Desk()

    async def own_timeout(event: Event[Any]) -> None:
        del event
        async with asyncio.timeout(0):
            await asyncio.get_running_loop().create_future()

    desk.next("A", own_timeout)
    async with scenario(app, desk) as running:
        await paid(running, "A")
        await running.advance("1s")
    assert desk.times("A") == [0.0, 0.1]


async def test_a_stop_lets_the_call_under_way_end_and_keeps_what_it_did() -> None:
    """B4, S48: the call that ends within the bound is committed and never repeated."""
    desk = Desk()
    desk.next("A", desk.sleeping(3))
    async with scenario(app, desk) as running:
        await paid(running, "A")
        await running.advance("1s")
    async with scenario(app, desk, memory=running.memory) as running:
        await running.advance("10s")
    assert desk.versions("A") == [1]
    assert desk.done == [("A", 1)]


async def test_a_stop_is_no_attempt_however_often_it_meets_the_call() -> None:
    """B4, S48, S65 (b): five stops during the call charge nothing; the call really ends and is made once more."""
    desk, door = Desk(), Door()
    desk.next("A", *[door] * 5)
    memory = None
    once = {"subscription": {"retry": {"max_attempts": 1}}}
    for _ in range(5):
        async with scenario(app, desk, memory=memory, settings=once) as running:
            memory = running.memory
            if not desk.calls:
                await paid(running, "A")
            await running.advance("1s")
        assert door.waiting == 0
    assert door.cancelled == 5
    async with scenario(app, desk, memory=memory, settings=once) as running:
        await running.advance("1s")
        assert await running.rows() == []
    assert desk.done == [("A", 1)]
    assert [call.attempt for call in desk.calls] == [1] * 6


async def test_a_refused_command_does_not_cut_the_wait_between_two_attempts_short() -> None:
    """B1, H41: asked during a call, refused after its failure; the next attempt comes in its time all the same."""
    desk, door = Desk(), Door()
    desk.next("A", door)
    settings = {"subscription": {"retry": {"initial_backoff": "4s"}}}
    async with scenario(app, desk, settings=settings) as running:
        await paid(running, "A")
        await running.advance("1s")
        await running.intend(Verb.RESUME, "Notifier.on_paid", order("A"), reason="a mistake")
        door.open(Unlisted())
        await running.advance("1m")
    assert desk.times("A") == [0.0, 5.0]


async def test_a_stop_begins_no_further_event_of_the_aggregate() -> None:
    """B4: what is called during a stop ends; the next event of its aggregate is the successor's."""
    desk = Desk()
    desk.next("A", desk.sleeping(3))
    async with scenario(app, desk) as running:
        await paid(running, "A", times=3)
        await running.advance("1s")
    assert desk.versions("A") == [1]
    async with scenario(app, desk, memory=running.memory) as running:
        await running.advance("1s")
    assert desk.versions("A") == [1, 2, 3]
