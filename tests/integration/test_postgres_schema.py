# ruff: noqa: S608 - the only thing put into a statement's text is the name of the test's own schema
"""Making and checking the schema, and the SQL that the adapter carries (H37, H38)."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import asyncpg
import pytest

import wow_ray.adapters.postgres as adapter
from wow_ray.adapters.postgres import Database, check, migrate
from wow_ray.adapters.postgres.statements import SUBJECTS, parsed, table_of, text_of
from wow_ray.errors import ConfigurationError, SchemaError, SettingsError, StoreUnavailableError
from wow_ray.policy.slots import TEST_VECTORS, slot_of

FOLDER = Path(adapter.__file__).parent


async def test_many_may_migrate_at_once_and_one_does(postgres_dsn: str, schema: str) -> None:
    """Five programs start together: every migration is applied once, in order, by one of them."""
    answers = await asyncio.gather(*(migrate(postgres_dsn, schema, 32, "shop") for _ in range(5)))

    assert sorted(map(len, answers)) == [0, 0, 0, 0, max(map(len, answers))]
    assert max(answers) == sorted(max(answers))
    assert await migrate(postgres_dsn, schema, None, "shop") == []
    assert (await check(Database(postgres_dsn, "shop", schema))).slots == 32


async def test_slots_context_and_hash_are_fixed_for_ever(postgres_dsn: str, schema: str) -> None:
    """H37: another number of slots, another app and another hash are refused, each naming what to change."""
    await migrate(postgres_dsn, schema, 32, "shop")
    database = Database(postgres_dsn, "shop", schema)

    with pytest.raises(SettingsError, match="32"):
        await migrate(postgres_dsn, schema, 64, "shop")
    with pytest.raises(ConfigurationError, match="postgres_schema='billing'"):
        await migrate(postgres_dsn, schema, 32, "billing")
    with pytest.raises(ConfigurationError, match="postgres_schema='billing'"):
        await check(replace(database, context="billing"))
    await run(postgres_dsn, f"UPDATE {schema}.meta SET hash = 'sha-be32-mod'")
    with pytest.raises(SchemaError, match="sha-be32-mod"):
        await check(database)


async def test_a_program_refuses_only_what_does_not_serve_it(postgres_dsn: str, schema: str) -> None:
    """An older schema asks for `wow-ray migrate`, one that serves only newer programs for a newer one.

    A newer, serving one passes.
    """
    database = Database(postgres_dsn, "shop", schema)
    with pytest.raises(SchemaError, match="wow-ray migrate"):
        await check(database)
    await migrate(postgres_dsn, schema, 32, "shop")

    await run(postgres_dsn, f"UPDATE {schema}.meta SET schema_version = 999")
    await check(database)
    await run(postgres_dsn, f"UPDATE {schema}.meta SET compatible_from = 999")
    with pytest.raises(SchemaError, match="newer program"):
        await check(database)
    await run(postgres_dsn, f"UPDATE {schema}.meta SET schema_version = 1, compatible_from = 1")
    with pytest.raises(SchemaError, match="wow-ray migrate"):
        await check(database)


async def test_a_server_that_is_not_there_is_unavailable(postgres_dsn: str) -> None:
    """Whoever starts first waits for the database rather than for a programmer."""
    away = "postgresql://postgres@127.0.0.1:1/postgres"
    with pytest.raises(StoreUnavailableError):
        await check(Database(away, "shop"))
    with pytest.raises(StoreUnavailableError):
        await migrate(away, "wow", 256, "shop")
    with pytest.raises(SettingsError, match="postgres_schema"):
        await migrate(postgres_dsn, 'x"; drop schema public; --', 256, "shop")


@pytest.mark.parametrize("slots", [1, 5, 16, 100, 256, 4096])
async def test_sql_and_python_find_the_same_slot_and_table(postgres_dsn: str, schema: str, slots: int) -> None:
    """H37, H38: the hash of ten test vectors, the slot of hundreds of ids, the table of every slot."""
    await migrate(postgres_dsn, schema, slots, "shop")
    connection = await asyncpg.connect(postgres_dsn)
    try:
        for vector, expected in TEST_VECTORS:
            assert await connection.fetchval(f"SELECT {schema}.hash32($1, $2, $3)", *vector) == expected
        ids = [f"o-{n}" for n in range(300)]
        found = await connection.fetch(f"SELECT {schema}.slot_of('order', id) FROM unnest($1::text[]) id", ids)
        tables = await connection.fetch(f"SELECT {schema}.table_of(n) FROM generate_series(0, {slots - 1}) n")
        bounds = await connection.fetch(
            "SELECT c.relname, pg_get_expr(c.relpartbound, c.oid) AS bound FROM pg_inherits i "
            "JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = $1::text::regclass ORDER BY 1",
            f"{schema}.events",
        )
    finally:
        await connection.close()

    assert [row[0] for row in found] == [slot_of("shop", "order", id_, slots) for id_ in ids]
    assert [row[0] for row in tables] == [table_of(slot, slots) for slot in range(slots)]
    for row in bounds:
        first, end = map(int, re.findall(r"\d+", row["bound"]))
        assert {table_of(slot, slots) for slot in range(first, end)} == {int(row["relname"].removeprefix("events_"))}


def test_every_statement_has_a_sentence_and_one_caller() -> None:
    """Each name is said what for, and stands in the one module that its caller is in, once."""
    columns = {"rows", "statements"}  # there the same words are columns
    sources = {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py") if path.stem not in columns}
    found = [(name, said) for subject in SUBJECTS for name, (said, _) in parsed(text_of(subject)).items()]

    assert len(found) == len({name for name, _ in found})
    for name, said in found:
        caller = re.search(r"^-- Caller: (\w+)\.\w+\.$", said, re.MULTILINE)
        assert caller is not None, name
        assert re.match(r"-- [A-Z][^.]*\.", said), name
        uses = {module: len(re.findall(rf'(?:\(\s*|sql\[)f?"{name}["/]', text)) for module, text in sources.items()}
        assert {module: count for module, count in uses.items() if count} == {caller[1]: 1}, name


async def run(dsn: str, sql: str) -> None:
    """Run a statement."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(sql)
    finally:
        await connection.close()
