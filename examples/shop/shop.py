"""A shop: orders are paid, parcels leave with a carrier, buyers are told.

An order that was paid becomes a sale and lowers the stock (two projections). A packed parcel is handed to the carrier,
which ships the order (`ParcelDesk`); a shipped order is told to its buyer (`ShipmentNotifier`). The tables are in
`tables.sql`, the tests in `test_shop.py`.
"""

import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from http import HTTPStatus
from typing import Self

from aiohttp import ClientSession
from pydantic import BaseModel

from wow_ray import (
    Aggregate,
    App,
    Category,
    Event,
    ProjectContext,
    ReactContext,
    Scope,
    StateEvent,
    on_event,
    retry,
)
from wow_ray.app import Client

log = logging.getLogger("shop")

app = App("shop", settings={"subscriptions": {"ShipmentNotifier.on_order_shipped": {"concurrency": 1}}})
order = Aggregate("order")  # its scope's owner is the buyer
parcel = Aggregate("parcel")
article = Aggregate("article")

OUTSIDE = "SHOP_OUTSIDE"
"""Where mail service and carrier are, as `http://host:port`; without it both only log."""


# --- what happens -------------------------------------------------------------------------------------------------


class Line(BaseModel):
    """So many of one article, and what they cost together."""

    article: str
    quantity: int
    cents: int


@order.event("order_paid")
class OrderPaid(BaseModel):
    """The buyer has paid; the order will leave in so many parcels."""

    lines: tuple[Line, ...]
    parcels: int


@order.event("order_shipped")
class OrderShipped(BaseModel):
    """One parcel of the order has left."""

    parcel: str
    tracking: str


@order.state
class OrderState(BaseModel):
    """How far an order is."""

    parcels: int = 0
    shipped: int = 0

    def apply(self, event: OrderPaid | OrderShipped) -> Self:
        """Fold one event."""
        match event:
            case OrderPaid():
                return self.model_copy(update={"parcels": event.parcels})
            case OrderShipped():
                return self.model_copy(update={"shipped": self.shipped + 1})


@parcel.event("parcel_packed")
class ParcelPacked(BaseModel):
    """A parcel stands at the door."""

    order: str
    grams: int


@article.event("stock_received")
class StockReceived(BaseModel):
    """So many came in."""

    quantity: int


# --- what it needs of others --------------------------------------------------------------------------------------


class UnknownBuyerError(Exception):
    """Nobody has an address for this buyer; asking again does not help."""


class ParcelRefusedError(Exception):
    """The carrier did not take this parcel; it may the next time."""


class CarrierBusyError(Exception):
    """The carrier has too much to do; it wants fewer calls, not this parcel to be given up."""


class Buyers:
    """Speaks to buyers. As it is, it logs."""

    async def tell(self, buyer: str, text: str, *, key: str) -> None:
        """Send one message, once for each key; raises `UnknownBuyerError`."""
        log.info("to %s: %s (%s)", buyer, text, key)


class MailService(Buyers):
    """Buyers reached by a mail service."""

    def __init__(self, http: ClientSession) -> None:
        """Take the session."""
        self.http = http

    async def tell(self, buyer: str, text: str, *, key: str) -> None:
        """See `Buyers`."""
        async with self.http.post("/mail", json={"buyer": buyer, "text": text, "key": key}) as answer:
            if answer.status == HTTPStatus.NOT_FOUND:
                raise UnknownBuyerError(await answer.text())
            answer.raise_for_status()


class Carrier:
    """Takes parcels. As it is, it logs and takes all."""

    async def collect(self, parcel_id: str, grams: int, *, key: str) -> str:
        """Hand a parcel over, once for each key; answers its tracking number.

        Raises `ParcelRefusedError` or `CarrierBusyError`.
        """
        log.info("parcel %s of %d g is collected (%s)", parcel_id, grams, key)
        return sha256(parcel_id.encode()).hexdigest()[:12]


class CarrierService(Carrier):
    """A carrier reached by its API, which answers a repeated key as it did the first time."""

    def __init__(self, http: ClientSession) -> None:
        """Take the session."""
        self.http = http

    async def collect(self, parcel_id: str, grams: int, *, key: str) -> str:
        """See `Carrier`."""
        async with self.http.post("/parcels", json={"parcel": parcel_id, "grams": grams, "key": key}) as answer:
            said = await answer.text()
            if answer.status == HTTPStatus.CONFLICT:
                raise ParcelRefusedError(said)
            if answer.status == HTTPStatus.TOO_MANY_REQUESTS:
                raise CarrierBusyError(said)
            answer.raise_for_status()
            return said


