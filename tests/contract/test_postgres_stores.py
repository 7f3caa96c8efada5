"""The stores on Postgres keep the contract."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.postgres_harness import postgres_harness
from wow_ray.testing.contract import EffectsContract, EventLogContract, Harness, LedgerContract, SlotsContract


@pytest.fixture
async def postgres(postgres_dsn: str) -> AsyncIterator[Harness]:
    """Give an empty store on Postgres."""
    async with postgres_harness(postgres_dsn) as harness:
        yield harness


class TestPostgresEventLog(EventLogContract):
    """The suite of the log."""

    @pytest.fixture
    def harness(self, postgres: Harness) -> Harness:
        """Give an empty store on Postgres."""
        return postgres


class TestPostgresSlots(SlotsContract):
    """The suite of slots, groups and leases."""

    @pytest.fixture
    def harness(self, postgres: Harness) -> Harness:
        """Give an empty store on Postgres."""
        return postgres


class TestPostgresLedger(LedgerContract):
    """The suite of the failure ledger."""

    @pytest.fixture
    def harness(self, postgres: Harness) -> Harness:
        """Give an empty store on Postgres."""
        return postgres


class TestPostgresEffects(EffectsContract):
    """The suite of effectively-once transactions."""

    @pytest.fixture
    def harness(self, postgres: Harness) -> Harness:
        """Give an empty store on Postgres."""
        return postgres
