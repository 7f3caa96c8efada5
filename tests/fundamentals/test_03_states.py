"""States: what an aggregate is as of an event, folded from its events."""

from typing import Self

from pydantic import BaseModel

from wow_ray import Aggregate, App, StateEvent, on_event
from wow_ray.testing import Scenario

order = Aggregate("order")


@order.event("order_paid")
class OrderPaid(BaseModel):
    """The buyer has paid for so many parcels."""

    parcels: int


@order.event("order_shipped")
class OrderShipped(BaseModel):
    """One of the parcels has left."""


@order.state
class OrderState(BaseModel):
    """How many parcels are still to leave."""

    left: int = 0

    def apply(self, event: OrderPaid | OrderShipped) -> Self:
        """Answer the state after the event; pure, and never refuses what has happened."""
        change = event.parcels if isinstance(event, OrderPaid) else -1
        return self.model_copy(update={"left": self.left + change})


async def test_a_handler_gets_the_state_as_of_its_event() -> None:
    """H21: its own event is in it, later ones are not."""
    app = App("shop")
    complete: list[tuple[int, bool]] = []

    @app.reactor
    class Closer:
        @on_event
        async def on_shipped(self, event: StateEvent[OrderState, OrderShipped]) -> None:
            complete.append((event.version, event.state.left == 0))

    async with Scenario(app) as running:
        await running.store.append(order("o-1"), [OrderPaid(parcels=2)], expected_version=0)
        await running.store.append(order("o-1"), [OrderShipped()], expected_version=1)
        await running.store.append(order("o-1"), [OrderShipped()], expected_version=2)
        await running.advance("1s")

    assert complete == [(2, False), (3, True)]


async def test_a_handler_of_the_state_alone_gets_every_event_of_the_aggregate() -> None:
    """`StateEvent[OrderState]` asks for all types, also those that are declared later."""
    app = App("shop")
    left: list[tuple[str, int]] = []

    @app.reactor
    class Display:
        @on_event
        async def on_any(self, event: StateEvent[OrderState]) -> None:
            left.append((type(event.body).__name__, event.state.left))

    async with Scenario(app) as running:
        await running.store.append(order("o-1"), [OrderPaid(parcels=1), OrderShipped()], expected_version=0)
        await running.advance("1s")

    assert left == [("OrderPaid", 1), ("OrderShipped", 0)]
