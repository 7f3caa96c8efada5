"""The services that the settings name beside an app's own, as a console shows them: who is let in, and which are apart.

All of it is read when a program starts, and nothing is connected to: a database that is away by then is shown as away.
"""

from __future__ import annotations

from wow_ray.cli.admitting import access_to
from wow_ray.cli.stores import operations_of
from wow_ray.cluster import SystemClock
from wow_ray.errors import SettingsError
from wow_ray.ops.access import Access
from wow_ray.ops.http.several import Service, Several
from wow_ray.settings import Settings
from wow_ray.settings.services import ServiceSettings


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


def _access(name: str, given: ServiceSettings, home: Access) -> Access:
    """Give who is let in: the service's own people, else the app's."""
    if not given.has_tokens:
        return home.of_service(name)
    lines = None if given.tokens is None else given.tokens.get_secret_value()
    try:
        return access_to(given.tokens_file, lines, name)
    except SettingsError as error:
        raise SettingsError(f"ops.services.{name}: {error.message}", error.code) from error


def _place(settings: Settings, context: str) -> tuple[str, str]:
    """Tell stores apart, as far as the settings do: private servers are apart by their context."""
    given = settings.postgres_dsn_file or settings.postgres_dsn
    if given is None:
        return f"private {context}", ""
    text = given.get_secret_value() if hasattr(given, "get_secret_value") else f"file {given}"
    return text, settings.postgres_schema
