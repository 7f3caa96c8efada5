"""Lanes that wait for their next attempt, by due time.

A waiting lane holds no worker, no permit and no connection (B7). One clock call is armed for the earliest; a lane
that was moved on by somebody else is recognised by its ticket and left alone.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from wow_ray.runtime.lane import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from wow_ray.ports.clock import Cancellable, Clock
    from wow_ray.runtime.lane import Lane


class Timers:
    """A heap of (due, lane) on the monotonic clock."""

    def __init__(self, clock: Clock, due: Callable[[Lane], None]) -> None:
        """Call `due(lane)` for each lane whose time has come, in order of time."""
        self._clock = clock
        self._due = due
        self._heap: list[tuple[float, int, int, Lane]] = []
        self._count = 0
        self._armed: Cancellable | None = None
        self._armed_at = 0.0

    def set(self, lane: Lane, at: float) -> None:
        """Have the lane wait until `at`; whatever was set for it before is forgotten."""
        lane.ticket += 1
        lane.status = Status.WAITING
        lane.due = at
        self._count += 1
        heappush(self._heap, (at, self._count, lane.ticket, lane))
        if self._armed is None or at < self._armed_at:
            self._arm()

    def forget(self, lane: Lane) -> None:
        """Take the lane out; its entry stays in the heap until its time and does nothing then."""
        lane.ticket += 1

    def stop(self) -> None:
        """Let nothing come due any more."""
        self._heap.clear()
        if self._armed is not None:
            self._armed.cancel()
            self._armed = None

    def _arm(self) -> None:
        if self._armed is not None:
            self._armed.cancel()
            self._armed = None
        if self._heap:
            self._armed_at = self._heap[0][0]
            self._armed = self._clock.call_at(self._armed_at, self._fire)

    def _fire(self) -> None:
        self._armed = None
        now = self._clock.monotonic()
        while self._heap and self._heap[0][0] <= now:
            _, _, ticket, lane = heappop(self._heap)
            if ticket == lane.ticket and lane.status is Status.WAITING:
                self._due(lane)
        self._arm()
