"""What the tests of the adapter in memory run on."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from wow_ray.testing.contract.memory import MemoryHarness


@pytest.fixture
async def memory() -> AsyncIterator[MemoryHarness]:
    """Give an empty store in memory; a test that leaves a transaction open fails."""
    harness = MemoryHarness()
    yield harness
    assert harness.store.open_transactions == 0
