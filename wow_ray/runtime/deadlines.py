"""Deadlines of calls that are under way, watched by one armed clock call instead of a timer each.

A timer per call was measured to cost more than decoding the event. Only calls that suspended are here, so the set is
small (the partition's concurrency) and is scanned whole when the earliest deadline passes. An async call is cancelled
then; a call on a thread cannot be (B5). A call that has not ended one grace period after its timeout is given up:
`abandoned(call)` parks its aggregate as `not_ending` (B4, B5, H25).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from wow_ray.ports.clock import Cancellable, Clock
    from wow_ray.runtime.lane import Cell, Lane
    from wow_ray.runtime.slot import Slot

GRACE = 30.0
"""Seconds after its timeout in which a call may still end by itself (H25)."""


class Call:
    """One suspended call. `task` is the worker that steps it, `None` for a call on a thread."""

    __slots__ = ("abandoned", "blocking", "cell", "deadline", "interrupted", "lane", "task", "timed_out")

    def __init__(self, lane: Lane, cell: Cell, deadline: float, task: asyncio.Task[None], *, blocking: bool) -> None:
        """Hold who is called and until when."""
        self.lane = lane
        self.cell = cell
        self.deadline = deadline
        self.task = task
        self.blocking = blocking
        self.timed_out = False
        self.interrupted = False
        self.abandoned = False


class Deadlines:
    """The calls under way in one partition."""

    def __init__(self, clock: Clock, abandoned: Callable[[Call], None]) -> None:
        """Call `abandoned(call)` once for each call that did not end in its grace period."""
        self._clock = clock
        self._abandoned = abandoned
        self.calls: set[Call] = set()
        self._armed: Cancellable | None = None
        self._armed_at = float("inf")

    def watch(self, call: Call) -> None:
        """Begin to watch; the caller takes the call out of `calls` in the same step in which it ends."""
        self.calls.add(call)
        if call.deadline < self._armed_at:
            self._arm(call.deadline)

    def interrupt(self, slot: Slot | None = None) -> None:
        """Cancel every async call, or those of one slot, because it is to stop or move; that is no attempt (B4, K5)."""
        for call in self.calls:
            if not call.blocking and not call.abandoned and slot in {None, call.lane.slot}:
                call.interrupted = True
                call.task.cancel()

    def stop(self) -> None:
        """Watch nothing any more."""
        if self._armed is not None:
            self._armed.cancel()
        self._armed = None
        self._armed_at = float("inf")

    def _arm(self, at: float) -> None:
        if self._armed is not None:
            self._armed.cancel()
        self._armed_at = at
        self._armed = self._clock.call_at(at, self._sweep)

    def _sweep(self) -> None:
        self._armed = None
        self._armed_at = float("inf")
        now = self._clock.monotonic()
        earliest = float("inf")
        for call in list(self.calls):
            if call.abandoned:
                continue
            if not call.timed_out and call.deadline <= now:
                call.timed_out = True
                call.deadline += GRACE
                if not call.blocking:
                    call.task.cancel()
            elif call.timed_out and call.deadline <= now:
                call.abandoned = True
                self._abandoned(call)
                continue
            earliest = min(earliest, call.deadline)
        if earliest < float("inf"):
            self._arm(earliest)
