"""The actor that brings what is due: it reads, and nudges the owners; it claims and changes no parked row (H5).

Without it parking goes on and parked retries wait. Its work grows with the number of partitions, not with what is
parked: of each partition it asks whether anything is due, and the owner takes what it has room for. Beside that it does
the store's chores: it sends notices, and deletes what is old.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any

from wow_ray.actors.fleet import Fleet
from wow_ray.actors.life import Life
from wow_ray.actors.site import Control, Site

log = logging.getLogger("wow_ray.ledger")

ROUND = 0.5
"""Seconds between two looks."""
PATIENCE = 5.0
"""Seconds within which a nudge is answered; one that is lost is followed by another."""


class LedgerActor:
    """Nudges the owners of one app's slots."""

    def __init__(self, site: Site, fleet: Fleet, end: Callable[[int], Any] = os._exit) -> None:
        """Schedule the rounds; `end` ends the process."""
        self._site = site
        self._fleet = fleet
        self._clock = site.clock()
        self._rounds = 0
        self._nudged = 0
        self._trouble = ""
        self.life = Life("ledger", self._clock, self._lived(), end)

    async def status(self) -> dict[str, Any]:
        """Tell how it stands; answers at any time."""
        return {
            "pid": os.getpid(),
            "release": self._site.release,
            "edition": self._site.edition,
            "trouble": self._trouble,
            "silence": self.life.silence,
            "rounds": self._rounds,
            "nudged": self._nudged,
        }

    async def _lived(self) -> None:
        while True:
            try:
                async with self._site.control() as control, _beside(control.chores()):
                    while True:
                        await self.round(control)
                        self._trouble = ""
                        await self._clock.sleep(ROUND)
            except Exception as error:  # noqa: BLE001 - what is due waits; the next round may do better
                if str(error) != self._trouble:
                    log.warning("due rows cannot be brought (%s); trying on", error)
                self._trouble = str(error) or repr(error)
                await self._clock.sleep(ROUND)

    async def round(self, control: Control) -> None:
        """Look once at every partition's slots, and nudge those who have something to do."""
        plan = await control.plans.present()
        if plan is None:
            return
        groups = await control.overview.groups()
        subscriptions = [name for group in groups if not group.retired for name in group.subscriptions]
        nudges = []
        for name, slots in plan.partitions.items():
            nudges += await self._nudges(control, name, slots, subscriptions)
        self._rounds += 1
        self._nudged += len(nudges)
        for answer in await asyncio.gather(*nudges, return_exceptions=True):
            if isinstance(answer, Exception) and not isinstance(answer, TimeoutError):
                raise answer

    async def _nudges(
        self, control: Control, name: str, slots: Sequence[int], subscriptions: Sequence[str]
    ) -> list[Any]:
        """Give the nudges that one partition needs."""
        found: list[Any] = []
        if subscriptions and await control.ledger.due(slots, subscriptions, 1):
            found.append(self._fleet.nudge_due(name, PATIENCE))
        if await control.ledger.open_intents(slots):
            found.append(self._fleet.nudge_intents(name, PATIENCE))
        return found


@asynccontextmanager
async def _beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Have something done beside the block, which ends with it."""
    task = asyncio.get_running_loop().create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
