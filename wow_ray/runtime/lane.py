"""A lane: one aggregate's events for one group, one at a time.

A plain object in the partition's process (an actor would be a process, a task would cost more than most handlers). It
exists while it has work and is dropped when idle. A lane *with a ledger row* is being drained: its work comes from
the aggregate's own stream, whose positions are settled already as held, and what arrives live meanwhile waits in
`later` (P11, H2, H50).
"""

from __future__ import annotations

from enum import IntEnum
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from wow_ray.policy.decide import Spent
from wow_ray.policy.parked import advanced

if TYPE_CHECKING:
    from datetime import datetime

    from wow_ray.events import AggregateRef, StoredEvent
    from wow_ray.failure import Failure
    from wow_ray.policy.parked import Row
    from wow_ray.runtime.group import Group
    from wow_ray.runtime.slot import Slot
    from wow_ray.runtime.stepping import Suspended

MAX_QUEUE = 64
"""How many events wait in one lane; beyond that the aggregate spills (P5)."""

NOTHING_SPENT = Spent()
Key = tuple[str, str]
"""An aggregate inside a group: (aggregate's name, id)."""


def digest(key: Key) -> bytes:
    """Give the 128-bit digest that stands for an aggregate among the held ones (H49).

    Cryptographic, because ids are users' input and a collision would hold an event without a row.
    """
    return blake2b(f"{key[0]}\x00{key[1]}".encode(), digest_size=16).digest()


class Status(IntEnum):
    """Where a lane is. Every lane is in exactly one place, and only the place it is in moves it on."""

    READY = 1
    """In its group's ready queue."""
    RUNNING = 2
    """Taken by a worker."""
    WAITING = 3
    """In the timers, until its next attempt."""
    READING = 4
    """A drain that waits for its begin to be durable or for a page of its stream."""
    GONE = 5
    """Dropped: idle, parked, or its slot was lost."""
    HALTED = 6
    """Ready, but its slot is about to leave (L7)."""


class Cell:
    """One event on its way, shared by the groups of a page: the stored row, and the body once somebody wanted it."""

    __slots__ = ("body", "kind", "position", "row")

    def __init__(self, row: StoredEvent, kind: tuple[str, str]) -> None:
        """Hold the row; nothing is decoded yet. `kind` is its (aggregate's name, type's name)."""
        self.row = row
        self.kind = kind
        self.position = row.position
        self.body: Any = None


class Lane:
    """One aggregate's events for one group. Mutable and hot: what begins alike in all lanes is set on the class."""

    status = Status.READY
    spent: Spent = NOTHING_SPENT
    abandoned = False
    """The call under way was given up: it does not end, and its permit was given back (H25)."""
    as_drain = False
    """The call under way counts among the group's drains."""
    began = 0.0
    """When the call under way, or the last one, began, monotonic."""
    cuts = 0
    """How many calls in a row have lost their connection to our own store and were not charged for it."""
    due = 0.0
    """When the next attempt may begin, monotonic; in the past = at once."""
    ticket = 0
    """Raised whenever a timer set for this lane is to be forgotten."""
    first_cause: Failure | None = None
    ref: AggregateRef | None = None
    """What handlers are told of the aggregate, made with the first call."""
    ended: BaseException | Suspended | None = None
    """What the call of the event at the head of the queue has ended in, where it was made already."""
    commanded: bool = False
    """An intent waits for the present call to end (H41)."""

    # --- of a drain only
    row: Row | None = None
    """The ledger row as it was last said to the store; `caught_up` says what was drained since."""
    drained: StoredEvent | None = None
    """The last event drained that the row does not say yet."""
    from_ledger = False
    """It was begun from the ledger, and counts for the room there is."""
    retrying = False
    """The next call is a parked retry: one call, with the parked timeout."""
    bound = 0
    """The position to drain to: everything at or below is held or handled (H2)."""
    resume_at: tuple[int, int] = (0, 0)
    """The (version, sequence) from which the stream is read next."""
    accepting = False
    """Live events above `bound` may wait in `later`."""
    complete = False
    """Everything of the stream up to `bound` has been queued."""

    def __init__(self, group: Group, slot: Slot, key: Key, *cells: Cell) -> None:
        """Begin ready, with these events."""
        self.group = group
        self.slot = slot
        self.key = key
        self.queue = list(cells)
        self.later: list[Cell] = []

    @property
    def careful(self) -> bool:
        """Whether it is a drain under suspicion, each of whose calls is begun in its row first (H10)."""
        return self.row is not None and self.row.suspicions > 0

    def advance(self, row: StoredEvent) -> None:
        """Note that a drained event is done; the row says so with the next commit, or when somebody wants to see it."""
        self.drained = row
        self.retrying = False
        self.slot.draining.add(self)
        self.slot.dirty = True

    def caught_up(self, now: datetime) -> Row:
        """Give the row with its mark behind the last event drained; raises `LookupError` for a lane that has none."""
        if self.row is None:
            raise LookupError(self.key)
        if self.drained is not None:
            done, self.drained = self.drained, None
            self.row = advanced(self.row, done.version, done.sequence, done.position, now)
            self.slot.keep(self.row)
        return self.row

    def settle(self, cell: Cell) -> None:
        """Note that a live event is done or held: it counts for the next commit."""
        del self.slot.progress[self.group.number].unfinished[cell.position]
        self.slot.dirty = True
        self.group.settled += 1

    def hold_queue(self) -> None:
        """Let every waiting live event settle as held: from here on a ledger row stands for them."""
        for cell in self.queue:
            self.settle(cell)

    def hold_later(self) -> None:
        """Let the live events that arrived during a drain settle as held; the drain will read them."""
        for cell in self.later:
            self.settle(cell)
        self.later.clear()
        self.accepting = False
