"""Running an app in this process, on one partition or several, through the same door as `wow-ray dev`."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any

from wow_ray import App
from wow_ray.adapters.postgres import Database
from wow_ray.cluster import open_service, settings_of
from wow_ray.runtime.service import Service

LOOK = 0.01
"""Seconds between two looks whether something has happened."""


@asynccontextmanager
async def running(
    app: App, database: Database, partitions: int = 1, environ: Mapping[str, str] | None = None
) -> AsyncIterator[Service]:
    """Run it with the default settings, apart from those that the app and `environ` bring."""
    settings = settings_of(app, environ=environ or {})
    async with open_service(app.resolved(settings), settings, database, partitions=partitions) as service:
        yield service


async def happened(service: Service, *awaited: Coroutine[Any, Any, Any], patience: float) -> None:
    """Wait for all of these; raises what ended the service before, and `TimeoutError` after `patience` seconds."""
    over = asyncio.ensure_future(service.wait())

    async def all_of_it() -> None:
        async with asyncio.timeout(patience), asyncio.TaskGroup() as group:
            for each in awaited:
                group.create_task(each)

    waiting = asyncio.ensure_future(all_of_it())
    try:
        await asyncio.wait({over, waiting}, return_when=asyncio.FIRST_COMPLETED)
        await (over if over.done() else waiting)
    finally:
        for future in (over, waiting):
            future.cancel()
        await asyncio.gather(over, waiting, return_exceptions=True)


async def until(condition: Callable[[], bool], what: str, patience: float = 60.0) -> float:
    """Wait until the condition holds; answers the time. Raises `TimeoutError` naming what was waited for."""
    ends = time.monotonic() + patience
    while not condition():
        if time.monotonic() > ends:
            raise TimeoutError(f"not within {patience:.0f} s: {what}")
        await asyncio.sleep(LOOK)
    return time.monotonic()
