"""Names: progress and parked aggregates belong to `Processor.handler`, so a renamed handler says what it was called."""

from pydantic import BaseModel

from wow_ray import Aggregate, App, Event, ReactContext, UnrecoverableHandlingError, on_event
from wow_ray.testing import Scenario

order = Aggregate("order")


@order.event("order_shipped")
class OrderShipped(BaseModel):
    """A parcel has left."""


def before() -> App:
    """Make the app as it was: everything is refused."""
    app = App("shop")

    @app.reactor
    class Notifier:
        @on_event
        async def shipped(self, event: OrderShipped) -> None:
            raise UnrecoverableHandlingError(str(event))

    return app


async def test_a_renamed_handler_takes_over_the_progress_and_the_parked_aggregates_of_its_alias() -> None:
    """L5, P14, S20: nothing is handled twice or lost by a rename; the parked order can be resumed."""
    async with Scenario(before()) as running:
        await running.store.append(order("o-1"), [OrderShipped()], expected_version=0)
        await running.advance("1s")

    after = App("shop")
    handled: list[str] = []

    @after.reactor
    class Notifier:
        @on_event(aliases=["shipped"])
        async def on_shipped(self, event: Event[OrderShipped]) -> None:
            handled.append(event.ref.id)

    async with Scenario(after, memory=running.memory, clock=running.clock) as running:
        (parked,) = await running.parked()
        assert parked.subscription == "Notifier.on_shipped"
        await running.resume(parked, reason="fixed")
        await running.advance("1s")

    assert handled == ["o-1"]


async def test_a_renamed_handler_keeps_the_invocation_keys_it_began_with() -> None:
    """H28: what was called under the old key is recognised after the rename."""
    async with Scenario(before()) as running:
        await running.store.append(order("o-1"), [OrderShipped()], expected_version=0)
        await running.advance("1s")

    after = App("shop")
    keys: list[str] = []

    @after.reactor
    class Notifier:
        @on_event(aliases=["shipped"])
        async def on_shipped(self, event: OrderShipped, ctx: ReactContext) -> None:
            del event
            keys.append(ctx.invocation_key)

    async with Scenario(after, memory=running.memory, clock=running.clock) as running:
        (parked,) = await running.parked()
        await running.resume(parked, reason="fixed")
        await running.advance("1s")

    assert keys == ["Notifier.shipped:o-1@1:0"]


async def test_a_class_may_be_renamed_under_its_old_name() -> None:
    """`name=` stays while the class moves or gets a better name."""
    async with Scenario(before()) as running:
        await running.store.append(order("o-1"), [OrderShipped()], expected_version=0)
        await running.advance("1s")

    after = App("shop")
    handled: list[str] = []

    @after.reactor(name="Notifier")
    class ShipmentNotifier:
        @on_event
        async def shipped(self, event: Event[OrderShipped]) -> None:
            handled.append(event.ref.id)

    async with Scenario(after, memory=running.memory, clock=running.clock) as running:
        await running.store.append(order("o-2"), [OrderShipped()], expected_version=0)
        await running.advance("1s")
        assert handled == ["o-2"]
        assert len(await running.parked()) == 1
