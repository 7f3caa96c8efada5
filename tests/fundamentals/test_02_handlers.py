"""Handlers: functions of a processor that are called with events, one aggregate's in order."""

from pydantic import BaseModel

from wow_ray import Aggregate, App, Event, ReactContext, on_event
from wow_ray.testing import Scenario

order = Aggregate("order")


@order.event("order_paid")
class OrderPaid(BaseModel):
    """The buyer has paid."""

    cents: int


@order.event("order_shipped")
class OrderShipped(BaseModel):
    """A parcel has left."""

    parcel: str


async def test_a_reactor_is_called_with_each_event_of_the_type_it_asks_for() -> None:
    """The annotation says which events; nothing else needs to be registered."""
    app = App("shop")
    told: list[str] = []

    @app.reactor
    class ShipmentNotifier:
        @on_event
        async def on_shipped(self, event: Event[OrderShipped]) -> None:
            told.append(f"{event.ref}: {event.body.parcel}")

    async with Scenario(app) as running:
        await running.store.append(order("o-1"), [OrderPaid(cents=500)], expected_version=0)
        await running.store.append(order("o-1"), [OrderShipped(parcel="p-1")], expected_version=1)
        await running.advance("1s")

    assert told == ["order/o-1: p-1"]


async def test_a_handler_may_ask_for_the_body_alone() -> None:
    """Who needs neither version nor scope leaves `Event[...]` out."""
    app = App("shop")
    cents: list[int] = []

    @app.reactor
    class Cashier:
        @on_event
        async def on_paid(self, event: OrderPaid) -> None:
            cents.append(event.cents)

    async with Scenario(app) as running:
        await running.store.append(order("o-1"), [OrderPaid(cents=500)], expected_version=0)
        await running.advance("1s")

    assert cents == [500]


async def test_events_of_one_aggregate_are_handled_in_their_order_one_at_a_time() -> None:
    """P1: the next event of an order is called when the one before it is done, whatever else runs."""
    app = App("shop")
    seen: dict[str, list[int]] = {"o-1": [], "o-2": []}

    @app.reactor
    class Cashier:
        @on_event
        async def on_paid(self, event: Event[OrderPaid]) -> None:
            seen[event.ref.id].append(event.version)

    async with Scenario(app) as running:
        for _ in range(3):
            for each in seen:
                await running.store.append(order(each), [OrderPaid(cents=500)], expected_version=None)
        await running.advance("1s")

    assert seen == {"o-1": [1, 2, 3], "o-2": [1, 2, 3]}


async def test_ctx_tells_which_call_this_is() -> None:
    """L1: hand `ctx.invocation_key` to what you call: it is the same each time this event is handled."""
    app = App("shop")
    keys: list[str] = []

    @app.reactor
    class Cashier:
        @on_event
        async def on_paid(self, event: Event[OrderPaid], ctx: ReactContext) -> None:
            del event
            keys.append(f"{ctx.invocation_key}, attempt {ctx.attempt} of {ctx.subscription}")

    async with Scenario(app) as running:
        await running.store.append(order("o-1"), [OrderPaid(cents=500)], expected_version=0)
        await running.advance("1s")

    assert keys == ["Cashier.on_paid:o-1@1:0, attempt 1 of Cashier.on_paid"]


async def test_what_was_handled_is_not_handled_again_after_a_restart() -> None:
    """L1: how far a handler has come is stored; `memory` is the store that outlives the process."""
    app = App("shop")
    cents: list[int] = []

    @app.reactor
    class Cashier:
        @on_event
        async def on_paid(self, event: OrderPaid) -> None:
            cents.append(event.cents)

    async with Scenario(app) as running:
        await running.store.append(order("o-1"), [OrderPaid(cents=500)], expected_version=0)
        await running.advance("1s")

    async with Scenario(app, memory=running.memory, clock=running.clock) as running:
        await running.store.append(order("o-1"), [OrderPaid(cents=700)], expected_version=1)
        await running.advance("1s")

    assert cents == [500, 700]


async def test_a_reactor_starts_at_the_end_of_the_log_and_a_projection_at_its_beginning() -> None:
    """L5: old events ring no bell, but a new table wants all of them."""
    empty, app = App("shop"), App("shop")
    reacted: list[int] = []
    projected: list[int] = []

    @app.reactor
    class Bell:
        @on_event
        async def on_paid(self, event: OrderPaid) -> None:
            reacted.append(event.cents)

    @app.projection
    class Table:
        @on_event
        async def on_paid(self, event: OrderPaid) -> None:
            projected.append(event.cents)

    async with Scenario(empty) as running:
        await running.store.append(order("o-1"), [OrderPaid(cents=500)], expected_version=0)

    async with Scenario(app, memory=running.memory, clock=running.clock) as running:
        await running.store.append(order("o-1"), [OrderPaid(cents=700)], expected_version=1)
        await running.advance("1s")

    assert reacted == [700]
    assert projected == [500, 700]


async def test_a_plain_function_runs_on_a_thread() -> None:
    """B5: a handler that blocks is written without `async`; the others are not kept waiting."""
    app = App("shop")
    cents: list[int] = []

    @app.reactor
    class Cashier:
        @on_event
        def on_paid(self, event: OrderPaid) -> None:
            cents.append(event.cents)

    async with Scenario(app) as running:
        await running.store.append(order("o-1"), [OrderPaid(cents=500)], expected_version=0)
        await running.advance("1s")

    assert cents == [500]
