"""Events that this program cannot read: parked without a call, while everything else goes on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import BaseModel

from tests.unit.runtime.desk import Desk, Paid, notices, order, outline, paid, scenario
from tests.unit.runtime.shop import app
from wow_ray import Aggregate, App, Context, Event, StateEvent, on_event

# The same order, as another program declares its events.
elsewhere = Aggregate("order")


@elsewhere.event("order_paid")
class Truncated(BaseModel):
    """Stored as JSON that breaks off."""

    def model_dump_json(self, **_: Any) -> str:  # noqa: ANN401 - pydantic's options
        """Give the first half only."""
        return '{"cents": 1'


@elsewhere.event("order_paid")
class Misfit(BaseModel):
    """Stored as JSON that is no `Paid`."""

    cents: str = "many"


@elsewhere.event("order_paid", revision=2)
class Newer(BaseModel):
    """A later revision than this program's."""

    cents: int = 1


@elsewhere.event("order_teleported")
class Teleported(BaseModel):
    """A type that only the other program knows."""


@order.state
class OrderState(BaseModel):
    """What an order has cost so far."""

    cents: int = 0

    def apply(self, event: Paid) -> OrderState:
        """Add it up."""
        return OrderState(cents=self.cents + event.cents)


states = App("shop")


@states.reactor
class Everything:
    """Takes every event of an order, with its state."""

    def __init__(self, desk: Desk) -> None:
        """Take the desk."""
        self.desk = desk

    @on_event
    async def on_any(self, event: StateEvent[OrderState], ctx: Context) -> None:
        """Handle one."""
        await self.desk.handle(event, ctx)


@states.reactor
class Some:
    """Takes one type with the order's state."""

    def __init__(self, desk: Desk) -> None:
        """Take the desk."""
        self.desk = desk

    @on_event
    async def on_paid(self, event: StateEvent[OrderState, Paid], ctx: Context) -> None:
        """Handle one."""
        await self.desk.handle(event, ctx)


deployed = App("shop")
"""The same app after a deploy that can read the newer revision."""


@deployed.reactor(name="Notifier")
class Deployed:
    """The same subscription with a newer class."""

    def __init__(self, desk: Desk) -> None:
        """Take the desk."""
        self.desk = desk

    @on_event
    async def on_paid(self, event: Event[Newer], ctx: Context) -> None:
        """Handle one."""
        await self.desk.handle(event, ctx)


def of(desk: Desk, subscription: str) -> Sequence[int]:
    """Give the versions one subscription was called with."""
    return [call.version for call in desk.calls if call.subscription == subscription]


@pytest.mark.parametrize("odd", [Truncated(), Misfit(), Newer()])
async def test_an_event_that_cannot_be_read_parks_its_aggregate_without_a_call(odd: BaseModel) -> None:
    """H21, P14, S21: a payload that breaks off, does not fit, or is of a newer revision; the feed goes on."""
    desk = Desk()
    async with scenario(app, desk, slots=1) as running:
        await paid(running, "A")
        await running.store.append(order("A"), [odd], expected_version=1)
        await paid(running, "A", "B")
        await running.advance("1s")
        assert desk.versions("A") == [1]
        assert desk.versions("B") == [1]
        assert await outline(running) == [("A", "exhausted", "undecodable", 2)]
        assert await notices(running) == ["parked"]
        await running.advance("2h")
        assert desk.versions("A") == [1]
        (row,) = await running.rows()
        assert (row.attempts, row.retries) == (0, 0)


async def test_a_type_that_no_class_declares_is_nothing_to_handlers_of_other_types() -> None:
    """H21, P14: only who asked for every type of the aggregate is stopped by it."""
    desk = Desk()
    async with scenario(app, desk) as running:
        await paid(running, "A")
        await running.store.append(order("A"), [Teleported()], expected_version=1)
        await paid(running, "A")
        await running.advance("1s")
        assert desk.versions("A") == [1, 3]
        assert await running.rows() == []


async def test_a_type_that_no_class_declares_stops_who_takes_every_type_of_the_aggregate() -> None:
    """H21, P14, S21: `StateEvent[OrderState]` is parked at it with no call; `StateEvent[OrderState, Paid]` goes on."""
    desk = Desk()
    async with scenario(states, desk) as running:
        await paid(running, "A")
        await running.store.append(order("A"), [Teleported()], expected_version=1)
        await paid(running, "A", "B")
        await running.advance("1s")
        assert of(desk, "Everything.on_any") == [1, 1]
        assert sorted(of(desk, "Some.on_paid")) == [1, 1, 3]
        (row,) = await running.parked()
        assert (row.group, row.reason, row.stopped_version) == ("Everything.on_any", "undecodable", 2)
        assert "order_teleported" in row.error


async def test_a_resume_before_the_deploy_parks_again_without_a_call_and_after_it_handles_the_event() -> None:
    """P14, S21, S22: the bytes stay in the log; the program that can read them handles them."""
    desk = Desk()
    async with scenario(app, desk) as running:
        await running.store.append(order("A"), [Newer(cents=7)], expected_version=0)
        await paid(running, "A")
        await running.advance("1s")
        (row,) = await running.parked()
        await running.resume(row, reason="too early")
        await running.advance("1s")
        assert desk.calls == []
        assert await outline(running) == [("A", "exhausted", "undecodable", 1)]

    async with scenario(deployed, desk, memory=running.memory) as running:
        (row,) = await running.parked()
        await running.resume(row, reason="deployed")
        await running.advance("1s")
        assert desk.versions("A") == [1, 2]
        assert await running.parked() == []


async def test_an_event_that_cannot_be_read_stops_only_the_groups_that_take_it() -> None:
    """P3, H21: the fold of a state meets a payload that breaks off; who wants that state is parked, others go on."""
    desk = Desk()
    async with scenario(states, desk) as running:
        await paid(running, "A")
        await running.store.append(order("A"), [Misfit()], expected_version=1)
        await paid(running, "B")
        await running.advance("1s")
        assert {(row.group, row.reason) for row in await running.parked()} == {
            ("Everything.on_any", "undecodable"),
            ("Some.on_paid", "undecodable"),
        }
        assert desk.versions("B") == [1, 1]
