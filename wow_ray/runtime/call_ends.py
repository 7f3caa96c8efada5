"""Writing how claims end: many at once, again until the store takes them, and never without their token (P2's kin)."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from wow_ray.errors import StoreDataError, StoreUnavailableError
from wow_ray.failure import minimal
from wow_ray.policy.durable_call import CallReason, CallState
from wow_ray.runtime.trouble import Trouble

if TYPE_CHECKING:
    from wow_ray.policy.durable_endings import Written
    from wow_ray.ports.clock import Clock
    from wow_ray.ports.durable_calls import DurableCalls

log = logging.getLogger("wow_ray.calls")

MOST = 500
"""Ends in one statement."""
AGAIN = 0.5
"""Seconds until a write is tried again that the store did not answer."""


class CallEnds:
    """Collects ends while a write is under way, and writes them together with the next."""

    def __init__(self, calls: DurableCalls, clock: Clock) -> None:
        """Write nothing yet."""
        self._calls = calls
        self._clock = clock
        self._waiting: list[tuple[Written, asyncio.Future[bool]]] = []
        self._writing: asyncio.Task[None] | None = None
        said = "ends of calls cannot be written (%s); trying on"
        self._trouble = Trouble(log, clock, said, "ends of calls are written again after %.1f s")

    async def write(self, end: Written) -> bool:
        """Write an end; `False` = the claim was lost, or the same end was written before. Waits as long as it takes."""
        done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append((end, done))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.get_running_loop().create_task(self._write())
        return await done

    async def close(self) -> None:
        """Stop trying; what is not written is found out by the lease."""
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)
        for _, done in self._waiting:
            done.cancel()

    async def _write(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
            try:
                lost = await self._written([end for end, _ in batch])
            except asyncio.CancelledError:
                self._waiting = batch + self._waiting
                raise
            for end, done in batch:
                if not done.done():
                    done.set_result(end.id not in lost)

    async def _written(self, ends: list[Written]) -> frozenset[str]:
        """Write all of them; where one is refused for its data, each by itself, that one in its minimal form."""
        while True:
            try:
                found = await self._calls.finish(ends)
            except StoreUnavailableError as error:
                self._trouble.failed(error)
                await self._clock.sleep(AGAIN)
            except StoreDataError as error:
                if len(ends) == 1:
                    log.error("the end of call %s was refused (%s); writing it without its texts", ends[0].id, error)  # noqa: TRY400
                    ends = [_minimal(ends[0])]
                    continue
                lost = [await self._written([end]) for end in ends]
                return frozenset().union(*lost)
            else:
                self._trouble.worked()
                return found


def _minimal(end: Written) -> Written:
    """Give the end without anything that a store might refuse; a result that cannot be kept is nobody's any more."""
    texts = [None if failure is None else minimal(failure) for failure in (end.failure, end.fallback_failure)]
    bare = replace(end, note="", failure=texts[0], fallback_failure=texts[1], first_cause=texts[0], result=None)
    if end.state is CallState.SUCCEEDED:
        return replace(bare, state=CallState.EXHAUSTED, reason=CallReason.UNRECOVERABLE, note="its result was refused")
    return bare
