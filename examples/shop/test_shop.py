# ruff: noqa: S101 - tests speak by assert
"""How an author tests processors: one call at a time, and the whole app in virtual time.

`python -m pytest examples/shop` runs them; nothing but the package is needed.
"""

from typing import Any

import pytest

from examples.shop.shop import (
    Buyers,
    Carrier,
    CarrierBusyError,
    Line,
    OrderPaid,
    Orders,
    OrderShipped,
    ParcelPacked,
    ParcelRefusedError,
    Sales,
    ShipmentNotifier,
    Stock,
    UnknownBuyerError,
    app,
    order,
    parcel,
)
from wow_ray import Scope
from wow_ray.ports.event_log import EventStore
from wow_ray.testing import Scenario, projection_spec, reactor_spec

PAID = OrderPaid(
    lines=(Line(article="tea", quantity=2, cents=900), Line(article="cup", quantity=1, cents=1200)), parcels=2
)


class FakeBuyers(Buyers):
    """Fails as told, and remembers what was sent."""

    def __init__(self, *errors: Exception) -> None:
        """Raise these first, in this order."""
        self.errors = list(errors)
        self.sent: dict[str, str] = {}

    async def tell(self, buyer: str, text: str, *, key: str) -> None:
        """See `Buyers`."""
        if self.errors:
            raise self.errors.pop(0)
        self.sent[key] = f"{buyer}: {text}"


class FakeCarrier(Carrier):
    """Fails as told, and counts."""

    def __init__(self, *errors: Exception) -> None:
        """Raise these first, in this order."""
        self.errors = list(errors)
        self.calls = 0

    async def collect(self, parcel_id: str, grams: int, *, key: str) -> str:
        """See `Carrier`."""
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return await super().collect(parcel_id, grams, key=key)


class FakeOrders(Orders):
    """Appends to the log of a scenario, once it runs."""

    def __init__(self) -> None:
        """Know no log yet."""
        self.store: EventStore | None = None

    async def shipped(self, order_id: str, event: OrderShipped, *, buyer: str | None, key: str) -> None:
        """See `Orders`."""
        assert self.store is not None
        scope = Scope(owner_id=buyer)
        await self.store.append(order(order_id), [event], expected_version=None, scope=scope, commit_id=key)


async def test_a_failed_message_is_sent_again_under_the_same_key() -> None:
    """The second attempt of a call carries the key of the first, so the mail service can drop a repeat."""
    buyers = FakeBuyers(ConnectionError("mail is down"))
    spec = reactor_spec(ShipmentNotifier(buyers))
    shipped = OrderShipped(parcel="p-1", tracking="T1")
    given = [PAID]
    (await spec.when_event(order("o-1"), shipped, version=2, owner_id="b-7", given=given)).expect_error(ConnectionError)
    (await spec.when_event(order("o-1"), shipped, version=2, owner_id="b-7", given=given)).expect_no_error()
    assert buyers.sent == {"ShipmentNotifier.on_order_shipped:o-1@2:0": "b-7: parcel 1 of 2 is on its way: T1"}


async def test_a_sale_is_one_row_with_the_sum_of_its_lines() -> None:
    """A projection is tested by the statements it gives its connection."""
    spec = projection_spec(Sales())
    (await spec.when_event(order("o-1"), PAID, owner_id="b-7")).expect_no_error()
    (statement,) = spec.connection.statements
    assert statement.arguments == ("o-1", "b-7", 2100, 2)


async def test_articles_are_lowered_in_one_order() -> None:
    """Two orders of the same articles touch the rows in the same order, so neither waits for the other in a circle."""
    spec = projection_spec(Stock())
    (await spec.when_event(order("o-1"), PAID)).expect_no_error()
    assert [statement.arguments for statement in spec.connection.statements] == [("cup", -1), ("tea", -2)]


@pytest.mark.parametrize("busy", [1, 6])
async def test_a_busy_carrier_costs_no_attempts(busy: int) -> None:
    """Being asked to slow down is backpressure: it has a budget of its own, larger than the four calls of `@retry`."""
    carrier, orders = FakeCarrier(*[CarrierBusyError()] * busy), FakeOrders()
    async with Scenario(app, _outside(carrier, orders, FakeBuyers())) as running:
        orders.store = running.store
        await running.store.append(parcel("p-1"), [ParcelPacked(order="o-1", grams=300)], expected_version=0)
        await running.advance("30s")
        assert await running.parked() == []
        assert carrier.calls == busy + 1


async def test_a_refused_parcel_is_parked_after_four_calls_and_goes_on_when_resumed() -> None:
    """From the packed parcel to the message: parked, resumed, shipped, told, each once."""
    carrier, orders, buyers = FakeCarrier(*[ParcelRefusedError()] * 4), FakeOrders(), FakeBuyers()
    async with Scenario(app, _outside(carrier, orders, buyers)) as running:
        orders.store = running.store
        buyer = Scope(owner_id="b-7")
        await running.store.append(order("o-1"), [PAID], expected_version=0, scope=buyer)
        await running.store.append(
            parcel("p-1"), [ParcelPacked(order="o-1", grams=300)], expected_version=0, scope=buyer
        )
        await running.advance("1s")  # 50 + 100 + 200 ms of waits
        (parked,) = await running.parked()
        assert (parked.subscription, parked.attempts) == ("ParcelDesk.on_parcel_packed", 4)
        await running.resume(parked, reason="a new label")
        await running.advance("1s")
        assert await running.parked() == []
        assert list(buyers.sent) == ["ShipmentNotifier.on_order_shipped:o-1@2:0"]


async def test_an_unknown_buyer_is_parked_at_once() -> None:
    """No retry finds an address; one order waits for a person, the others go on."""
    buyers = FakeBuyers(UnknownBuyerError("b-7"))
    async with Scenario(app, _outside(FakeCarrier(), FakeOrders(), buyers)) as running:
        for name in ("o-1", "o-2"):
            shipped = OrderShipped(parcel=f"{name}-1", tracking="T")
            await running.store.append(order(name), [shipped], expected_version=0, scope=Scope(owner_id="b-7"))
        await running.advance("1s")
        (parked,) = await running.parked()
        assert parked.attempts == 1
        assert len(buyers.sent) == 1


def _outside(carrier: Carrier, orders: Orders, buyers: Buyers) -> dict[type[Any], Any]:
    """Take the place of what the app's providers open."""
    return {Carrier: carrier, Orders: orders, Buyers: buyers}
