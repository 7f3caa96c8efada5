"""Parking: an aggregate whose event cannot be handled stands aside, with its later events, and nothing is skipped."""

from pydantic import BaseModel

from wow_ray import Aggregate, App, Event, UnrecoverableHandlingError, on_event
from wow_ray.testing import Scenario

order = Aggregate("order")


@order.event("order_shipped")
class OrderShipped(BaseModel):
    """A parcel has left."""


class Carrier:
    """A fake with a memory: knows which orders it refuses, and which calls it has taken."""

    def __init__(self, *refuses: str) -> None:
        """Refuse these orders."""
        self.refuses = set(refuses)
        self.error: type[Exception] = TimeoutError
        self.taken: list[str] = []

    async def book(self, what: str) -> None:
        """Take it, or fail."""
        if what.split("@", maxsplit=1)[0] in self.refuses:
            raise self.error(what)
        self.taken.append(what)


def shop() -> App:
    """Make an app with one reactor under the default budget."""
    app = App("shop")

    @app.reactor
    class ParcelDesk:
        def __init__(self, carrier: Carrier) -> None:
            self.carrier = carrier

        @on_event
        async def on_shipped(self, event: Event[OrderShipped]) -> None:
            await self.carrier.book(f"{event.ref.id}@{event.version}")

    return app


async def test_an_aggregate_is_parked_after_its_last_attempt_and_the_others_go_on() -> None:
    """D2, P1: the row says where it stopped and why; o-2 is not concerned."""
    carrier = Carrier("o-1")

    async with Scenario(shop(), {Carrier: carrier}) as running:
        await running.store.append(order("o-1"), [OrderShipped()], expected_version=0)
        await running.store.append(order("o-2"), [OrderShipped()], expected_version=0)
        await running.advance("2s")
        (parked,) = await running.parked()

    assert parked.ref.id == "o-1"
    assert (parked.subscription, parked.stopped_version) == ("ParcelDesk.on_shipped", 1)
    assert (parked.state, parked.reason, parked.attempts) == ("parked", "budget_spent", 5)
    assert parked.error == "TimeoutError: o-1@1"
    assert carrier.taken == ["o-2@1"]


async def test_later_events_of_a_parked_aggregate_are_held_until_it_is_resumed() -> None:
    """P5, P9: resumed by an operator, it goes on where it stopped and handles everything in order."""
    carrier = Carrier("o-1")

    async with Scenario(shop(), {Carrier: carrier}) as running:
        for version in range(3):
            await running.store.append(order("o-1"), [OrderShipped()], expected_version=version)
        await running.advance("2s")
        (parked,) = await running.parked()
        carrier.refuses.clear()
        await running.resume(parked, reason="the carrier has opened the route")
        await running.advance("1s")

        assert carrier.taken == ["o-1@1", "o-1@2", "o-1@3"]
        assert await running.parked() == []


async def test_a_parked_aggregate_is_retried_by_itself_after_some_minutes() -> None:
    """P6: ten more attempts, the first after three minutes, each wait twice the one before."""
    carrier = Carrier("o-1")

    async with Scenario(shop(), {Carrier: carrier}) as running:
        await running.store.append(order("o-1"), [OrderShipped()], expected_version=0)
        await running.advance("2s")
        carrier.refuses.clear()
        await running.advance("2m")
        assert carrier.taken == []
        await running.advance("3m")

        assert carrier.taken == ["o-1@1"]
        assert await running.parked() == []


async def test_an_aggregate_without_retries_left_waits_for_a_person() -> None:
    """P8: the row is exhausted; nothing is called by itself any more."""
    carrier = Carrier("o-1")
    two_retries = {"subscription": {"parked": {"max_retries": 2}}}

    async with Scenario(shop(), {Carrier: carrier}, settings=two_retries) as running:
        await running.store.append(order("o-1"), [OrderShipped()], expected_version=0)
        await running.advance("1h")
        (parked,) = await running.parked()
        assert (parked.state, parked.retries) == ("exhausted", 2)
        carrier.refuses.clear()
        await running.advance("24h")

        assert carrier.taken == []


async def test_an_unrecoverable_error_parks_at_once() -> None:
    """D1: repeating is pointless, so there is one call, and a person is needed."""
    carrier = Carrier("o-1")
    carrier.error = UnrecoverableHandlingError

    async with Scenario(shop(), {Carrier: carrier}) as running:
        await running.store.append(order("o-1"), [OrderShipped()], expected_version=0)
        await running.advance("1s")
        (parked,) = await running.parked()

    assert (parked.state, parked.reason, parked.attempts) == ("exhausted", "unrecoverable", 1)


async def test_a_skip_passes_over_the_held_events_and_goes_on_behind_them() -> None:
    """P9: the answer says exactly what was passed over; what comes later is handled."""
    carrier = Carrier("o-1")

    async with Scenario(shop(), {Carrier: carrier}) as running:
        for version in range(3):
            await running.store.append(order("o-1"), [OrderShipped()], expected_version=version)
        await running.advance("2s")
        (parked,) = await running.parked()
        carrier.refuses.clear()
        skipped = await running.skip(parked, reason="these parcels were booked by hand")
        await running.store.append(order("o-1"), [OrderShipped()], expected_version=3)
        await running.advance("1s")

    assert (skipped["skipped"], skipped["from_version"], skipped["through_version"]) == (3, 1, 3)
    assert carrier.taken == ["o-1@4"]


async def test_a_skip_of_one_event_handles_the_rest() -> None:
    """P9: only the event it stopped at is passed over."""
    carrier = Carrier("o-1")

    async with Scenario(shop(), {Carrier: carrier}) as running:
        for version in range(3):
            await running.store.append(order("o-1"), [OrderShipped()], expected_version=version)
        await running.advance("2s")
        (parked,) = await running.parked()
        carrier.refuses.clear()
        await running.skip_one(parked, reason="the first parcel was lost")
        await running.advance("1s")

    assert carrier.taken == ["o-1@2", "o-1@3"]


async def test_an_operator_may_park_an_aggregate_on_purpose() -> None:
    """P0, P9: its events are held from then on, until it is resumed."""
    carrier = Carrier()

    async with Scenario(shop(), {Carrier: carrier}) as running:
        await running.store.append(order("o-1"), [OrderShipped()], expected_version=0)
        await running.advance("1s")
        parked = await running.park("ParcelDesk.on_shipped", order("o-1"), reason="under investigation")
        await running.store.append(order("o-1"), [OrderShipped()], expected_version=1)
        await running.advance("1s")
        assert carrier.taken == ["o-1@1"]
        await running.resume(parked, reason="cleared")
        await running.advance("1s")

    assert carrier.taken == ["o-1@1", "o-1@2"]
