"""The bus of wake-ups that the settings ask for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from wow_ray.adapters.postgres import Database
from wow_ray.adapters.postgres.wakes import PostgresWakes
from wow_ray.ports.clock import Clock
from wow_ray.ports.wakes import Wakes
from wow_ray.settings import Settings


@asynccontextmanager
async def open_wakes(settings: Settings, database: Database, clock: Clock) -> AsyncIterator[Wakes | None]:
    """Open the bus of wake-ups: Redis if the settings name one, else NOTIFY; `None` = neither, the poll suffices."""
    wakes: Wakes
    if settings.redis_url is not None:
        from wow_ray.adapters.redis.wakes import RedisWakes  # noqa: PLC0415 - only who uses Redis pays for its client

        wakes = RedisWakes(settings.redis_url, database.schema, database.context, clock)
    elif database.pgbouncer:
        yield None
        return
    else:
        wakes = PostgresWakes(database, clock)
    try:
        yield wakes
    finally:
        await wakes.close()
