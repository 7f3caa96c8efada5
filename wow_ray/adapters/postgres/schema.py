"""What a database was made with, and whether this program may work on it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

import asyncpg

from wow_ray.adapters.postgres.connect import Connection, Database, connect
from wow_ray.adapters.postgres.errors import translated
from wow_ray.adapters.postgres.statements import statements
from wow_ray.errors import ConfigurationError, SchemaError
from wow_ray.policy.slots import check_hash

_COMPATIBLE = re.compile(r"^-- Compatible from: (\d+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered file.

    `compatible_from` is the oldest program, by the number of its newest migration, that works with it.
    """

    number: int
    name: str
    text: str
    compatible_from: int


@dataclass(frozen=True, slots=True)
class Facts:
    """What is stored about a schema."""

    schema_version: int
    compatible_from: int
    context: str
    slots: int
    hash: str
    hash_vectors: str


@cache
def migrations() -> tuple[Migration, ...]:
    """Give all migrations of this program, in order."""
    found = []
    for file in sorted((files(__package__) / "migrations").iterdir(), key=lambda file: file.name):
        text = file.read_text(encoding="utf-8")
        stated = _COMPATIBLE.search(text)
        assert stated is not None, file.name  # noqa: S101 - a file of ours, checked by the first test that migrates
        found.append(Migration(int(file.name[:4]), file.name.removesuffix(".sql"), text, int(stated[1])))
    return tuple(found)


async def facts(connection: Connection, schema: str) -> Facts | None:
    """Read what is stored about a schema; `None` = it was never migrated."""
    sql = statements(schema)
    if not await connection.fetchval(sql["has_meta"]):
        return None
    row = await connection.fetchrow(sql["meta"])
    return None if row is None else Facts(*row)


async def check(database: Database) -> Database:
    """Answer the database with the number of slots it was made with, when this program may work on it.

    Raises `SchemaError` telling to migrate or to take a newer program, `ConfigurationError` when the schema is another
    app's, and `StoreUnavailableError` when it cannot be reached.
    """
    try:
        connection = await connect(database, "check")
        try:
            stored = await facts(connection, database.schema)
        finally:
            await connection.close()
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise translated(error) or error from error
    if stored is None:
        msg = f"there is no schema {database.schema!r} of ours in this database; run `wow-ray migrate`"
        raise SchemaError(msg)
    check_facts(stored, database)
    return replace(database, slots=stored.slots)


def check_facts(stored: Facts, database: Database) -> None:
    """Refuse a schema that is too old or too new for this program, hashes otherwise, or belongs to another app."""
    newest = migrations()[-1].number
    if stored.context != database.context:
        msg = (
            f"schema {database.schema!r} belongs to the app {stored.context!r}, and this is {database.context!r}; "
            f"give each app a schema of its own: postgres_schema={database.context!r}"
        )
        raise ConfigurationError(msg, "WOW-CONTEXT")
    if stored.compatible_from > newest:
        msg = (
            f"schema {database.schema!r} is at {stored.schema_version} and serves programs from "
            f"{stored.compatible_from} on; this one knows {newest}: take a newer program"
        )
        raise SchemaError(msg)
    if stored.schema_version < newest:
        at = stored.schema_version
        msg = f"schema {database.schema!r} is at {at}, this program needs {newest}; run `wow-ray migrate`"
        raise SchemaError(msg)
    vectors = [
        ((context, aggregate, identity), value)
        for (context, aggregate, identity), value in json.loads(stored.hash_vectors)
    ]
    check_hash(stored.hash, vectors)
