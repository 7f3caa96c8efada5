"""Trouble that is nobody's own: what a failure counts as here, and the beginning and end of a group's pause.

`policy.outlook` says whether a failure is the aggregate's own; this module carries that out. While a group is paused
no call begins but one probe at a time (`probes`, W4); what was charged for an outage is given back, and who was parked
for it is reopened (W1, H15); afterwards the group starts with one call and doubles (W6). Drains and parked retries
neither cause a pause nor end it (W2, H11).
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from wow_ray.failure import Category
from wow_ray.policy.budget import wait
from wow_ray.policy.classify import DEFAULT, Classified
from wow_ray.policy.mass import MINUTE
from wow_ray.policy.outlook import CANARIES, View
from wow_ray.policy.probing import Kind, Probing, spread
from wow_ray.runtime.lane import Key, Status
from wow_ray.runtime.probes import Pausing, Probes
from wow_ray.runtime.rows import FIELDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from wow_ray.failure import Failure
    from wow_ray.policy.outlook import Charge
    from wow_ray.policy.parked import Row
    from wow_ray.ports.clock import Clock, Dice
    from wow_ray.runtime.group import Group, Handler
    from wow_ray.runtime.lane import Lane
    from wow_ray.runtime.probes import Why
    from wow_ray.runtime.slot import Slot
    from wow_ray.runtime.timers import Timers
    from wow_ray.runtime.unparking import Unparking
    from wow_ray.runtime.workers import Workers

log = logging.getLogger("wow_ray.outages")

ITS_OWN = Classified(Category.RECOVERABLE, "systemic by class, but others succeed")

Parked = tuple["Slot", "Row"]


class Judged(NamedTuple):
    """What a failure counts as here: its category and source; `charged` or not; `counted` = an outage gives it back.

    Counted and not charged: it is an outage, and the group is to be paused.
    """

    classified: Classified
    charged: bool
    counted: bool


class Outages:
    """The pauses of one partition's groups."""

    def __init__(  # noqa: PLR0917 - a pause touches all of these
        self,
        clock: Clock,
        dice: Dice,
        store_now: Callable[[], datetime],
        timers: Timers,
        workers: Workers,
        unparking: Unparking,
    ) -> None:
        """`store_now()` gives the store's time."""
        self._clock = clock
        self._timers = timers
        self._workers = workers
        self._unparking = unparking
        self._store_now = store_now
        self.probes = Probes(clock, dice, workers, self._deserted)

    # --- failures

    def judged(self, lane: Lane, handler: Handler, found: Classified, now: float) -> Judged:
        """Say what the failure of a live call, a drain or a parked retry counts as; the caller carries it out."""
        by_class = found.category is Category.SYSTEMIC
        if not by_class and found != DEFAULT:
            return Judged(found, charged=True, counted=False)
        outlook = lane.group.outlook
        if lane.row is not None:
            return self._judged_drain(lane, handler, found, now)
        if lane.group.pause is not None:
            outlook.begins_to_fail(lane.key, now)
            return Judged(found, charged=False, counted=False)
        view = outlook.failed(lane.key, lane.began, now, handler.limits.systemic, by_class=by_class)
        if view is View.OWN:
            return Judged(ITS_OWN if by_class else found, charged=True, counted=True)
        return Judged(found, charged=False, counted=view is View.OUTAGE)

    def _judged_drain(self, lane: Lane, handler: Handler, found: Classified, now: float) -> Judged:
        """Judge by what others did since it failed last: here, or in its last parked retry (W5, P7)."""
        if found.category is not Category.SYSTEMIC:
            return Judged(found, charged=True, counted=False)
        outlook = lane.group.outlook
        row, limits = lane.row, handler.parked
        own = outlook.own(lane.key)
        if row is not None and row.next_due is not None and lane.retrying:
            late = (self._store_now() - row.next_due).total_seconds()
            waited = wait(limits.initial_delay, limits.multiplier, limits.max_delay, row.retries + 1)
            own = own or outlook.good_began >= now - late - waited
        outlook.begins_to_fail(lane.key, now)
        if own:
            return Judged(ITS_OWN, charged=True, counted=False)
        return Judged(found, charged=False, counted=False)

    def waits(self, lane: Lane, at: float) -> None:
        """Have an aggregate wait uncharged: for a probe when its group is paused, else until `at`."""
        if lane.row is None and lane.group.pause is not None:
            self._workers.ready(lane)
        else:
            self._timers.set(lane, at)

    def parked(self, lane: Lane, handler: Handler, row: Row, *, counted: bool) -> None:
        """Take a park into account: an outage may take it back (H15), many alike pause the group (P16)."""
        group, now, rules = lane.group, self._clock.monotonic(), handler.limits.systemic
        group.outlook.left(lane.key)
        if counted:
            group.outlook.charged(lane.key, now, rules, (lane.slot, row))
        failure = row.failure
        if failure is None or group.pause is not None:
            return
        if group.mass.parked(failure.fingerprint, now, group.lanes_done, rules.mass_parks):
            self.pause(group, "mass_failure", handler, failure)

    # --- the pause

    def pause(self, group: Group, why: Why, handler: Handler, failure: Failure) -> None:
        """Begin a pause, give back what an outage has charged, and have it probed (D3, W1, W4)."""
        if group.pause is not None:
            return
        now, rules = self._clock.monotonic(), handler.limits.systemic
        needs, back = group.outlook.paused(now, rules)
        many = why == "mass_failure"
        probing: Probing[Key] = Probing(CANARIES if many else needs, in_a_row=many)
        said = f"{failure.type}: {failure.message[:200]}"
        group.pause = Pausing(why, self._store_now(), said, handler.subscription, rules, probing)
        if many:
            group.mass.forget(now)
            text = "%s: paused, very many aggregates are parked alike (%s); probing"
        else:
            self._give_back(group, back)
            text = "%s: paused, its surroundings fail (%s); probing until they are back"
        fields = {
            "event": "paused",
            "group": group.name,
            "reason": why,
            "subscription": handler.subscription,
            "error_type": failure.type,
            "failing": len(group.outlook.failing),
        }
        log.error(text, group.name, said, extra={FIELDS: fields})
        group.ready = deque(spread(group.ready))
        for key in group.outlook.failing:
            lane = group.lanes.get(key)
            if lane is not None and lane.row is None and lane.status is Status.WAITING:
                self._timers.forget(lane)
                self._workers.ready(lane)
        self.probes.next(group)

    def _give_back(self, group: Group, back: Sequence[Charge[Key, Parked]]) -> None:
        """Have what the outage charged uncharged; who was parked or spilled for it goes on afterwards (W1, H15)."""
        for key, times in Counter(charge.key for charge in back if charge.mark is None).items():
            lane = group.lanes.get(key)
            if lane is not None and lane.row is None:
                lane.spent = replace(lane.spent, attempts=max(0, lane.spent.attempts - times))
        for charge in back:
            if charge.mark is not None:
                self._unparking.reopen(group, *charge.mark)

    def succeeded_in_pause(self, lane: Lane, now: float) -> None:
        """Take a success of a live call during its group's pause into account; the probe's may end it."""
        group, pause = lane.group, lane.group.pause
        group.outlook.failing.pop(lane.key, None)
        if pause is None or not self.probes.ended(lane):
            return
        group.outlook.good(lane.key, lane.began, now)
        self.probes.told(group, True)  # noqa: FBT003 - how it ended
        at_once = pause.probing.failures == 0
        if not pause.probing.succeeded(lane.key, pause.kind, now):
            self.probes.next(group)
            return
        by_another = pause.kind is Kind.HEALTHY
        log.warning("%s: the probe succeeded, going on", group.name, extra=_unpaused(group, pause.why, "probe"))
        # The first probe says that it was never an outage: then nothing needs to be spared (H12).
        self._end(group, by_another=by_another, ramp=not (by_another and at_once))

    def lift(self, group: Group) -> None:
        """End the pause because somebody says so; many parks alike pause the group no more for a minute (P16)."""
        if group.pause is not None:
            if group.pause.why == "mass_failure":
                group.mass.forget(self._clock.monotonic() + MINUTE)
            lifted = _unpaused(group, group.pause.why, "operator")
            log.warning("%s: the pause was lifted, going on", group.name, extra=lifted)
            self._end(group, by_another=False, ramp=True)

    def _deserted(self, group: Group) -> None:
        """End the pause: nothing is known to fail any more, and nobody is there to be tried.

        The next failure pauses anew; what is parked meanwhile is retried when due, as without a pause.
        """
        self._end(group, by_another=False, ramp=True)

    def _end(self, group: Group, *, by_another: bool, ramp: bool) -> None:
        pause = group.pause
        if pause is None:
            return
        pause.stop()
        group.pause = None
        group.outlook.ended(self._clock.monotonic(), by_another=by_another)
        if ramp:
            group.limiter.restart()
            group.relimit()
        self._workers.activate(group)
        self.probes.changed(group)


def _unpaused(group: Group, reason: Why, by: str) -> dict[str, object]:
    """Give what is said of a pause that is over, for whoever reads logs by machine."""
    return {FIELDS: {"event": "unpaused", "group": group.name, "reason": reason, "by": by}}
