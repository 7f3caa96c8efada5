"""What a type checker must refuse: each line's ignore is an error itself once the line is no longer refused."""

from collections.abc import Iterator

from tests.typing.api import (
    Auditor,
    Buyers,
    OrderPaid,
    OrderShipped,
    Points,
    Sales,
    ShipmentNotifier,
    app,
    give_up,
    grant_points,
    look_up,
    order,
    roll_back_stock,
    use_durables,
)
from wow_ray import Aggregate, App, Event, retry, retryable

ShipmentNotifier(3)  # type: ignore[arg-type]
Auditor(3)  # type: ignore[call-arg]
OrderPaid()  # type: ignore[call-arg]
order(42)  # type: ignore[arg-type]
Aggregate()  # type: ignore[call-arg]
App("shop", unknown=1)  # type: ignore[call-arg]

retry(max_attempts="3")  # type: ignore[arg-type]
retry(timeout=30)  # type: ignore[arg-type]
retry(unrecoverable=ValueError)  # type: ignore[arg-type]
retry(max_atempts=3)  # type: ignore[call-arg]
retry(Sales)  # type: ignore[arg-type, call-arg]

grant_points("x")  # type: ignore[arg-type]
look_up.submit(3)  # type: ignore[arg-type]
Points().grant("x")  # type: ignore[arg-type]
retryable(max_attempts="3")  # type: ignore[call-overload]
retryable(recover=give_up)(order)  # type: ignore[arg-type]

app.reactor(start="now")  # type: ignore[call-overload]
app.reactor(isolation="thread")  # type: ignore[call-overload]
app.projection(together=True)  # type: ignore[call-overload]
app.classifier(len)  # type: ignore[type-var]


@app.provide  # type: ignore[type-var]
def buyers() -> Iterator[Buyers]:
    """Provide as a sync generator."""
    raise NotImplementedError
    yield  # type: ignore[unreachable]


def wrong_body(event: Event[OrderPaid]) -> str:
    """Take what this event has not."""
    return event.body.parcel  # type: ignore[attr-defined, no-any-return]


async def submit() -> None:
    """Submit wrongly."""
    await use_durables()
    await roll_back_stock.submit(1, {"a": 1})  # type: ignore[arg-type]
    await roll_back_stock("o")  # type: ignore[call-arg]
    app.retryable(durable="yes")  # type: ignore[call-overload]
    app.retryable(fallback=order)  # type: ignore[call-overload]


async def ship() -> None:
    """Append wrongly."""
    async with app.connect(3) as client:  # type: ignore[arg-type]
        await client.store.append(order("o-1"), [OrderShipped(parcel="p-1")])  # type: ignore[call-arg]
        await client.store.append("o-1", [OrderShipped(parcel="p-1")], expected_version=1)  # type: ignore[arg-type]
        await client.store.append(order("o-1"), [Sales()], expected_version=1)  # type: ignore[list-item]
