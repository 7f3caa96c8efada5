"""The operators' window on the store in memory: an app that can be broken, what operators see of it, and a client."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx
from pydantic import BaseModel

from wow_ray import Aggregate, App, Event, on_event, retry
from wow_ray.ops import Known, Operations
from wow_ray.ops.access import Access
from wow_ray.ops.http import api
from wow_ray.testing import Scenario
from wow_ray.testing.clock import at_rest
from wow_ray.testing.scenario import Running

order = Aggregate("order")
Stop = Callable[[], Awaitable[None]]
GROUP = "Notifier.on_placed"
PROBLEM = "application/problem+json"


@order.event("order_placed")
class Placed(BaseModel):
    """An order was placed."""


class Carrier:
    """A downstream that can be broken."""

    def __init__(self) -> None:
        self.broken: set[str] = set()
        self.told: list[tuple[str, int]] = []
        self.away = False

    async def tell(self, aggregate_id: str, version: int) -> None:
        """Take a notice, or fail."""
        if self.away:
            raise ConnectionRefusedError("the carrier is away")
        if aggregate_id in self.broken:
            raise ValueError(f"no carrier for {aggregate_id}")
        self.told.append((aggregate_id, version))


def made_app(context: str = "shop") -> App:
    """An app with one handler that calls the carrier twice at most."""
    app = App(context)

    @app.reactor(start="beginning")
    @retry(max_attempts=2, initial_backoff="10ms", recoverable=[ValueError])
    class Notifier:
        def __init__(self, carrier: Carrier) -> None:
            self.carrier = carrier

        @on_event
        async def on_placed(self, event: Event[Placed]) -> None:
            await self.carrier.tell(event.ref.id, event.version)

    return app


class Window:
    """The API of a running app, and the app."""

    def __init__(self, running: Running, carrier: Carrier, client: httpx.AsyncClient, stop: Stop) -> None:
        self.running = running
        self.runs = True
        self._stop = stop
        self.carrier = carrier
        self.client = client
        self.headers: dict[str, str] = {}
        """What is sent with whatever is asked."""

    async def place(self, *ids: str) -> None:
        """Append one event to each aggregate and let it be handled."""
        for identity in ids:
            await self.running.store.append(order(identity), [Placed()], expected_version=None)
        await self.running.advance("1s")

    async def park(self, *ids: str) -> list[dict[str, Any]]:
        """Have aggregates parked; gives their rows in that order."""
        self.carrier.broken |= set(ids)
        await self.place(*ids)
        rows = {row["aggregate_id"]: row for row in (await self.seen("/api/v1/parked"))["rows"]}
        return [rows[identity] for identity in ids]

    async def stop(self) -> None:
        """End the app; its store stays."""
        self.runs = False
        await self._stop()

    async def seen(self, path: str) -> Any:  # noqa: ANN401 - JSON
        """Give what a page shows."""
        answer = await self.client.get(path, headers=self.headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def submit(self, path: str, form: Mapping[str, str]) -> httpx.Response:
        """Send a form as a browser does, let six seconds pass, and follow where it leads."""
        asked = asyncio.ensure_future(self.client.post(path, data=form, headers=self.headers, follow_redirects=True))
        await at_rest()
        await (self.running.advance("6s") if self.runs else self.running.clock.advance(6.0))
        return await asked

    async def ask(self, path: str, body: dict[str, Any], **headers: str) -> httpx.Response:
        """Ask for something, and let six seconds pass."""
        asked = asyncio.ensure_future(
            self.client.post(
                path, json=body, headers=self.headers | {name.replace("_", "-"): each for name, each in headers.items()}
            )
        )
        await at_rest()
        await (self.running.advance("6s") if self.runs else self.running.clock.advance(6.0))
        return await asked


@asynccontextmanager
async def client_of(
    operations: Operations | Exception, address: str = "http://127.0.0.1", access: Access | None = None
) -> AsyncIterator[Any]:
    """Give a client of the API on these operations, or on such as cannot be opened."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Operations]:
        if isinstance(operations, Exception):
            raise operations
        yield operations

    transport = httpx.ASGITransport(api(opened, access), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url=address) as client:
        yield client


def operations_of(running: Running, kind: type[Operations] = Operations) -> Operations:
    """Open operations on the store of a running app."""
    ids = itertools.count(1)
    return kind(
        "shop",
        client=running.memory.client_stores(),
        overview=running.memory.overview(),
        clock=running.clock,
        new_id=lambda: f"r-{next(ids)}",
        known=Known.of_app(running.service.spec),
    )


@asynccontextmanager
async def a_window(access: Access | None = None) -> AsyncIterator[Window]:
    """Run the app, and open its window."""
    carrier = Carrier()
    async with AsyncExitStack() as scenario:
        running = await scenario.enter_async_context(Scenario(made_app(), {Carrier: carrier}))
        async with client_of(operations_of(running), access=access) as client:
            yield Window(running, carrier, client, scenario.aclose)


def is_problem(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """Check that an answer is a problem with everything a problem has; gives it."""
    assert (answer.status_code, answer.headers["content-type"]) == (status, PROBLEM), answer.text
    found: dict[str, Any] = answer.json()
    assert (found["code"], found["status"]) == (code, status)
    assert found["detail"]
    assert found["next"]
    return found
