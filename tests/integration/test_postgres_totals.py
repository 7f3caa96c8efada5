# ruff: noqa: S608 - the only thing put into a statement's text is the name of the test's own schema
"""What is counted as it changes is what counting would find, whatever happens to the rows (P12)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from random import Random
from typing import Any

import asyncpg
import pytest

from wow_ray.adapters.postgres import Database, durable_calls, migrate, migrating
from wow_ray.adapters.postgres import schema as checking
from wow_ray.adapters.postgres.durable_calls import PostgresDurableCalls
from wow_ray.adapters.postgres.schema import migrations
from wow_ray.policy.durable_call import CallState

STATES = ("waiting", "parked", "retrying", "exhausted", "resolved", "skipped")
Connection = Any
"""`asyncpg.Connection`, which names its rows for type checkers alone."""

_ROW = """
INSERT INTO {schema}.parked (
    id, group_name, subscription, slot, aggregate, aggregate_id, state, reason, stopped_version, stopped_sequence,
    stopped_position, attempts, backpressure, retries, begun, told, etag, parked_at, updated_at, category, fingerprint)
VALUES ($1, $2, 's', $3, 'order', $1, $4, 'operator', 1, 0, 1, 1, 0, 0, false, true, 1, now(), now(), $5, $6)
ON CONFLICT (id) DO UPDATE SET state = excluded.state, category = excluded.category, fingerprint = excluded.fingerprint
"""
_CALL = """
INSERT INTO {schema}.durable_calls (id, function, payload, priority, state, due, attempts, spent)
VALUES ($1, $2, '{{}}', 1, $3, now(), 0, 0)
ON CONFLICT (id) DO UPDATE SET state = excluded.state
"""
_ROWS_DIFFER = """
WITH told AS (SELECT slot, group_name, state, category, fingerprint, rows FROM {schema}.parked_totals), counted AS (
    SELECT slot, group_name, state, coalesce(category, ''), coalesce(fingerprint, ''), count(*)
    FROM {schema}.parked WHERE open GROUP BY 1, 2, 3, 4, 5
)
(TABLE told EXCEPT TABLE counted) UNION ALL (TABLE counted EXCEPT TABLE told)
"""


@pytest.fixture
async def sessions(postgres_dsn: str, schema: str) -> AsyncIterator[list[Connection]]:
    """Three connections to a migrated schema."""
    await migrate(postgres_dsn, schema, 8, "shop")
    opened = [await asyncpg.connect(postgres_dsn) for _ in range(3)]
    yield opened
    for each in opened:
        await each.close()


async def test_rows_are_counted_through_every_change(sessions: list[Connection], schema: str) -> None:
    """Parked, changed, ended, renamed, deleted, rolled back, by several owners at once: the sums stay right."""
    dice = Random(7)  # noqa: S311 - the same changes each time

    async def owner(session: Connection, slot: int) -> None:
        for step in range(60):
            args = [
                (f"r-{slot}-{dice.randrange(20)}", f"G{dice.randrange(2)}", slot, dice.choice(STATES), *error)
                for error in dice.choices([(None, None), ("recoverable", "f-1"), ("systemic", "f-2")], k=4)
            ]
            change = session.transaction()
            await change.start()
            await session.executemany(_ROW.format(schema=schema), args)
            await (change.rollback() if step % 7 == 0 else change.commit())
            if step % 10 == 0:
                await session.execute(f"DELETE FROM {schema}.parked WHERE slot = $1 AND id LIKE '%5'", slot)

    await asyncio.gather(*(owner(session, slot) for slot, session in enumerate(sessions)))
    assert await sessions[0].fetch(_ROWS_DIFFER.format(schema=schema)) == []

    await sessions[0].execute(f"UPDATE {schema}.parked SET group_name = 'Renamed'")
    assert await sessions[0].fetch(_ROWS_DIFFER.format(schema=schema)) == []
    await sessions[0].execute(f"DELETE FROM {schema}.parked")
    assert await sessions[0].fetch(f"SELECT * FROM {schema}.parked_totals") == []


async def test_many_calls_are_counted_seldom_and_few_each_time(
    sessions: list[Connection], postgres_dsn: str, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A million calls are not counted for every page that says how many there are; what is over is not counted."""
    store = PostgresDurableCalls(Database(postgres_dsn, "shop", schema))
    try:
        await sessions[0].execute(_CALL.format(schema=schema), "c-1", "f", "waiting")
        assert await store.counts() == {("f", CallState.WAITING): 1}
        await sessions[0].execute(_CALL.format(schema=schema), "c-2", "f", "exhausted")
        await sessions[0].execute(_CALL.format(schema=schema), "c-3", "f", "succeeded")
        counted = {("f", CallState.WAITING): 1, ("f", CallState.EXHAUSTED): 1}
        assert await store.counts() == counted

        monkeypatch.setattr(durable_calls, "MANY", 2)
        monkeypatch.setattr(durable_calls, "REST", 1e9)
        assert await store.counts() == counted
        await sessions[0].execute(_CALL.format(schema=schema), "c-4", "f", "waiting")
        assert await store.counts() == counted
    finally:
        await store.close()


async def test_what_was_there_before_is_counted_when_the_schema_is_migrated(
    postgres_dsn: str, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The migration counts what it finds, and the triggers go on from there."""
    before = tuple(each for each in migrations() if each.name != "0016_totals")
    with monkeypatch.context() as older:
        for module in (migrating, checking):
            older.setattr(module, "migrations", lambda: before)
        await migrate(postgres_dsn, schema, 8, "shop")
    session = await asyncpg.connect(postgres_dsn)
    try:
        args = ("G", 1, "parked", "recoverable", "f-1")
        await session.execute(_ROW.format(schema=schema), "r-1", *args)

        assert await migrate(postgres_dsn, schema, 8, "shop") == ["0016_totals"]

        await session.execute(_ROW.format(schema=schema), "r-2", *args)
        assert await session.fetch(_ROWS_DIFFER.format(schema=schema)) == []
        assert await session.fetchval(f"SELECT sum(rows)::int FROM {schema}.parked_totals") == 2
    finally:
        await session.close()
