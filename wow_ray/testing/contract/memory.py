"""The harness of the adapter in memory: what an adapter has to bring, at its shortest."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from itertools import count
from typing import Any

from wow_ray.adapters.memory import MemoryStore
from wow_ray.ports.slots import Owner
from wow_ray.ports.stores import PartitionStores
from wow_ray.testing.clock import VirtualClock
from wow_ray.testing.connection import RecordingDatabase


class MemoryHarness:
    """A `Harness` for the store in memory; its time stands still unless a test moves `clock`."""

    def __init__(self) -> None:
        self.context = "shop"
        self.slots = 8
        self.clock = VirtualClock()
        self.database = RecordingDatabase()
        self.store = MemoryStore(self.context, self.clock, slots=self.slots, connect=self.database.connect)
        self.partition = self.store.partition_stores()
        self.client = self.store.client_stores()
        self._incarnations = count(1)

    def another_partition(self) -> PartitionStores:
        """Make the stores of one more partition."""
        return self.store.partition_stores()

    def another_owner(self) -> Owner:
        """Make a new incarnation."""
        number = next(self._incarnations)
        return Owner(f"owner-{number}", f"partition-{number}", "node-1", number, None)

    def transaction(self) -> AbstractAsyncContextManager[Any]:
        """Open a producer's own transaction."""
        return self.store.transaction()
