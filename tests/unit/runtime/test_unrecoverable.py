"""Errors that no repeat can get past."""

from __future__ import annotations

from tests.unit.runtime.desk import Desk, UnknownBuyer, Unlisted, notices, outline, paid, scenario
from tests.unit.runtime.shop import app
from wow_ray import UnrecoverableHandlingError


async def test_an_unrecoverable_failure_is_called_once_and_waits_for_a_person() -> None:
    """D1: one call, exhausted at once, exactly one notice (`parked`), and no call by itself ever after."""
    desk = Desk()
    desk.next("A", UnknownBuyer("o-1"))
    async with scenario(app, desk) as running:
        await paid(running, "A", "A", "B")
        await running.advance("1s")
        assert await outline(running) == [("A", "exhausted", "unrecoverable", 1)]
        await running.advance("3h")
        assert desk.versions("A") == [1]
        assert desk.versions("B") == [1]
        assert await notices(running) == ["parked"]
        (row,) = await running.rows()
        assert (row.next_due, row.retries) == (None, 0)


async def test_our_own_unrecoverable_error_needs_no_list() -> None:
    """K1, D1: `UnrecoverableHandlingError` parks at once."""
    desk = Desk()
    desk.next("A", UnrecoverableHandlingError("no such buyer"))
    async with scenario(app, desk) as running:
        await paid(running, "A")
        await running.advance("1m")
        assert await outline(running) == [("A", "exhausted", "unrecoverable", 1)]
    assert len(desk.calls) == 1


async def test_the_class_of_an_error_is_judged_anew_at_each_attempt() -> None:
    """K6, S51: a timeout, then an unknown buyer: two calls, parked at once, and the row names the second error."""
    desk = Desk()
    desk.next("A", TimeoutError("slow"), UnknownBuyer("o-1"))
    async with scenario(app, desk) as running:
        await paid(running, "A")
        await running.advance("1m")
        (row,) = await running.parked()
        assert (row.state, row.reason, row.attempts) == ("exhausted", "unrecoverable", 2)
        assert row.error.endswith("UnknownBuyer: o-1")
        (stored,) = await running.rows()
        assert stored.first_cause is not None
        assert stored.first_cause.type == "TimeoutError"
    assert len(desk.calls) == 2


async def test_the_lists_count_in_a_parked_retry() -> None:
    """K6, S52 (b), P7: parked within its budget; the retry meets a listed error and exhausts the row."""
    desk = Desk()
    desk.next("A", *[Unlisted()] * 5, UnknownBuyer())
    async with scenario(app, desk) as running:
        await paid(running, "A")
        await running.advance("30m")
        assert len(desk.calls) == 6
        assert await outline(running) == [("A", "exhausted", "unrecoverable", 1)]
        assert await notices(running) == ["parked", "exhausted"]


async def test_the_lists_count_in_a_drain() -> None:
    """K6, S52 (c), P6, P9: resumed; the second held event meets a listed error: one call, a new stop."""
    desk = Desk()
    desk.next("A", UnknownBuyer(), None, UnknownBuyer())
    async with scenario(app, desk) as running:
        await paid(running, "A", times=3)
        await running.advance("1s")
        (row,) = await running.parked()
        await running.resume(row, reason="buyer was added")
        await running.advance("1m")
        assert desk.versions("A") == [1, 1, 2]
        assert await outline(running) == [("A", "exhausted", "unrecoverable", 2)]
        assert await notices(running) == ["parked", "resumed", "parked"]


async def test_three_unrecoverable_aggregates_are_three_parks_and_no_outage() -> None:
    """D1, W2, S60 (e): each is parked by itself; the fourth is called."""
    desk = Desk()
    for each in "ABC":
        desk.always(each, UnknownBuyer())
    async with scenario(app, desk) as running:
        await paid(running, "A", "B", "C", "D")
        await running.advance("10s")
        assert len(await running.parked()) == 3
    assert desk.done == [("D", 1)]
