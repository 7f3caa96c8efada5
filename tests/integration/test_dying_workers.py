"""The same on Postgres: wherever a worker dies, its call is claimable or terminal, and goes on (F6, F7, S100, S103)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from decimal import Decimal

import pytest

from tests.dying_worker import die_at
from tests.postgres_harness import postgres_harness
from tests.waiting import until
from wow_ray.adapters.clock import SystemClock
from wow_ray.ports.durable_calls import DurableCalls


@pytest.fixture
async def calls(postgres_dsn: str) -> AsyncIterator[DurableCalls]:
    """Give an empty store on Postgres."""
    async with postgres_harness(postgres_dsn) as postgres:
        yield postgres.client.calls


@pytest.mark.parametrize("amount", [Decimal("0.10"), Decimal(-1)])
async def test_a_worker_may_die_anywhere(calls: DurableCalls, amount: Decimal) -> None:
    """S103: at every await between claim and end, of a call that succeeds in the end and of one that never does."""
    places = 0
    while await die_at(places + 1, calls, SystemClock(), 0.3, lambda over: until(over, "an end"), amount):
        places += 1
    assert places >= 12
