"""The app that is run on Ray: its handler writes every call down in the store, where no kill reaches it."""

import os
from collections.abc import AsyncIterator

import asyncpg

from benchmarks.workload import CONTEXT, Booked
from wow_ray import App, Event, on_event

DSN = "WOW_RAY_POSTGRES_DSN"

TABLE = """
create table calls (
    call bigserial primary key, account text not null, number int not null, pid int not null,
    at timestamptz not null default clock_timestamp()
)
"""

app = App(CONTEXT)


class Book:
    """Where calls are written down, each in a transaction of its own."""

    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]") -> None:
        """Keep the connections."""
        self.pool = pool

    async def write(self, body: Booked) -> None:
        """Write one call down."""
        sql = "insert into calls (account, number, pid) values ($1, $2, $3)"
        await self.pool.execute(sql, body.account, body.number, os.getpid())


@app.provide
async def book() -> AsyncIterator[Book]:
    """Open the connections."""
    async with asyncpg.create_pool(os.environ[DSN], min_size=1, max_size=8) as pool:
        yield Book(pool)


@app.reactor(start="beginning")
class Writer:
    """Writes every event's call down."""

    def __init__(self, book: Book) -> None:
        """Take the book."""
        self.book = book

    @on_event
    async def on_booked(self, event: Event[Booked]) -> None:
        """Handle one."""
        await self.book.write(event.body)
