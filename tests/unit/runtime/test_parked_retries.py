"""The automatic long retries of a parked aggregate, and what its lists and classifiers say there."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.runtime.desk import (
    BadParcel,
    CarrierDown,
    Desk,
    TooBusy,
    UnknownBuyer,
    Unlisted,
    crash,
    notices,
    outline,
    paid,
    scenario,
)
from tests.unit.runtime.shop import app
from wow_ray import Event


async def test_ten_retries_follow_the_first_after_three_minutes_and_then_a_person_is_needed() -> None:
    """P6, P8, S46: not before 180 s; ten, each wait twice the last; exhausted, told once; later events wait."""
    desk = Desk()
    desk.always("A", Unlisted())
    async with scenario(app, desk) as running:
        await paid(running, "A")
        await running.advance("3m")
        assert len(desk.calls) == 5
        await running.advance("2m")
        assert len(desk.calls) == 6
        await paid(running, "A")
        for _ in range(72):
            await running.advance("1h")
        assert desk.versions("A") == [1] * 15
        waits = desk.waits("A")[4:]
        for number, wait in enumerate(waits):
            assert wait >= min(180 * 2**number, 86_400)
        assert [call.attempt for call in desk.calls[5:]] == list(range(1, 11))
        assert await outline(running) == [("A", "exhausted", "budget_spent", 1)]
        assert await notices(running) == ["parked", "exhausted"]


async def test_a_parked_retry_is_one_call_and_its_success_drains_the_rest_under_the_normal_budget() -> None:
    """P6, P11: the retry succeeds; the next held event fails twice and is retried at once, not after minutes."""
    desk = Desk()
    desk.next("A", *[Unlisted()] * 5, None, Unlisted(), Unlisted())
    async with scenario(app, desk) as running:
        await paid(running, "A", "A", "A")
        await running.advance("10m")
        assert desk.versions("A") == [1] * 6 + [2, 2, 2, 3]
        assert desk.waits("A")[5:] == [0.0, 0.1, 0.2, 0.0]
        assert await running.parked() == []
        assert await notices(running) == ["parked", "resolved"]


async def test_a_failure_at_a_later_event_is_a_new_stop_with_a_fresh_count() -> None:
    """P3, P6, H29: two retries were used at the first event; the third event stops anew with none used."""
    desk = Desk()
    desk.next("A", *[Unlisted()] * 7, None, None, *[Unlisted()] * 5)
    async with scenario(app, desk) as running:
        await paid(running, "A", times=4)
        await running.advance("26m")
        (row,) = await running.parked()
        assert (row.stopped_version, row.reason, row.attempts, row.retries) == (3, "budget_spent", 5, 0)
        assert await notices(running) == ["parked", "parked"]


async def test_a_parked_retry_may_last_two_minutes_whatever_the_handler_is_allowed() -> None:
    """P6: `parked.timeout` takes the place of the handler's for that one call."""
    desk = Desk()
    desk.next("A", *[Unlisted()] * 5, desk.sleeping(110))
    async with scenario(app, desk) as running:
        await paid(running, "A")
        await running.advance("10m")
        assert desk.done == [("A", 1)]
        assert await running.parked() == []


async def test_a_parked_retry_beyond_two_minutes_is_cut_off_and_costs_one() -> None:
    """P6, B4: the attempt failed; the next is due after the next wait."""
    desk = Desk()
    desk.next("A", *[Unlisted()] * 5, desk.sleeping(130))
    async with scenario(app, desk) as running:
        await paid(running, "A")
        await running.advance("8m")
        (row,) = await running.parked()
        assert (row.state, row.retries) == ("parked", 1)
        assert row.error.startswith("TimeoutError")


