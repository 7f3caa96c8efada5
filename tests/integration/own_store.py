"""A whole service on a server that a test may take away from it, and an account of everything that was called.

`Till` counts each call of the handlers; a producer of its own appends while the server comes and goes, and repeats an
append by its `commit_id` until it is taken, so that what is in the log is known to the last event.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import uuid
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import asyncpg
from pydantic import BaseModel

from tests.pgbouncer import free_port
from tests.waiting import until
from wow_ray import Aggregate, App, Context, Event, ProjectContext, on_event
from wow_ray.adapters.clock import SystemClock, monotonic
from wow_ray.adapters.embedded import EmbeddedPostgres
from wow_ray.adapters.postgres import Database
from wow_ray.adapters.postgres.stores import client_stores
from wow_ray.cluster import checked, migrated, open_service
from wow_ray.errors import StoreUnavailableError
from wow_ray.runtime.service import Service
from wow_ray.settings import Settings, load

order = Aggregate("order")
AGGREGATES = 40
PARKED = """
    SELECT (SELECT count(*) FROM {schema}.notices) + (SELECT count(*) FROM {schema}.parked WHERE open)
"""
"""What anybody was told of, and what is not handled yet; a lane that is full for a while goes on through a row."""
lasting = SystemClock().sleep
"""How long a fault lasts: the one thing here that is not waited for."""


@order.event("order_paid")
class Paid(BaseModel):
    """An order was paid."""

    cents: int


class Server:
    """A Postgres of a test's own, at one address across kills and restarts."""

    def __init__(self, place: Path, connections: int = 60) -> None:
        """Start nothing yet; `place` is a folder of its own, `connections` are all there may be."""
        quiet = {"log_min_messages": "fatal", "log_checkpoints": "off", "synchronous_commit": "on"}
        self._postgres = EmbeddedPostgres(
            place / "state", port=free_port(), durable=False, conf={**quiet, "max_connections": str(connections)}
        )

    @property
    def dsn(self) -> str:
        """Its address."""
        return self._postgres.dsn

    def __enter__(self) -> Self:
        """Start it."""
        self._postgres.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self._postgres.stop()

    async def start(self) -> None:
        """Start it again, also when it was killed."""
        await asyncio.to_thread(self._postgres.start)

    async def end(self, how: signal.Signals) -> None:
        """End its main process: SIGKILL as a crash does, SIGINT as `pg_ctl -m fast`, SIGQUIT as `-m immediate`."""
        os.kill(self._postgres.pid, how)
        await asyncio.to_thread(self._postgres.stop)

    async def set(self, name: str, value: str | None) -> None:
        """Change a setting of the running server for everybody; `None` = as it was."""
        async with self.admin() as admin:
            change = f"ALTER SYSTEM SET {name} = '{value}'" if value is not None else f"ALTER SYSTEM RESET {name}"
            await admin.execute(change)
            await admin.execute("SELECT pg_reload_conf()")

    @asynccontextmanager
    async def admin(self) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
        """Give a plain connection, straight to the server."""
        connection = await asyncpg.connect(self.dsn)
        try:
            yield connection
        finally:
            await connection.close()


class Till:
    """Everything that was called, by handler: (aggregate's id, version) in the order of the calls."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.calls: dict[str, list[tuple[str, int]]] = defaultdict(list)
        self.attempts = 0
        """The highest number of an attempt that any call was told."""

    def note(self, event: Event[Any], ctx: Context) -> None:
        """Write a call down."""
        self.calls[ctx.subscription].append((event.ref.id, event.version))
        self.attempts = max(self.attempts, ctx.attempt)

    def repeated(self, subscription: str) -> int:
        """Give how many calls there were beyond the first of each event."""
        calls = self.calls[subscription]
        return len(calls) - len(set(calls))

    def first_calls(self, subscription: str) -> dict[str, list[int]]:
        """Give each aggregate's versions in the order in which they were called first."""
        order: dict[str, list[int]] = defaultdict(list)
        for aggregate_id, version in dict.fromkeys(self.calls[subscription]):
            order[aggregate_id].append(version)
        return order


def shop_of(till: Till, schema: str) -> App:
    """Make the app: a reactor that only counts, and a projection that adds up through its connection."""
    app = App("shop")

    @app.reactor(start="beginning")
    class Counter:
        @on_event
        async def on_paid(self, event: Event[Paid], ctx: Context) -> None:
            till.note(event, ctx)
            if event.body.cents % 3 == 0:
                await lasting(0.002)

    @app.projection
    class Sums:
        @on_event
        async def on_paid(self, event: Event[Paid], ctx: ProjectContext) -> None:
            till.note(event, ctx)
            await ctx.connection.execute(
                f"INSERT INTO {schema}.sums AS s VALUES ($1, $2)"  # noqa: S608 - the test's own schema
                " ON CONFLICT (id) DO UPDATE SET cents = s.cents + excluded.cents",
                event.ref.id,
                event.body.cents,
            )

    return app


COUNTER, SUMS = "Counter.on_paid", "Sums.on_paid"


