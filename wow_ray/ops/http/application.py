"""Puts the application together.

A guard stands before all of it. Where no tokens are configured, nobody is asked who they are, so it answers on this
machine and under a name of it only: a page on the web that has its own name point here (DNS rebinding) is refused, and
so is a form of another site, which cannot send JSON and carries another origin. Probes may come under any name.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from fastapi import APIRouter, FastAPI

from wow_ray.ops.access import Access
from wow_ray.ops.call_bulk import CallBatches
from wow_ray.ops.console.application import add_console
from wow_ray.ops.console.rendering import refusal
from wow_ray.ops.http import (
    asking,
    bulk,
    calling,
    events,
    functions,
    health,
    history,
    looking,
    measuring,
    notifying,
    pausing,
    scaling,
    services,
)
from wow_ray.ops.http.describing import describe
from wow_ray.ops.http.door import Door, Opened
from wow_ray.ops.http.guard import Guard
from wow_ray.ops.http.problems import DOCUMENTED, tell_problems
from wow_ray.ops.http.several import Apart, Directory, Several, at_of
from wow_ray.ops.parked_bulk import ParkedBatches

PREFIX = "/api/v1"


def api(opened: Opened, access: Access | None = None, several: Several | None = None) -> FastAPI:
    """Make the application; `opened` opens what it works with, at the first request.

    Without `access` no tokens are configured, and this machine alone is answered. `several` are the services besides
    this one, the home.
    """
    access = access or Access()
    if several is None:
        return _of_one("", "", opened, access, Directory(None))
    directory = Directory(several.clock)
    home = _of_one(several.home, "", opened, access, directory)
    for other in several.others:
        _of_one(other.name, at_of(other.name), other.opened, other.access, directory)
    home.add_middleware(Apart, directory=directory)
    return home


def _of_one(name: str, at: str, opened: Opened, access: Access, directory: Directory) -> FastAPI:
    """Make the application of one service, and put it into the directory; the first one, the home, ends all of them."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            if not at:
                for place in directory.places[1:]:
                    await stack.enter_async_context(place.app.router.lifespan_context(place.app))
                stack.push_async_callback(directory.close)
            yield
            await batches.close()
            await call_batches.close()
            await door.close()

    door = Door(opened)
    app = FastAPI(
        title="wow-ray",
        summary="What operators see and ask.",
        version="1",
        docs_url=None,  # it would load scripts from elsewhere; the console has its own
        redoc_url=None,
        strict_content_type=True,
        servers=[{"url": at}] if at else None,
        lifespan=lifespan,
    )
    directory.add(name, at, app, door, access)
    app.state.at = at
    app.state.directory = directory
    app.state.door = door
    app.state.batches = batches = ParkedBatches(door.operations)
    app.state.call_batches = call_batches = CallBatches(door.operations)
    app.state.pulse = events.Pulse()
    app.state.notices_pulse = events.Pulse(events.deliveries)
    app.state.meter = measuring.Meter()
    version = APIRouter(prefix=PREFIX, responses=dict(DOCUMENTED))
    version.include_router(bulk.parked)
    version.include_router(looking.router)
    version.include_router(history.router)
    version.include_router(asking.router)
    version.include_router(pausing.router)
    version.include_router(bulk.calls)
    version.include_router(calling.router)
    version.include_router(functions.router)
    version.include_router(notifying.router)
    version.include_router(events.router)
    version.include_router(scaling.router)
    if not at and directory.clock is not None:
        version.include_router(services.router)
    app.include_router(version)
    app.include_router(measuring.router, responses=dict(DOCUMENTED))
    app.include_router(health.router, responses={503: DOCUMENTED[503]})
    add_console(app, access)
    tell_problems(app)
    describe(app)
    app.add_middleware(Guard, access=access, page=partial(refusal, at=at), service=name)
    return app
