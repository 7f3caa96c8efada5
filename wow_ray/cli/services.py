"""`wow-ray services`: the app and the services that the settings name beside it, each by itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console

from wow_ray.cli.admitting import access_of
from wow_ray.cli.options import AppOption, DataDirOption, DebugOption, JsonOption, SettingsOption, Where
from wow_ray.cli.shown import console, document, length, table
from wow_ray.cluster import open_operations
from wow_ray.ops import Operations
from wow_ray.ops.services import Lookout, ServiceView, all_of

if TYPE_CHECKING:
    from wow_ray.ops.http.door import Opened


@dataclass(frozen=True, slots=True)
class _Home:
    """Opens the operations of the app, whose store may be away or not be found."""

    where: Where

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[Operations]:
        found = self.where.found()
        async with open_operations(found.database, found.spec) as operations:
            yield operations


def services(
    *,
    app: AppOption = None,
    data_dir: DataDirOption = None,
    settings: SettingsOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """List the app and the services of ops.services; one whose store is away says why, and the others are shown.

    Ask one of them anything with `--context NAME` in place of `--app`.
    """
    del debug  # looked at where errors are told
    found = asyncio.run(_looked(Where(app, None, data_dir, settings)))
    if as_json:
        document({"services": [each.to_json() for each in found]})
    else:
        _show(found, console())


async def _looked(where: Where) -> Sequence[ServiceView]:
    """Look at all of them at once, each in some seconds at most."""
    from wow_ray.cli.several import several_of  # noqa: PLC0415 - the other commands do without a web server
    from wow_ray.ops.http.door import Door  # noqa: PLC0415

    context, settings, _ = where.read()
    several = several_of(settings, context, access_of(settings))
    openers: list[tuple[str, Opened]] = [(context, _Home(where))]
    openers += [(other.name, other.opened) for other in several.others]
    doors = [(name, Door(opened)) for name, opened in openers]
    lookouts = [Lookout(name, "", door.operations, door.close, several.clock) for name, door in doors]
    try:
        return [each.view for each in await all_of(lookouts)]
    finally:
        for lookout in lookouts:
            await lookout.close()
        for _, door in doors:
            await door.close()


def _show(found: Sequence[ServiceView], page: Console) -> None:
    """Write them as a table."""
    rows = [
        (
            each.service,
            each.state.replace("_", " "),
            "" if each.oldest is None else length(each.oldest),
            _number(each.lag),
            _number(each.parked),
            _number(each.exhausted),
            _number(each.exhausted_calls),
            each.why,
        )
        for each in found
    ]
    table(page, ("SERVICE", "STATE", "OLDEST", "LAG", "PARKED", "FOR A PERSON", "CALLS FOR A PERSON", "WHY"), rows)


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