class Lines(logging.Handler):
    """What is logged, at WARNING and above."""

    def __init__(self) -> None:
        """Begin with nothing."""
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        self.said.append(f"{record.levelname} {record.name}: {record.getMessage()}")


@dataclass
class Shop:
    """A running service, its producer, and what became of both."""

    server: Server
    database: Database
    service: Service
    till: Till
    lines: Lines
    sent: Counter[str] = field(default_factory=Counter)
    """How many events of each aggregate are in the log."""
    cents: Counter[str] = field(default_factory=Counter)
    paying: bool = True
    paid: bool = False

    async def produce(self) -> None:
        """Append one event after the other, about 300 a second, until `paying` is over."""
        number = 0
        async with client_stores(self.database, SystemClock()) as client:
            while self.paying:
                number += 1
                name, commit_id = f"o-{number % AGGREGATES}", uuid.uuid4().hex
                while True:
                    try:
                        await client.events.append(
                            order(name), [Paid(cents=number)], expected_version=None, commit_id=commit_id
                        )
                        break
                    except StoreUnavailableError:
                        await lasting(0.05)
                self.sent[name] += 1
                self.cents[name] += number
                await lasting(0.008)
        self.paid = True

    @property
    def handled(self) -> dict[str, int]:
        """How many events each handler has been called with."""
        return {name: len(set(self.till.calls[name])) for name in (COUNTER, SUMS)}

    async def goes_on(self, seconds: float = 30.0) -> float:
        """Wait until every partition and both handlers handle what is appended from now on; answers how long it took.

        Every partition has several of the aggregates.
        """
        began, sent = monotonic(), Counter(self.sent)

        def done() -> bool:
            for name in (COUNTER, SUMS):
                highest = Counter(dict(self.till.calls[name]))
                if not all(highest[each] > sent[each] for each in self._names()):
                    return False
            return True

        await until(done, "every aggregate to be handled again by both handlers", seconds=seconds)
        return monotonic() - began

    async def settled(self) -> None:
        """End the producer's work, and have everything handled and committed."""
        self.paying = False
        await until(lambda: self.paid, "the producer to end")
        await until(lambda: set(self.handled.values()) == {sum(self.sent.values())}, "all to be handled", seconds=30)
        groups = [group for partition in self.service.partitions for group in partition.groups.values()]
        await until(lambda: not any(group.open or group.lanes for group in groups), "all to be committed", seconds=30)

    def _names(self) -> list[str]:
        return [f"o-{number}" for number in range(AGGREGATES)]

    async def check(self, *, repeats: int = 0) -> None:
        """Nothing lost, nothing out of order, nothing parked, nothing charged, sums exact (L1, L2, P2, D3).

        The counting handler was called again for at most `repeats` events.
        """
        expected = {name: list(range(1, sent + 1)) for name, sent in self.sent.items()}
        assert self.till.first_calls(COUNTER) == expected
        assert self.till.first_calls(SUMS) == expected
        assert self.till.repeated(COUNTER) <= repeats
        async with self.server.admin() as admin:
            sums = await admin.fetch(f"SELECT id, cents FROM {self.database.schema}.sums")  # noqa: S608
            parked = await admin.fetchval(PARKED.format(schema=self.database.schema))
        assert {row["id"]: row["cents"] for row in sums} == dict(self.cents)
        assert parked == 0
        assert self.till.attempts == 1
        for partition in self.service.partitions:
            assert not partition.ended.done()
            await until(lambda gates=partition.workers: not gates.closed, "every gate to be open")  # type: ignore[misc]


@contextmanager
def listened() -> Iterator[Lines]:
    """Hear everything that is logged."""
    lines = Lines()
    logging.getLogger().addHandler(lines)
    try:
        yield lines
    finally:
        logging.getLogger().removeHandler(lines)


@asynccontextmanager
async def a_shop(server: Server, dsn: str | None = None) -> AsyncIterator[Shop]:
    """Run the service on the server, reached at `dsn` if given, with the producer straight on the server."""
    schema = f"test_{uuid.uuid4().hex[:12]}"
    environ = {"WOW_RAY_POSTGRES_SCHEMA": schema}
    subscription = {"retry": {"timeout": "5s"}}
    settings: Settings = load({"slots": 8, "partitions": 2, "subscription": subscription}, None, environ)
    direct = Database(server.dsn, "shop", schema)
    await migrated(direct, settings)
    direct = await checked(direct)
    async with server.admin() as admin:
        await admin.execute(f"CREATE TABLE {schema}.sums (id text PRIMARY KEY, cents bigint NOT NULL)")
    till = Till()
    reached = Database(dsn or server.dsn, "shop", schema)
    with listened() as lines:
        async with open_service(shop_of(till, schema).resolved(settings), settings, reached) as service:
            shop = Shop(server, direct, service, till, lines)
            producing = asyncio.ensure_future(shop.produce())
            try:
                await shop.goes_on()
                yield shop
            finally:
                producing.cancel()
                with suppress(asyncio.CancelledError):
                    await producing