class Orders:
    """Writes orders down, in the same log."""

    def __init__(self, client: Client) -> None:
        """Keep the connected client."""
        self.client = client

    async def shipped(self, order_id: str, event: OrderShipped, *, buyer: str | None, key: str) -> None:
        """Append that a parcel of the order has left: once for each key, however often it is asked for."""
        await self.client.store.append(
            order(order_id), [event], expected_version=None, scope=Scope(owner_id=buyer), commit_id=key
        )


@asynccontextmanager
async def _outside() -> AsyncIterator[ClientSession | None]:
    """Open a session with the outside; `None` = there is none."""
    if address := os.environ.get(OUTSIDE):
        async with ClientSession(address) as http:
            yield http
    else:
        yield None


@app.provide
async def buyers() -> AsyncIterator[Buyers]:
    """Open the mail service."""
    async with _outside() as http:
        yield Buyers() if http is None else MailService(http)


@app.provide
async def carrier() -> AsyncIterator[Carrier]:
    """Open the carrier."""
    async with _outside() as http:
        yield Carrier() if http is None else CarrierService(http)


@app.provide
async def orders() -> AsyncIterator[Orders]:
    """Connect to the log."""
    async with app.connect() as client:
        yield Orders(client)


# --- what is done about it ----------------------------------------------------------------------------------------


@app.classifier
def busy(error: BaseException, subscription: str) -> Category | None:  # noqa: ARG001 - the form of a classifier
    """Slow down when the carrier asks for it, in whatever handler; of other errors there is no opinion."""
    return Category.BACKPRESSURE if isinstance(error, CarrierBusyError) else None


@app.reactor
@retry(max_attempts=4, initial_backoff="50ms", max_backoff="1s", timeout="2s", recoverable=[ParcelRefusedError])
class ParcelDesk:
    """Hands packed parcels to the carrier."""

    def __init__(self, carrier: Carrier, orders: Orders) -> None:
        """Take the carrier and the order book."""
        self.carrier = carrier
        self.orders = orders

    @on_event
    async def on_parcel_packed(self, event: Event[ParcelPacked], ctx: ReactContext) -> None:
        """Ship: both calls carry the key, so that a repeat of the whole handler changes nothing."""
        tracking = await self.carrier.collect(event.ref.id, event.body.grams, key=ctx.invocation_key)
        shipped = OrderShipped(parcel=event.ref.id, tracking=tracking)
        await self.orders.shipped(event.body.order, shipped, buyer=event.scope.owner_id, key=ctx.invocation_key)


@app.reactor(isolation="actor")
@retry(max_attempts=3, initial_backoff="100ms", timeout="5s", unrecoverable=[UnknownBuyerError])
class ShipmentNotifier:
    """Tells buyers what is on its way; on Ray in processes of its own, so a crash of one costs a call, no partition."""

    def __init__(self, buyers: Buyers) -> None:
        """Take the mail service."""
        self.buyers = buyers

    @on_event
    async def on_order_shipped(self, event: StateEvent[OrderState, OrderShipped], ctx: ReactContext) -> None:
        """Tell the buyer which of how many parcels it is."""
        if event.scope.owner_id is None:
            return
        text = f"parcel {event.state.shipped} of {event.state.parcels} is on its way: {event.body.tracking}"
        await self.buyers.tell(event.scope.owner_id, text, key=ctx.invocation_key)


@app.projection
class Sales:
    """One row an order. The counting is safe: what is written here commits together with the progress, once."""

    @on_event
    async def on_order_paid(self, event: Event[OrderPaid], ctx: ProjectContext) -> None:
        """Write the sale down."""
        await ctx.connection.execute(
            "insert into sales (order_id, buyer, cents, parcels) values ($1, $2, $3, $4)",
            event.ref.id,
            event.scope.owner_id,
            sum(line.cents for line in event.body.lines),
            event.body.parcels,
        )

    @on_event
    async def on_order_shipped(self, event: Event[OrderShipped], ctx: ProjectContext) -> None:
        """Count the parcel."""
        await ctx.connection.execute("update sales set shipped = shipped + 1 where order_id = $1", event.ref.id)


@app.projection
class Stock:
    """One row an article: what came in, less what was sold."""

    MOVE = """
        insert into stock (article, level) values ($1, $2)
        on conflict (article) do update set level = stock.level + excluded.level
    """

    @on_event
    async def on_stock_received(self, event: Event[StockReceived], ctx: ProjectContext) -> None:
        """Raise the level."""
        await ctx.connection.execute(self.MOVE, event.ref.id, event.body.quantity)

    @on_event
    async def on_order_paid(self, event: Event[OrderPaid], ctx: ProjectContext) -> None:
        """Lower the levels, in one order for all, so that two orders never wait for each other in a circle."""
        for line in sorted(event.body.lines, key=lambda line: line.article):
            await ctx.connection.execute(self.MOVE, line.article, -line.quantity)
