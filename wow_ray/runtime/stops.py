"""Stops: pauses that were asked for from outside, and have a group stand still in this partition (H44, S83).

They are rows of the store, read once the slots are owned and before anything begins, then every second; being told of a
change only hurries the next look. While a group has a stop no call of it begins, no probe, no drain, no parked retry,
and no page is taken; calls under way end. When the store cannot be asked, what it said last goes on to hold.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Protocol

from wow_ray.errors import StoreUnavailableError
from wow_ray.policy.pauses import stops_of
from wow_ray.runtime.lane import Status
from wow_ray.runtime.trouble import Trouble

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from wow_ray.ports.clock import Clock
    from wow_ray.ports.pauses import Pause, Pauses
    from wow_ray.runtime.feed import Feed
    from wow_ray.runtime.going_on import GoingOn
    from wow_ray.runtime.group import Group
    from wow_ray.runtime.pause_notes import PauseNotes
    from wow_ray.runtime.unparking import Unparking
    from wow_ray.runtime.workers import Workers

log = logging.getLogger("wow_ray.partition")

STANDING = frozenset({Status.READY, Status.WAITING, Status.READING})
"""Where a lane is that has no call under way."""


class Halting(Protocol):
    """The partition, as it is seen here."""

    groups: dict[int, Group]
    workers: Workers
    feed: Feed
    unparking: Unparking
    going_on: GoingOn
    notes: PauseNotes
    on_due: Callable[[datetime], None]

    def store_now(self) -> datetime:
        """The store's time."""


class Stops:
    """Has the groups of one partition stand still, and go on."""

    def __init__(self, pauses: Pauses, clock: Clock, poll: float, name: str, partition: Halting) -> None:
        """Look every `poll` seconds for pauses of everything and of the partition of that lasting name."""
        self._pauses = pauses
        self._clock = clock
        self._poll = poll
        self._name = name
        self._partition = partition
        self._nudged = asyncio.Event()
        self.due = clock.monotonic() + poll
        """When it is to look again at the latest, monotonic; in the past = it is late (H60)."""
        said = f"{name}: pauses cannot be read (%s); those known go on to hold"
        self._trouble = Trouble(log, clock, said, f"{name}: pauses are read again after %.1f s")

    async def load(self) -> None:
        """Take over what the store says, before anything begins; raises what the store raises."""
        self._hold(await self._pauses.present())

    def nudge(self) -> None:
        """Look now."""
        self._nudged.set()

    async def run(self) -> None:
        """Look for ever; ends by cancellation."""
        while True:
            self._nudged.clear()
            self.due = self._clock.monotonic() + self._poll
            await self._look()
            timer = self._clock.call_at(self._clock.monotonic() + self._poll, self._nudged.set)
            try:
                await self._nudged.wait()
            finally:
                timer.cancel()

    async def _look(self) -> None:
        notes = self._partition.notes
        written = notes.written
        try:
            present = await self._pauses.present()
        except StoreUnavailableError as error:
            self._trouble.failed(error)
            return
        self._trouble.worked()
        self._hold(present)
        notes.seen(present, written)

    def _hold(self, present: Sequence[Pause]) -> None:
        """Bring the groups in line with what is present."""
        for group in self._partition.groups.values():
            before, group.stops = group.stops, stops_of(present, group.number, self._name)
            if group.stops != before:
                said = f"stands still ({', '.join(sorted(group.stops))})" if group.stops else "goes on"
                log.warning("%s %s in %s", group.name, said, self._name)
            if group.stops:
                self._stand_back(group)
            elif before:
                self._go_on(group)

    def _stand_back(self, group: Group) -> None:
        """Take drains out of memory that have no call under way: the room they count for is everybody's (H41, D3)."""
        for lane in list(group.lanes.values()):
            if lane.from_ledger and lane.status in STANDING and not lane.commanded:
                self._partition.unparking.step_back(lane)

    def _go_on(self, group: Group) -> None:
        """Let everything of a group begin that a stop has held up."""
        partition = self._partition
        partition.workers.activate(group)
        partition.feed.wake()
        partition.going_on.look()
        partition.on_due(partition.store_now())
