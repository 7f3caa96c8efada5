"""Putting a changed ledger row into the slot's next commit, with everything that goes with it.

The row and the progress that passes its events are in one snapshot, so a park is never half in the store (P2). Rows
change only through `policy.parked`, and only here they meet slots, lanes, notices and the log.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Literal, Protocol

from wow_ray.policy.parked import Place, Row, State, Stop
from wow_ray.ports.slots import AttemptNote, Notice
from wow_ray.runtime.lane import Status, digest

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from wow_ray.failure import Failure
    from wow_ray.ports.clock import Clock, Dice
    from wow_ray.runtime.commits import Commits
    from wow_ray.runtime.group import Group
    from wow_ray.runtime.lane import Cell, Lane
    from wow_ray.runtime.slot import Slot

log = logging.getLogger("wow_ray.ledger")

FIELDS = "wow_ray"
"""The attribute of log records that holds what was decided."""


class Home(Protocol):
    """The partition, as the ledger's side of it sees it."""

    groups: dict[int, Group]
    by_name: dict[str, Group]
    commits: Commits
    on_due: Callable[[datetime], None]
    """Told that a row comes due then; whoever sweeps the ledger may look earlier than planned."""

    def store_now(self) -> datetime:
        """The store's time."""


class Rows:
    """The pieces that parking and unparking are made of."""

    def __init__(self, clock: Clock, dice: Dice, ids: Callable[[], str], partition: Home) -> None:
        """`ids` gives the ids of new rows."""
        self.clock = clock
        self.dice = dice
        self.new_id = ids
        self.partition = partition

    def now(self) -> datetime:
        """Give the store's time."""
        return self.partition.store_now()

    def keep(self, slot: Slot, row: Row) -> None:
        """Have the next commit write the row, and say when it comes due."""
        slot.keep(row)
        if row.state is State.PARKED and row.next_due is not None:
            self.partition.on_due(row.next_due)
        self.partition.commits.poke()

    def note(
        self, slot: Slot, row: Row, kind: Literal["live", "retry", "drain", "operator"], failure: Failure | None
    ) -> None:
        """Keep one attempt, that the row was changed for now, in its history."""
        slot.attempts.append(AttemptNote(row.id, kind, row.updated_at, failure))

    def place(self, lane: Lane) -> Place:
        """Give a new row's identity for the lane's aggregate."""
        return Place(self.new_id(), lane.group.name, lane.slot.number, lane.key[0], lane.key[1])

    def hold(self, lane: Lane) -> None:
        """Let what waits in the lane settle as held, and hold what comes (P5)."""
        lane.hold_queue()
        lane.slot.held[lane.group.number].add(digest(lane.key))
        lane.group.forget_states(lane.key)

    def drop(self, lane: Lane) -> None:
        """Take the lane out of memory; a row stands for it now."""
        lane.ticket += 1
        lane.status = Status.GONE
        lane.group.lanes.pop(lane.key, None)

    def free(self, lane: Lane) -> None:
        """Hold the aggregate no longer: its row has ended in this turn."""
        lane.slot.held[lane.group.number].discard(digest(lane.key))
        lane.row = lane.drained = None
        lane.accepting = False


def say(
    slot: Slot,
    kind: Literal["parked", "exhausted", "resumed", "skipped", "resolved"],
    row: Row,
    after: float = 0.0,
) -> None:
    """Put a fact that people are told of, `after` seconds, into the outbox (P13, H15), and into the log."""
    slot.notices.append(Notice(kind, row, after))
    level = logging.WARNING if kind in {"parked", "exhausted"} else logging.INFO
    place = f"{row.aggregate}/{row.aggregate_id}"
    at = f"{row.stopped_version}:{row.stopped_sequence}"
    error = "" if row.failure is None else f": {row.failure.type}: {row.failure.message[:200]}"
    said = (row.subscription, place, kind, at, row.reason, error)
    log.log(level, "%s %s %s at %s (%s)%s", *said, extra={FIELDS: _fields(kind, row)})


def _fields(kind: str, row: Row) -> dict[str, Any]:
    """Give what was decided, as plain JSON for whoever reads logs by machine."""
    failure = row.failure
    return {
        "event": kind,
        "group": row.group,
        "subscription": row.subscription,
        "aggregate": row.aggregate,
        "aggregate_id": row.aggregate_id,
        "row": row.id,
        "version": row.stopped_version,
        "sequence": row.stopped_sequence,
        "state": row.state.value,
        "reason": row.reason.value,
        "category": None if failure is None else failure.category.value,
        "source": None if failure is None else failure.source,
        "error_type": None if failure is None else failure.type,
        "fingerprint": None if failure is None else failure.fingerprint,
        "attempts": row.attempts,
        "retries": row.retries,
    }


def stop_at(subscription: str, cell: Cell) -> Stop:
    """Give the stop at an event."""
    row = cell.row
    return Stop(subscription, row.version, row.sequence, row.position)
