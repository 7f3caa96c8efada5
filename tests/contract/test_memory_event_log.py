"""The log in memory keep the contract."""

from __future__ import annotations

import pytest

from wow_ray.testing.contract import EventLogContract, Harness


class TestMemoryEventLog(EventLogContract):
    """The suite, on a store in memory."""

    @pytest.fixture
    def harness(self, memory: Harness) -> Harness:
        """Give an empty store in memory."""
        return memory
