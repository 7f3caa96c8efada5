"""Leaving: single slots of a running partition go to another one, while everything else goes on (L7, H25).

A slot that is to leave stands still first: nothing of it is read, none of its lanes is called, calls under way end, or
are interrupted after a while, which is no attempt (B4). Then its last word is committed and it has no owner any more;
what waits, is parked, drains or was asked for goes with it as the rows that it is. A slot with a call that does not
end even then is kept and goes on here, until that call has ended.

Once its last word is on the way a slot never goes on here by itself: the answer may be lost and the next owner at work.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING, Protocol

from wow_ray.errors import FencedError, StoreDataError, StoreUnavailableError
from wow_ray.runtime.lane import Lane, Status

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from datetime import datetime

    from wow_ray.ports.clock import Clock
    from wow_ray.ports.slots import Owner, SlotWrite
    from wow_ray.ports.stores import PartitionStores
    from wow_ray.runtime.caution import Caution
    from wow_ray.runtime.commits import Commits
    from wow_ray.runtime.deadlines import Call, Deadlines
    from wow_ray.runtime.feed import Feed
    from wow_ray.runtime.going_on import GoingOn
    from wow_ray.runtime.group import Group
    from wow_ray.runtime.holdings import Holdings
    from wow_ray.runtime.intents import Intents
    from wow_ray.runtime.pace import Pace
    from wow_ray.runtime.slot import Slot
    from wow_ray.runtime.unparking import Unparking
    from wow_ray.runtime.workers import Workers

log = logging.getLogger("wow_ray.moves")

AT_ONCE = 16
"""Slots that stand still at a time: one commit is for all whose calls have ended, and no slot waits for many others."""
LOOK = 0.01
"""Seconds between two looks whether calls have ended."""
INTERRUPT_BOUND = 1.0
"""Seconds given to calls that were interrupted."""
RETRY_WAIT = 0.2
"""Seconds until a last word is sent again that the store did not take."""


class Left(Protocol):
    """The partition, as it is seen here."""

    owner: Owner
    stores: PartitionStores
    pace: Pace
    slots: dict[int, Slot]
    groups: dict[int, Group]
    holdings: Holdings
    commits: Commits
    workers: Workers
    deadlines: Deadlines
    caution: Caution
    unparking: Unparking
    going_on: GoingOn
    feed: Feed
    intents: Intents

    def store_now(self) -> datetime:
        """The store's time."""


class _Standing:
    """A slot that stands still: the lanes that were called when it began to, and until when they may go on."""

    def __init__(self, running: list[Lane], since: float, until: float) -> None:
        self.running = running
        self.since = since
        self.until = until
        self.interrupted = False