@pytest.mark.parametrize("error", [CarrierDown(), TooBusy("600")])
async def test_an_outage_or_a_busy_answer_in_a_parked_retry_costs_none_and_moves_the_due_time(
    error: BaseException,
) -> None:
    """P7, H35: the count stays at none used; the next call is not before the first delay, or what was asked for."""
    desk = Desk()
    desk.next("A", *[Unlisted()] * 5, error)
    async with scenario(app, desk) as running:
        await paid(running, "A")
        await running.advance("5m")
        (row,) = await running.parked()
        assert (row.state, row.retries) == ("parked", 0)
        await running.advance("30m")
        assert desk.done == [("A", 1)]
    assert desk.waits("A")[5] >= (600 if isinstance(error, TooBusy) else 180)


async def test_a_stop_during_a_parked_retry_costs_none_of_the_ten() -> None:
    """P7, S48: the call is interrupted; the successor makes it again."""
    desk = Desk()
    desk.next("A", *[Unlisted()] * 5, desk.sleeping(100))
    async with scenario(app, desk) as running:
        await paid(running, "A")
        while len(desk.calls) < 6:
            await running.advance("5s")
    async with scenario(app, desk, memory=running.memory) as running:
        (row,) = await running.rows()
        assert row.retries == 0
        await running.advance("10m")
        assert desk.done == [("A", 1)]


async def test_a_crash_during_a_parked_retry_costs_one_and_the_schedule_goes_on() -> None:
    """H10, S34, H5: the begun call without an end counts once; it is not made again at once."""
    desk = Desk()
    desk.next("A", *[Unlisted()] * 5, desk.sleeping(100))
    async with scenario(app, desk) as running:
        await paid(running, "A")
        while len(desk.calls) < 6:
            await running.advance("5s")
        await running.advance("1s")
        await crash(running)
    async with scenario(app, desk, memory=running.memory) as running:
        await running.advance("1s")
        (row,) = await running.parked()
        assert (row.state, row.retries) == ("parked", 1)
        await running.advance("10m")
        assert desk.done == [("A", 1)]


async def test_lists_and_classifiers_say_the_same_live_parked_and_draining() -> None:
    """K6, S52: the listed error parks at once (a) live, (b) as a parked retry, (c) in a drain."""
    for before in ([], [Unlisted()] * 5, [UnknownBuyer(), None]):
        desk = Desk()
        desk.next("A", *before, UnknownBuyer("listed"))
        async with scenario(app, desk) as running:
            await paid(running, "A", "A")
            await running.advance("10m")
            if len(before) == 2:
                (row,) = await running.parked()
                await running.resume(row, reason="go on")
                await running.advance("10m")
            assert len(desk.calls) == len(before) + 1
            (row,) = await running.parked()
            assert (row.state, row.reason) == ("exhausted", "unrecoverable")
            assert row.error.endswith("listed")


async def test_a_step_of_the_calendar_moves_no_retry() -> None:
    """P6: due times are the store's; a machine whose calendar jumps a day ahead calls nothing earlier."""
    desk = Desk()
    desk.next("A", *[Unlisted()] * 5)
    async with scenario(app, desk) as running:
        await paid(running, "A")
        await running.advance("10s")
        running.clock.step(timedelta(days=1).total_seconds())
        await running.advance("2m")
        assert len(desk.calls) == 5
        running.clock.step(-timedelta(days=2).total_seconds())
        await running.advance("3m")
        assert desk.done == [("A", 1)]


async def test_parked_retries_of_many_aggregates_leave_the_live_flow_alone() -> None:
    """W2, H11: fifty come due at once and fail; nobody is paused and live events go on."""
    desk = Desk()
    ids = [f"o-{number}" for number in range(50)]
    for each in ids:
        desk.next(each, *[BadParcel()] * 5)
        desk.always(each, Unlisted())
    async with scenario(app, desk) as running:
        await paid(running, *ids)
        await running.advance("4m")
        assert len(desk.calls) == 6 * 50

        async def at_once(event: Event[Any]) -> None:
            del event

        desk.always("live", at_once)
        await paid(running, "live")
        await running.advance("1s")
        assert desk.done == [("live", 1)]
        assert {row.retries for row in await running.parked()} == {1}
