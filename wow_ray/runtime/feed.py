"""The feed: reads each slot once for every group that is interested, and hands the rows to lanes.

Correctness rests on the poll of the heads; a wake is a hint that makes it quick (architecture 4.1). The next page is
read while the last one is handled, as long as no more than W positions of a group are dispatched and uncommitted
(P5); that W also bounds what a crash repeats (L2). The cursor moves to the page's ceiling, never past it (H7).
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Protocol

from wow_ray.errors import StoreUnavailableError, WowError
from wow_ray.ports.event_log import Interest, Page
from wow_ray.runtime.group import WINDOW
from wow_ray.runtime.lane import MAX_QUEUE, Cell, Lane, Status, digest
from wow_ray.runtime.ranges import PAGE, Ask, next_span, plan
from wow_ray.runtime.trouble import Trouble

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wow_ray.policy.progress import Progress
    from wow_ray.ports.clock import Clock
    from wow_ray.ports.event_log import LogReader
    from wow_ray.runtime.group import Group, TypeKey
    from wow_ray.runtime.slot import Slot

log = logging.getLogger("wow_ray.feed")

PRESSURE = WINDOW // 4
"""With more positions open than this, an aggregate that waits for its next attempt holds none: it spills (H6)."""
BUSY_POLL = 0.01
RETRY_WAIT = 0.5


class LogRewoundError(WowError):
    """The log is shorter than what was read of it: memory is void, the slots must be acquired again."""

    default_code = "WOW-H14"


class Dispatching(Protocol):
    """The partition, as the feed sees it."""

    slots: dict[int, Slot]
    groups: dict[int, Group]

    def has_work(self, group: Group) -> None:
        """New lanes of the group are ready."""

    def spill(self, lane: Lane) -> None:
        """The lane is full: its aggregate goes on through the ledger (H6)."""

    def dispatched(self) -> None:
        """A page was handed out; cursors have moved."""

    def rewound(self, slot: int, cursor: int, head: int) -> None:
        """The log is shorter than what was read of it (H14)."""


class Feed:
    """Reads for one partition."""

    def __init__(self, reader: LogReader, clock: Clock, partition: Dispatching, idle_poll: float) -> None:
        """Poll the heads every 10 ms while events come, backing off to `idle_poll` seconds."""
        self._reader = reader
        self._clock = clock
        self._partition = partition
        self._idle_poll = idle_poll
        self._wake = asyncio.Event()
        self._span = PAGE
        self._behind_first = False
        self._first = 0
        self._identity: str | None = None
        self._doubtful = True
        self._connections = 0
        self.heads: dict[int, int] = {}
        self._known_until = clock.monotonic()
        """Until when `heads` are new enough to be shown, where nobody can take a page anyway."""
        self.still = False
        """Whether nothing more is to be read: another program is to, from here on (H19)."""
        self._routes: dict[tuple[int, ...], dict[TypeKey, tuple[Group, ...]]] = {}
        self.due = clock.monotonic() + idle_poll
        """When it is to turn again at the latest, monotonic; in the past = it is late (H60)."""
        self._trouble = Trouble(
            log,
            clock,
            "the log cannot be read (%s); trying on",
            "the log can be read again after %.1f s",
            (logging.ERROR, logging.WARNING),
        )

    def heard(self, heads: Mapping[int, int]) -> None:
        """Look, if one of our slots has more than was seen (architecture 4.1)."""
        slots = self._partition.slots
        if any(slot in slots and self.heads.get(slot, 0) < position for slot, position in heads.items()):
            self.wake()

    def wake(self) -> None:
        """Look at the heads now: something was appended, or a group can take a page again."""
        self._wake.set()

    async def run(self) -> None:
        """Read for ever; ends by cancellation."""
        pause = BUSY_POLL
        while True:
            self._wake.clear()
            self.due = self._clock.monotonic() + self._idle_poll
            try:
                moved = await self._turn()
            except StoreUnavailableError as error:
                self._doubtful = True
                self._trouble.failed(error)
                await self._clock.sleep(RETRY_WAIT)
                continue
            self._trouble.worked()
            if moved:
                pause = BUSY_POLL
                continue
            await self._rest(pause)
            pause = min(self._idle_poll, pause * 1.5)

    async def _rest(self, seconds: float) -> None:
        timer = self._clock.call_at(self._clock.monotonic() + seconds, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()

    async def _turn(self) -> bool:
        """Read and hand out one page; `False` = there was nothing to read or nobody to take it."""
        slots = self._partition.slots
        if not self._able() and self._clock.monotonic() < self._known_until:
            return False  # nobody would be served
        asked_heads_of = dict(slots)
        self.heads = await self._reader.heads(list(slots))
        self._known_until = self._clock.monotonic() + self._idle_poll
        if self._doubtful or self._reader.connections != self._connections:
            await self._check_identity()
        self._check_heads(asked_heads_of)
        asks = self._plan(self._able())
        if not asks:
            return False
        owned = {ask.range.slot: slots[ask.range.slot] for ask in asks}
        asked_for = {ask.range.slot: owned[ask.range.slot].standing(ask.groups) for ask in asks}
        interest = self._interest(asks)
        if interest.types or interest.aggregates:
            page = await self._reader.page([ask.range for ask in asks], interest)
        else:
            page = _nothing(asks)
        if self._reader.connections != self._connections:
            return True  # it may be another database's: looked at before anything is handed out (H14)
        self._dispatch(page, asked_for, owned)
        asked = sum(ask.range.to - ask.range.after for ask in asks)
        cut = any(page.reached[ask.range.slot] < ask.range.to for ask in asks)
        self._span = next_span(self._span, asked, len(page.rows), cut=cut)
        self._behind_first = not self._behind_first
        return True

    def _able(self) -> frozenset[int]:
        """Give the groups that can take a page."""
        return frozenset(number for number, group in self._partition.groups.items() if group.takes_page(WINDOW - PAGE))

    def _plan(self, able: frozenset[int]) -> list[Ask]:
        if not able or self.still:
            return []
        numbers = [
            number
            for number, slot in self._partition.slots.items()
            if not slot.leaving and slot.behind(self.heads.get(number, 0))
        ]
        if not numbers:
            return []
        self._first = (self._first + 1) % len(numbers)
        order = numbers[self._first :] + numbers[: self._first]
        slots = self._partition.slots
        return plan(
            ((number, slots[number].cursors()) for number in order),
            self.heads,
            able,
            self._span,
            behind_first=self._behind_first,
        )

    def _interest(self, asks: Sequence[Ask]) -> Interest:
        types: set[TypeKey] = set()
        aggregates: set[str] = set()
        for number in {number for ask in asks for number in ask.groups}:
            group = self._partition.groups[number]
            types.update(group.handlers)
            aggregates.update(group.aggregates)
        return Interest(frozenset(types), frozenset(aggregates))

    async def _check_identity(self) -> None:
        connections = self._reader.connections
        identity = await self._reader.identity()
        if self._identity is not None and identity != self._identity:
            log.error(
                "the database is another one, or on another timeline, than before (%s, was %s)",
                identity,
                self._identity,
            )
            for number, slot in self._partition.slots.items():
                self._partition.rewound(number, max(slot.cursors().values(), default=0), -1)
                break
        self._identity = identity
        self._doubtful = False
        self._connections = connections

    def _check_heads(self, asked: dict[int, Slot]) -> None:
        """See that the log has what was read of it; of a slot that came while it was asked nothing is known yet."""
        for number, slot in asked.items():
            head = self.heads.get(number, 0)
            if self._partition.slots.get(number) is slot and slot.beyond(head):
                self._partition.rewound(number, max(slot.cursors().values()), head)
                return

    def _dispatch(self, page: Page, asked_for: dict[int, dict[int, Progress]], owned: dict[int, Slot]) -> None:
        """Hand the rows to the lanes of exactly the groups the page was asked for, then move those groups' cursors."""
        present = self._partition.slots
        still = {number for number, slot in owned.items() if present.get(number) is slot and not slot.leaving}
        # A group that is being reset, or was while the page was on its way (its progress is another one then), gets
        # nothing of it, and its cursor stays.
        groups = self._partition.groups
        groups_of = {
            number: tuple(
                group
                for group, progress in asked_for[number].items()
                if slot.progress[group] is progress and not groups[group].closed
            )
            for number, slot in owned.items()
        }
        routes_of = {number: self._routes.setdefault(groups, {}) for number, groups in groups_of.items()}
        for row in page.rows:
            number = row.slot
            if number not in still:
                continue
            routes, key = routes_of[number], (row.aggregate, row.type)
            found = routes.get(key)
            if found is None:
                found = routes[key] = self._interested(groups_of[number], key)
            if found:
                cell, slot = Cell(row, key), owned[number]
                for group in found:
                    self.hand_over(group, slot, cell)
        for number in still:
            owned[number].moved(groups_of[number], page.reached[number])
        for each in {each for number in still for each in groups_of[number]}:
            self._partition.has_work(groups[each])
        self._partition.dispatched()

    def _interested(self, numbers: tuple[int, ...], key: TypeKey) -> tuple[Group, ...]:
        groups = self._partition.groups
        return tuple(groups[number] for number in numbers if groups[number].wants(*key))

    def hand_over(self, group: Group, slot: Slot, cell: Cell) -> None:
        """Give one event to its aggregate's lane of the group, or let it settle as held (P5).

        A new lane is ready; that its group has work, whoever hands over says.
        """
        row, position = cell.row, cell.position
        progress = slot.progress[group.number]
        key = (row.aggregate, row.aggregate_id)
        lane = group.lanes.get(key)
        if lane is None:
            held = slot.held[group.number]
            if held and digest(key) in held:
                return
            lane = group.lanes[key] = Lane(group, slot, key, cell)
            group.ready.append(lane)
            progress.unfinished[position] = None
            group.open += 1
            return
        if lane.row is None:
            crowded = group.open > PRESSURE and lane.status is Status.WAITING
            if (len(lane.queue) < MAX_QUEUE and not crowded) or group.paused:
                lane.queue.append(cell)
                progress.unfinished[position] = None
                group.open += 1
                return
            self._partition.spill(lane)
            return
        if lane.accepting:
            if len(lane.later) < MAX_QUEUE:
                lane.later.append(cell)
                progress.unfinished[position] = None
                group.open += 1
            else:
                lane.hold_later()


def _nothing(asks: Sequence[Ask]) -> Page:
    return Page([], {ask.range.slot: ask.range.to for ask in asks})
