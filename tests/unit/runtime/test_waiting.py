"""Aggregates that wait: for their next attempt, or because the other side asked for patience."""

from __future__ import annotations

import pytest

from tests.unit.runtime.desk import BadParcel, Desk, Door, TooBusy, Unlisted, crash, notices, outline, paid, scenario
from tests.unit.runtime.shop import app, sales
from wow_ray.policy.parked import State


async def test_while_an_aggregate_waits_only_that_aggregate_waits() -> None:
    """B7, S02: A@1 fails and waits 5 s; A@2 comes at 1 s and waits with it, B@1 comes at 1 s and is called."""
    desk = Desk()
    desk.next("A", Unlisted())
    async with scenario(app, desk, settings={"subscription": {"retry": {"initial_backoff": "5s"}}}) as running:
        await paid(running, "A")
        await running.advance("1s")
        await paid(running, "A", "B")
        await running.advance("10s")
    assert [(call.at, call.version) for call in desk.calls if call.id == "A"] == [(0, 1), (5, 1), (5, 2)]
    assert desk.times("B") == [1.0]


async def test_a_hundred_waiting_aggregates_hold_no_worker_and_no_permit() -> None:
    """B7: with one call at a time, B is called while a hundred others wait for their next attempt."""
    desk = Desk()
    waiting = [f"waits-{number}" for number in range(100)]
    for each in waiting:
        desk.next(each, BadParcel())
    settings = {"subscription": {"concurrency": 1, "retry": {"initial_backoff": "4s"}}}
    async with scenario(app, desk, settings=settings) as running:
        await paid(running, *waiting)
        await running.advance("1s")
        await paid(running, "B")
        await running.advance("0s")
        assert desk.times("B") == [1.0]
        await running.advance("10s")
        assert len(desk.done) == 101


async def test_a_waiting_aggregate_holds_no_connection() -> None:
    """B7: between two attempts of a projection no transaction is open."""
    desk = Desk()
    desk.next("A", Unlisted(), Unlisted())
    async with scenario(sales, desk) as running:
        await paid(running, "A")
        for _ in range(7):
            await running.advance("50ms")
            assert running.memory.open_transactions == 0
        assert len(desk.calls) == 3


class Asked(Exception):  # noqa: N818 - named as an author would
    """An error that counts how often it is asked for how long to wait."""

    times = 0

    @property
    def retry_after(self) -> float:
        """Say half a second."""
        Asked.times += 1
        return 0.5


async def test_only_a_busy_answer_is_asked_for_its_retry_after() -> None:
    """D4: for any other failure of a live event it means nothing, and looking for it is not free."""
    desk = Desk()
    desk.next("A", Asked())
    async with scenario(app, desk) as running:
        await paid(running, "A")
        await running.advance("1s")
    assert desk.times("A") == [0.0, 0.1]
    assert Asked.times == 0


async def test_busy_answers_are_waited_out_with_backoff_and_jitter() -> None:
    """D4: 200 ms doubling, spread by the dice over its upper half; at 0.5 three quarters of it."""
    desk = Desk()
    desk.next("A", *[TooBusy()] * 4)
    async with scenario(app, desk) as running:
        await paid(running, "A", "B")
        await running.advance("10s")
    assert desk.waits("A") == [0.15, 0.3, 0.6, 1.2]
    assert desk.times("B") == [0.0]


async def test_busy_answers_park_the_aggregate_only_after_twenty_calls() -> None:
    """D4, P0: the long waits among them are no parks and tell nobody; the twentieth busy answer parks."""
    desk = Desk()
    desk.always("A", TooBusy())
    async with scenario(app, desk, settings={"subscription": {"parked": {"max_retries": 0}}}) as running:
        await paid(running, "A")
        for _ in range(60):
            await running.advance("5s")
            if len(desk.calls) < 20:
                assert await running.parked() == []
                assert await notices(running) == []
        await running.advance("5m")
        assert len(desk.calls) == 20
        assert await outline(running) == [("A", "exhausted", "backpressure_spent", 1)]
        assert await notices(running) == ["parked"]
        assert max(desk.waits("A")) <= 30.001


async def test_a_short_retry_after_is_a_lower_bound_and_waits_in_memory() -> None:
    """D4, H35: 3 s asked for, never less, at most a quarter more; no ledger row is made for it."""
    desk = Desk()
    desk.next("A", TooBusy("3"))
    async with scenario(app, desk) as running:
        await paid(running, "A")
        await running.advance("1m")
        assert await running.rows() == []
    (wait,) = desk.waits("A")
    assert 3 <= wait <= 3.75


async def test_a_long_retry_after_waits_in_the_ledger_and_is_no_park() -> None:
    """D4, P0, P5, H6: 120 s asked for: a `waiting` row, not shown as parked, nobody told; later events in order."""
    desk = Desk()
    desk.next("A", TooBusy("120"))
    async with scenario(app, desk) as running:
        await paid(running, "A", "A", "B")
        await running.advance("1s")
        (row,) = await running.rows()
        assert (row.state, row.backpressure) == (State.WAITING, 1)
        assert await running.parked() == []
        await paid(running, "A")
        await running.advance("118s")
        assert desk.versions("A") == [1]
        assert desk.versions("B") == [1]
        await running.advance("60s")
        assert desk.versions("A") == [1, 1, 2, 3]
        assert await notices(running) == []
        assert [row.state for row in await running.rows()] == [State.RESOLVED]


