"""Wake-ups between processes: an append is handled long before the next poll, and a dead bus costs one poll (S112)."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import asyncpg
import pytest
from pydantic import BaseModel
from redis.asyncio import Redis

from tests.redis_server import RedisServer, running_redis
from tests.waiting import until
from wow_ray import Aggregate, App, Event, on_event
from wow_ray.adapters.clock import SystemClock
from wow_ray.adapters.postgres import open_client_stores
from wow_ray.cluster import Database, migrated, open_service
from wow_ray.errors import ConcurrencyError
from wow_ray.events import NewCommit
from wow_ray.ports.wakes import Heads
from wow_ray.runtime import feed
from wow_ray.runtime.pace import Pace
from wow_ray.settings import Settings, load

ROOT = Path(__file__).resolve().parents[2]
NEVER = 600.0
"""Seconds between two polls where no test lives to see the second one."""

app = App("shop")
order = Aggregate("order")
handled: list[str] = []


@order.event("order_placed")
class Placed(BaseModel):
    """An order was placed."""


@app.reactor(start="beginning")
class Listener:
    """Writes down what it handled."""

    @on_event
    async def on_placed(self, event: Event[Placed]) -> None:
        """Write down; an order that reacts appends another one by the app's own connection."""
        handled.append(event.ref.id)
        if event.ref.id == "reacts":
            async with app.connect() as client:
                await client.store.append(order("reaction"), [Placed()], expected_version=0)


async def produce() -> None:
    """Append one event to each aggregate that is named on a line of the input, until it ends."""
    async with app.connect() as client:
        while line := await asyncio.to_thread(sys.stdin.readline):
            await client.store.append(order(line.strip()), [Placed()], expected_version=None)
            print(line.strip(), flush=True)  # noqa: T201 - how the test knows


