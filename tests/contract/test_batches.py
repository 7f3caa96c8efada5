"""Batches of commands keep the contract, in memory and on Postgres."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.postgres_harness import postgres_harness
from wow_ray.testing.contract import BatchesContract, Harness


class TestMemoryBatches(BatchesContract):
    """The suite, on a store in memory."""

    @pytest.fixture
    def harness(self, memory: Harness) -> Harness:
        """Give an empty store in memory."""
        return memory


class TestPostgresBatches(BatchesContract):
    """The suite, on Postgres."""

    @pytest.fixture
    async def harness(self, postgres_dsn: str) -> AsyncIterator[Harness]:
        """Give an empty store on Postgres."""
        async with postgres_harness(postgres_dsn) as harness:
            yield harness
