"""`wow-ray migrate`: make or update the schema."""

from __future__ import annotations

import asyncio

from wow_ray.cli.options import ContextOption, DataDirOption, DebugOption, JsonOption, SettingsOption, Target, Where
from wow_ray.cli.shown import console, document
from wow_ray.cluster import migrated


def migrate(
    app: Target = None,
    *,
    context: ContextOption = None,
    data_dir: DataDirOption = None,
    settings: SettingsOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Make or update the schema, unless it is up to date. The first time fixes context and slots for ever."""
    del debug  # looked at where errors are told
    found = Where(app, context, data_dir, settings).found()
    applied = asyncio.run(migrated(found.database, found.settings))
    schema = found.database.schema
    if as_json:
        document({"context": found.context, "schema": schema, "applied": applied})
    elif applied:
        console().print(f"schema {schema!r} of {found.context}: applied {', '.join(applied)}")
    else:
        console().print(f"schema {schema!r} of {found.context} is up to date")
