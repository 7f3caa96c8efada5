"""Drains: reading a parked or spilled aggregate's own stream until it has caught up with the live flow.

A drain is a lane whose work comes from its stream, from where it stopped up to `bound`. The bound is the group's
cursor in the slot at the turn the read is asked for: at or below it everything of a held aggregate is held or
handled, above it everything is still unread (H2). From that turn on what arrives live waits in the lane (`later`); if
that grows too long it settles as held and a further read fetches it. The lane turns live in the very turn in which
its stream is handled to the bound, so no event can fall between (P11, S07).

Reads of many drains are one statement (H50). A row begins only once its begin is durable (H10).
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from wow_ray.errors import StoreUnavailableError
from wow_ray.ports.event_log import StreamWant
from wow_ray.runtime.lane import Cell, Lane, Status, digest
from wow_ray.runtime.trouble import Trouble

if TYPE_CHECKING:
    from wow_ray.events import StoredEvent
    from wow_ray.policy.parked import Row
    from wow_ray.ports.clock import Clock
    from wow_ray.ports.event_log import LogReader
    from wow_ray.runtime.group import Group
    from wow_ray.runtime.slot import Slot
    from wow_ray.runtime.unparking import Unparking
    from wow_ray.runtime.workers import Workers

log = logging.getLogger("wow_ray.drains")

AT_ONCE = 128
"""Streams read by one statement."""
ROWS = 4_000
"""Rows of one such read at most, shared by its streams."""
BYTES = 8_000_000
"""Bytes of payload that one such read is to bring, going by the size of the events read last (H48)."""
RETRY_WAIT = 0.5


class Drains:
    """Feeds the draining lanes of one partition."""

    def __init__(self, reader: LogReader, clock: Clock, workers: Workers, unparking: Unparking) -> None:
        """Read through a connection of its own, so that a long drain never delays the feed."""
        self._reader = reader
        self._clock = clock
        self._workers = workers
        self._unparking = unparking
        self._wanted: list[Lane] = []
        self._go = asyncio.Event()
        self._rows = ROWS // 4
        self._trouble = Trouble(log, clock, "drains cannot read (%s); trying on", "drains read again after %.1f s")
        self.active = 0
        """Lanes begun from the ledger; its due work and commands are taken only as far as there is room."""

    def begin(self, group: Group, slot: Slot, row: Row) -> Lane | None:
        """Make a lane for the row, which is held; it starts to read at once.

        `None` = the aggregate has a lane already.
        """
        key = (row.aggregate, row.aggregate_id)
        if key in group.lanes:
            return None
        lane = group.lanes[key] = Lane(group, slot, key)
        slot.held[group.number].add(digest(key))
        lane.row = row
        lane.retrying = not row.draining
        lane.resume_at = row.stopped
        lane.from_ledger = True
        self.active += 1
        self.want(lane)
        return lane

    def adopt(self, lane: Lane, row: Row) -> None:
        """Have a live lane go on as a drain: what it has queued first, then its stream from behind that."""
        last = lane.queue[-1].row
        lane.row = row
        lane.retrying = False
        lane.resume_at = (last.version, last.sequence + 1)
        lane.accepting = lane.complete = False

    def want(self, lane: Lane) -> None:
        """Have the next part of the lane's stream read."""
        lane.status = Status.READING
        self._wanted.append(lane)
        self._go.set()

    def finished(self, lane: Lane) -> None:
        """Handle an empty queue: hand the lane over when its stream is handled to the bound, else read on."""
        if lane.complete and lane.accepting:
            self._unparking.hand_over(lane)
            self.release(lane)
        else:
            self.want(lane)

    async def run(self) -> None:
        """Read for the drains for ever; ends by cancellation."""
        while True:
            await self._go.wait()
            self._go.clear()
            while self._wanted:
                lanes, self._wanted = self._wanted[:AT_ONCE], self._wanted[AT_ONCE:]
                lanes = [lane for lane in lanes if lane.status is Status.READING and lane.row is not None]
                if not lanes:
                    continue
                try:
                    await self._read(lanes)
                except StoreUnavailableError as error:
                    self._trouble.failed(error)
                    self._wanted = lanes + self._wanted
                    await self._clock.sleep(RETRY_WAIT)
                else:
                    self._trouble.worked()

    async def _read(self, lanes: list[Lane]) -> None:
        limit = max(4, self._rows // len(lanes))
        wants = [self._want(lane) for lane in lanes]
        answers = await self._reader.streams(wants, limit)
        sizes = [len(row.payload) for rows in answers for row in rows]
        if sizes:
            self._rows = max(len(lanes), min(ROWS, BYTES * len(sizes) // max(1, sum(sizes))))
        for lane, want, rows in zip(lanes, wants, answers, strict=True):
            if lane.status is Status.READING and lane.row is not None:
                lane.complete = len(rows) < limit and lane.bound == want.to_position
                self._fed(lane, rows)

    def _want(self, lane: Lane) -> StreamWant:
        """Fix what is read next; from this turn on live events above the bound wait in the lane."""
        if not lane.accepting:
            lane.bound = lane.slot.progress[lane.group.number].cursor
            lane.accepting = True
        version, sequence = lane.resume_at
        return StreamWant(lane.slot.number, lane.key[0], lane.key[1], version, sequence, lane.bound)

    def _fed(self, lane: Lane, rows: list[StoredEvent]) -> None:
        """Queue what was read and is somebody's here."""
        group = lane.group
        if not self._unparking.expected(lane, rows):
            return
        for row in rows:
            if group.wants(row.aggregate, row.type):
                lane.queue.append(Cell(row, (row.aggregate, row.type)))
        if rows:
            lane.resume_at = (rows[-1].version, rows[-1].sequence + 1)
        if lane.queue:
            self._workers.ready(lane)
        else:
            self.finished(lane)

    def release(self, lane: Lane) -> None:
        """Bring a lane that has just been handed over back into the live flow."""
        self._uncount(lane)
        lane.queue, lane.later = lane.later, []
        if lane.queue:
            self._workers.ready(lane)
        else:
            lane.status = Status.GONE
            del lane.group.lanes[lane.key]

    def _uncount(self, lane: Lane) -> None:
        self.active -= lane.from_ledger
        lane.from_ledger = False

    def left(self, lane: Lane) -> None:
        """Note that the lane is no drain any more: it was parked again, or waits in the ledger."""
        self._uncount(lane)
        lane.hold_later()
        lane.row = lane.drained = None
        lane.status = Status.GONE
        lane.group.lanes.pop(lane.key, None)
