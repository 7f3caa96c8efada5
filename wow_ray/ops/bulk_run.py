"""Runs one batch: three rows first, then few at once, no faster than asked, until it ends or there is a reason to stop.

While it runs it says so to the store, by which it learns that somebody has stopped it or taken it over. What comes of
each row is noted there before it counts, so whoever resumes the batch begins where it stood.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from typing import Generic

from wow_ray.errors import WowError
from wow_ray.ops.bulk_views import Batch, Came, R
from wow_ray.ops.operations import Operations
from wow_ray.policy.batches import CANARY, Outcome, Stage, fail_alike
from wow_ray.ports.batches import Item
from wow_ray.ports.clock import Clock
from wow_ray.redaction import safe

log = logging.getLogger("wow_ray.ops")

AT_ONCE = 8
"""Rows under way at a time, so that live events keep most of the slots."""
BEAT, LEASE = 1.0, 5.0
"""Seconds between two signs of life, and how long one holds."""
MOST_WHY = 1_000

Opening = Callable[[], Awaitable[Operations]]
One = Callable[[Batch[R], Item], Awaitable[Came]]


class Run(Generic[R]):
    """The run of one batch in this process, under the name `runner`."""

    def __init__(self, batch: Batch[R], todo: Sequence[Item], runner: str, opening: Opening, one: One[R]) -> None:
        """Run the rows `todo` of a batch that this process has begun; `one` commands a row and follows it."""
        self.batch = batch
        self.lost = False
        """Whether the store says that it is not this process's any more."""
        self._todo = todo
        self._runner = runner
        self._opening = opening
        self._one = one
        self._recent: deque[str] = deque(maxlen=CANARY)
        self._next = 0.0

    async def go(self, clock: Clock) -> None:
        """Ask for the rows; returns when no more is asked for. Cancelled, it leaves the batch for others to resume."""
        beating = asyncio.ensure_future(self._beat(clock))
        try:
            await self._all(clock)
        except Exception:
            log.exception("batch %s ended unforeseen", self.batch.id)
            self.stopped("something unforeseen; see the log of the process that ran it")
        finally:
            beating.cancel()
            await self._end()

    def stopped(self, why: str) -> None:
        """Ask for nothing more; the first reason stays."""
        if not self.batch.ended:
            self.batch.stage, self.batch.why = Stage.STOPPED, safe(why)[:MOST_WHY]

    async def _all(self, clock: Clock) -> None:
        """Try the first few, then the others, few at a time."""
        await asyncio.gather(*(self._asked(item, clock) for item in self._todo[:CANARY]))
        if not self.batch.ended:
            self.batch.stage = Stage.RUNNING
            rest = iter(self._todo[CANARY:])
            await asyncio.gather(*(self._some(rest, clock) for _ in range(AT_ONCE)))
        if not self.batch.ended:
            self.batch.stage = Stage.DONE

    async def _some(self, items: Iterator[Item], clock: Clock) -> None:
        """Take rows of an iterator that others take of, too, until there are none, or the batch stops."""
        while not self.batch.ended and (item := next(items, None)) is not None:
            await self._asked(item, clock)

    async def _asked(self, item: Item, clock: Clock) -> None:
        """Wait for its turn, command one row, note what came of it, and judge by that."""
        await self._turn(clock)
        batch = self.batch
        if batch.ended:
            return
        batch.asked += 1
        try:
            came = await self._one(batch, item)
            await (await self._opening()).batches.came(batch.id, item.id, came.outcome)
        except WowError as error:
            self.stopped(error.message)
            return
        setattr(batch, came.outcome.value, getattr(batch, came.outcome.value) + 1)
        if came.outcome in {Outcome.RECOVERED, Outcome.FAILED}:
            self._recent.append("" if came.error is None else came.error.fingerprint)
        if came.error is not None and (alike := fail_alike(list(self._recent), len(self._todo))):
            self.stopped(f"{alike} in a row stopped again with {came.error.type}: the cause is not gone")

    async def _turn(self, clock: Clock) -> None:
        """Wait until the rate allows one more."""
        if self.batch.rate is not None:
            now = clock.monotonic()
            at = max(now, self._next)
            self._next = at + 1 / self.batch.rate
            if at > now:
                await clock.sleep(at - now)

    async def _beat(self, clock: Clock) -> None:
        """Say that it still runs, and that it has stopped while rows are under way; stop when the store says so."""
        while not self.lost:
            await clock.sleep(BEAT)
            if self.batch.ended:
                await self._end()
                return
            with suppress(WowError):  # the store is away, which the rows find out, too
                store = (await self._opening()).batches
                if not await store.beat(self.batch.id, self._runner, self.batch.stage, LEASE):
                    self.lost = True
                    self.stopped("somebody stopped it, or another process runs it")

    async def _end(self) -> None:
        """Say how it ended; what cannot be said is found out by its lease."""
        stage = self.batch.stage if self.batch.ended else Stage.INTERRUPTED
        with suppress(WowError):
            await (await self._opening()).batches.end(self.batch.id, self._runner, stage, self.batch.why)
