"""Running an app in this process on one partition, through the same door as `wow-ray dev`."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from wow_ray import App
from wow_ray.adapters.postgres import Database
from wow_ray.cluster import open_service, settings_of
from wow_ray.runtime.service import Service


@asynccontextmanager
async def running(app: App, database: Database) -> AsyncIterator[Service]:
    """Run it with the default settings."""
    settings = settings_of(app, environ={})
    async with open_service(app.resolved(settings), settings, database, partitions=1) as service:
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
