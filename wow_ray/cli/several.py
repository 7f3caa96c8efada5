"""The services that the settings name beside an app's own: where the store of each is, and who is let in there.

All of it is read when a program starts, and nothing is connected to: a database that is away by then is shown as away.
A service that says no word about its database lies in that of the app, in a schema of its own; where the app has a
private server, in the private server of that service's context.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from wow_ray.cli.admitting import access_to
from wow_ray.cluster import Database, SystemClock, database_of, open_operations
from wow_ray.errors import SettingsError
from wow_ray.names import checked_name
from wow_ray.ops import Operations
from wow_ray.ops.access import Access
from wow_ray.ops.http.several import Service, Several
from wow_ray.settings import Settings
from wow_ray.settings.services import ServiceSettings

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


def several_of(settings: Settings, home: str, access: Access) -> Several:
    """Give the services beside the app whose context is `home`; an entry that is the app's own is left out.

    Raises `SettingsError` for one that has no store of its own, or tokens that cannot be read.
    """
    taken = {_place(settings, home): home}
    others = []
    for name, given in settings.ops.services.items():
        context = given.context or name
        if context == home:
            continue
        opened = operations_of(settings, name)
        place = _place(opened.settings, context)
        if place in taken:
            raise SettingsError(
                f"ops.services.{name} has the store of {taken[place]!r}; give it a postgres_schema of its own, or "
                "another database"
            )
        taken[place] = name
        others.append(Service(name, opened, _access(name, given, access)))
    if any(each.name == home for each in others):
        raise SettingsError(f"ops.services.{home} has the name of the app's own context, and is another; rename it")
    return Several(home, tuple(others), SystemClock())


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


def _access(name: str, given: ServiceSettings, home: Access) -> Access:
    """Give who is let in: the service's own people, else the app's."""
    if not given.has_tokens:
        return home.of_service(name)
    lines = None if given.tokens is None else given.tokens.get_secret_value()
    return access_to(given.tokens_file, lines, name)


def _place(settings: Settings, context: str) -> tuple[str, str]:
    """Tell stores apart, as far as the settings do: private servers are apart by their context."""
    given = settings.postgres_dsn_file or settings.postgres_dsn
    if given is None:
        return f"private {context}", ""
    text = given.get_secret_value() if hasattr(given, "get_secret_value") else f"file {given}"
    return text, settings.postgres_schema
