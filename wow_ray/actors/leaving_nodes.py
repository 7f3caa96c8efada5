"""Nodes that are about to leave: what lives there is moved before the node goes, one actor after the other.

Ray places nothing new on a node that is being drained, and leaves what is there until the node ends (measured). So a
partition gives its slots up in order and is started anew, which Ray does elsewhere: its events stand still for the
seconds that takes, nothing is cut off, and the other partitions go on. Should the node go first, that is one loss of a
process like any other. The supervisor moves last, as it is the one who moves the others.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection

from wow_ray.actors.fleet import SUPERVISOR, Fleet

log = logging.getLogger("wow_ray.actors")

DRAIN = 15.0
"""Seconds a partition has for calls under way and its last commit, of the minutes a node is given as a rule."""


class LeavingNodes:
    """Moves actors off nodes that leave."""

    def __init__(self, fleet: Fleet, excuse: Callable[[str], Awaitable[None]]) -> None:
        """`excuse(actor)` says that its process is ended on purpose (P15)."""
        self._fleet = fleet
        self._excuse = excuse

    async def round(self, partitions: Collection[str], others: Collection[str]) -> str | None:
        """Move one actor that is to move; answers which, `None` = nobody has to.

        `partitions` own slots and are drained first; `others`, the supervisor among them, are started anew as they are.
        """
        leaving = await self._fleet.leaving()
        if not leaving:
            return None
        for name in sorted(leaving & frozenset(partitions)):
            log.warning("the node of %s leaves; it is drained and started elsewhere", name)
            if not await self._fleet.drain(name, DRAIN):
                log.warning("%s did not drain within %g s; its calls under way are repeated", name, DRAIN)
                await self._excuse(name)
            await self._fleet.replace(name)
            return name
        for name in sorted(leaving & frozenset(others), key=lambda each: each == SUPERVISOR):
            log.warning("the node of %s leaves; it is started elsewhere", name)
            await self._fleet.replace(name)
            return name
        return None
