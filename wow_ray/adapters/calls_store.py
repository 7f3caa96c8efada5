"""A client's stores, with the durable calls where they lie: in the app's own Postgres, or on request in Redis (F6)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from wow_ray.adapters.postgres.connect import Database
from wow_ray.adapters.postgres.durable_calls import PostgresCallAudit, PostgresDurableCalls
from wow_ray.adapters.postgres.stores import open_client_stores
from wow_ray.ports.clock import Clock
from wow_ray.ports.stores import ClientStores
from wow_ray.ports.wakes import Wakes


@asynccontextmanager
async def open_stores(database: Database, clock: Clock, wakes: Wakes | None = None) -> AsyncIterator[ClientStores]:
    """Open what producers, callers and operators use; what is asked of calls in Redis is audited in Postgres.

    Raises what `open_client_stores` raises, and `SettingsError` for an address that is none.
    """
    async with open_client_stores(database, clock, wakes=wakes) as stores:
        if database.calls_url is None:
            yield stores
            return
        from wow_ray.adapters.redis.durable_calls import RedisDurableCalls  # noqa: PLC0415 - only who uses it pays

        assert isinstance(stores.calls, PostgresDurableCalls)  # noqa: S101 - it has just been opened
        audit = PostgresCallAudit(stores.calls.sessions)
        calls = RedisDurableCalls(database.calls_url, database.schema, database.context, audit)
        try:
            yield replace(stores, calls=calls)
        finally:
            await calls.close()
