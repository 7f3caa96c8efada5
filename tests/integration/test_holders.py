"""What keeps the database from cleaning up is told, before everything has become slow (H47)."""

from __future__ import annotations

from dataclasses import replace

import asyncpg

from tests.waiting import until
from wow_ray.adapters.postgres import Database, migrate
from wow_ray.cluster import open_operations
from wow_ray.ops.console.troubles import MUCH, OLD, troubles
from wow_ray.ops.metrics import exposed, seen
from wow_ray.ops.progress import HolderView


async def test_a_forgotten_session_is_named_with_its_age(postgres_dsn: str, schema: str) -> None:
    """H47: a snapshot that somebody holds open is seen by its name while it is, in the metrics, too."""
    await migrate(postgres_dsn, schema, 8, "shop")
    forgotten = await asyncpg.connect(postgres_dsn, server_settings={"application_name": "a forgotten report"})
    try:
        async with open_operations(Database(postgres_dsn, "shop", schema)) as operations:

            async def mine() -> list[HolderView]:
                return [each for each in await operations.holders() if each.name.startswith("a forgotten report, pid ")]

            assert await mine() == []
            transaction = forgotten.transaction(isolation="repeatable_read", readonly=True)
            await transaction.start()
            await forgotten.fetch("select 1 from pg_class limit 1")

            async def is_seen() -> bool:
                return any(each.seconds > 0 for each in await mine())

            await until(is_seen, "the snapshot to be seen")
            assert (await operations.overview()).holders
            text = exposed(await seen(operations)).decode()
            (line,) = [each for each in text.splitlines() if each.startswith("wow_ray_oldest_snapshot_seconds{")]
            assert float(line.split()[1]) > 0

            await transaction.rollback()
            assert await mine() == []
    finally:
        await forgotten.close()


async def test_an_old_snapshot_and_much_kept_log_are_trouble(postgres_dsn: str, schema: str) -> None:
    """H47: with the name of who holds it; a short one is none."""
    await migrate(postgres_dsn, schema, 8, "shop")
    async with open_operations(Database(postgres_dsn, "shop", schema)) as operations:
        status = await operations.status()
    held = (HolderView("psql, pid 7", OLD, 0), HolderView("the slot s", 0, MUCH), HolderView("a poll", 1.0, 10))
    told = [(each.what, each.text) for each in troubles(replace(status, holders=held), ())]
    assert any("5 min" in what and "psql, pid 7" in text for what, text in told)
    assert any("4 GB" in what and "the slot s" in text for what, text in told)
    assert not any("a poll" in text for _, text in told)
