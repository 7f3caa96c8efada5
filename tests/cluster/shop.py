"""The app of these tests: handlers that leave a trace of every call in Postgres, where no kill can reach it.

What a handler does is told by the order's id: `bad-…` raises while its id stands in the table `broken`, `slow-…` takes
a second, `exit-…` ends its process when it is called by `Scorer`, `odd-…` raises what does not survive a trip.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
from pydantic import BaseModel

from wow_ray import Aggregate, App, Durable, Event, ProjectContext, ReactContext, StateEvent, on_event, retry
from wow_ray.adapters.clock import monotonic

DSN = "WOW_RAY_POSTGRES_DSN"

order = Aggregate("order")


@order.event("order_paid")
class Paid(BaseModel):
    """An order was paid."""

    cents: int = 1


@order.state
class Bill(BaseModel):
    """What an order has cost so far."""

    cents: int = 0

    def apply(self, event: Paid) -> Bill:
        """Add."""
        return Bill(cents=self.cents + event.cents)


class Odd(Exception):  # noqa: N818 - named as an author would
    """An error that can be pickled in no way and asks for a wait (S76)."""

    def __init__(self, *, retry_after: float) -> None:
        """Take what pickle does not give back, and hold what it cannot take."""
        super().__init__("odd")
        self.status_code = 429
        self.headers = {"Retry-After": str(retry_after)}
        self.lock = threading.Lock()


class Witness:
    """Writes down calls, each in a transaction of its own."""

    def __init__(self, pool: asyncpg.Pool[asyncpg.Record], schema: str) -> None:
        """Write to the tables `calls` and `done` of the schema."""
        self._pool = pool
        self.schema = schema

    async def begun(self, event: Event[Any], ctx: ReactContext, *more: Any) -> None:  # noqa: ANN401 - for one column
        """Note that a call begins, and when it did by the machine's monotonic time."""
        began, said = monotonic(), ", ".join(map(str, more))
        row = (ctx.subscription, event.ref.id, event.version, ctx.attempt, ctx.invocation_key, os.getpid(), said, began)
        columns = "subscription, id, version, attempt, key, pid, said, began"
        await self._pool.execute(f"insert into {self.schema}.calls ({columns}) values ($1,$2,$3,$4,$5,$6,$7,$8)", *row)  # noqa: S608 - our own name

    async def broken(self, name: str) -> bool:
        """Tell whether an order is broken now."""
        return bool(await self._pool.fetchval(f"select 1 from {self.schema}.broken where id = $1", name))  # noqa: S608

    async def done(self, event: Event[Any], ctx: ReactContext) -> None:
        """Note that a call ends well."""
        row = (ctx.subscription, event.ref.id, event.version)
        await self._pool.execute(f"insert into {self.schema}.done (subscription, id, version) values ($1,$2,$3)", *row)  # noqa: S608


@retry(timeout="20s", recoverable=[ValueError])
class Notifier:
    """Called in its partition's process."""

    def __init__(self, witness: Witness) -> None:
        """Take the witness."""
        self.witness = witness

    @on_event
    async def on_paid(self, event: Event[Paid], ctx: ReactContext) -> None:
        """Do what the id says."""
        await self.witness.begun(event, ctx)
        if event.ref.id.startswith("bad-") and await self.witness.broken(event.ref.id):
            raise ValueError(f"{event.ref} is broken")
        if event.ref.id.startswith("slow-"):
            await asyncio.sleep(1)  # noqa: TID251 - a call that takes its time
        if event.ref.id.startswith("block-"):
            time.sleep(12)  # noqa: TID251, ASYNC251 - what must not be done: the loop hangs, longer than a lease
        await self.witness.done(event, ctx)


class Scorer:
    """Called in processes of its own."""

    def __init__(self, witness: Witness) -> None:
        """Take a witness of its own."""
        self.witness = witness

    @on_event
    async def on_paid(self, event: StateEvent[Bill, Paid], ctx: ReactContext) -> None:
        """Do what the id says."""
        await self.witness.begun(event, ctx, event.state.cents)
        if event.ref.id.startswith("exit-"):
            os._exit(13)
        if event.ref.id.startswith("odd-") and ctx.attempt == 1:
            raise Odd(retry_after=1)
        await self.witness.done(event, ctx)


@retry(recoverable=[ValueError])
class Teller:
    """A handler that the second release does not have."""

    def __init__(self, witness: Witness) -> None:
        """Take the witness."""
        self.witness = witness

    @on_event
    async def on_paid(self, event: Event[Paid]) -> None:
        """Fail for orders that are broken."""
        if await self.witness.broken(event.ref.id):
            raise ValueError(f"{event.ref} cannot be told of")


class Sums:
    """A projection that the first release does not have."""

    def __init__(self, witness: Witness) -> None:
        """Take the witness."""
        self.witness = witness

    @on_event
    async def on_paid(self, event: Event[Paid], ctx: ProjectContext) -> None:
        """Note the call, within the projection's own transaction."""
        await ctx.connection.execute(
            f"insert into {self.witness.schema}.done (subscription, id, version) values ('Sums.on_paid', $1, $2)",  # noqa: S608
            event.ref.id,
            event.version,
        )


def make(context: str, schema: str, *, scores: bool = False, release: int = 0) -> App:
    """Make the app under a context and in a schema of its own.

    The second release tries twice where the others try four times, and projects `Sums`; only the first has a `Teller`.
    """
    app = App(
        context,
        settings={
            "postgres_schema": schema,
            "slots": 16,
            "subscription": {
                "retry": {"max_attempts": 2 if release == 2 else 4, "initial_backoff": "50ms"},
                "parked": {"initial_delay": "2s", "multiplier": 1.0},
            },
        },
    )

    @app.provide
    async def witness() -> AsyncIterator[Witness]:
        async with asyncpg.create_pool(os.environ[DSN], min_size=1, max_size=8) as pool:
            yield Witness(pool, schema)

    @app.retryable(durable=Durable(max_retries=3, initial_delay="100ms"), name="settle")
    async def settle(seconds: int) -> int:
        await asyncio.sleep(seconds)  # noqa: TID251 - a call that takes its time
        return os.getpid()

    app.reactor(start="beginning")(Notifier)
    if release == 1:
        app.reactor(start="beginning")(Teller)
    if release == 2:
        app.projection(Sums)
    if scores:
        app.reactor(start="beginning", isolation="actor", num_cpus=0.01)(Scorer)
    return app
