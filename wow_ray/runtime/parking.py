"""Out of the live flow and into the ledger: park, spill, give up a call that does not end (P1, P2, P5, H6, H25)."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from wow_ray.failure import Category, Failure, capture
from wow_ray.policy import parked as life
from wow_ray.policy.budget import ParkedRetries
from wow_ray.policy.parked import Cause, Reason, Row, State, Stop
from wow_ray.runtime.lane import Status
from wow_ray.runtime.rows import Rows, say, stop_at

if TYPE_CHECKING:
    from wow_ray.errors import UndecodableError
    from wow_ray.runtime.deadlines import Call
    from wow_ray.runtime.drains import Drains
    from wow_ray.runtime.group import Handler
    from wow_ray.runtime.lane import Cell, Lane
    from wow_ray.runtime.unparking import Unparking

log = logging.getLogger("wow_ray.ledger")

NO_RETRIES = ParkedRetries(max_retries=0)
"""For stops that no automatic retry can get past."""


class Parking:
    """Moves aggregates of one partition into the ledger."""

    def __init__(self, rows: Rows, drains: Drains, unparking: Unparking) -> None:
        """Spilled aggregates go on through `unparking` by themselves."""
        self._rows = rows
        self._drains = drains
        self._unparking = unparking

    def park(
        self, lane: Lane, cell: Cell, handler: Handler, reason: Reason, failure: Failure, *, told_after: float = 0.0
    ) -> Row:
        """Park the aggregate at this event; what waits settles as held, later events are held (P1, P2, P5).

        People are told of it `told_after` seconds from now, unless it is reopened by then (H15).
        """
        cause = Cause(reason, failure, lane.first_cause or failure, lane.spent.attempts, lane.spent.backpressure)
        return self._stopped(lane, stop_at(handler.subscription, cell), cause, handler.parked, told_after)

    def unreadable(self, lane: Lane, cell: Cell, error: UndecodableError) -> None:
        """Park the aggregate at an event that this program cannot read; no call was made (P14, H21)."""
        failure = capture(error, Category.UNRECOVERABLE, "undecodable")
        cause = Cause(Reason.UNDECODABLE, failure, failure)
        self._stopped(lane, stop_at(_subscription(lane, cell), cell), cause, NO_RETRIES)

    def not_ending(self, call: Call) -> None:
        """Park the aggregate of a call that has not ended a grace period after its timeout (B4, B5, H25)."""
        lane, cell = call.lane, call.cell
        handler = lane.group.handler_of(cell.row.aggregate, cell.row.type)
        if lane.status is Status.GONE or handler is None:
            return
        text = "the call still runs 30 s after its timeout; the aggregate is not called again before that call ends"
        failure = capture(TimeoutError(text), Category.RECOVERABLE, "timeout")
        lane.group.stuck[lane.key] = call
        self.park(lane, cell, handler, Reason.NOT_ENDING, failure)

    def spill(self, lane: Lane, handler: Handler, seconds: float, failure: Failure) -> Row:
        """Put a long in-budget wait into the ledger, so that it holds nothing in memory (P5, H6)."""
        now = self._rows.now()
        due = now + timedelta(seconds=seconds)
        reason = Reason.BACKPRESSURE_SPENT if failure.category is Category.BACKPRESSURE else Reason.BUDGET_SPENT
        cause = Cause(reason, failure, lane.first_cause or failure, lane.spent.attempts, lane.spent.backpressure)
        stop = stop_at(handler.subscription, lane.queue[0])
        if lane.row is not None:
            row = life.spilled_again(lane.caught_up(now), stop, cause, due, now)
            self._drains.left(lane)
        else:
            row = life.spilled(self._rows.place(lane), stop, cause, due, now)
            self._rows.hold(lane)
            self._rows.drop(lane)
        self._rows.note(lane.slot, row, "live", failure)
        self._rows.keep(lane.slot, row)
        self._unparking.wake_at(lane.group, lane.slot, row, seconds)
        return row

    def spill_full(self, lane: Lane) -> None:
        """Let a lane with too many waiting events go on by reading its stream (P5, H6).

        What is queued is handled from memory, a call under way goes on, and the stream is read on from behind the
        queue.
        """
        now = self._rows.now()
        cell = lane.queue[0]
        cause = Cause(Reason.BUDGET_SPENT, None, lane.first_cause, lane.spent.attempts, lane.spent.backpressure)
        row = life.begin(
            life.spilled(self._rows.place(lane), stop_at(_subscription(lane, cell), cell), cause, now, now), now
        )
        self._rows.hold(lane)
        self._drains.adopt(lane, row)
        self._rows.keep(lane.slot, row)

    def leave_live(self, lane: Lane) -> None:
        """Take a live lane that is not running out of the flow, because an operator's row stands for it now."""
        self._rows.hold(lane)
        self._rows.drop(lane)
        lane.group.outlook.left(lane.key)

    def _stopped(self, lane: Lane, stop: Stop, cause: Cause, limits: ParkedRetries, told_after: float = 0.0) -> Row:
        rows, slot = self._rows, lane.slot
        lane.group.parked += 1
        if lane.row is not None:
            now = rows.now()
            row = life.stopped_again(lane.caught_up(now), stop, cause, now=now, dice=rows.dice(), limits=limits)
            rows.note(slot, row, "drain", cause.failure)
            self._drains.left(lane)
        else:
            row = life.parked(rows.place(lane), stop, cause, now=rows.now(), dice=rows.dice(), limits=limits)
            rows.note(slot, row, "live", cause.failure)
            rows.hold(lane)
            rows.drop(lane)
        rows.keep(slot, row)
        kind: Literal["parked", "exhausted"] = "exhausted" if row.state is State.EXHAUSTED and row.retries else "parked"
        say(slot, kind, row, told_after)
        return row


def _subscription(lane: Lane, cell: Cell) -> str:
    """Name the handler of the event, or the group's first one where the event is only folded."""
    handler = lane.group.handler_of(cell.row.aggregate, cell.row.type)
    return lane.group.spec.handlers[0].subscription if handler is None else handler.subscription
