"""The API as authors and producers write it (api.md): type-checked strictly, never run."""

from collections.abc import AsyncIterator
from typing import assert_type

import httpx
from pydantic import BaseModel

from wow_ray import (
    Aggregate,
    AggregateRef,
    App,
    Bulkhead,
    CallState,
    Category,
    Commit,
    Durable,
    Event,
    ProjectContext,
    ReactContext,
    Scope,
    StateEvent,
    blocking,
    current_call,
    on_event,
    recover,
    retry,
    retryable,
)
from wow_ray.app import Client

app = App("shop")
order = Aggregate("order")


@order.event("order_paid")
class OrderPaid(BaseModel):
    """An order was paid."""

    lines: dict[str, int]


@order.event("order_shipped", revision=2)
class OrderShipped(BaseModel):
    """An order was shipped."""

    parcel: str


@order.state
class OrderState(BaseModel):
    """What an order is, folded one event at a time."""

    lines: dict[str, int] = {}

    def apply(self, event: OrderPaid | OrderShipped) -> "OrderState":
        """Fold one event."""
        return self.model_copy(update={"lines": event.lines}) if isinstance(event, OrderPaid) else self


class UnknownBuyerError(Exception):
    """No retry helps."""


class CarrierBusyError(Exception):
    """A later call helps."""