async def test_a_long_wait_goes_on_after_a_restart_with_its_budget_and_still_tells_nobody() -> None:
    """P0, H6, H5, D4: the new owner waits the rest of the time, counts on, and there is no notice at its end."""
    desk = Desk()
    desk.next("A", TooBusy("60"))
    async with scenario(app, desk) as running:
        await paid(running, "A")
        await running.advance("10s")
    async with scenario(app, desk, memory=running.memory) as running:
        await running.advance("49s")
        assert len(desk.calls) == 1
        await running.advance("30s")
        assert [call.attempt for call in desk.calls] == [1, 2]
        assert desk.waits("A")[0] >= 60
        assert await notices(running) == []


@pytest.mark.parametrize(
    ("asked", "least", "most"),
    [
        ("120", 120, 150),
        ("Tue, 01 Jan 2030 00:02:00 GMT", 120, 150),
        ("Tuesday, 01-Jan-30 00:02:00 GMT", 120, 150),
        ("Tue, 01 Jan 2030 00:02:00", 120, 150),
        ("1.5", 2, 2.5),
        (7, 7, 8.75),
        # Nothing useful is said: the first backoff of 200 ms, by the dice 150 ms.
        ("Mon, 31 Dec 2029 23:00:00 GMT", 0.15, 0.15),
        ("-5", 0.15, 0.15),
        ("soon", 0.15, 0.15),
        ("", 0.15, 0.15),
        (None, 0.15, 0.15),
        # Too much is said: capped at ten minutes.
        ("1893456120", 600, 750),
        ("99999999999", 600, 750),
    ],
)
async def test_retry_after_is_understood_in_all_its_shapes(asked: object, least: float, most: float) -> None:
    """D4, S62: seconds, dates, nonsense and excess; never less than asked, never a negative wait."""
    desk = Desk()
    desk.next("A", TooBusy(asked))
    async with scenario(app, desk) as running:
        await paid(running, "A")
        await running.advance("20m")
        assert await notices(running) == []
    (wait,) = desk.waits("A")
    assert least <= wait <= most


async def test_a_hot_aggregate_that_waits_never_stops_the_feed() -> None:
    """P5, H6, S04: A waits with 500 events behind it, B's events among them are called; then A's, in order."""
    desk = Desk()
    desk.next("A", Unlisted())
    async with scenario(app, desk, settings={"subscription": {"retry": {"initial_backoff": "5s"}}}) as running:
        for _ in range(5):
            await paid(running, "A", times=100)
            await paid(running, "B")
        await running.advance("1s")
        assert desk.versions("B") == [1, 2, 3, 4, 5]
        assert desk.versions("A") == [1]
        await running.advance("10s")
        assert desk.versions("A") == [1, *range(1, 501)]
        assert await running.parked() == []
        assert await notices(running) == []


async def test_a_slow_aggregate_with_many_events_is_called_in_order_without_gaps_or_repeats() -> None:
    """P5, P11, H6: 300 events behind one slow call, more arriving while it goes on from the ledger."""
    desk, door = Desk(), Door()
    desk.next("A", door)
    async with scenario(app, desk) as running:
        await paid(running, "A", times=300)
        await running.advance("1s")
        await paid(running, "A", "B", times=50)
        await running.advance("1s")
        assert desk.versions("B") == list(range(1, 51))
        door.open()
        await running.advance("1s")
        assert desk.versions("A") == list(range(1, 351))
        assert await notices(running) == []


async def test_what_was_spent_before_an_aggregate_overflows_still_counts_afterwards() -> None:
    """P5, H6, B1: three attempts were spent when seventy events arrive; two more and it is parked."""
    desk = Desk()
    desk.always("A", Unlisted())
    async with scenario(app, desk) as running:
        await paid(running, "A")
        await running.advance("500ms")
        assert len(desk.calls) == 3
        await paid(running, "A", times=100)
        await running.advance("1m")
        assert [call.attempt for call in desk.calls] == [1, 2, 3, 4, 5]
        assert await outline(running) == [("A", "parked", "budget_spent", 1)]
        assert await notices(running) == ["parked"]


async def test_a_crash_while_an_overflowed_aggregate_goes_on_keeps_order_and_loses_nothing() -> None:
    """P5, P11, L2, H2: 300 events, a slow B below them, a crash in the middle: no gap, no step back but the repeat."""
    desk, door = Desk(), Door()
    desk.next("A", *[None] * 150, door)
    desk.next("B", desk.sleeping(3))
    async with scenario(app, desk, slots=1) as running:
        await paid(running, "B")
        await paid(running, "A", times=300)
        await running.advance("1s")
        await crash(running)
    reached = max(desk.versions("A"))
    assert reached == 151
    async with scenario(app, desk, slots=1, memory=running.memory) as running:
        await running.advance("30s")
        assert await notices(running) == []
    versions = desk.versions("A")
    again = versions[versions.index(reached) + 1 :]
    assert again == list(range(again[0], 301))
    assert again[0] <= reached + 1
    assert desk.versions("B") == [1, 1]


async def test_a_drain_that_is_asked_for_patience_waits_in_the_ledger_and_goes_on() -> None:
    """D4, P6, P9, H35: resumed; the second held event is busy for a minute; then the rest, in order."""
    desk = Desk()
    desk.next("A", *[Unlisted()] * 5, None, TooBusy("60"))
    async with scenario(app, desk) as running:
        await paid(running, "A", "A", "A")
        await running.advance("2s")
        (row,) = await running.parked()
        await running.resume(row, reason="fixed")
        await running.advance("30s")
        assert desk.versions("A") == [1] * 6 + [2]
        assert [row.state for row in await running.rows()] == [State.WAITING]
        await running.advance("1m")
        assert desk.versions("A") == [1] * 6 + [2, 2, 3]
        assert await notices(running) == ["parked", "resumed", "resolved"]