class Producer:
    """`produce` in a process of its own."""

    def __init__(self, environ: dict[str, str]) -> None:
        """Start it."""
        program = "import asyncio; from tests.integration.test_wakes import produce; asyncio.run(produce())"
        kept = {name: value for name, value in os.environ.items() if not name.startswith("WOW_RAY_")}
        self.process = subprocess.Popen(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env={**kept, **environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    async def place(self, name: str) -> None:
        """Have it append to an aggregate, and wait until it has."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{name}\n")
        self.process.stdin.flush()
        said = await asyncio.wait_for(asyncio.to_thread(self.process.stdout.readline), 60)
        assert said.strip() == name

    async def place_until_handled(self, name: str) -> None:
        """Have it append again and again until the first is handled: the service listens, and the producer tells."""

        async def placed() -> bool:
            await self.place(name)
            return name in handled

        await self.place(name)  # its process may take its time to begin
        await until(placed, f"{name} to be handled", seconds=30)


@dataclass(frozen=True)
class Place:
    """A migrated database, the settings of the service, and what a producer finds in its environment."""

    database: Database
    settings: Settings
    environ: dict[str, str]

    @contextmanager
    def producer(self) -> Iterator[Producer]:
        """Run a producer."""
        producer = Producer(self.environ)
        try:
            yield producer
        finally:
            producer.process.kill()
            producer.process.communicate()


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    """Give a Redis of this module's own."""
    with running_redis() as server:
        yield server


@pytest.fixture(autouse=True)
def nothing_handled() -> None:
    """Forget what an earlier test saw."""
    handled.clear()


async def a_place(dsn: str, schema: str, **more: str) -> Place:
    """Migrate a schema and give what belongs to it."""
    given = {"postgres_dsn": dsn, "postgres_schema": schema, **more}
    environ = {f"WOW_RAY_{name.upper()}": value for name, value in given.items()}
    settings = load({"slots": 8, "partitions": 2}, None, environ)
    database = Database(dsn, "shop", schema)
    await migrated(database, settings)
    return Place(database, settings, environ)


@pytest.fixture
async def on_postgres(postgres_dsn: str, schema: str) -> Place:
    """Give a place where wake-ups go by NOTIFY."""
    return await a_place(postgres_dsn, schema)


@pytest.fixture
async def on_redis(postgres_dsn: str, schema: str, redis: RedisServer) -> Place:
    """Give a place where wake-ups go by Redis."""
    return await a_place(postgres_dsn, schema, redis_url=redis.url)


@pytest.fixture
async def admin(postgres_dsn: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    """Give a plain connection."""
    connection = await asyncpg.connect(postgres_dsn)
    yield connection
    await connection.close()


@pytest.fixture
def unpolled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have partitions poll every 600 s, from the first pause on."""
    monkeypatch.setattr(feed, "BUSY_POLL", NEVER)
    monkeypatch.setattr("wow_ray.cluster.Pace", lambda **_: Pace(idle_poll=NEVER))


async def until_handled(name: str, *, seconds: float) -> None:
    """Wait until an event of this aggregate was handled."""
    await until(lambda: name in handled, f"{name} to be handled", seconds=seconds)


async def listeners(admin: asyncpg.Connection[asyncpg.Record]) -> list[int]:
    """Give the processes of the sessions that listen."""
    rows = await admin.fetch("SELECT pid FROM pg_stat_activity WHERE application_name = 'wow-ray/shop/listen'")
    return [row["pid"] for row in rows]


async def handled_in_time(place: Place) -> None:
    """Each of ten events of another process is handled within 10 s, with polls 600 s apart; so is a reaction."""
    async with open_service(app.resolved(place.settings), place.settings, place.database):
        with place.producer() as producer:
            await producer.place_until_handled("first")
            for number in range(10):
                await producer.place(f"o-{number}")
                await until_handled(f"o-{number}", seconds=30)
            await producer.place("reacts")
            await until_handled("reaction", seconds=30)


@pytest.mark.usefixtures("unpolled")
async def test_an_event_of_another_process_is_handled_at_once_by_notify(on_postgres: Place) -> None:
    """Each of ten within 10 s, with polls 600 s apart; what a handler appends is handled as well."""
    await handled_in_time(on_postgres)


@pytest.mark.usefixtures("unpolled")
async def test_an_event_of_another_process_is_handled_at_once_by_redis(on_redis: Place) -> None:
    """Each of ten within 10 s, with polls 600 s apart; what a handler appends is handled as well."""
    await handled_in_time(on_redis)


@pytest.mark.usefixtures("unpolled")
async def test_redis_carries_wake_ups_where_pgbouncer_stands_before_postgres(
    on_redis: Place, postgres_url_pgbouncer: str
) -> None:
    """Producers append through a pooler, which could not carry a NOTIFY to a listener; polls are 600 s apart."""
    through = {"WOW_RAY_POSTGRES_DSN": postgres_url_pgbouncer, "WOW_RAY_PGBOUNCER": "true"}
    await handled_in_time(replace(on_redis, environ=on_redis.environ | through))


async def test_a_killed_listener_costs_one_poll_and_listens_again(
    on_postgres: Place, admin: asyncpg.Connection[asyncpg.Record]
) -> None:
    """S112: ended three times by `pg_terminate_backend`.

    What is appended meanwhile is handled within 10 s by the poll (every 200 ms), and there is a new listener each time.
    """
    async with open_service(app.resolved(on_postgres.settings), on_postgres.settings, on_postgres.database):
        with on_postgres.producer() as producer:
            await producer.place_until_handled("first")
            for number in range(3):
                await until(lambda: listeners(admin), "somebody to listen")
                (old,) = await listeners(admin)
                await admin.execute("SELECT pg_terminate_backend($1)", old)

                await producer.place(f"o-{number}")

                await until_handled(f"o-{number}", seconds=30)

                async def again(old: int = old) -> bool:
                    return (found := await listeners(admin)) != [] and old not in found

                await until(again, "a new listener")


async def test_a_killed_redis_costs_one_poll_and_is_used_again(on_redis: Place, redis: RedisServer) -> None:
    """S112: without it ten events are appended and handled by the poll, each within 10 s; back, it is used again."""
    async with open_service(app.resolved(on_redis.settings), on_redis.settings, on_redis.database):
        with on_redis.producer() as producer:
            await producer.place_until_handled("first")
            redis.kill()
            try:
                for number in range(10):
                    await producer.place(f"o-{number}")
                    await until_handled(f"o-{number}", seconds=30)
            finally:
                redis.start()

            client = Redis.from_url(redis.url)

            async def subscribed() -> bool:
                return bool(await client.pubsub_channels())

            async with client:
                await until(subscribed, "the service to listen again")


class Recorder:
    """A bus that writes down what it is told."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.heads: list[Heads] = []

    def told(self, heads: Heads) -> None:
        """Write down."""
        self.heads.append(dict(heads))

    def listening(self, callback: Callable[[Heads], None]) -> AbstractAsyncContextManager[None]:
        """Hear nothing."""
        del callback
        return nullcontext()

    async def close(self) -> None:
        """End."""


async def test_only_what_was_committed_is_told(on_postgres: Place, admin: asyncpg.Connection[asyncpg.Record]) -> None:
    """One call for each append of ours, also of several aggregates.

    None for one that was refused, nor for one in a caller's transaction, which may still roll back.
    """
    bus = Recorder()
    async with open_client_stores(on_postgres.database, SystemClock(), wakes=bus) as client:
        one = await client.events.append(order("o-1"), [Placed(), Placed()], expected_version=0)
        assert bus.heads == [{one.slot: 2}]

        with pytest.raises(ConcurrencyError):
            await client.events.append(order("o-1"), [Placed()], expected_version=0)
        async with admin.transaction():
            await client.events.append(order("o-1"), [Placed()], expected_version=1, connection=admin)
        assert len(bus.heads) == 1

        many = await client.events.append_many([NewCommit(order(f"m-{n}"), (Placed(),), 0) for n in range(20)])
        await client.events.append(order("o-1"), [Placed()], expected_version=None)

    last = {commit.slot: max(c.positions[-1] for c in many if c.slot == commit.slot) for commit in many}
    assert bus.heads[1:] == [last, {one.slot: last.get(one.slot, 3) + 1}]
