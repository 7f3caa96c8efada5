"""Deletes what is old, hour by hour: one batch at a time, small ones, and most of the time it rests (H53)."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from wow_ray.ports.retention import Forgotten, Old
from wow_ray.runtime.trouble import Trouble

if TYPE_CHECKING:
    from datetime import datetime

    from wow_ray.ports.clock import Clock, Dice
    from wow_ray.ports.durable_calls import DurableCalls
    from wow_ray.ports.retention import Remains

log = logging.getLogger("wow_ray.retention")

EVERY = 3_600.0
"""Seconds between two passes, less up to half of them: processes that were started together do not sweep together."""
MOST = 500
"""Rows of one batch."""
REST = 4
"""For so many times as long as a batch took, nothing is asked of the store."""
LEAST_REST = 0.1


class Sweeper:
    """Keeps one store from filling up."""

    def __init__(
        self,
        remains: Remains,
        calls: DurableCalls,
        kept: Mapping[Old, float | None],
        calls_kept: float | None,
        *,
        clock: Clock,
        dice: Dice,
    ) -> None:
        """`kept` says for how many seconds each kind stays once it is over, `None` = for ever; `calls_kept` alike."""
        self._remains = remains
        self._calls = calls
        self._kept = kept
        self._calls_kept = calls_kept
        self._clock = clock
        self._dice = dice

    async def run(self) -> None:
        """Sweep for ever; ends by cancellation. What fails is tried again in the next pass."""
        trouble = Trouble(log, self._clock, "what is old cannot be deleted (%s)", "what is old is deleted after %.1f s")
        while True:
            await self._clock.sleep(EVERY * (0.5 + 0.5 * self._dice()))
            try:
                deleted = await self.sweep()
            except Exception as error:  # noqa: BLE001 - nothing waits for it
                trouble.failed(error)
            else:
                trouble.worked()
                if gone := {name: count for name, count in deleted.items() if count}:
                    log.info("deleted what was old: %s", ", ".join(f"{count} {name}" for name, count in gone.items()))

    async def sweep(self) -> Mapping[str, int]:
        """Delete all that is old; answers how many of each kind."""
        deleted = {}
        for old, kept in self._kept.items():
            if kept is not None:
                deleted[old.value] = await self._all(self._of(old, kept))
        if self._calls_kept is not None:
            deleted["calls"] = await self._all(self._of_calls(self._calls_kept))
        return deleted

    def _of(self, old: Old, kept: float) -> Callable[[datetime | None], Awaitable[Forgotten]]:
        return lambda after: self._remains.forget(old, kept, MOST, after)

    def _of_calls(self, kept: float) -> Callable[[datetime | None], Awaitable[Forgotten]]:
        async def forget(_: datetime | None) -> Forgotten:
            deleted = await self._calls.forget(kept, MOST)
            return Forgotten(deleted, deleted >= MOST, None)

        return forget

    async def _all(self, forget: Callable[[datetime | None], Awaitable[Forgotten]]) -> int:
        """Go through one kind, batch by batch."""
        deleted, after, more = 0, None, True
        while more:
            began = self._clock.monotonic()
            batch = await forget(after)
            deleted, after, more = deleted + batch.deleted, batch.after, batch.more
            if more:
                await self._clock.sleep(max(LEAST_REST, REST * (self._clock.monotonic() - began)))
        return deleted