class Leaving:
    """The slots of one partition that are to go."""

    def __init__(self, clock: Clock, partition: Left) -> None:
        """Begin with none."""
        self._clock = clock
        self._partition = partition
        self._wanted: frozenset[int] = frozenset()
        self._standing: dict[Slot, _Standing] = {}
        self._tries: dict[Slot, int] = {}
        self._stuck: dict[Slot, frozenset[Call]] = {}
        """The calls for which a slot was kept."""
        self._go = asyncio.Event()
        self.longest = 0.0
        """Seconds that a slot stood still before it was given up, at most: its calls, and its last word."""

    def want(self, slots: Collection[int]) -> None:
        """Have exactly these slots leave; one that stands still for it and need not leave any more goes on."""
        self._wanted = frozenset(slots)
        self._go.set()

    @property
    def kept(self) -> frozenset[int]:
        """Slots that are to leave and cannot for now, because a call in them does not end (H25)."""
        return frozenset(slot.number for slot in self._stuck if slot.number in self._wanted and self._is_stuck(slot))

    async def run(self) -> None:
        """Have slots leave for ever; ends by cancellation."""
        while True:
            self._go.clear()
            self._begin()
            if not self._standing:
                await self._again()
                continue
            if not await self._round():
                await self._clock.sleep(LOOK)

    async def _again(self) -> None:
        """Wait for something to do; slots that are kept are looked at from time to time."""
        timer = self._clock.call_at(self._clock.monotonic() + INTERRUPT_BOUND, self._go.set) if self.kept else None
        try:
            await self._go.wait()
        finally:
            if timer is not None:
                timer.cancel()

    def _begin(self) -> None:
        """Let slots stand still as far as there is room, those first that have no call under way; others go on.

        One that was kept for calls is tried again once those have ended, and waits twice as long then.
        """
        for slot in [each for each in self._standing if each.number not in self._wanted and not each.parting]:
            self._reopen(slot)
        present = self._partition.slots
        waiting = [present[number] for number in sorted(self._wanted) if number in present]
        waiting = [slot for slot in waiting if not slot.leaving and not self._is_stuck(slot)]
        room = AT_ONCE - len(self._standing)
        if not waiting or room <= 0:
            return
        running: dict[Slot, list[Lane]] = {slot: [] for slot in waiting}
        for lane in self._lanes():
            if lane.status is Status.RUNNING and lane.slot in running:
                running[lane.slot].append(lane)
        for call in self._partition.deadlines.calls:
            if call.lane.slot in running and call.lane not in running[call.lane.slot]:
                running[call.lane.slot].append(call.lane)
        chosen = sorted(waiting, key=lambda slot: len(running[slot]))
        for slot in chosen[:room]:
            bound = self._partition.pace.drain_bound * 2 ** self._tries.get(slot, 0)
            now = self._clock.monotonic()
            self._standing[slot] = _Standing(running[slot], now, now + bound)
            slot.leaving = True
        self._halt()

    def _is_stuck(self, slot: Slot) -> bool:
        return not self._partition.deadlines.calls.isdisjoint(self._stuck.get(slot, ()))

    def _halt(self) -> None:
        """Take the lanes of slots that leave out of the queues of those that are ready."""
        for lane in self._lanes():
            if lane.slot.leaving and lane.status is Status.READY:
                lane.status = Status.HALTED
        for group in self._partition.groups.values():
            group.ready = deque(lane for lane in group.ready if lane.status is Status.READY)
            group.drains = deque(lane for lane in group.drains if lane.status is Status.READY)

    async def _round(self) -> bool:
        """Let go of slots whose calls have ended; `False` = there is none, or the store did not take it."""
        now = self._clock.monotonic()
        for slot, standing in list(self._standing.items()):
            if slot.lost:
                self._forget(slot)
            elif now >= standing.until and not self._still(slot, standing) and not slot.parting:
                self._late(slot, standing, now)
        ended = [slot for slot, standing in self._standing.items() if slot.parting or self._still(slot, standing)]
        return bool(ended) and await self._let_go(ended)

    def _still(self, slot: Slot, standing: _Standing) -> bool:
        """Tell whether no call of the slot is under way; none can have begun since it stands still."""
        standing.running = [lane for lane in standing.running if lane.status is Status.RUNNING]
        return not standing.running and all(call.lane.slot is not slot for call in self._partition.deadlines.calls)

    def _late(self, slot: Slot, standing: _Standing, now: float) -> None:
        """Interrupt the calls of a slot that stands still for long; when that does not help, it goes on here."""
        if not standing.interrupted:
            standing.interrupted, standing.until = True, now + INTERRUPT_BOUND
            self._partition.deadlines.interrupt(slot)
            return
        log.warning("slot %d stays for now: a call in it does not end", slot.number)
        self._tries[slot] = self._tries.get(slot, 0) + 1
        self._stuck[slot] = frozenset(call for call in self._partition.deadlines.calls if call.lane.slot is slot)
        self._reopen(slot)

    def _reopen(self, slot: Slot) -> None:
        del self._standing[slot]
        slot.leaving = False
        for lane in self._lanes():
            if lane.slot is slot and lane.status is Status.HALTED:
                self._partition.workers.ready(lane)
        self._partition.feed.wake()
        self._partition.going_on.look()
        self._partition.intents.nudge()

    def _forget(self, slot: Slot) -> None:
        self._standing.pop(slot, None)
        self._tries.pop(slot, None)
        self._stuck.pop(slot, None)

    async def _let_go(self, slots: list[Slot]) -> bool:
        """Commit the last word of these slots and give them up; `False` = the store has to be asked again."""
        partition = self._partition
        async with partition.commits.alone():
            going = [slot for slot in slots if not slot.lost and self._may_go(slot)]
            writes = [self._last_word(slot) for slot in going]
            if not writes:
                return True
            try:
                await partition.stores.slots.let_go(writes, partition.owner)
            except (StoreUnavailableError, StoreDataError, FencedError) as error:
                partition.holdings.take_back(writes)
                if isinstance(error, FencedError):
                    partition.holdings.fenced(error.slots)
                log.warning("slots that are to move could not be given up (%s); trying on", error)
            else:
                now = self._clock.monotonic()
                for slot in going:
                    self.longest = max(self.longest, now - self._standing[slot].since)
                    self._forget(slot)
                    partition.holdings.gone(slot)
                log.info("%s has given up slots %s", partition.owner.partition, [slot.number for slot in going])
                partition.commits.poke()
                return True
        await self._clock.sleep(RETRY_WAIT)
        return False

    def _may_go(self, slot: Slot) -> bool:
        """Tell whether the slot is still to leave, now that the commit before it is done."""
        standing = self._standing.get(slot)
        return slot.parting or (standing is not None and slot.number in self._wanted and self._still(slot, standing))

    def _last_word(self, slot: Slot) -> SlotWrite:
        """Take everything of the slot out of memory that its next owner finds in the store, and say the rest."""
        if not slot.parting:
            slot.parting = True
            for lane in [lane for lane in self._lanes() if lane.slot is slot]:
                self._partition.unparking.give_back(lane)
                self._partition.caution.dropped(lane)
            self._partition.holdings.clear(slot)
        return slot.write(self._partition.store_now())

    def _lanes(self) -> Iterator[Lane]:
        for group in self._partition.groups.values():
            yield from list(group.lanes.values())
