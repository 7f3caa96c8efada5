"""Kinds of failures: each is answered in its own way, and an author may say which an error is."""

from pydantic import BaseModel

from wow_ray import Aggregate, App, Category, on_event, retry
from wow_ray.testing import Scenario

order = Aggregate("order")


@order.event("order_shipped")
class OrderShipped(BaseModel):
    """A parcel has left."""


class UnknownBuyer(Exception):  # noqa: N818 - named as an author would
    """There is nobody to be told; asking again does not help."""


class CarrierBusy(Exception):  # noqa: N818 - as above
    """The carrier asks for patience."""


class Carrier:
    """A fake with a memory: raises what it was told, then takes everything."""

    def __init__(self, *errors: Exception) -> None:
        """Begin with what the first calls raise."""
        self.errors = list(errors)
        self.calls = 0

    async def book(self) -> None:
        """Take it, or fail."""
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)


def shop() -> App:
    """Make an app that knows its errors: by a list on the class, and by a classifier for the whole app."""
    app = App("shop")

    @app.classifier
    def of_carriers(error: BaseException, subscription: str) -> Category | None:
        del subscription
        return Category.BACKPRESSURE if isinstance(error, CarrierBusy) else None

    @app.reactor
    @retry(unrecoverable=[UnknownBuyer])
    class ParcelDesk:
        def __init__(self, carrier: Carrier) -> None:
            self.carrier = carrier

        @on_event
        async def on_shipped(self, event: OrderShipped) -> None:
            del event
            await self.carrier.book()

    return app


async def test_a_listed_error_is_what_the_list_says() -> None:
    """K1, D1: `unrecoverable=[...]` parks at once; `recoverable` and `systemic` may be listed alike."""
    carrier = Carrier(UnknownBuyer())

    async with Scenario(shop(), {Carrier: carrier}) as running:
        await running.store.append(order("o-1"), [OrderShipped()], expected_version=0)
        await running.advance("1m")
        (parked,) = await running.parked()

    assert parked.reason == "unrecoverable"
    assert carrier.calls == 1


async def test_a_classifier_answers_for_all_handlers() -> None:
    """K1, D4, D5: a busy answer has a budget of its own: ten of them park nothing that five failures would."""
    carrier = Carrier(*[CarrierBusy() for _ in range(10)])

    async with Scenario(shop(), {Carrier: carrier}) as running:
        await running.store.append(order("o-1"), [OrderShipped()], expected_version=0)
        await running.advance("10m")
        assert await running.parked() == []

    assert carrier.calls == 11


async def test_what_nobody_knows_is_retried() -> None:
    """K1, D2: an error without an opinion is recoverable."""
    carrier = Carrier(KeyError("x"))

    async with Scenario(shop(), {Carrier: carrier}) as running:
        await running.store.append(order("o-1"), [OrderShipped()], expected_version=0)
        await running.advance("1s")

    assert carrier.calls == 2


async def test_an_outage_is_waited_out_and_nothing_is_parked() -> None:
    """D3, K7: a refused connection concerns everybody: one event is tried now and then until it works."""
    carrier = Carrier(*[ConnectionRefusedError() for _ in range(50)])

    async with Scenario(shop(), {Carrier: carrier}) as running:
        await running.store.append(order("o-1"), [OrderShipped()], expected_version=0)
        await running.store.append(order("o-2"), [OrderShipped()], expected_version=0)
        await running.advance("10m")
        assert await running.parked() == []

    assert carrier.calls == 52


async def test_a_service_that_says_when_to_come_back_is_not_called_before() -> None:
    """D4: `retry_after` of an error, or the `Retry-After` of its response, is a lower bound."""

    class RateLimited(CarrierBusy):
        retry_after = "90"

    carrier = Carrier(RateLimited())

    async with Scenario(shop(), {Carrier: carrier}) as running:
        await running.store.append(order("o-1"), [OrderShipped()], expected_version=0)
        await running.advance("89s")
        assert carrier.calls == 1
        await running.advance("1m")

    assert carrier.calls == 2
