"""Puts the application together.

Nobody is asked who they are, so the API answers under a name of this machine only: a page on the web that has its own
name point here (DNS rebinding) is refused, and so is a form of another site, which cannot send JSON. Probes may come
under any name.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, Depends, FastAPI, Request
from starlette.exceptions import HTTPException

from wow_ray.ops.http import asking, calling, health, looking, pausing
from wow_ray.ops.http.door import Door, Opened
from wow_ray.ops.http.problems import DOCUMENTED, tell_problems

PREFIX = "/api/v1"
HERE = frozenset({"127.0.0.1", "localhost", "::1"})
"""What this machine calls itself."""


def api(opened: Opened) -> FastAPI:
    """Make the application; `opened` opens what it works with, at the first request."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await door.close()

    door = Door(opened)
    app = FastAPI(
        title="wow-ray",
        summary="What operators see and ask.",
        version="1",
        docs_url=None,  # it would load scripts from elsewhere
        redoc_url=None,
        strict_content_type=True,
        lifespan=lifespan,
    )
    app.state.door = door
    version = APIRouter(prefix=PREFIX, dependencies=[Depends(_called_by_a_name_of_here)], responses=dict(DOCUMENTED))
    version.include_router(looking.router)
    version.include_router(asking.router)
    version.include_router(pausing.router)
    version.include_router(calling.router)
    app.include_router(version)
    app.include_router(health.router, responses={503: DOCUMENTED[503]})
    tell_problems(app)
    return app


async def _called_by_a_name_of_here(request: Request) -> None:
    """Refuse a request under another name."""
    if request.url.hostname not in HERE:
        raise HTTPException(403, f"this API has no name {request.url.hostname!r}; ask it at 127.0.0.1")
