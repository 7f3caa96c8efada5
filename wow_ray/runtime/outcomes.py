"""What is done with the end of an attempt: settle, wait, pause or park.

A failure becomes a category, the category and what was spent become a decision, and the decision is carried out: one
`match` over a closed set. Nothing here decides; nothing in `policy` acts.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol, assert_never

from wow_ray.failure import Category, capture
from wow_ray.policy.classify import Classified
from wow_ray.policy.decide import Decision, Park, Pause, Retry, SlowDown, decide
from wow_ray.policy.parked import Reason
from wow_ray.policy.retry_after import retry_after_of
from wow_ray.runtime.elsewhere import DEATHS, failed_elsewhere
from wow_ray.runtime.lane import NOTHING_SPENT, Status

if TYPE_CHECKING:
    from datetime import datetime

    from wow_ray.errors import UndecodableError
    from wow_ray.ports.clock import Clock, Dice
    from wow_ray.runtime.drains import Drains
    from wow_ray.runtime.group import Handler
    from wow_ray.runtime.lane import Cell, Lane
    from wow_ray.runtime.lease_gate import LeaseGate
    from wow_ray.runtime.outages import Judged, Outages
    from wow_ray.runtime.parking import Parking
    from wow_ray.runtime.rests import Rests
    from wow_ray.runtime.timers import Timers
    from wow_ray.runtime.unparking import Unparking
    from wow_ray.runtime.verdicts import Verdicts
    from wow_ray.runtime.workers import Workers

log = logging.getLogger("wow_ray.outcomes")

PROBE = Classified(Category.SYSTEMIC, "probe")
SPILL_WAIT = 5.0
"""A longer wait goes through the ledger instead of holding the lane in memory (P5, H6)."""


class Facts(Protocol):
    """The partition, as the outcomes see it."""

    def store_now(self) -> datetime:
        """The store's time, carried on by the monotonic clock."""

    def command(self, lane: Lane) -> None:
        """An operator's command waits for the lane."""


