"""A store on a real Postgres for tests: one migrated schema for each server, emptied before each test."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

import asyncpg

from wow_ray.adapters.clock import SystemClock
from wow_ray.adapters.postgres import Database, check, migrate, owner_here
from wow_ray.adapters.postgres.stores import client_stores, partition_stores
from wow_ray.ports.slots import Owner
from wow_ray.ports.stores import ClientStores, PartitionStores

CONTEXT = "shop"
SLOTS = 8

EMPTY = """
DELETE FROM {s}.events; UPDATE {s}.slot_heads SET head = 0, largest = 0 WHERE head > 0;
UPDATE {s}.slots SET progress = '', owner = NULL, partition = NULL WHERE epoch > 0;
DELETE FROM {s}.owners; DELETE FROM {s}.settled; DELETE FROM {s}.group_starts; DELETE FROM {s}.subscriptions;
DELETE FROM {s}.group_names; DELETE FROM {s}.groups; DELETE FROM {s}.parked; DELETE FROM {s}.parked_attempts;
DELETE FROM {s}.operator_actions; DELETE FROM {s}.notices; DELETE FROM {s}.plans; DELETE FROM {s}.pauses;
DELETE FROM {s}.starts; DELETE FROM {s}.durable_calls; DELETE FROM {s}.trying; DELETE FROM {s}.partition_reports;
DELETE FROM {s}.function_pauses;
DELETE FROM {s}.batches;
DELETE FROM {s}.deliveries; DELETE FROM {s}.samples;
"""

_databases: dict[str, Database] = {}


class PostgresHarness:
    """A `Harness` of the contract suites; `admin` is a plain connection for what only a database can show."""

    def __init__(self, database: Database, admin: asyncpg.Connection[asyncpg.Record]) -> None:
        self.context = CONTEXT
        self.slots = SLOTS
        self.database = database
        self.admin = admin
        self.clock = SystemClock()
        self.partition: PartitionStores
        self.client: ClientStores
        self._spare: list[PartitionStores] = []
        self._owners = 0

    async def open(self, stack: AsyncExitStack) -> None:
        """Open a partition's stores, a client's, and a few spare ones; connections are made when they are used."""
        self.partition = await stack.enter_async_context(partition_stores(self.database, self.clock))
        self.client = await stack.enter_async_context(client_stores(self.database, self.clock))
        self._spare = [await stack.enter_async_context(partition_stores(self.database, self.clock)) for _ in range(2)]

    def another_partition(self) -> PartitionStores:
        """Make the stores of one more partition."""
        return self._spare.pop()

    def another_owner(self) -> Owner:
        """Make a new incarnation, in this process."""
        self._owners += 1
        return owner_here(f"partition-{self._owners}")

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        """Open a producer's own transaction, on a connection of its own."""
        connection = await asyncpg.connect(
            self.database.dsn, statement_cache_size=0 if self.database.pgbouncer else 100
        )
        try:
            async with connection.transaction():
                yield connection
        finally:
            await connection.close()


@asynccontextmanager
async def postgres_harness(dsn: str, through: str | None = None) -> AsyncIterator[PostgresHarness]:
    """Give an empty store on the server at `dsn`.

    Reached by its stores through the pooler at `through` if there is one.
    """
    database = _databases.get(dsn)
    if database is None:
        schema = f"test_{uuid.uuid4().hex[:12]}"
        await migrate(dsn, schema, SLOTS, CONTEXT)
        database = _databases[dsn] = await check(Database(dsn, CONTEXT, schema))
    admin = await asyncpg.connect(dsn)
    try:
        await admin.execute(EMPTY.format(s=database.schema))
        if through is not None:
            database = replace(database, dsn=through, pgbouncer=True)
        harness = PostgresHarness(database, admin)
        async with AsyncExitStack() as stack:
            await harness.open(stack)
            yield harness
    finally:
        await admin.close()
