"""What a partition holds, slots and groups, and what a commit says of them and does to them.

This is the commits' view of the partition: the snapshot they send, what happens when it is acknowledged, when the
store is away, when a slot turns out to be somebody else's, and when the store will not take a slot at all.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from wow_ray.runtime.lane import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from wow_ray.ports.slots import SlotWrite
    from wow_ray.runtime.drains import Drains
    from wow_ray.runtime.group import Group
    from wow_ray.runtime.slot import Slot
    from wow_ray.runtime.store_time import StoreTime
    from wow_ray.runtime.workers import Workers

log = logging.getLogger("wow_ray.partition")


class Holdings:
    """The slots and groups of one partition; implements `commits.Ledgered`."""

    drains: Drains

    def __init__(self, groups: Sequence[Group], workers: Workers, time: StoreTime) -> None:
        """Begin without slots; `drains`, `room` and `empty` are set by the partition."""
        self.slots: dict[int, Slot] = {}
        self.groups = {group.number: group for group in groups}
        self.by_name = {group.name: group for group in groups}
        self.room: Callable[[], None] = lambda: None
        """Told that groups may have room for further events."""
        self.empty: Callable[[tuple[int, ...]], None] = lambda _: None
        """Told when the last slot was lost."""
        self._workers = workers
        self._time = time
        self._batch: dict[int, int] = {}

    def snapshot(self, *, everything: bool = False) -> list[SlotWrite]:
        """See `Ledgered`; `everything` = also of slots that have not changed."""
        for group in self.groups.values():
            if group.settled:
                self._batch[group.number] = self._batch.get(group.number, 0) + group.settled
                group.settled = 0
        now = self._time.now()
        return [slot.write(now) for slot in self.slots.values() if slot.dirty or everything]

    def take_back(self, writes: Sequence[SlotWrite]) -> None:
        """Have the next commit say what these writes were to say and did not: they were refused as a whole."""
        for write in writes:
            slot = self.slots.get(write.slot)
            if slot is not None:
                slot.take_back(write)

    def acknowledged(self, writes: Sequence[SlotWrite], now: datetime) -> None:
        """See `Ledgered`."""
        self._time.heard(now)
        for write in writes:
            slot = self.slots.get(write.slot)
            if slot is not None:
                slot.acknowledged()

    def batch_done(self) -> None:
        """See `Ledgered`: the batch's events are open no more (P5)."""
        for number, settled in self._batch.items():
            self.groups[number].open -= settled
            self._workers.activate(self.groups[number])
        self._batch.clear()
        self.room()

    def store_down(self) -> None:
        """See `Ledgered`."""
        self._workers.close("store")

    def store_up(self) -> None:
        """See `Ledgered`."""
        self._workers.open("store")

    def fenced(self, slots: tuple[int, ...]) -> None:
        """See `Ledgered`: drop the slots and all memory of them; their new owner has the rest (L3).

        One whose last word was on its way has left by it: only the answer was lost (L7).
        """
        taken = [slot for slot in (self.slots.get(number) for number in slots) if slot is not None]
        for slot in taken:
            del self.slots[slot.number]
            slot.lost = True
            if not slot.parting:
                log.error("slot %d has a newer owner; dropped", slot.number)
                self.clear(slot)
        if not self.slots and not all(slot.parting for slot in taken):
            self.empty(slots)

    def gone(self, slot: Slot) -> None:
        """Drop a slot that was given up; `clear` has taken out what was of it."""
        if self.slots.get(slot.number) is slot:
            del self.slots[slot.number]
        slot.lost = True

    def clear(self, slot: Slot) -> None:
        """Take all lanes of a slot out of memory, once."""
        for group in self.groups.values():
            group.open -= len(slot.progress[group.number].unfinished)
            group.states.clear()
            for lane in [lane for lane in group.lanes.values() if lane.slot is slot]:
                lane.ticket += 1
                lane.status = Status.GONE
                del group.lanes[lane.key]
                group.outlook.left(lane.key)
                self.drains.active -= lane.from_ledger
            self._workers.activate(group)

    def refused(self, slot: int, error: Exception) -> None:
        """See `Ledgered`: stop this slot alone (H27)."""
        log.critical("slot %d: the store takes its state in no form (%s); it stops, the others go on", slot, error)
        self.fenced((slot,))
