"""The test kit: what a `Scenario` promises to the tests that use it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.unit.runtime.desk import Desk, Door, UnknownBuyer, order, paid, scenario
from tests.unit.runtime.shop import app
from wow_ray import ConflictError, Event
from wow_ray.policy.parked import Verb


async def test_a_call_that_does_something_real_is_waited_for_also_after_others_were_not() -> None:
    """`advance` gives every call its few milliseconds, whatever became of the calls before it."""
    desk = Desk()

    async def real(event: Event[Any]) -> None:
        del event
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[None] = loop.create_future()
        loop.call_later(0.002, answer.set_result, None)
        await answer

    for number in range(10):
        door = Door()
        each = f"o-{number}"
        desk.next(each, door, real)
        async with scenario(app, desk) as running:
            await paid(running, each)
            await running.advance("0s")
            door.open()
            await running.advance("0s")
            await paid(running, each)
            await running.advance("0s")
            assert desk.done[-1] == (each, 2)


async def test_a_command_is_answered_before_it_returns() -> None:
    """P10: done or refused, without further time: a refusal raises and says why."""
    desk = Desk()
    desk.next("A", UnknownBuyer())
    async with scenario(app, desk) as running:
        await paid(running, "A")
        await running.advance("1s")
        (row,) = await running.parked()
        with pytest.raises(ConflictError, match="exhausted"):
            await running.retry_now(row, reason="impatient")
        with pytest.raises(ConflictError, match="conflict"):
            await running.ask(Verb.RESUME, row, reason="stale", etag=row.etag + 1)
        parked = await running.park("Notifier.on_paid", order("B"), reason="on purpose")
        assert (parked.ref.id, parked.state, parked.reason) == ("B", "exhausted", "operator")
        skipped = await running.skip(row, reason="known")
        assert skipped["skipped"] == 1


async def test_commands_of_a_continued_store_are_new_commands() -> None:
    """P10: the request ids of one scenario are not those of the next one on the same memory."""
    desk = Desk()
    desk.next("A", UnknownBuyer(), UnknownBuyer())
    memory = None
    for _ in range(3):
        async with scenario(app, desk, memory=memory) as running:
            memory = running.memory
            if not desk.calls:
                await paid(running, "A")
            await running.advance("1s")
            for row in await running.parked():
                await running.resume(row, reason="again")
            await running.advance("1s")
    assert desk.done == [("A", 1)]


async def test_nothing_is_handled_before_time_is_let_pass() -> None:
    """Appending alone calls nobody; `advance` does, also by nothing."""
    desk = Desk()
    async with scenario(app, desk) as running:
        await paid(running, "A")
        assert desk.calls == []
        await running.advance("0s")
        assert desk.versions("A") == [1]
