"""The plan keeps the contract, in memory and on Postgres."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.postgres_harness import PostgresHarness, postgres_harness
from wow_ray.adapters.postgres.plans import open_plans
from wow_ray.ports.plans import Plans
from wow_ray.testing.contract import Harness, PlansContract
from wow_ray.testing.contract.memory import MemoryHarness


class TestMemoryPlans(PlansContract):
    """The suite, on a store in memory."""

    @pytest.fixture
    def harness(self, memory: Harness) -> Harness:
        """Give an empty store in memory."""
        return memory

    @pytest.fixture
    def plans(self, memory: MemoryHarness) -> Plans:
        """Give its plans."""
        return memory.store.plans()


class TestPostgresPlans(PlansContract):
    """The suite, on Postgres."""

    @pytest.fixture
    async def postgres(self, postgres_dsn: str) -> AsyncIterator[PostgresHarness]:
        """Give an empty store on Postgres."""
        async with postgres_harness(postgres_dsn) as harness:
            yield harness

    @pytest.fixture
    def harness(self, postgres: Harness) -> Harness:
        """Give the empty store."""
        return postgres

    @pytest.fixture
    async def plans(self, postgres: PostgresHarness) -> AsyncIterator[Plans]:
        """Give its plans."""
        async with open_plans(postgres.database) as plans:
            yield plans
