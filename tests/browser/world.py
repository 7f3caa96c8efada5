"""A shop in trouble, its console, and a browser in front of it: what the tests and the pictures play on."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from playwright.async_api import Browser, async_playwright
from pydantic import BaseModel

from tests.waiting import until
from wow_ray import Aggregate, App, Event, ProjectContext, on_event, retry
from wow_ray.cli.console import served_console
from wow_ray.cluster import Database, migrated, open_operations, open_service
from wow_ray.ops import Operations, ParkedQuery
from wow_ray.settings import Settings, load

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="missing tool: chromium (apt-get install -y chromium)")

order = Aggregate("order")


@order.event("order_paid")
class OrderPaid(BaseModel):
    """An order was paid."""

    cents: int = 990


@order.event("order_shipped")
class OrderShipped(BaseModel):
    """Its parcel is on the way."""

    parcel: str = "p"


class UnknownBuyerError(Exception):
    """There is no such buyer."""


class CarrierRefusedError(Exception):
    """The carrier does not take it."""


for _error in (UnknownBuyerError, CarrierRefusedError):
    _error.__module__ = "shop"  # as in an app of its own


@dataclass
class Outside:
    """What the shop depends on, and what of it is broken: orders by id."""

    refused: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    texts: dict[str, str] = field(default_factory=dict)
    told: list[tuple[str, int]] = field(default_factory=list)


app = App("shop", settings={"subscription": {"systemic": {"aggregates": 1_000}}})


@app.projection
class Sales:
    """Adds up what was paid."""

    @on_event
    async def on_order_paid(self, event: Event[OrderPaid], ctx: ProjectContext) -> None:
        """Add."""


@app.reactor(start="beginning")
@retry(max_attempts=2, initial_backoff="20ms", timeout="10s")
class Shipping:
    """Books a carrier."""

    def __init__(self, outside: Outside) -> None:
        """Book there."""
        self.outside = outside

    @on_event
    async def on_order_paid(self, event: Event[OrderPaid]) -> None:
        """Book, or be refused."""
        if event.ref.id in self.outside.refused:
            text = self.outside.texts.get(event.ref.id, "422 from carrier.example: no such postcode for this parcel")
            raise CarrierRefusedError(text)
        self.outside.told.append((event.ref.id, event.version))


@app.reactor(start="beginning")
@retry(max_attempts=5, initial_backoff="1s", unrecoverable=[UnknownBuyerError])
class Mails:
    """Writes to buyers."""

    def __init__(self, outside: Outside) -> None:
        """Write through this."""
        self.outside = outside

    @on_event
    async def on_order_shipped(self, event: Event[OrderShipped]) -> None:
        """Write, if there is such a buyer."""
        if event.ref.id in self.outside.unknown:
            raise UnknownBuyerError(f"no buyer is known for {event.ref}")


@dataclass
class World:
    """The shop as it runs, and where its console is."""

    outside: Outside
    operations: Operations
    address: str

    async def pay(self, *ids: str) -> None:
        """Have orders paid, once each."""
        await self._append(ids, OrderPaid())

    async def ship(self, *ids: str) -> None:
        """Have orders shipped."""
        await self._append(ids, OrderShipped())

    async def parked(self, count: int) -> None:
        """Wait until so many aggregates are parked."""

        async def so_many() -> bool:
            return (await self.operations.count(ParkedQuery())).rows == count

        await until(so_many, f"{count} parked aggregates", seconds=30)

    async def _append(self, ids: Sequence[str], event: BaseModel) -> None:
        async with app.connect() as client:
            for identity in ids:
                await client.store.append(order(identity), [event], expected_version=None)


@asynccontextmanager
async def a_world(dsn: str, settings: Settings) -> AsyncIterator[World]:
    """Run the shop and its console."""
    database = Database(dsn, "shop", settings.postgres_schema)
    await migrated(database, settings)
    spec, outside = app.resolved(settings, overridden=(Outside,)), Outside()
    async with (
        open_service(spec, settings, database, overrides={Outside: outside}),
        open_operations(database, spec) as operations,
        served_console(operations, settings) as address,
    ):
        yield World(outside, operations, address)


def settings_in(schema: str, **ops: object) -> Settings:
    """Give settings: a schema of one's own, two partitions, any port."""
    given = {"postgres_schema": schema, "slots": 32, "partitions": 2, "ops": {"port": 0, **ops}}
    return load({**app.settings, **given}, None, {})


@asynccontextmanager
async def a_browser() -> AsyncIterator[Browser]:
    """Start the system's Chromium, without a window."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            await browser.close()


async def trouble(world: World) -> None:
    """Have things go wrong: a carrier that refuses some, buyers that nobody knows, an order parked on purpose."""
    refused = [f"o-{number}" for number in (1017, 1023, 1024, 1031, 1040, 1052, 1077)]
    unknown = [f"o-{number}" for number in (1009, 1019)]
    world.outside.refused |= set(refused)
    world.outside.unknown |= set(unknown)
    everyone = sorted({*refused, *unknown, *(f"o-{number}" for number in range(1001, 1061))})
    await world.pay(*everyone)
    await world.ship(*everyone)
    await world.pay("o-1017", "o-1017", "o-1023")
    await world.parked(9)
