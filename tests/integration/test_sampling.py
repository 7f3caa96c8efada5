"""Samples on a real store: taken by whoever keeps the house, with or without Ray, and there after a restart."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import asyncpg

from tests.unit.ops_window import GROUP, Carrier, made_app, order
from tests.unit.ops_window import Placed as OrderPlaced
from tests.waiting import until
from wow_ray.cluster import Database, migrated, open_control, open_operations, open_service
from wow_ray.ops import ParkedQuery
from wow_ray.settings import load


async def test_history_outlives_the_process_that_took_it(postgres_dsn: str, schema: str) -> None:
    """The app's own process takes samples; when it has ended, the supervisor's chores go on, and all of it is there."""
    settings = load({"postgres_schema": schema, "slots": 8, "partitions": 1}, None, {})
    database, app, carrier = Database(postgres_dsn, "shop", schema), made_app(), Carrier()
    carrier.broken = {"o-1"}
    await migrated(database, settings)
    spec = app.resolved(settings, overridden=(Carrier,))
    async with open_operations(database, spec) as operations:

        async def is_sampled() -> bool:
            return bool((await operations.history("1h", GROUP)).points)

        async def is_parked() -> bool:
            return (await operations.count(ParkedQuery())).rows == 1

        async with open_service(spec, settings, database, overrides={Carrier: carrier}), app.connect() as client:
            await until(is_sampled, "a sample of the app's own process", seconds=30)
            await client.store.append(order("o-1"), [OrderPlaced()], expected_version=None)
            await until(is_parked, "one to be parked", seconds=30)
        await _earlier(postgres_dsn, schema)
        before = (await operations.history("1h", GROUP)).points

        async with open_control(database, settings) as control:
            chores = asyncio.ensure_future(control.chores())

            async def has_gone_on() -> bool:
                return (await operations.history("1h")).points[-1].parked == 1

            await until(has_gone_on, "a sample of the chores", seconds=30)
            chores.cancel()
            with suppress(asyncio.CancelledError):
                await chores

        after = (await operations.history("1h", GROUP)).points
        assert [each.at for each in after][: len(before)] == [each.at for each in before]


async def _earlier(dsn: str, schema: str) -> None:
    """Let two minutes have passed: of each fifteen seconds one sample is kept, and nobody is to wait for them."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(f'UPDATE "{schema}".samples SET at = at - make_interval(mins => 2)')  # noqa: S608 - a name of ours
    finally:
        await connection.close()
