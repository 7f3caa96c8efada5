"""The slots in memory keep the contract."""

from __future__ import annotations

import pytest

from wow_ray.testing.contract import Harness, SlotsContract


class TestMemorySlots(SlotsContract):
    """The suite, on a store in memory."""

    @pytest.fixture
    def harness(self, memory: Harness) -> Harness:
        """Give an empty store in memory."""
        return memory
