"""The workers: a fixed number of coroutines that take ready lanes, group by group.

No task per event and none per aggregate. A worker whose handlers do not wait does everything alone; only when its
call suspends while other lanes are ready is another one woken or started, up to the partition's concurrency. A worker
whose call never ends is replaced (H25, B5), and so is one that a handler has cancelled (K5). While a gate is closed
(our store is away, the lease is not sure, the partition stops) no call begins.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from wow_ray.runtime.lane import Status

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from wow_ray.ports.clock import Clock
    from wow_ray.runtime.group import Group
    from wow_ray.runtime.lane import Lane

SLICE = 0.005
"""Seconds a worker goes on without letting the loop turn."""
ROUND = 32
"""Lanes taken from one group before the next group has its turn."""


class Workers:
    """The lanes that are ready and the coroutines that run them."""

    def __init__(
        self,
        concurrency: int,
        clock: Clock,
        run: Callable[[Lane, asyncio.Task[None]], Awaitable[None]],
        quick: Callable[[Lane, int, float], tuple[Lane | None, int]],
        on_slice: Callable[[], None],
    ) -> None:
        """Have `run(lane, task)` called for each ready lane, `concurrency` of them at once at most.

        Before that `quick(lane, most, until)` does what needs no wait, for this lane and those behind it, and answers
        which is to be run and how many it took. `on_slice()` is told whenever a worker pauses to let the loop turn.
        """
        self.concurrency = concurrency
        self._clock = clock
        self._run = run
        self._quick = quick
        self._woken = False
        """A worker has been woken or started and has not looked for work yet."""
        self._groups: deque[Group] = deque()
        self._taken = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._idle: deque[asyncio.Future[None]] = deque()
        self._gates: set[str] = set()
        self.closed = False
        """Whether any gate is closed: looked at before every call."""
        self.stopping = False
        self.replaced = 0
        """Workers that are lost to calls that do not end."""
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Carries what no worker may survive: an error of ours, or a handler's `SystemExit` (K5)."""
        self._on_slice = on_slice

    def ready(self, lane: Lane) -> None:
        """Put the lane into its group's queue and see that a worker takes it, unless its slot is about to leave."""
        if lane.slot.leaving:
            lane.status = Status.HALTED
            return
        lane.status = Status.READY
        group = lane.group
        if group.pause is not None and group.pause.lane is lane:
            group.pause.ready = lane
        elif lane.row is not None:
            group.drains.append(lane)
        else:
            group.ready.append(lane)
        self.activate(group)

    def activate(self, group: Group) -> None:
        """Bring the group into the round when it has work, and wake a worker for it."""
        if not group.active and group.has_work():
            group.active = True
            self._groups.append(group)
        if group.active:
            self.wake()

    def wake(self) -> None:
        """Let one more worker look for work, starting one when all are busy and there may be more."""
        if self.closed or self._woken:
            return
        while self._idle:
            future = self._idle.popleft()
            if not future.done():
                future.set_result(None)
                self._woken = True
                return
        if len(self._tasks) < self.concurrency + self.replaced and not self.stopping:
            task = asyncio.get_running_loop().create_task(self._work())
            self._tasks.add(task)
            self._woken = True
            task.add_done_callback(self._ended)

    def others(self) -> None:
        """Called when a worker is about to suspend: let another take what is ready."""
        if self._groups:
            self.wake()

    def close(self, gate: str) -> None:
        """Let no call begin until this gate is opened again; calls under way go on."""
        self._gates.add(gate)
        self.closed = True

    def open(self, gate: str) -> None:
        """Open a gate; closing one never opens another."""
        self._gates.discard(gate)
        self.closed = bool(self._gates)
        if not self.closed and self._groups:
            self.wake()

    @property
    def gates(self) -> frozenset[str]:
        """Which gates are closed."""
        return frozenset(self._gates)

    def stop(self) -> None:
        """Let the workers end once their calls have; the caller has closed a gate and interrupts the calls."""
        self.stopping = True
        for future in self._idle:
            if not future.done():
                future.set_result(None)
        self._idle.clear()

    @property
    def busy(self) -> bool:
        """Whether any worker is inside a lane or has one to take."""
        return len(self._tasks) > len(self._idle)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if self.failed.done():
            return
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self.failed.set_exception(error)
        else:
            self.others()

    def _take(self) -> Lane | None:
        groups = self._groups
        if self.closed:
            return None
        while groups:
            group = groups[0]
            lane = group.take()
            if lane is None:
                groups.popleft()
                group.active = False
                continue
            return lane
        return None

    def _took(self, lanes: int) -> None:
        """Give the next group its turn once so many lanes of this one were taken."""
        self._taken += lanes
        if self._taken >= ROUND:
            self._taken = 0
            self._groups.rotate(-1)

    def abandon(self, lane: Lane) -> None:
        """Give the permit of a call that does not end back, and have another worker take its place (H25, H30)."""
        lane.abandoned = True
        self.replaced += 1
        self._give_back(lane.group, draining=lane.as_drain)
        self.activate(lane.group)

    @staticmethod
    def _give_back(group: Group, *, draining: bool) -> None:
        group.running -= 1
        group.drains_running -= draining

    async def _run_whole(self, lane: Lane, task: asyncio.Task[None]) -> None:
        """Run a lane that needs more than its quick way, under a permit of its group."""
        group = lane.group
        lane.as_drain = lane.row is not None
        group.running += 1
        group.drains_running += lane.as_drain
        lane.status = Status.RUNNING
        try:
            await self._run(lane, task)
        finally:
            if lane.abandoned:
                self.replaced -= 1
            else:
                self._give_back(group, draining=lane.as_drain)
        if not group.active:
            self.activate(group)

    async def _work(self) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine run by create_task always has one
        clock, quick = self._clock.monotonic, self._quick
        slice_ends = clock() + SLICE
        while True:
            self._woken = False
            lane = self._take()
            if lane is None:
                if self.stopping:
                    return
                future = asyncio.get_running_loop().create_future()
                self._idle.append(future)
                self._on_slice()
                await future
                slice_ends = clock() + SLICE
                continue
            rest, taken = quick(lane, ROUND - self._taken, slice_ends)
            self._took(taken)
            if rest is not None and rest.ended is None and task.cancelling():
                self.ready(rest)  # its call has not begun, and would be the one that is cancelled
                return
            if rest is not None:
                await self._run_whole(rest, task)
            if task.cancelling():
                return  # by a handler, or by whoever ends the loop
            if clock() >= slice_ends:
                self._on_slice()
                await asyncio.sleep(0)  # noqa: TID251 - one turn of the loop, no time
                slice_ends = clock() + SLICE
