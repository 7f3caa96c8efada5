"""The worker of durable calls: claims what is due and fits, runs it, keeps the claims while it does (F6, H39).

One for each process that runs the app. It claims no more than it can begin at once, under a lease by the store's
clock that it extends while calls run; a claim that is lost, or that it cannot be sure of any more, ends its call. What
is under way when it stops may end within a bound; the rest goes back uncharged.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wow_ray.errors import StoreUnavailableError
from wow_ray.runtime.call_attempt import CallAttempt, fresh_base
from wow_ray.runtime.call_ends import CallEnds
from wow_ray.runtime.call_queue import CallQueue, wanted_of
from wow_ray.runtime.call_run import CallRun
from wow_ray.runtime.function_stops import FunctionStops
from wow_ray.runtime.store_time import StoreTime

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from wow_ray.policy.durable_call import CallRow
    from wow_ray.ports.clock import Clock, Dice
    from wow_ray.ports.durable_calls import DurableCalls, Wanted
    from wow_ray.ports.function_pauses import FunctionPauses
    from wow_ray.ports.functions import StoredFunction
    from wow_ray.runtime.verdicts import Verdicts

log = logging.getLogger("wow_ray.calls")

SOON = 0.05
"""Seconds until a look again at what is due but could not be had."""
GATHER = 0.004
"""Seconds between two claims while all that was due could be had: what comes meanwhile shares the next."""
INTERRUPT_BOUND = 2.0
"""Seconds that a stop waits for interrupted calls and for the last ends to be written."""


@dataclass(frozen=True, slots=True)
class CallPace:
    """How a worker is paced; times in seconds.

    `concurrency` calls at once in all. `lease` is for how long a claim holds without word: how late a call is tried
    again whose worker died. `poll` is the longest wait between two looks for calls that other processes have stored.
    `drain_bound` is how long a stop waits for calls under way.
    """

    concurrency: int = 64
    lease: float = 15.0
    poll: float = 0.25
    drain_bound: float = 10.0


class CallWorker:
    """Runs the durable calls of an app's functions between `start` and `stop`."""

    def __init__(
        self,
        name: str,
        functions: Sequence[StoredFunction],
        calls: DurableCalls,
        receivers: Callable[[type[object]], Awaitable[object]],
        *,
        clock: Clock,
        dice: Dice,
        verdicts: Verdicts,
        pace: CallPace | None = None,
        pauses: FunctionPauses | None = None,
    ) -> None:
        """`name` stands in the rows it claims; `receivers` gives what methods of a class are called on.

        `pauses` are obeyed; without them nobody can have a function stand still here.
        """
        self.name = name
        self.pace = pace or CallPace()
        self.runs: dict[str, CallRun] = {}
        self.handled = self.failed = 0
        """Calls that succeeded, and attempts that failed, since it began."""
        self._calls = calls
        self._receivers = receivers
        self._clock = clock
        self._verdicts = verdicts
        self._time = StoreTime(clock)
        self._queues = [CallQueue(function, self.pace.concurrency, clock, dice) for function in functions]
        self._by_name = {
            name: queue for queue in self._queues for name in (queue.function.subscription, *queue.function.aliases)
        }
        self._stops = None if pauses is None else FunctionStops(pauses, clock, self._queues, self.wake)
        self._ready: dict[str, object] = {}
        self._held_until: dict[str, float] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._loops: list[asyncio.Task[None]] = []
        self._wake = asyncio.Event()
        self._begun = asyncio.Event()
        self._stopping = False
        self._short = False
        """Whether there was too little room for what may be due."""
        self._away = False

    @property
    def busy(self) -> bool:
        """Whether a call is under way."""
        return bool(self.runs)

    async def start(self) -> None:
        """Make what methods are called on, then begin; raises what making them raises."""
        for queue in self._queues:
            receiver = queue.function.receiver
            if receiver is not None:
                self._ready[queue.function.subscription] = await self._receivers(receiver)
        if self._stops is not None:
            await self._stops.load()
        self._base = fresh_base()
        self._threads = ThreadPoolExecutor(self.pace.concurrency, thread_name_prefix="wow-ray-call")
        self._ends = CallEnds(self._calls, self._clock)
        loop = asyncio.get_running_loop()
        work = [self._claiming(), self._keeping()]
        if self._stops is not None:
            work.append(self._stops.run())
        self._loops = [loop.create_task(each) for each in work]

    def wake(self) -> None:
        """Look for calls now."""
        self._wake.set()

    async def stop(self) -> None:
        """Claim no more, let calls end for a while, give the rest back uncharged (B4, S48)."""
        self._stopping = True
        self._wake.set()
        await self._ended(self.pace.drain_bound)
        for run in self.runs.values():
            run.attempt.stop()
        await self._ended(INTERRUPT_BOUND)
        for task in (*self._loops, *self._tasks.values()):
            task.cancel()
        await asyncio.gather(*self._loops, *self._tasks.values(), return_exceptions=True)
        await self._ends.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _ended(self, bound: float) -> None:
        """Wait until every call has ended and none is being claimed, at most so long."""
        over = asyncio.Event()
        timer = self._clock.call_at(self._clock.monotonic() + bound, over.set)
        waiting = asyncio.get_running_loop().create_task(over.wait())
        try:
            while not waiting.done():
                under_way = {task for task in (*self._tasks.values(), self._loops[0]) if not task.done()}
                if not under_way:
                    return
                await asyncio.wait({waiting, *under_way}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()
            waiting.cancel()

    async def _claiming(self) -> None:
        while not self._stopping:
            self._wake.clear()
            try:
                wait = await self._claim()
                self._away = False
            except StoreUnavailableError as error:
                if not self._away:
                    log.warning("durable calls cannot be claimed (%s); trying on", error)
                self._away, wait = True, self.pace.poll
            if wait is None or wait > 0:
                await self._pause(wait)

    async def _claim(self) -> float | None:
        """Claim and begin what there is room for; answers in how many seconds to look again, `None` = when woken."""
        now = self._clock.monotonic()
        free = self.pace.concurrency - len(self.runs)
        wanted = wanted_of(self._queues, now) if free > 0 else []
        opens = min((at for queue in self._queues if (at := queue.opens_in(now)) is not None), default=None)
        if not wanted:
            self._short = True
            return opens
        rows = await self._calls.claim(self.name, wanted, free, self.pace.lease)
        for row in rows:
            self._begin(row, now + self.pace.lease)
        self._short = self._is_short(wanted, rows, free)
        if rows:
            if not self._short:
                await self._clock.sleep(GATHER)
            return 0.0
        due = await self._calls.next_due([one.function for one in wanted])
        waits = [self.pace.poll, *(each for each in (opens, due) if each is not None)]
        return max(SOON, min(waits)) if due == 0 else min(waits)

    def _is_short(self, wanted: Sequence[Wanted], rows: Sequence[CallRow], free: int) -> bool:
        """Tell whether more may be due than could be had, so that the end of a call here is news."""
        taken = Counter(row.function for row in rows)
        return (
            len(rows) >= free
            or len(wanted) < len(self._by_name)
            or any(one.limit is not None or taken[one.function] >= one.room for one in wanted)
        )

    def _begin(self, row: CallRow, held_until: float) -> None:
        """Run a claimed call in a task of its own."""
        self._time.heard(row.updated_at)
        queue = self._by_name[row.function]
        run = CallRun(
            row=row,
            queue=queue,
            receiver=self._ready.get(queue.function.subscription),
            attempt=CallAttempt(self._clock, self._threads, self._base),
            verdicts=self._verdicts,
            ends=self._ends,
            monotonic=self._clock.monotonic,
            store_now=self._time.now,
        )
        queue.running += 1
        self._begun.set()
        self.runs[row.id] = run
        self._held_until[row.id] = held_until
        self._tasks[row.id] = asyncio.get_running_loop().create_task(self._run(run))

    async def _run(self, run: CallRun) -> None:
        try:
            await run.run()
        except asyncio.CancelledError:
            raise
        except Exception:
            log.exception("call %s of %s was not carried out", run.row.id, run.row.function)
        finally:
            self.handled += run.succeeded
            self.failed += run.error is not None
            run.queue.running -= 1
            for kept in (self.runs, self._held_until, self._tasks):
                kept.pop(run.row.id, None)
            if self._short or run.pending:
                self._wake.set()

    async def _keeping(self) -> None:
        """Extend the leases of what runs; end what cannot be sure of its claim any more (H39)."""
        while True:
            await self._begun.wait()
            await self._clock.sleep(self.pace.lease / 3)
            if not self.runs:
                self._begun.clear()
                continue
            now = self._clock.monotonic()
            claims = [(call_id, run.row.token or "") for call_id, run in self.runs.items()]
            try:
                lost = await self._calls.extend(claims, self.pace.lease)
            except StoreUnavailableError as error:
                log.warning("leases of %d calls cannot be extended (%s)", len(claims), error)
                now = self._clock.monotonic()
                lost = frozenset(call_id for call_id, until in self._held_until.items() if until <= now)
            else:
                self._held_until.update(
                    (call_id, now + self.pace.lease) for call_id, _ in claims if call_id in self.runs
                )
            for call_id in lost & self.runs.keys():
                log.warning("the claim of call %s was lost; ending it", call_id)
                self.runs[call_id].lost = True
                self.runs[call_id].attempt.stop()

    async def _pause(self, seconds: float | None) -> None:
        """Wait until woken, at most so long."""
        if seconds is None:
            await self._wake.wait()
            return
        timer = self._clock.call_at(self._clock.monotonic() + seconds, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()
