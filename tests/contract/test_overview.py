"""Looking at a store as a whole keeps the contract, in memory and on Postgres."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.postgres_harness import PostgresHarness, postgres_harness
from wow_ray.adapters.postgres.overview import open_overview
from wow_ray.ports.overview import Overview
from wow_ray.testing.contract import Harness, OverviewContract
from wow_ray.testing.contract.memory import MemoryHarness


class TestMemoryOverview(OverviewContract):
    """The suite, on a store in memory."""

    @pytest.fixture
    def harness(self, memory: Harness) -> Harness:
        """Give an empty store in memory."""
        return memory

    @pytest.fixture
    def overview(self, memory: MemoryHarness) -> Overview:
        """Give its overview."""
        return memory.store.overview()


class TestPostgresOverview(OverviewContract):
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
    async def overview(self, postgres: PostgresHarness) -> AsyncIterator[Overview]:
        """Give its overview."""
        async with open_overview(postgres.database) as overview:
            yield overview
