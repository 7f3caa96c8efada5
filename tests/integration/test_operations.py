"""Operators' commands against a service on a real Postgres, in this process: applied by the owner, once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from pydantic import BaseModel

from tests.waiting import until
from wow_ray import Aggregate, App, Event, on_event, retry
from wow_ray.cluster import Database, checked, migrated, open_operations, open_service
from wow_ray.errors import ConfigurationError, ConflictError, SchemaError, SettingsError, StoreUnavailableError
from wow_ray.ops import Applied, Command, Operations, ParkedQuery, ParkedView, StatusView
from wow_ray.settings import Settings, load

order = Aggregate("order")
WHY = Command("ann", "the carrier is back")


@order.event("order_placed")
class Placed(BaseModel):
    """An order was placed."""


class Carrier:
    """A downstream with a memory that can be broken."""

    broken = True
    told: list[tuple[str, int]]


app = App("shop")


@app.provide
async def carrier() -> AsyncIterator[Carrier]:
    """Give the carrier; tests give their own."""
    yield Carrier()


@app.reactor(start="beginning")
@retry(max_attempts=1, recoverable=[ValueError])
class Notifier:
    """Tells the carrier."""

    def __init__(self, carrier: Carrier) -> None:
        """Take the carrier."""
        self.carrier = carrier

    @on_event
    async def on_placed(self, event: Event[Placed]) -> None:
        """Tell, or fail; what was told is appended by the app's own connection, too."""
        if self.carrier.broken:
            raise ValueError("no carrier")
        self.carrier.told.append((event.ref.id, event.version))
        if event.ref.id == "reacts":
            async with app.connect() as client:
                await client.store.append(order("reaction"), [Placed()], expected_version=0, commit_id="r")


@pytest.fixture
def settings(schema: str) -> Settings:
    """A schema of this test's own, two partitions."""
    return load({"postgres_schema": schema, "slots": 8, "partitions": 2}, None, {})


@pytest.fixture
async def database(postgres_dsn: str, settings: Settings) -> Database:
    """Give the migrated database."""
    database = Database(postgres_dsn, "shop", settings.postgres_schema)
    await migrated(database, settings)
    return database


@asynccontextmanager
async def serving(database: Database, settings: Settings) -> AsyncIterator[tuple[Operations, Carrier]]:
    """Run the app, and give what an operator works with."""
    fake = Carrier()
    fake.told = []
    spec = app.resolved(settings)
    async with (
        open_service(spec, settings, database, overrides={Carrier: fake}),
        open_operations(database, spec) as operations,
    ):
        yield operations, fake


async def parked(operations: Operations, *ids: str) -> list[ParkedView]:
    """Append one event to each aggregate and wait until they are parked."""
    async with app.connect() as client:
        for identity in ids:
            await client.store.append(order(identity), [Placed()], expected_version=None)

    async def all_there() -> bool:
        return len((await operations.parked(ParkedQuery())).rows) == len(ids)

    await until(all_there, "the aggregates to be parked")
    return list((await operations.parked(ParkedQuery())).rows)


async def test_twenty_resumes_are_one_drain(database: Database, settings: Settings) -> None:
    """P10, S85: on a real database, through twenty connections' worth of commands."""
    async with serving(database, settings) as (operations, fake):
        (row,) = await parked(operations, "o-1")
        fake.broken = False

        answers = await asyncio.gather(
            *(operations.resume(row.id, Command(f"op-{n}", "why")) for n in range(20)), return_exceptions=True
        )

        assert sum(isinstance(answer, Applied) for answer in answers) == 1
        assert sum(isinstance(answer, ConflictError) for answer in answers) == 19
        await until(lambda: fake.told == [("o-1", 1)], "the drain")

        async def ended() -> bool:
            return (await operations.parked_row(row.id)).row.state == "resolved"

        await until(ended, "the end of the row")
        assert fake.told == [("o-1", 1)]


async def test_commands_reach_every_partition(database: Database, settings: Settings) -> None:
    """P9: each row is skipped by the owner of its slot, and afterwards nobody owns any."""
    async with serving(database, settings) as (operations, fake):
        rows = await parked(operations, *(f"o-{number}" for number in range(8)))
        assert [row.id for row in rows] == sorted(row.id for row in rows)
        status = await operations.status()
        assert (status.ready, status.parked, len(status.partitions)) == (True, 8, 2)

        answers = await asyncio.gather(*(operations.skip(row.id, WHY) for row in rows))

        assert all(isinstance(answer, Applied) and answer.outcome["skipped"] == 1 for answer in answers)

        async def none_left() -> bool:
            return (await operations.count(ParkedQuery())).rows == 0

        await until(none_left, "the rows to end")
        assert fake.told == []
    assert not (await _status(database)).ready


async def test_handlers_connect_to_the_store_that_runs_them(database: Database, settings: Settings) -> None:
    """Whatever address the service was given, `app.connect()` in its process means the same."""
    async with serving(database, settings) as (_, fake):
        fake.broken = False
        async with app.connect() as client:
            await client.store.append(order("reacts"), [Placed()], expected_version=0)
        await until(lambda: ("reaction", 1) in fake.told, "the reaction")


async def test_a_schema_that_is_not_migrated_is_refused_with_the_command(postgres_dsn: str, settings: Settings) -> None:
    """Nothing but `dev` and `migrate` makes a schema; another app's is refused too."""
    database = Database(postgres_dsn, "shop", settings.postgres_schema)
    with pytest.raises(SchemaError, match="run `wow-ray migrate"):
        async with open_service(app.resolved(settings), settings, database):
            raise AssertionError
    assert await migrated(database, settings)
    assert await migrated(database, settings) == []
    assert (await checked(database)).slots == 8
    with pytest.raises(ConfigurationError, match="belongs to the app 'shop'"):
        await checked(Database(postgres_dsn, "other", settings.postgres_schema))


@pytest.mark.parametrize(
    ("dsn", "error"),
    [
        ("postgresql://localhost:1/x", StoreUnavailableError),
        ("mysql://localhost/x", SettingsError),
        ("postgresql:///nonsuch?host={sockets}", StoreUnavailableError),
    ],
)
async def test_an_address_that_is_wrong_is_told_from_a_server_that_is_away(
    postgres_dsn: str, dsn: str, error: type[Exception]
) -> None:
    """Exit 2 and 5; the driver's own errors do not come out."""
    sockets = postgres_dsn.partition("host=")[2]
    with pytest.raises(error):
        await checked(Database(dsn.format(sockets=sockets), "shop"))


async def _status(database: Database) -> StatusView:
    async with open_operations(database) as operations:
        return await operations.status()
