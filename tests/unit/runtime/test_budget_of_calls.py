"""How often an event is called, how far apart, and what it is charged for."""

from __future__ import annotations

import pytest

from tests.unit.runtime.desk import Desk, Paid, TooBusy, Unlisted, notices, order, outline, paid, scenario
from tests.unit.runtime.shop import app
from wow_ray import App, Context, Event, on_event, retry

NO_LONG_RETRIES = {"parked": {"max_retries": 0}}


async def test_an_event_is_called_five_times_with_waits_that_double_and_then_parked_without_a_further_wait() -> None:
    """B1, D2, S41 (a): five calls, waits of 100, 200, 400 and 800 ms, parked in the moment of the last failure."""
    desk = Desk()
    desk.always("A", Unlisted("no"))
    async with scenario(app, desk) as running:
        await paid(running, "A")
        await running.advance("1500ms")
        assert desk.waits("A") == [0.1, 0.2, 0.4, 0.8]
        await running.advance("100ms")
        assert await outline(running) == [("A", "parked", "budget_spent", 1)]
        (row,) = await running.rows()
        assert (row.parked_at - running.memory.now()).total_seconds() == pytest.approx(-0.1)
        assert row.attempts == 5
        await running.advance("10s")
        assert await notices(running) == ["parked"]
        await running.advance("2m")
        assert len(desk.calls) == 5


async def test_every_attempt_carries_the_same_key_and_its_own_number() -> None:
    """B1, L1: attempts count from 1; the invocation key never changes."""
    desk = Desk()
    desk.next("A", Unlisted(), Unlisted(), None)
    async with scenario(app, desk) as running:
        await paid(running, "A")
        await running.advance("1s")
    assert [(call.attempt, call.key) for call in desk.calls] == [
        (1, "Notifier.on_paid:A@1:0"),
        (2, "Notifier.on_paid:A@1:0"),
        (3, "Notifier.on_paid:A@1:0"),
    ]


@pytest.mark.parametrize("calls", [1, 2, 5])
async def test_max_attempts_counts_calls_not_repeats(calls: int) -> None:
    """B2, S43: 1, 2 or 5 calls in all, one wait less, then parked."""
    desk = Desk()
    desk.always("A", Unlisted())
    async with scenario(app, desk, settings={"subscription": {"retry": {"max_attempts": calls}}}) as running:
        await paid(running, "A")
        await running.advance("1m")
        assert len(desk.calls) == calls
        assert await outline(running) == [("A", "parked", "budget_spent", 1)]


async def test_the_waits_double_up_to_the_maximum_also_where_they_are_long() -> None:
    """B1, B3, S41 (b): seven calls, 1 s, cap 30 s: waits of 1, 2, 4, 8, 16 and 30 s, 61 s in all."""
    desk = Desk()
    desk.always("A", Unlisted())
    given = {"max_attempts": 7, "initial_backoff": "1s", "max_backoff": "30s"}
    async with scenario(app, desk, settings={"subscription": {"retry": given, **NO_LONG_RETRIES}}) as running:
        await paid(running, "A")
        await running.advance("10m")
        assert desk.waits("A") == pytest.approx([1, 2, 4, 8, 16, 30], abs=1e-3)


async def test_a_first_wait_of_zero_calls_again_at_once() -> None:
    """B2, S45: an explicit 0 is a value; twice 0 is 0."""
    desk = Desk()
    desk.always("A", Unlisted())
    async with scenario(app, desk, settings={"subscription": {"retry": {"initial_backoff": "0s"}}}) as running:
        await paid(running, "A")
        await running.advance("0s")
        assert desk.times("A") == [0.0] * 5


async def test_budgets_of_class_handler_and_host_override_each_other_and_never_multiply() -> None:
    """S47, C1: a class says 3, its handler 4, the host 2: two calls; without the host four."""
    nested = App("shop")

    @nested.reactor
    @retry(max_attempts=3)
    class Nested:
        def __init__(self, desk: Desk) -> None:
            self.desk = desk

        @on_event
        @retry(max_attempts=4)
        async def on_paid(self, event: Event[Paid], ctx: Context) -> None:
            await self.desk.handle(event, ctx)

    for settings, calls in (({"Nested.on_paid": {"retry": {"max_attempts": 2}}}, 2), ({}, 4)):
        desk = Desk()
        desk.always("A", Unlisted())
        async with scenario(nested, desk, settings={"subscriptions": settings}) as running:
            await paid(running, "A")
            await running.advance("1m")
        assert len(desk.calls) == calls


async def test_a_success_gives_the_aggregate_its_whole_budget_back() -> None:
    """D6: four failures before each of three events park nothing."""
    desk = Desk()
    desk.next("A", *([Unlisted()] * 4 + [None]) * 3)
    async with scenario(app, desk) as running:
        await paid(running, "A", times=3)
        await running.advance("1m")
        assert desk.versions("A") == [1] * 5 + [2] * 5 + [3] * 5
        assert await running.rows() == []


async def test_busy_answers_and_failures_spend_different_budgets() -> None:
    """D5: nineteen busy answers and four failures, mixed, leave one call of each budget, which succeeds."""
    desk = Desk()
    mixed = [error for _ in range(4) for error in (TooBusy(), TooBusy(), TooBusy(), TooBusy(), Unlisted())]
    desk.next("A", *mixed, TooBusy(), TooBusy(), TooBusy(), None)
    async with scenario(app, desk) as running:
        await paid(running, "A")
        await running.advance("20m")
        assert len(desk.calls) == 24
        assert desk.done == [("A", 1)]
        assert await running.parked() == []


async def test_a_failed_event_is_never_overtaken_by_its_successors() -> None:
    """S01, P1: two failures of the first of five events: 1, 1, 1, 2, 3, 4, 5."""
    desk = Desk()
    desk.next("A", Unlisted(), Unlisted())
    async with scenario(app, desk) as running:
        await paid(running, "A", times=5)
        await running.advance("1s")
    assert desk.versions("A") == [1, 1, 1, 2, 3, 4, 5]


async def test_what_was_read_ahead_of_a_park_is_not_called() -> None:
    """S03, P1: A is parked at its first event; its next two, read in the same page, are held and B goes on."""
    desk = Desk()
    desk.always("A", Unlisted())
    async with scenario(app, desk, settings={"subscription": {"retry": {"max_attempts": 1}}}) as running:
        await paid(running, "A", "B", "A", "A")
        await running.advance("1s")
        assert desk.versions("A") == [1]
        assert desk.versions("B") == [1]
        assert await outline(running) == [("A", "parked", "budget_spent", 1)]


async def test_one_aggregate_is_never_called_twice_at_once() -> None:
    """S06: twelve events of A in one page, each taking 10 ms, beside free workers: at most one runs."""
    desk = Desk()
    desk.always("A", desk.sleeping(0.01))
    async with scenario(app, desk) as running:
        await paid(running, "A", times=12)
        await running.advance("1s")
    assert desk.done == [("A", version) for version in range(1, 13)]
    assert desk.most_running == {"A": 1}


async def test_events_of_one_commit_are_called_in_their_order() -> None:
    """P1: an aggregate's order is (version, sequence)."""
    desk = Desk()
    desk.next("A", None, Unlisted())
    async with scenario(app, desk) as running:
        await running.store.append(order("A"), [Paid(), Paid(), Paid()], expected_version=0)
        await paid(running, "A")
        await running.advance("1s")
    assert [(call.version, call.sequence) for call in desk.calls] == [(1, 0), (1, 1), (1, 1), (1, 2), (2, 0)]
