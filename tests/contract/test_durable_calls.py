"""The stores of durable calls keep the contract (F6)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from datetime import timedelta
from typing import Any

import pytest

from tests.postgres_harness import PostgresHarness, postgres_harness
from tests.waiting import until
from wow_ray.adapters.postgres.durable_calls import PostgresDurableCalls
from wow_ray.ports.durable_calls import DurableCalls
from wow_ray.testing.contract import CallsHarness, DurableCallsContract
from wow_ray.testing.contract.memory import MemoryHarness


class InMemory:
    """A store in memory, in virtual time."""

    transactions = True

    def __init__(self, memory: MemoryHarness) -> None:
        self._memory = memory
        self.calls = memory.client.calls

    def another(self) -> DurableCalls:
        """Give the same store anew."""
        return self._memory.store.client_stores().calls

    async def pass_time(self, seconds: float) -> None:
        """Move the clock."""
        await self._memory.clock.advance(seconds)

    def transaction(self) -> AbstractAsyncContextManager[Any]:
        """Open a transaction of a double."""
        return self._memory.transaction()


class OnPostgres:
    """A real Postgres, in real time."""

    transactions = True

    def __init__(self, postgres: PostgresHarness, stack: AsyncExitStack) -> None:
        self._postgres = postgres
        self._stack = stack
        self.calls = postgres.client.calls

    def another(self) -> DurableCalls:
        """Give the same store on connections of its own."""
        calls = PostgresDurableCalls(self._postgres.database, size=4)
        self._stack.push_async_callback(calls.close)
        return calls

    async def pass_time(self, seconds: float) -> None:
        """Wait until the server's clock says so."""
        since = await self.calls.now()

        async def passed() -> bool:
            return await self.calls.now() - since >= timedelta(seconds=seconds)

        await until(passed, "the server's clock to go on")

    def transaction(self) -> AbstractAsyncContextManager[Any]:
        """Open a transaction on a connection of its own."""
        return self._postgres.transaction()


class TestMemoryDurableCalls(DurableCallsContract):
    """The suite, on a store in memory."""

    @pytest.fixture
    def store(self, memory: MemoryHarness) -> CallsHarness:
        """Give an empty store in memory."""
        return InMemory(memory)


class TestPostgresDurableCalls(DurableCallsContract):
    """The suite, on Postgres."""

    @pytest.fixture
    async def store(self, postgres_dsn: str) -> AsyncIterator[CallsHarness]:
        """Give an empty store on Postgres."""
        async with postgres_harness(postgres_dsn) as postgres, AsyncExitStack() as stack:
            yield OnPostgres(postgres, stack)


class TestPostgresDurableCallsBehindPgbouncer(DurableCallsContract):
    """The suite, on Postgres through a pooler."""

    @pytest.fixture
    async def store(self, postgres_dsn: str, postgres_url_pgbouncer: str) -> AsyncIterator[CallsHarness]:
        """Give an empty store on Postgres."""
        async with postgres_harness(postgres_dsn, postgres_url_pgbouncer) as postgres, AsyncExitStack() as stack:
            yield OnPostgres(postgres, stack)
