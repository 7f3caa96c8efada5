"""The probes of paused groups: one call at a time, whom `policy.probing` names, when its time has come (W4, W7).

A probe is a lane that alone may be called. Whatever it ends in another one follows, also when its lane left without
an end: parked by an operator, moved, given up. `Outages` begins pauses and ends them.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from wow_ray.failure import Category, capture
from wow_ray.policy.probing import Kind
from wow_ray.runtime.lane import Key, Status
from wow_ray.runtime.waiting import within

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from datetime import datetime

    from wow_ray.policy.budget import Systemic
    from wow_ray.policy.probing import Probing
    from wow_ray.ports.clock import Cancellable, Clock, Dice
    from wow_ray.runtime.group import Group
    from wow_ray.runtime.lane import Lane
    from wow_ray.runtime.workers import Workers

log = logging.getLogger("wow_ray.outages")

WATCH = 1.0
"""Seconds between two looks whether a probe is still under way, or its lane has left otherwise."""
ANSWER = 1.0
"""Seconds within which a permit to probe is answered; without an answer the partition probes alone (W7)."""
DENIED = 1.0
"""Seconds until a partition asks again whose probe was not permitted, because another one's is out."""

Why = Literal["systemic", "mass_failure"]


@dataclass(slots=True)
class Pausing:
    """A pause that lasts: why, since when by the store's clock, what failed, and how it is probed."""

    why: Why
    since: datetime
    error: str
    subscription: str
    rules: Systemic
    probing: Probing[Key]
    next_probe: float = 0.0
    """Monotonic."""
    last_probe_error: str = ""
    lane: Lane | None = None
    """The lane that alone is called; `None` = no probe is out."""
    ready: Lane | None = None
    """That lane while it waits for a worker."""
    kind: Kind = Kind.FAILING
    """What kind of aggregate it is."""
    hurried: bool = False
    """The next probe needs no permit."""
    timer: Cancellable | None = None
    asking: asyncio.Task[None] | None = None

    def take(self) -> Lane | None:
        """Give the probe to a worker, once."""
        lane, self.ready = self.ready, None
        return lane if lane is not None and lane.status is Status.READY else None

    def release(self) -> None:
        """Have no probe out."""
        self.lane = self.ready = None

    def stop(self) -> None:
        """Probe no more."""
        if self.timer is not None:
            self.timer.cancel()
        if self.asking is not None:
            self.asking.cancel()


class Probes:
    """Sends probes out for the paused groups of one partition."""

    def __init__(self, clock: Clock, dice: Dice, workers: Workers, deserted: Callable[[Group], None]) -> None:
        """Call `deserted(group)` when nobody is left to be tried."""
        self._clock = clock
        self._dice = dice
        self._workers = workers
        self._deserted = deserted
        self.changed: Callable[[Group], None] = lambda _: None
        """Told whenever a pause begins, ends, or has learned something."""
        self.permit: Callable[[str], Coroutine[Any, Any, bool]] | None = None
        """Asked with the group's name before a probe; `None` = the partition decides alone (W7)."""
        self.told: Callable[[Group, bool], None] = lambda _group, _succeeded: None
        """Told how each probe ended."""

    def next(self, group: Group) -> None:
        """Have the next probe go out when its time has come."""
        pause = group.pause
        if pause is not None:
            pause.release()
            self._arm(group, pause, self._clock.monotonic() + pause.probing.wait(pause.rules, self._dice()))
            self.changed(group)

    def hurry(self, group: Group) -> None:
        """Probe at once, asking nobody: another partition's probe has succeeded (W7)."""
        pause = group.pause
        if pause is not None and pause.lane is None:
            pause.hurried = True
            if pause.asking is None:
                self._arm(group, pause, self._clock.monotonic())

    @staticmethod
    def ended(lane: Lane) -> bool:
        """Tell whether the lane was its group's probe; from now on it is one of those that wait."""
        pause = lane.group.pause
        if pause is None or pause.lane is not lane:
            return False
        pause.release()
        return True

    def failed(self, group: Group, error: BaseException) -> None:
        """Have another probe follow one that failed in whatever way (W4)."""
        pause = group.pause
        if pause is not None:
            failure = capture(error, Category.SYSTEMIC, "probe")
            pause.last_probe_error = f"{failure.type}: {failure.message[:200]}"
            pause.probing.failed(pause.kind)
            self.told(group, False)  # noqa: FBT003 - how it ended
            self.next(group)

    @staticmethod
    def stop(groups: Sequence[Group]) -> None:
        """Probe no more."""
        for group in groups:
            if group.pause is not None:
                group.pause.stop()

    def _arm(self, group: Group, pause: Pausing, at: float) -> None:
        if pause.timer is not None:
            pause.timer.cancel()
        pause.next_probe = at
        pause.timer = self._clock.call_at(at, lambda: self._due(group, pause))

    def _due(self, group: Group, pause: Pausing) -> None:
        """Send the next probe out, or see what became of the last one."""
        if group.pause is not pause or self._workers.stopping:
            return
        if pause.lane is not None:
            if pause.lane.status is not Status.GONE:
                self._arm(group, pause, self._clock.monotonic() + WATCH)
            else:
                self.failed(group, LookupError("the aggregate left: parked, skipped or moved"))
        elif self.permit is None or pause.hurried or group.halted:
            self._send(group, pause)
        elif pause.asking is None:
            pause.asking = asyncio.get_running_loop().create_task(self._asked(group, pause, self.permit))

    async def _asked(self, group: Group, pause: Pausing, permit: Callable[[str], Coroutine[Any, Any, bool]]) -> None:
        """Ask whether this partition may probe now; no answer is a yes (W7)."""
        may = True
        try:
            may = await within(self._clock, ANSWER, permit(group.name))
        except Exception as error:  # noqa: BLE001 - whatever the supervisor has, the partition decides alone
            log.debug("no permit to probe could be asked for: %s", error)
        finally:
            pause.asking = None
        if group.pause is not pause:
            return
        if may or pause.hurried:
            self._send(group, pause)
        else:
            self._arm(group, pause, self._clock.monotonic() + DENIED)

    def _send(self, group: Group, pause: Pausing) -> None:
        pause.hurried = False
        for kind in pause.probing.kinds():
            lane = group.take_ready(failing=kind is Kind.FAILING)
            if lane is not None:
                pause.kind = kind
                pause.lane = pause.ready = lane
                self._workers.activate(group)
                self._arm(group, pause, self._clock.monotonic() + WATCH)
                return
        if any(lane.row is None for lane in group.lanes.values()):
            self.next(group)
        else:
            self._deserted(group)
