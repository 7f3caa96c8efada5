"""The app that is scaled on Ray: calls of the steady load are written down, of the bulk only the order is checked."""

import os
import time
from collections.abc import AsyncIterator

import asyncpg

from benchmarks.checkers import Checker
from benchmarks.ray_app import DSN
from benchmarks.workload import CONTEXT, Booked
from wow_ray import App, Event, on_event

STEADY = "a-"
"""What the accounts of the steady load begin with."""
TABLE = """
create table calls (
    call bigserial primary key, account text not null, number int not null, pid int not null,
    sent float8 not null, at float8 not null
)
"""

app = App(CONTEXT)


class Book:
    """Where calls are written down, each in a transaction of its own; `checker` follows the bulk in this process."""

    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]") -> None:
        """Keep the connections."""
        self.pool = pool
        self.checker = Checker()

    async def write(self, body: Booked) -> None:
        """Write one call down, with when the event was sent and when it is handled, by the machine's clock."""
        sql = "insert into calls (account, number, pid, sent, at) values ($1, $2, $3, $4, $5)"
        await self.pool.execute(sql, body.account, body.number, os.getpid(), body.sent, time.monotonic())


@app.provide
async def book() -> AsyncIterator[Book]:
    """Open the connections."""
    async with asyncpg.create_pool(os.environ[DSN], min_size=1, max_size=4) as pool:
        yield Book(pool)


@app.reactor(start="beginning")
class Reader:
    """Handles every event."""

    def __init__(self, book: Book) -> None:
        """Take the book."""
        self.book = book

    @on_event
    async def on_booked(self, event: Event[Booked]) -> None:
        """Handle one; an event of the bulk that comes twice or too early raises, is parked, and fails the benchmark."""
        if event.body.account.startswith(STEADY):
            await self.book.write(event.body)
            return
        checker = self.book.checker
        checker.saw(event.body.account, event.body.number)
        if checker.out_of_order or checker.duplicates:
            raise AssertionError(f"{event.body.account} {event.body.number}: out of order, or a second time")
