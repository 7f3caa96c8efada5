"""A store whose answers take a random, seeded time, and in whose operations a process can be killed."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Protocol

from tests.unit.parking.process import Life, present
from wow_ray.adapters.memory import MemoryStore
from wow_ray.adapters.memory.faults import Faults
from wow_ray.adapters.memory.slots import MemorySlotStore
from wow_ray.ports.clock import Clock
from wow_ray.ports.slots import Owner, SlotWrite
from wow_ray.ports.stores import ClientStores, PartitionStores
from wow_ray.testing.clock import turn

DELAYS = (0.01, 0.05, 0.3, 2.0)
"""Seconds that a slow operation may take."""


class Watching(Protocol):
    """Who looks at what the store is told."""

    def sent(self, writes: Sequence[SlotWrite]) -> None:
        """A commit is on its way; called in the turn in which its snapshot was taken."""

    def stored(self, writes: Sequence[SlotWrite]) -> None:
        """The store has it."""

    def acknowledged(self, writes: Sequence[SlotWrite]) -> None:
        """Its sender knows that."""


class Network(Faults):
    """Faults, and the time that every operation takes on its way there and back.

    A `fuse` of so many operations ends a process inside the last one, before or after it was carried out.
    """

    def __init__(self, clock: Clock, chance: random.Random) -> None:
        super().__init__()
        self._clock = clock
        self._chance = chance
        self.slowness = 0.0
        """The share of operations that take real time."""
        self.jumpy = True
        self.fuse: tuple[Life, int] | None = None

    async def enter(self, operation: str) -> None:
        """See `Faults`."""
        await self._way()
        await super().enter(operation)

    async def leave(self, operation: str) -> None:
        """See `Faults`."""
        await super().leave(operation)
        await self._way()

    async def _way(self) -> None:
        life = present()
        if life is None:
            return
        if self.fuse is not None and life is self.fuse[0]:
            left = self.fuse[1] - 1
            self.fuse = (life, left)
            if left <= 0:
                self.fuse = None
                loop = asyncio.get_running_loop()
                loop.call_soon(life.end)
                await loop.create_future()
        if not self.jumpy:
            return
        for _ in range(self._chance.randrange(3)):
            await turn()
        if self.slowness and self._chance.random() < self.slowness:
            await self._clock.sleep(self._chance.choice(DELAYS))


class WatchedSlots(MemorySlotStore):
    """The port of slots with somebody looking on."""

    def __init__(self, store: WatchedStore) -> None:
        super().__init__(store._server)  # noqa: SLF001 - its own
        self._store = store

    @property
    def watch(self) -> Watching:
        """Who looks on."""
        return self._store.watch

    async def commit(self, writes: Sequence[SlotWrite]) -> datetime:
        """See the port."""
        self.watch.sent(writes)
        now = await super().commit(writes)
        self.watch.acknowledged(writes)
        return now

    async def release(self, writes: Sequence[SlotWrite], owner: Owner) -> None:
        """See the port."""
        self.watch.sent(writes)
        await super().release(writes, owner)
        self.watch.acknowledged(writes)

    async def let_go(self, writes: Sequence[SlotWrite], owner: Owner) -> None:
        """See the port."""
        self.watch.sent(writes)
        await super().let_go(writes, owner)
        self.watch.acknowledged(writes)

    def _commit(self, writes: Sequence[SlotWrite]) -> datetime:
        now = super()._commit(writes)
        self.watch.stored(writes)
        return now


class WatchedStore(MemoryStore):
    """The store in memory with a network before it and somebody looking on."""

    watch: Watching

    def __init__(self, context: str, clock: Clock, *, slots: int, connect: Callable[[], Any]) -> None:
        super().__init__(context, clock, slots=slots, connect=connect)
        self.network = Network(clock, random.Random(0))  # noqa: S311 - seeded chance
        self._server.faults = self.network

    def seeded(self, seed: int) -> None:
        """Let the network take the times that belong to this seed."""
        self.network._chance.seed(seed)  # noqa: SLF001 - its own

    def partition_stores(self) -> PartitionStores:
        """See `MemoryStore`."""
        return replace(super().partition_stores(), slots=WatchedSlots(self))

    def client_stores(self) -> ClientStores:
        """See `MemoryStore`."""
        return replace(super().client_stores(), slots=WatchedSlots(self))