class Buyers:
    """A resource."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        """Keep the client."""
        self.http = http

    async def tell(self, buyer: str, parcel: str, *, key: str) -> None:
        """Tell a buyer, once for each key."""


@app.provide
async def buyers() -> AsyncIterator[Buyers]:
    """Open the resource."""
    async with httpx.AsyncClient() as http:
        yield Buyers(http)


@app.classifier
def carrier(error: BaseException, subscription: str) -> Category | None:  # noqa: ARG001 - the form of a classifier
    """Have an opinion on one kind of error."""
    return Category.BACKPRESSURE if isinstance(error, CarrierBusyError) else None


@app.classifier
async def account(error: BaseException, subscription: str) -> Category | None:
    """Look something up before having an opinion."""
    return Category.UNRECOVERABLE if subscription and isinstance(error, UnknownBuyerError) else None


@app.masker
def without_names(name: str, payload: dict[str, str]) -> dict[str, str]:
    """Show operators less than there is."""
    return payload if name != "order_paid" else {}


carrier_calls = Bulkhead(10, wait="2s", name="carrier")


@carrier_calls
async def call_carrier(parcel: str) -> int:
    """Call a client, ten calls at once at most."""
    async with carrier_calls as room:
        assert_type(room, Bulkhead)
    return len(parcel)


async def call_it() -> None:
    """Call what is in a bulkhead as if it were not."""
    assert_type(await call_carrier("p-1"), int)


@app.reactor
@retry(max_attempts=5, initial_backoff="1s", max_backoff="30s", timeout="10s", unrecoverable=[UnknownBuyerError])
class ShipmentNotifier:
    """A reactor."""

    def __init__(self, buyers: Buyers) -> None:
        """Keep the resource."""
        self.buyers = buyers

    @on_event(aliases=["on_shipped"])
    async def on_order_shipped(self, event: StateEvent[OrderState, OrderShipped], ctx: ReactContext) -> None:
        """Tell the buyer."""
        assert_type(event.state, OrderState)
        assert_type(event.body, OrderShipped)
        assert_type(event.ref, AggregateRef)
        assert_type(event.scope, Scope)
        if event.scope.owner_id is not None:
            await self.buyers.tell(event.scope.owner_id, event.body.parcel, key=ctx.invocation_key)

    @on_event
    @retry(timeout="2s")
    @blocking
    def on_order_paid(self, paid: OrderPaid) -> None:
        """Take the body alone, on a thread."""


@app.projection
class Sales:
    """A projection."""

    @on_event
    async def on_order_paid(self, event: Event[OrderPaid], ctx: ProjectContext) -> None:
        """Write a row, once."""
        await ctx.connection.execute("insert into sales values ($1, $2)", event.ref.id, sum(event.body.lines.values()))


@app.reactor(name="Audit", start="beginning", together=True)
class Auditor:
    """A reactor with options, whose handlers take unions."""

    @on_event
    async def on_any(self, event: Event[OrderPaid | OrderShipped]) -> None:
        """Take either."""
        assert_type(event.body, OrderPaid | OrderShipped)


def give_up(error: Exception, user: int) -> int:  # noqa: ARG001 - the form of a recovering function
    """Answer instead."""
    return user


@retryable(max_attempts=3, initial_backoff="100ms", multiplier=2, recover=give_up)
def grant_points(user: int) -> int:
    """Be tried again in process."""
    return current_call().attempt + user


@retryable(exclude=[UnknownBuyerError])
async def look_up(buyer: str) -> bytes:
    """Be tried again in process, in a loop."""
    return buyer.encode()


async def tell_team(error: Exception, order_id: str, lines: dict[str, int]) -> None:
    """Be the last stop."""


@app.retryable(
    durable=Durable(max_retries=8, initial_delay="1s", max_delay="10m", multiplier=3),
    fallback=tell_team,
    raise_error=True,
)
async def roll_back_stock(order_id: str, lines: dict[str, int]) -> int:
    """Be tried again durably."""
    return len(order_id) + len(lines)


@app.retryable(durable=True)
def count_stock(place: str) -> int:
    """Be tried again durably, on a thread."""
    return len(place)


class Shelf:
    """A class with a durable method."""

    @app.retryable(durable=True)
    async def put_back(self, sku: str) -> bool:
        """Be called on a resource."""
        return bool(sku)


async def use_durables() -> None:
    """Call what is durable as if it were not, or submit it."""
    assert_type(await roll_back_stock("o", {"a": 1}), int)
    call = await roll_back_stock.options(delay="1h", key="o").submit("o", {"a": 1})
    assert_type(call.id, str)
    assert_type(await call.result("1s"), int)
    assert_type(await call.state(), CallState)
    assert_type(count_stock("shelf"), int)
    assert_type(await Shelf().put_back("a"), bool)
    assert_type(await (await Shelf().put_back.submit("a")).result(), bool)


class Points:
    """A class with a method that is tried again."""

    @retryable()
    def grant(self, user: int) -> str:
        """Fail sometimes."""
        return str(user)

    @recover
    def not_granted(self, error: Exception, user: int) -> str:
        """Answer instead."""
        return f"{user}: {error}"


async def use_retryables() -> None:
    """Call what is retryable as if it were not."""
    assert_type(grant_points(3), int)
    assert_type(await look_up("b-1"), bytes)
    assert_type(Points().grant(3), str)
    handle = look_up.submit("b-1")
    assert_type(await handle.result("1s"), bytes)
    assert_type(await handle.state(), CallState)
    assert_type(Points().grant.submit(3).wait(), str)


async def ship(order_id: str, version: int) -> None:
    """Append, in any process."""
    async with app.connect() as client:
        assert_type(client, Client)
        commit = await client.store.append(order(order_id), [OrderShipped(parcel="p-1")], expected_version=version)
        assert_type(commit, Commit)
        assert_type(commit.version, int)


def ship_from_a_script(order_id: str) -> None:
    """Append without an event loop."""
    with app.connect_sync() as client:
        commit = client.store.append(order(order_id), [OrderShipped(parcel="p-1")], expected_version=None)
        assert_type(commit, Commit)


assert_type(OrderPaid(lines={}), OrderPaid)
assert_type(ShipmentNotifier(Buyers(httpx.AsyncClient())), ShipmentNotifier)
assert_type(Auditor(), Auditor)
assert_type(buyers(), AsyncIterator[Buyers])
assert_type(carrier(ValueError(), "Sales.on_order_paid"), Category | None)
