"""One function's queue in one worker: how many calls of it run, and whether it stands still (D3, D4, W5, W6).

Failures that are systemic by their class pause the queue: claims go back uncharged, and one call at a time is the
probe until one succeeds. There is no window of failures by default (W1) here: a stored call has its own long budget,
and a function whose every call fails is to reach its fallback. A success of another call says that the failing one is
on its own (W5).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from wow_ray.failure import Category
from wow_ray.policy.budget import Backpressure, Limits, Systemic, jitter, wait
from wow_ray.policy.classify import Classified
from wow_ray.policy.decide import Spent, decide
from wow_ray.policy.limiter import Limiter
from wow_ray.policy.outlook import Outlook, View
from wow_ray.ports.durable_calls import Wanted
from wow_ray.runtime.outages import ITS_OWN

if TYPE_CHECKING:
    from wow_ray.policy.decide import Decision
    from wow_ray.policy.durable_call import CallRow
    from wow_ray.ports.clock import Clock, Dice
    from wow_ray.ports.functions import StoredFunction

log = logging.getLogger("wow_ray.calls")

SYSTEMIC = Systemic()
BACKPRESSURE = Backpressure()


class CallQueue:
    """What is known of one function in this worker. `full` is the most that may run here at once."""

    def __init__(self, function: StoredFunction, full: int, clock: Clock, dice: Dice) -> None:
        """Begin at full speed."""
        self.function = function
        self.limits = Limits(function.budget, BACKPRESSURE, SYSTEMIC)
        self.running = 0
        self.paused = False
        self.stops: frozenset[str] = frozenset()
        """Why people or deploys have it stand still; empty = it may run."""
        self._limiter = Limiter(full)
        self._outlook: Outlook[str, None] = Outlook()
        self._probes = 0
        self._probe_at = 0.0
        self._clock = clock
        self._dice = dice

    def room(self, now: float) -> int:
        """Give how many more calls may begin now: while paused one, when it is time for a probe."""
        if self.stops:
            return 0
        if self.paused:
            return 1 if self.running == 0 and now >= self._probe_at else 0
        return max(0, self._limiter.limit - self.running)

    def opens_in(self, now: float) -> float | None:
        """Give the seconds until the next probe; `None` = no time opens it, only the end of a call."""
        probes = self.paused and self.running == 0 and not self.stops
        return max(0.0, self._probe_at - now) if probes else None

    def succeeded(self, call_id: str, began: float) -> None:
        """Take a success into account: it ends a pause, and raises the limit."""
        now = self._clock.monotonic()
        self._outlook.good(call_id, began, now)
        if self.paused:
            log.warning("%s: the probe succeeded, going on", self.function.subscription)
            self.paused, self._probes = False, 0
            self._outlook.ended(now, by_another=True)
            self._limiter.restart()
        self._limiter.succeeded(1, now)

    def judged(self, row: CallRow, began: float, classified: Classified) -> Classified:
        """Say what a failure counts as, and pause the queue where it is an outage."""
        if classified.category is not Category.SYSTEMIC:
            return classified
        now = self._clock.monotonic()
        view = self._outlook.failed(row.id, began, now, SYSTEMIC, by_class=True)
        if view is View.OWN:
            return ITS_OWN
        if view is View.OUTAGE and not self.paused:
            log.warning("%s: its surroundings fail; probing until they are back", self.function.subscription)
            self.paused = True
            self._outlook.paused(now, SYSTEMIC)
        return classified

    def decided(self, row: CallRow, classified: Classified, asked: float | None, *, jittered: bool) -> Decision:
        """Decide what is done about a failure; times count from now. The claim has charged this call already."""
        spent = Spent(row.spent - 1, row.busy, self._probes)
        return decide(classified, spent, self.limits, 0.0, self._dice(), asked, jittered=jittered)

    def busy(self, after: float) -> None:
        """Halve what may run at once, because the other side is busy until then (D4)."""
        now = self._clock.monotonic()
        self._limiter.busy(now, now + after, self.running)

    def probed(self) -> None:
        """Note that a call ended in anything but a success: while paused another probe follows, a little later (W4)."""
        if self.paused:
            self._probes += 1
            pause = wait(SYSTEMIC.initial_probe, 2.0, SYSTEMIC.max_probe, self._probes)
            self._probe_at = self._clock.monotonic() + jitter(pause, self._dice(), SYSTEMIC.max_probe)

    def left(self, call_id: str) -> None:
        """Forget what a call failed in: it is over."""
        self._outlook.left(call_id)


def wanted_of(queues: list[CallQueue], now: float) -> list[Wanted]:
    """Give what there is room for, under every name that a function's calls may be stored."""
    return [
        Wanted(name, room, queue.function.concurrency)
        for queue in queues
        if (room := queue.room(now)) > 0
        for name in (queue.function.subscription, *queue.function.aliases)
    ]
