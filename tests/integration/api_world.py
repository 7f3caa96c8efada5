"""An app with something of everything, served as `wow-ray dev` serves it, in a thread: what the API's tests call.

A parked aggregate, an exhausted call, a paused group, a projection, a webhook that is gone, on a real Postgres.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field

from pydantic import BaseModel

from tests.waiting import until
from wow_ray import Aggregate, App, Durable, Event, on_event, retry
from wow_ray.cli.console import served_console
from wow_ray.cluster import Database, migrated, open_operations, open_service
from wow_ray.ops import CallQuery, Command, Operations, ParkedQuery
from wow_ray.ops.access import Role, made_token
from wow_ray.settings import load

TOKENS = {role: made_token(role.value, role) for role in Role}
HELD = 4
app = App("shop")
order = Aggregate("order")


@order.event("order_placed")
class Placed(BaseModel):
    """An order was placed."""


@app.reactor(start="beginning")
@retry(max_attempts=1, recoverable=[ValueError])
class Notifier:
    """Finds no carrier."""

    @on_event
    async def on_placed(self, event: Event[Placed]) -> None:
        """Fail."""
        raise ValueError(f"no carrier for {event.ref.id}")


@app.projection()
class Sales:
    """Counts nothing."""

    @on_event
    async def on_placed(self, event: Event[Placed]) -> None:
        """Handle it."""


@app.retryable(durable=Durable(max_retries=0), raise_error=True)
async def refund(order_id: str) -> None:
    """Fail, so that the call is exhausted."""
    raise ValueError(f"no refund of {order_id}")


@dataclass(slots=True)
class World:
    """What is served, and what there is to ask for by the names of the paths' parameters."""

    address: str = ""
    known: dict[str, list[str]] = field(default_factory=dict)

    @staticmethod
    def header(role: Role) -> dict[str, str]:
        """Give the header of somebody who has a role."""
        return {"Authorization": f"Bearer {TOKENS[role][0]}"}


@contextmanager
def served(dsn: str, schema: str) -> Iterator[World]:
    """Serve it during the block."""
    ready: Future[World] = Future()
    loop = asyncio.new_event_loop()
    ended = asyncio.Event()

    async def serving() -> None:
        try:
            await _serve(Database(dsn, "shop", schema), ready, ended)
        except BaseException as error:
            if ready.done():
                raise
            ready.set_exception(error)

    thread = threading.Thread(target=lambda: loop.run_until_complete(serving()), name="served")
    thread.start()
    try:
        yield ready.result(60)
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(60)
        loop.close()


async def _serve(database: Database, ready: Future[World], ended: asyncio.Event) -> None:
    """Run the app and its console until it is to end."""
    webhook = {"url": "http://127.0.0.1:1/", "allow_private": True, "signed": False}
    given = {"postgres_schema": database.schema, "slots": 4, "partitions": 1, "notices": webhook}
    settings = load(
        given | {"ops": {"port": 0, "tokens": ",".join(one.line() for _, one in TOKENS.values())}}, None, {}
    )
    await migrated(database, settings)
    spec = app.resolved(settings)
    async with (
        open_service(spec, settings, database),
        open_operations(database, spec) as operations,
        served_console(operations, settings) as address,
    ):
        ready.set_result(World(address, await _something_of_everything(operations)))
        await ended.wait()


async def _something_of_everything(operations: Operations) -> dict[str, list[str]]:
    """Have rows parked and a call exhausted, and a notice on its way."""
    why = Command("ann", "because")
    async with app.connect() as client:
        for number in range(HELD):
            await client.store.append(order(f"o-{number}"), [Placed()], expected_version=None)
        await refund.submit("o-1")

        async def is_there() -> bool:
            rows = await operations.count(ParkedQuery())
            calls = (await operations.calls.listed(CallQuery())).calls
            return rows.rows == HELD and [each.state for each in calls] == ["exhausted"]

        await until(is_there, "the rows to be parked and the call to be exhausted")
    tried = await operations.notices.test("default", why)
    rows = (await operations.parked(ParkedQuery())).rows
    calls = (await operations.calls.listed(CallQuery())).calls
    return {
        "row_id": [each.id for each in rows],
        "name": ["Notifier.on_placed", "Sales", "refund"],
        "call_id": [each.id for each in calls],
        "delivery_id": [] if tried.delivery is None else [tried.delivery.id],
        "batch_id": ["none"],
        "verb": ["retry"],
    }
