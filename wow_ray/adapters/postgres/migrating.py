"""Bringing a schema up to date: numbered files, each applied once, all in one transaction under a lock."""

from __future__ import annotations

import json
from dataclasses import replace

import asyncpg

from wow_ray.adapters.postgres.connect import Connection, Database, connect
from wow_ray.adapters.postgres.errors import translated
from wow_ray.adapters.postgres.schema import Facts, check_facts, facts, migrations
from wow_ray.adapters.postgres.statements import checked_schema, rendered, statements
from wow_ray.errors import SchemaError, SettingsError
from wow_ray.names import checked_name
from wow_ray.policy.slots import HASH_NAME, TEST_VECTORS, check_slot_count

DEFAULT_SLOTS = 256


async def migrate(dsn: str, schema: str, slots: int | None, context: str) -> list[str]:
    """Make or update the schema; answers the names of the migrations applied, none when it was up to date.

    The first call fixes context, number of slots (`None` = 256) and hash for ever. May be called by many at once, and
    again at any time. Raises `SettingsError` for another number of slots than the schema has, `ConfigurationError` for
    another app's schema, `SchemaError` when the schema is newer than this program, `StoreUnavailableError` when the
    database cannot be reached.
    """
    database = Database(dsn, checked_name(context, "an app"), checked_schema(schema))
    if slots is not None:
        check_slot_count(slots)
    try:
        connection = await connect(database, "migrate", lock_timeout="60s")
        try:
            async with connection.transaction():
                return await _applied(connection, database, slots)
        finally:
            await connection.close()
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise translated(error) or error from error


async def _applied(connection: Connection, database: Database, slots: int | None) -> list[str]:
    """Apply what is missing, under the lock."""
    sql = statements(database.schema)
    await connection.execute(sql["lock_migration"])
    encoding = await connection.fetchval(sql["encoding"])
    if encoding != "UTF8":
        msg = f"the database is encoded in {encoding}; make one with ENCODING 'UTF8'"
        raise SchemaError(msg)
    stored = await facts(connection, database.schema) or await _fixed(connection, database, slots or DEFAULT_SLOTS)
    if slots is not None and slots != stored.slots:
        msg = f"slots is {slots}, this log was made with {stored.slots}; that never changes: leave the setting out"
        raise SettingsError(msg, "WOW-SLOTS")
    todo = [migration for migration in migrations() if migration.number > stored.schema_version]
    values = {"schema": f'"{database.schema}"', "slots": str(stored.slots), "context": f"'{database.context}'"}
    for migration in todo:
        await connection.execute(rendered(migration.text, values))
        await connection.execute(sql["note_migration"], migration.number, migration.name)
    if todo:
        await connection.execute(sql["set_versions"], todo[-1].number, todo[-1].compatible_from)
        stored = replace(stored, schema_version=todo[-1].number, compatible_from=todo[-1].compatible_from)
    check_facts(stored, database)
    return [migration.name for migration in todo]


async def _fixed(connection: Connection, database: Database, slots: int) -> Facts:
    """Make the schema, and fix for ever what never changes."""
    sql = statements(database.schema)
    await connection.execute(sql["create_schema"])
    await connection.execute(sql["create_meta"])
    vectors = json.dumps(TEST_VECTORS)
    await connection.execute(sql["fix_meta"], database.context, slots, HASH_NAME, vectors)
    return Facts(0, 0, database.context, slots, HASH_NAME, vectors)
