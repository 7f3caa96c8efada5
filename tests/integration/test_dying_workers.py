"""Wherever a worker dies, its call is claimable or terminal, and goes on; on real servers (F6, F7, S100, S103)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from decimal import Decimal

import pytest
from pydantic import SecretStr

from tests.dying_worker import die_at
from tests.postgres_harness import postgres_harness
from tests.redis_server import running_redis
from tests.waiting import until
from wow_ray.adapters.clock import SystemClock
from wow_ray.adapters.redis.durable_calls import RedisDurableCalls
from wow_ray.ports.durable_calls import DurableCalls
from wow_ray.testing.contract.memory import MemoryHarness


@pytest.fixture(params=["postgres", "redis"])
async def calls(request: pytest.FixtureRequest, postgres_dsn: str) -> AsyncIterator[DurableCalls]:
    """Give an empty store on a real server."""
    if request.param == "postgres":
        async with postgres_harness(postgres_dsn) as postgres:
            yield postgres.client.calls
        return
    with running_redis() as server:
        calls = RedisDurableCalls(SecretStr(server.url), "wow", "dying", MemoryHarness().store.call_audit())
        yield calls
        await calls.close()


AMOUNTS = [Decimal("0.10"), Decimal(-1)]


async def test_a_worker_may_die_anywhere(calls: DurableCalls) -> None:
    """S103: at every await between claim and end, of a call that succeeds in the end and of one that never does.

    Both are claimed together, and their ends are written together.
    """
    places = 0
    while await die_at(places + 1, calls, SystemClock(), 0.3, lambda over: until(over, "an end"), AMOUNTS):
        places += 1
    assert places >= 12
