"""Joining: slots come to a partition that runs, as soon as nobody else owns them (L7).

Taking one raises its epoch and loads, as at a start; what it holds is then put into the running partition in one turn
of the loop, so that no commit says anything of a slot that is half here.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Protocol

from wow_ray.errors import StoreUnavailableError
from wow_ray.runtime.loading import take_over

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from datetime import datetime

    from wow_ray.ports.clock import Clock
    from wow_ray.ports.slots import Owner
    from wow_ray.ports.stores import PartitionStores
    from wow_ray.runtime.commits import Commits
    from wow_ray.runtime.feed import Feed
    from wow_ray.runtime.holdings import Holdings
    from wow_ray.runtime.intents import Intents
    from wow_ray.runtime.slot import Slot
    from wow_ray.runtime.store_time import StoreTime
    from wow_ray.runtime.unparking import Unparking
    from wow_ray.runtime.workers import Workers

log = logging.getLogger("wow_ray.moves")

FIRST_LOOK, LAST_LOOK = 0.02, 0.2
"""Seconds between two looks whether a slot has become free: longer each time in vain, and short again after one."""


class Joined(Protocol):
    """The partition, as it is seen here."""

    owner: Owner
    stores: PartitionStores
    slots: dict[int, Slot]
    holdings: Holdings
    feed: Feed
    commits: Commits
    intents: Intents
    unparking: Unparking
    time: StoreTime
    workers: Workers
    stopping: bool
    on_due: Callable[[datetime], None]


class Joining:
    """The slots that one partition is to get."""

    def __init__(self, clock: Clock, partition: Joined) -> None:
        """Begin with none."""
        self._clock = clock
        self._partition = partition
        self._wanted: frozenset[int] = frozenset()
        self._go = asyncio.Event()
        self.longest = 0.0
        """Seconds from the look that found slots free until they were in memory, at most."""
        self.joined: Callable[[], None] = lambda: None
        """Told when slots have come."""

    def want(self, slots: Collection[int]) -> None:
        """Take exactly these slots as soon as each is free."""
        if self._wanted != frozenset(slots):
            self._wanted = frozenset(slots)
            self._go.set()

    @property
    def missing(self) -> frozenset[int]:
        """Slots that are wanted and not here yet."""
        return self._wanted - self._partition.slots.keys()

    async def run(self) -> None:
        """Take slots for ever; ends by cancellation."""
        pause = FIRST_LOOK
        while True:
            self._go.clear()
            if not self.missing:
                await self._go.wait()
                pause = FIRST_LOOK
                continue
            try:
                came = await self._look()
            except StoreUnavailableError as error:
                log.warning("slots cannot be taken over (%s); trying on", error)
                came = False
            pause = FIRST_LOOK if came else min(LAST_LOOK, pause * 1.2)
            await self._rest(pause)

    async def _rest(self, seconds: float) -> None:
        timer = self._clock.call_at(self._clock.monotonic() + seconds, self._go.set)
        try:
            await self._go.wait()
        finally:
            timer.cancel()

    async def _look(self) -> bool:
        """Take what is free now; `False` = nothing is, or whoever has no sure lease can take nothing (L3)."""
        partition = self._partition
        if self._clock.monotonic() >= partition.stores.lease.valid_until:
            return False
        began = self._clock.monotonic()
        acquired = await partition.stores.slots.acquire_free(partition.owner, sorted(self.missing))
        if not acquired.slots:
            return False
        partition.time.heard(acquired.now)
        await take_over(partition, acquired, partition.stores.reader, partition.feed, partition.unparking, joins=True)
        self.longest = max(self.longest, self._clock.monotonic() - began)
        log.info("%s has got slots %s", partition.owner.partition, [loaded.slot for loaded in acquired.slots])
        partition.feed.wake()
        partition.intents.nudge()
        partition.commits.poke()
        partition.on_due(partition.time.now())
        self.joined()
        return True