class Settling:
    """Carries out what attempts end in, for one partition."""

    def __init__(
        self,
        *,
        partition: Facts,
        clock: Clock,
        dice: Dice,
        verdicts: Verdicts,
        timers: Timers,
        workers: Workers,
        parking: Parking,
        unparking: Unparking,
        drains: Drains,
        outages: Outages,
        lease: LeaseGate,
        rests: Rests,
    ) -> None:
        """Hold the parts of the partition."""
        self._partition = partition
        self._clock = clock
        self._dice = dice
        self._verdicts = verdicts
        self._timers = timers
        self._workers = workers
        self._parking = parking
        self._unparking = unparking
        self._drains = drains
        self._outages = outages
        self._lease = lease
        self._rests = rests

    def succeeded(self, lane: Lane, cell: Cell) -> None:
        """Settle the event; a success gives the aggregate its budget back (D6) and may end its group's pause (W4)."""
        group, now = lane.group, self._clock.monotonic()
        live = lane.row is None
        if live:
            lane.settle(cell)
        else:
            self._unparking.drained(lane, cell)
        del lane.queue[0]
        lane.spent = NOTHING_SPENT
        lane.first_cause = None
        lane.due = 0.0
        group.handled += 1
        if live and group.pause is None:
            group.did_well(lane.key, 1, lane.began, now)
            return
        if live:
            self._outages.succeeded_in_pause(lane, now)
        else:
            outlook = group.outlook
            outlook.failing.pop(lane.key, None)
            outlook.good_at, outlook.good_began = now, lane.began
        if group.limited:
            group.climb(1, now)

    def passed(self, lane: Lane, cell: Cell) -> bool:
        """Tell whether the lane's next event needs no call, and then settle it: skipped, or done by a former owner."""
        if lane.row is not None:
            if not self._unparking.passed(lane, cell.row):
                return False
        elif lane.slot.fold_marker(lane.group.number, cell.position):
            lane.settle(cell)
            lane.group.forget_states(lane.key)
        else:
            return False
        del lane.queue[0]
        return True

    def classified(self, error: BaseException, handler: Handler) -> Classified | None:
        """Say what a failure means; `None` = classifiers have to be waited for, by `gathered`."""
        return None if self._verdicts.needs_wait else self._verdicts.of(error, handler)

    async def gathered(self, error: BaseException, handler: Handler) -> Classified:
        """Wait for what a failure means; a second at most for each classifier (K8)."""
        return await self._verdicts.gathered(error, handler)

    def failed(self, lane: Lane, cell: Cell, handler: Handler, error: BaseException, classified: Classified) -> None:
        """Judge, decide, carry out."""
        group = lane.group
        group.failures += 1
        category = classified.category.value
        group.failures_by[category] = group.failures_by.get(category, 0) + 1
        group.forget_states(lane.key)
        if lane.first_cause is None:
            lane.first_cause = capture(error, classified.category, classified.source)
        now = self._clock.monotonic()
        judged = self._outages.judged(lane, handler, classified, now)
        if lane.row is not None and lane.retrying:
            asked = retry_after_of(error, self._partition.store_now(), handler.limits.backpressure.retry_after_cap)
            self._unparking.retry_failed(lane, handler, judged.classified, error, asked)
        else:
            if not judged.charged and judged.counted:
                self._outages.pause(group, "systemic", handler, capture(error, classified.category, classified.source))
            probed = self._outages.probes.ended(lane)
            decision = self._decided(lane, handler, error, judged, now, probed=probed)
            self._carried_out(lane, cell, handler, error, judged, decision, now)
            if probed:
                self._outages.probes.failed(group, error)
        self._command_after_failure(lane)

    def _decided(
        self, lane: Lane, handler: Handler, error: BaseException, judged: Judged, now: float, *, probed: bool
    ) -> Decision:
        """Decide what is done about a failed call that is no parked retry."""
        asked = self._asked(error, handler, judged.classified)
        jittered = self._verdicts.wants_jitter(error)
        decision = decide(judged.classified, lane.spent, handler.limits, now, self._dice(), asked, jittered=jittered)
        there = failed_elsewhere(error)
        if there is not None and there.deaths >= DEATHS:
            return Park(Reason.CRASHED_WORKER, decision.spent)
        for_good = isinstance(decision, Park) and decision.reason is Reason.UNRECOVERABLE
        if for_good or (judged.charged and not probed):
            return decision
        # A probe that fails in any way is no success: nothing is charged and another probe follows (W4).
        return decide(PROBE, lane.spent, handler.limits, now, self._dice(), None)

    def _asked(self, error: BaseException, handler: Handler, classified: Classified) -> float | None:
        """Look for the wish of a busy answer; no other live failure is asked, which would take a tenth of its cost."""
        if classified.category is not Category.BACKPRESSURE:
            return None
        return retry_after_of(error, self._partition.store_now(), handler.limits.backpressure.retry_after_cap)

    def _carried_out(  # noqa: PLR0917 - a decision about an attempt, and what it is about
        self,
        lane: Lane,
        cell: Cell,
        handler: Handler,
        error: BaseException,
        judged: Judged,
        decision: Decision,
        now: float,
    ) -> None:
        """Carry the decision out: all of it in this turn of the loop."""
        group, classified, rules = lane.group, judged.classified, handler.limits.systemic
        lane.spent = decision.spent
        match decision:
            case Retry(at):
                if judged.counted:
                    group.outlook.charged(lane.key, now, rules)
                self._wait(lane, handler, at, error, judged)
            case SlowDown(at):
                if group.limiter.busy(now, at, group.running):
                    group.relimit()
                self._wait(lane, handler, at, error, judged)
            case Pause(at):
                self._outages.waits(lane, at)
            case Park(reason):
                failure = capture(error, classified.category, classified.source)
                told = rules.window if judged.counted else 0.0
                row = self._parking.park(lane, cell, handler, reason, failure, told_after=told)
                self._outages.parked(lane, handler, row, counted=judged.counted)
            case _:
                assert_never(decision)

    def _command_after_failure(self, lane: Lane) -> None:
        """Apply a command that waited for the failed call, before the lane waits for its next one (H41)."""
        if not lane.commanded:
            return
        if lane.status is Status.GONE:
            self._partition.command(lane)
        else:
            self._timers.forget(lane)
            self.command(lane)

    def unreadable(self, lane: Lane, cell: Cell, error: UndecodableError) -> None:
        """Park the aggregate without a call (P14, H21)."""
        probed = self._outages.probes.ended(lane)
        self._parking.unreadable(lane, cell, error)
        if probed:
            self._outages.probes.failed(lane.group, error)

    def idle(self, lane: Lane) -> None:
        """Go on with what came meanwhile, read on in a drain, or drop the lane."""
        if lane.queue:
            self._workers.ready(lane)
        elif lane.row is not None:
            self._drains.finished(lane)
        else:
            lane.status = Status.GONE
            del lane.group.lanes[lane.key]

    def interrupted(self, lane: Lane) -> None:
        """Put the lane back as it was."""
        self._workers.ready(lane)

    def unavailable(self, lane: Lane) -> None:
        """Put the lane back as it was and let its group rest; our own store could not be asked: nobody's attempt."""
        self._rests.begin(lane.group)
        self._workers.ready(lane)

    def lease_lost(self) -> None:
        """Begin no call until the lease is sure again (L3)."""
        self._lease.lost()

    def command(self, lane: Lane) -> None:
        """Leave the lane to the operator's command that waits for it."""
        lane.status = Status.READING
        self._partition.command(lane)

    def due(self, lane: Lane) -> None:
        """Bring a lane whose wait is over back to the workers."""
        self._workers.ready(lane)

    def _wait(self, lane: Lane, handler: Handler, at: float, error: BaseException, judged: Judged) -> None:
        now = self._clock.monotonic()
        if at - now <= SPILL_WAIT:
            self._timers.set(lane, at)
            return
        failure = capture(error, judged.classified.category, judged.classified.source)
        slot, group, key = lane.slot, lane.group, lane.key
        row = self._parking.spill(lane, handler, at - now, failure)
        if judged.counted:
            group.outlook.charged(key, now, handler.limits.systemic, (slot, row))
