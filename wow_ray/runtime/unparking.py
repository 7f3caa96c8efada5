"""What is done with open rows: retry when due, drain on, pass over, hand over to the live flow (P6 to P11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wow_ray.failure import Category, capture
from wow_ray.policy import parked as life
from wow_ray.policy.decide import Spent
from wow_ray.policy.parked import Cause, Reason, Row, State, Stop
from wow_ray.runtime.crashes import crash
from wow_ray.runtime.lane import digest
from wow_ray.runtime.parking import NO_RETRIES
from wow_ray.runtime.rows import Rows, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wow_ray.events import StoredEvent
    from wow_ray.policy.classify import Classified
    from wow_ray.policy.progress import Progress
    from wow_ray.runtime.caution import Caution
    from wow_ray.runtime.drains import Drains
    from wow_ray.runtime.going_on import GoingOn
    from wow_ray.runtime.group import Group, Handler
    from wow_ray.runtime.lane import Cell, Key, Lane
    from wow_ray.runtime.slot import Slot

DUE_AGAIN = 5.0
"""Seconds until the next look at a waiting row whose time cannot be told."""


class Unparking:
    """Works on the open rows of one partition's slots."""

    drains: Drains
    caution: Caution
    going_on: GoingOn

    def __init__(self, rows: Rows) -> None:
        """`drains` and `going_on` are set by the partition: each needs the other."""
        self._rows = rows

    # --- beginning

    def take_due(self, group: Group, slot: Slot, row: Row) -> bool:
        """Begin the parked retry of a due row, once its begin is in the store (H10); `False` = not now."""
        key = (row.aggregate, row.aggregate_id)
        in_memory = key in group.lanes or key in group.stuck or slot.unwritten(row.group, *key) is not None
        if group.halted or slot.leaving or in_memory or slot.outdated(row) or not row.is_due(self._rows.now()):
            return False
        if group.handlers.keys() and _handler(group, row) is None:
            return False
        self.begin(group, slot, row)
        return True

    def begin(self, group: Group, slot: Slot, row: Row) -> None:
        """Have a due row's call, or a `RETRYING` row's drain, run once its begin is in the store.

        While the group or the slot stands still nothing begins: the row waits as it is until it may (H44); likewise
        while others are tried that may kill the process (H10).
        """
        slot.held[group.number].add(digest((row.aggregate, row.aggregate_id)))
        if group.stops or group.pause is not None or slot.leaving or not self.caution.allows(row):
            self.going_on.add(group, slot, row.id)
            return
        self.caution.begun(slot, row)
        begun, progress = life.begin(row, self._rows.now()), slot.progress[group.number]
        self._rows.keep(slot, begun)
        self._rows.partition.commits.after(lambda: self._begin_now(group, slot, begun, progress))

    def _begin_now(self, group: Group, slot: Slot, row: Row, progress: Progress) -> None:
        if slot.progress[group.number] is not progress:
            return  # the group was reset meanwhile: the row is closed
        if slot.lost or slot.unwritten(row.group, row.aggregate, row.aggregate_id) not in {None, row}:
            return
        lane = self.drains.begin(group, slot, row)
        if lane is not None and row.draining:
            lane.spent = Spent(row.attempts, row.backpressure)
            lane.first_cause = row.first_cause

    def found(self, slot: Slot, row: Row) -> None:
        """Go on with a row that a former owner left waiting or running (P0, H5)."""
        group = self._rows.partition.by_name[row.group]
        if row.state is State.WAITING:
            seconds = 0.0 if row.next_due is None else (row.next_due - self._rows.now()).total_seconds()
            self.wake_at(group, slot, row, seconds)
            return
        handler = _handler(group, row)
        if handler is None:
            return  # kept as it is for a release that has the handler again (P14)
        after = life.interrupted(row, self._rows.now(), handler.parked, crash() if slot.crashed else None)
        if after is not row:
            self._rows.keep(slot, after)
        if after.state is State.RETRYING:
            self.begin(group, slot, after)
        elif after.state is State.EXHAUSTED:
            say(slot, "exhausted", after)

    def operator_row(self, group: Group, slot: Slot, row: Row) -> None:
        """Go on with a row as an operator's command left it."""
        slot.held[group.number].add(digest((row.aggregate, row.aggregate_id)))
        self._rows.keep(slot, row)
        if row.state is State.RETRYING or row.is_due(self._rows.now()):
            self.begin(group, slot, row)

    def reopen(self, group: Group, slot: Slot, row: Row) -> None:
        """Take back a park or a spill that an outage caused, unless somebody has changed it since (W1, H15)."""
        if (
            slot.lost
            or slot.parting
            or slot.outdated(row)
            or row.state not in {State.PARKED, State.EXHAUSTED, State.WAITING}
        ):
            return
        after = life.reopened(row, self._rows.now())
        slot.reopened.append((after.id, after.etag))
        self._rows.keep(slot, after)
        self.wake_at(group, slot, after, 0.0)

    def wake_at(self, group: Group, slot: Slot, row: Row, seconds: float) -> None:
        """Have a spilled aggregate go on when its wait is over: by the owner's own timer, without the ledger actor."""
        clock, row_id, key = self._rows.clock, row.id, (row.group, row.aggregate, row.aggregate_id)

        def wake() -> None:
            if not slot.lost:
                newest = slot.unwritten(*key)
                if newest is not None:
                    self.wake(group, slot, newest)
                elif not slot.ended_unwritten(row_id):
                    self.going_on.add(group, slot, row_id)

        clock.call_at(clock.monotonic() + max(0.0, seconds), wake)

    def wake(self, group: Group, slot: Slot, row: Row) -> None:
        """Go on with a waiting row whose time has come; do nothing with one that is not waiting any more."""
        if row.state is not State.WAITING or slot.outdated(row) or (row.aggregate, row.aggregate_id) in group.lanes:
            return
        now = self._rows.now()
        if group.closed:
            self.wake_at(group, slot, row, DUE_AGAIN)
        elif row.is_due(now):
            self.begin(group, slot, row)
        else:
            self.wake_at(group, slot, row, DUE_AGAIN if row.next_due is None else (row.next_due - now).total_seconds())

    def go_on(self, group: Group, slot: Slot, row: Row) -> None:
        """Go on with a row in its newest state, as far as it does so by itself and nobody has begun it."""
        if row.state is State.WAITING:
            self.wake(group, slot, row)
        elif row.draining and not row.begun and not slot.outdated(row) and _key(row) not in group.lanes:
            self.begin(group, slot, row)

    # --- between

    def retry_failed(
        self, lane: Lane, handler: Handler, classified: Classified, error: BaseException, retry_after: float | None
    ) -> None:
        """Record a failed parked retry: parked until the next one, or exhausted (P6 to P8).

        `classified` is what counts, also where the error's own class says otherwise (W5).
        """
        rows, failure = self._rows, capture(error, classified.category, classified.source)
        after = life.failed(
            lane.caught_up(rows.now()),
            classified.category,
            failure,
            now=rows.now(),
            dice=rows.dice(),
            limits=handler.parked,
            retry_after=retry_after,
        )
        rows.note(lane.slot, after, "retry", failure)
        self.drains.left(lane)
        rows.keep(lane.slot, after)
        if after.state is State.EXHAUSTED:
            say(lane.slot, "exhausted", after)

    def give_back(self, lane: Lane) -> None:
        """Let a drain that our own stopping ended cost nothing; the next owner goes on with it (P7)."""
        if lane.row is not None and lane.row.state is State.RETRYING:
            now = self._rows.now()
            self._rows.keep(lane.slot, life.given_back(lane.caught_up(now), now))
            lane.hold_later()

    def step_back(self, lane: Lane) -> None:
        """Take a drain without a call under way out of memory; its row goes on when its group does (P7, H44)."""
        group, slot, now = lane.group, lane.slot, self._rows.now()
        after = life.given_back(lane.caught_up(now), now)
        group.forget_states(lane.key)
        self.drains.left(lane)
        self._rows.keep(slot, after)
        if after.state is State.RETRYING:
            self.going_on.add(group, slot, after.id)

    def drained(self, lane: Lane, cell: Cell) -> None:
        """Move the row's mark behind an event that is done (P6); the next ones run under the normal budget."""
        lane.advance(cell.row)
        self._rows.partition.commits.poke()
        lane.group.settled += 1
        lane.group.open += 1

    def passed(self, lane: Lane, row: StoredEvent) -> bool:
        """Tell whether the drain's next event needs no call: an operator skips it, or it was settled before (H4)."""
        assert lane.row is not None  # noqa: S101 - only drains ask
        if not lane.slot.fold_marker(lane.group.number, row.position) and not lane.row.passes_over(
            row.version, row.sequence
        ):
            return False
        lane.advance(row)
        self._rows.partition.commits.poke()
        lane.group.forget_states(lane.key)
        return True

    # --- ending

    def expected(self, lane: Lane, rows: Sequence[StoredEvent]) -> bool:
        """Check that the stream still holds the event that the row's failure stopped at; stop if not (H40)."""
        row = lane.caught_up(self._rows.now())
        if row.failure is None or lane.resume_at != row.stopped or row.passes_over(*row.stopped):
            return True
        if rows and (rows[0].version, rows[0].sequence) == row.stopped:
            return True
        if rows:
            self._missing(lane, row, rows[0])
            return False
        self._rows.keep(lane.slot, life.ended(row, self._rows.now(), State.NOTHING_TO_READ))
        self._rows.free(lane)
        self.drains.release(lane)
        return False

    def hand_over(self, lane: Lane) -> None:
        """End the row: the lane has caught up with the live flow and goes on in it (P11)."""
        now = self._rows.now()
        after = life.ended(lane.caught_up(now), now)
        self._rows.keep(lane.slot, after)
        if after.told:
            say(lane.slot, "skipped" if after.state is State.SKIPPED else "resolved", after)
        self._rows.free(lane)

    def _missing(self, lane: Lane, row: Row, found: StoredEvent) -> None:
        text = (
            f"the stream has no event {row.stopped_version}:{row.stopped_sequence} any more; the next one is "
            f"{found.version}:{found.sequence}; skip through it to go on from there"
        )
        failure = capture(LookupError(text), Category.UNRECOVERABLE, "stream")
        stop = Stop(row.subscription, row.stopped_version, row.stopped_sequence, row.stopped_position)
        cause = Cause(Reason.UNDECODABLE, failure, row.first_cause)
        rows = self._rows
        after = life.stopped_again(row, stop, cause, now=rows.now(), dice=rows.dice(), limits=NO_RETRIES)
        self.drains.left(lane)
        rows.keep(lane.slot, after)
        say(lane.slot, "exhausted", after)


def _key(row: Row) -> Key:
    """Give the row's aggregate."""
    return row.aggregate, row.aggregate_id


def _handler(group: Group, row: Row) -> Handler | None:
    """Give the row's handler; `None` = this program has it no more (P14)."""
    found = (*group.handlers.values(), *group.catch_all.values())
    return next((handler for handler in found if handler.subscription == row.subscription), None)
