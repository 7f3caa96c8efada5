"""The state that a handler is given is that of its event, whatever happened before."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from tests.unit.runtime.desk import Desk, Paid, Shipped, UnknownBuyer, Unlisted, crash, order, scenario
from wow_ray import Aggregate, App, Context, Event, StateEvent, on_event, retry
from wow_ray.testing import Running

trip = Aggregate("trip")


@order.state
class Total(BaseModel):
    """What was paid for an order, and whether it has left."""

    cents: int = 0
    gone: bool = False

    def apply(self, event: Paid | Shipped) -> Total:
        """Fold one event."""
        if isinstance(event, Shipped):
            return self.model_copy(update={"gone": True})
        return self.model_copy(update={"cents": self.cents + event.cents})


app = App("shop")


@app.reactor
@retry(unrecoverable=[UnknownBuyer])
class Totals:
    """Remembers the state it is given with each payment."""

    def __init__(self, desk: Desk) -> None:
        """Take the desk."""
        self.desk = desk

    @on_event
    async def on_paid(self, event: StateEvent[Total, Paid], ctx: Context) -> None:
        """Handle one."""
        seen.append((event.version, event.sequence, event.state.cents, event.state.gone))
        await self.desk.handle(event, ctx)


seen: list[tuple[int, int, int, bool]] = []

walks = App("shop")


@trip.event("moved")
class Moved(BaseModel):
    """Somebody moved."""

    metres: int


@trip.state
class Way(BaseModel):
    """How far."""

    metres: int = 0

    def apply(self, event: Moved) -> Way:
        """Add it up, or refuse."""
        if event.metres < 0:
            raise ValueError("nobody walks backwards")
        return Way(metres=self.metres + event.metres)


@walks.reactor
class Walker:
    """Takes every move with the way so far."""

    def __init__(self, desk: Desk) -> None:
        """Take the desk."""
        self.desk = desk

    @on_event
    async def on_moved(self, event: StateEvent[Way, Moved], ctx: Context) -> None:
        """Handle one."""
        await self.desk.handle(event, ctx)


async def cents(running: Running, *amounts: int, id: str = "A") -> None:  # noqa: A002 - the word for it
    """Append one payment each."""
    for amount in amounts:
        await running.store.append(order(id), [Paid(cents=amount)], expected_version=None)


async def test_a_state_contains_its_own_event_and_those_before_it_and_no_later_one() -> None:
    """H21: 1, 1 + 10, 1 + 10 + 100, although all three were there when the first was handled."""
    seen.clear()
    async with scenario(app, Desk()) as running:
        await cents(running, 1, 10, 100)
        await running.advance("1s")
    assert [state for _, _, state, _ in seen] == [1, 11, 111]


async def test_a_state_takes_in_events_that_its_handler_does_not() -> None:
    """H21: the shipment between two payments is folded, not handled."""
    seen.clear()
    async with scenario(app, Desk()) as running:
        await cents(running, 1)
        await running.store.append(order("A"), [Shipped()], expected_version=1)
        await cents(running, 10)
        await running.advance("1s")
    assert [(state, gone) for _, _, state, gone in seen] == [(1, False), (11, True)]


async def test_a_state_is_right_within_one_commit() -> None:
    """H21: several events of one version, each with the state as of itself."""
    seen.clear()
    async with scenario(app, Desk()) as running:
        await running.store.append(order("A"), [Paid(cents=1), Paid(cents=10), Shipped()], expected_version=0)
        await running.store.append(order("A"), [Paid(cents=100), Paid(cents=1000)], expected_version=1)
        await running.advance("1s")
    assert seen == [(1, 0, 1, False), (1, 1, 11, False), (2, 0, 111, True), (2, 1, 1111, True)]


async def test_a_retry_gets_the_state_as_if_the_failed_call_had_not_been() -> None:
    """H21, H31: the failed call has changed its state object; the retry's is folded anew."""
    seen.clear()
    desk = Desk()

    async def spoil(event: Event[Any]) -> None:
        assert isinstance(event, StateEvent)
        event.state.cents = 999
        raise Unlisted

    desk.next("A", None, spoil, spoil)
    async with scenario(app, desk) as running:
        await cents(running, 1, 10, 100)
        await running.advance("1m")
    assert [state for _, _, state, _ in seen] == [1, 11, 11, 11, 111]


async def test_a_drain_and_a_skip_leave_no_gap_in_the_state() -> None:
    """H21, P9: the skipped payment was made all the same, so it counts in every later state."""
    seen.clear()
    desk = Desk()
    desk.next("A", None, UnknownBuyer())
    async with scenario(app, desk) as running:
        await cents(running, 1, 10, 100)
        await running.advance("1s")
        await cents(running, 1000)
        (row,) = await running.parked()
        await running.skip_one(row, reason="known")
        await running.advance("1s")
        await cents(running, 10000)
        await running.advance("1s")
    assert [(version, state) for version, _, state, _ in seen] == [(1, 1), (2, 11), (3, 111), (4, 1111), (5, 11111)]


async def test_a_skip_of_one_event_inside_a_commit_leaves_no_gap_in_the_state() -> None:
    """H21, P9: the other events of the same version have it in their state."""
    seen.clear()
    desk = Desk()
    desk.next("A", UnknownBuyer())
    async with scenario(app, desk) as running:
        await running.store.append(order("A"), [Paid(cents=1), Paid(cents=10)], expected_version=0)
        await running.advance("1s")
        (row,) = await running.parked()
        await running.skip_one(row, reason="known")
        await running.advance("1s")
    assert [(version, sequence, state) for version, sequence, state, _ in seen] == [(1, 0, 1), (1, 1, 11)]


async def test_a_resume_goes_on_with_the_state_as_of_the_event_it_stopped_at() -> None:
    """H21, P9: the held events are read again, each with its own state."""
    seen.clear()
    desk = Desk()
    desk.next("A", None, UnknownBuyer())
    async with scenario(app, desk) as running:
        await cents(running, 1, 10, 100)
        await running.advance("1s")
        (row,) = await running.parked()
        await running.resume(row, reason="fixed")
        await running.advance("1s")
    assert [(version, state) for version, _, state, _ in seen] == [(1, 1), (2, 11), (2, 11), (3, 111)]


async def test_a_restart_folds_from_the_beginning() -> None:
    """H21, L1: after a crash in the middle the successor's first state contains everything before."""
    seen.clear()
    desk = Desk()
    async with scenario(app, desk) as running:
        await cents(running, 1, 10)
        await running.advance("1s")
        await crash(running)
    async with scenario(app, desk, memory=running.memory) as running:
        await cents(running, 100)
        await running.advance("1s")
    assert [state for _, _, state, _ in seen] == [1, 11, 111]


async def test_a_failing_fold_is_a_failed_attempt() -> None:
    """D2, H21: what `apply` raises is charged like an error of the handler, and parks the aggregate in the end."""
    desk = Desk()
    async with scenario(walks, desk) as running:
        for metres in (5, -1, 5):
            await running.store.append(trip("t"), [Moved(metres=metres)], expected_version=None)
        await running.advance("1m")
        (row,) = await running.parked()
        assert (row.stopped_version, row.reason, row.attempts) == (2, "budget_spent", 5)
        assert row.error == "ValueError: nobody walks backwards"
    assert desk.versions("t") == [1]
