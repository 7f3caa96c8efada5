"""The stores of durable calls keep the contract (F6)."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from datetime import timedelta
from typing import Any

import pytest
from pydantic import SecretStr

from tests.postgres_harness import PostgresHarness, postgres_harness
from tests.redis_server import RedisServer, running_redis
from tests.waiting import until
from wow_ray.adapters.postgres.durable_calls import PostgresDurableCalls
from wow_ray.adapters.redis.durable_calls import RedisDurableCalls
from wow_ray.ports.durable_calls import DurableCalls
from wow_ray.testing.contract import CallsHarness, DurableCallsContract
from wow_ray.testing.contract.memory import MemoryHarness


class InMemory:
    """A store in memory, in virtual time."""

    transactions = True

    def __init__(self, memory: MemoryHarness) -> None:
        self._memory = memory
        self.calls = memory.client.calls
        self.ledger = memory.client.ledger

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
        self.ledger = postgres.client.ledger

    def another(self) -> DurableCalls:
        """Give the same store on connections of its own."""
        calls = PostgresDurableCalls(self._postgres.database, size=4)
        self._stack.push_async_callback(calls.close)
        return calls

    async def pass_time(self, seconds: float) -> None:
        """Wait until the server's clock says so."""
        await passed(self.calls, seconds)

    def transaction(self) -> AbstractAsyncContextManager[Any]:
        """Open a transaction on a connection of its own."""
        return self._postgres.transaction()


class OnRedis:
    """A real Redis, in real time; the audit is in memory."""

    transactions = False

    def __init__(self, url: str, memory: MemoryHarness, stack: AsyncExitStack) -> None:
        self._url, self._audit, self._stack = url, memory.store.call_audit(), stack
        self.ledger = memory.client.ledger
        self._context = f"shop-{secrets.token_hex(4)}"
        self.calls = self.another()

    def another(self) -> DurableCalls:
        """Give the same store on connections of its own."""
        calls = RedisDurableCalls(SecretStr(self._url), "wow", self._context, self._audit)
        self._stack.push_async_callback(calls.close)
        return calls

    async def pass_time(self, seconds: float) -> None:
        """Wait until the server's clock says so."""
        await passed(self.calls, seconds)

    def transaction(self) -> AbstractAsyncContextManager[Any]:
        """Open nothing: there are none."""
        raise AssertionError


async def passed(calls: DurableCalls, seconds: float) -> None:
    """Wait until a server's clock has gone on."""
    since = await calls.now()

    async def over() -> bool:
        return await calls.now() - since >= timedelta(seconds=seconds)

    await until(over, "the server's clock to go on")


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


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    """Give a server for all tests; each has a context of its own."""
    with running_redis() as server:
        yield server


class TestRedisDurableCalls(DurableCallsContract):
    """The suite, on Redis."""

    @pytest.fixture
    async def store(self, redis: RedisServer, memory: MemoryHarness) -> AsyncIterator[CallsHarness]:
        """Give an empty store on Redis."""
        async with AsyncExitStack() as stack:
            yield OnRedis(redis.url, memory, stack)
