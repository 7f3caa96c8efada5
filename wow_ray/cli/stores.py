"""Where the store of a service is that the settings name, for whoever asks something of it; no web server is loaded.

A service that says no word about its database lies in that of the app, in a schema of its own; where the app has a
private server, in the private server of that service's context.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from wow_ray.cluster import Database, database_of, open_operations
from wow_ray.names import checked_name
from wow_ray.ops import Operations
from wow_ray.settings import Settings

SCHEMA: str = Settings.model_fields["postgres_schema"].default


@dataclass(frozen=True, slots=True)
class OperationsOf:
    """Opens the operations of a service that the settings name; its app is not imported."""

    context: str
    settings: Settings

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[Operations]:
        """Find its store, which may be another one by now, and connect."""
        async with open_operations(self.database()) as operations:
            yield operations

    def database(self) -> Database:
        """Find its store; raises `NotConnectedError` when there is none."""
        return database_of(self.settings, self.context)


def operations_of(settings: Settings, name: str) -> OperationsOf:
    """Give what opens the service of that name; raises `SettingsError` when its name is none for a context."""
    given = settings.ops.services[name]
    context = checked_name(given.context or name, "a context")
    changed: dict[str, object] = {}
    if given.has_database:
        changed |= {"postgres_dsn": given.postgres_dsn, "postgres_dsn_file": given.postgres_dsn_file}
        changed["postgres_schema"] = SCHEMA
    if given.postgres_schema is not None:
        changed["postgres_schema"] = given.postgres_schema
    if given.pgbouncer is not None:
        changed["pgbouncer"] = given.pgbouncer
    # Where calls lie is said by an address or by none: what the app does with its own says nothing of the others'.
    store = "postgres" if given.redis_url is None else "redis"
    changed |= {"redis_url": given.redis_url, "calls": settings.calls.model_copy(update={"store": store})}
    return OperationsOf(context, settings.model_copy(update=changed))
