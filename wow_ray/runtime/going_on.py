"""Rows that are to go on and are looked at first: spilled ones whose wait is over, and what a stop or pause held up.

By the time a row's turn has come its newest state may be in memory, on its way to the store, or only there, and it may
have ended. Drains go on as far as there is room for them, so that a group whose stop has ended takes nobody's place.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Protocol

from wow_ray.errors import StoreUnavailableError
from wow_ray.policy.parked import State
from wow_ray.runtime.intents import ROOM
from wow_ray.runtime.trouble import Trouble

if TYPE_CHECKING:
    from wow_ray.ports.clock import Cancellable, Clock
    from wow_ray.ports.ledger import Ledger
    from wow_ray.runtime.caution import Caution
    from wow_ray.runtime.drains import Drains
    from wow_ray.runtime.group import Group
    from wow_ray.runtime.slot import Slot
    from wow_ray.runtime.unparking import Unparking

log = logging.getLogger("wow_ray.ledger")

AGAIN = 1.0
"""Seconds until the next look, when there was no room or the store was away."""


class Owning(Protocol):
    """The partition, as it is seen here."""

    groups: dict[int, Group]
    drains: Drains
    unparking: Unparking
    caution: Caution


class GoingOn:
    """The rows of one partition that are to go on, by group."""

    def __init__(self, ledger: Ledger, clock: Clock, partition: Owning) -> None:
        """Read through `ledger` what memory does not have."""
        self._ledger = ledger
        self._clock = clock
        self._partition = partition
        self._rows: dict[int, dict[str, Slot]] = {}
        self._look = asyncio.Event()
        self._timer: Cancellable | None = None
        said = "rows that are to go on cannot be read (%s); trying on"
        self._trouble = Trouble(log, clock, said, "rows go on again after %.1f s")

    def add(self, group: Group, slot: Slot, row_id: str) -> None:
        """Have the row go on as soon as its group may, in the order of what was added."""
        self._rows.setdefault(group.number, {})[row_id] = slot
        self._look.set()

    def look(self) -> None:
        """Look again: some group may go on."""
        self._look.set()

    async def run(self) -> None:
        """Let rows go on for ever; ends by cancellation."""
        while True:
            await self._look.wait()
            self._look.clear()
            try:
                more = await self._round()
            except StoreUnavailableError as error:
                self._trouble.failed(error)
                more = True
            else:
                self._trouble.worked()
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._clock.call_at(self._clock.monotonic() + AGAIN, self._look.set) if more else None

    async def _round(self) -> bool:
        """Let go on what may; `True` = something has to wait for no stop, and is to be looked at again."""
        more = False
        for number, rows in list(self._rows.items()):
            group = self._partition.groups[number]
            for row_id in list(rows):
                if group.stops or group.pause is not None:
                    break
                if rows[row_id].leaving and not rows[row_id].lost:
                    continue
                if not await self._went_on(group, rows[row_id], row_id):
                    more = True
                    break
                del rows[row_id]
        self._rows = {number: rows for number, rows in self._rows.items() if rows}
        return more

    async def _went_on(self, group: Group, slot: Slot, row_id: str) -> bool:
        """Let a row go on, or drop it when there is nothing to go on with; `False` = not yet."""
        progress = slot.progress[group.number]
        row = slot.in_memory(row_id) or await self._ledger.row(row_id)
        if slot.lost or row is None:
            return True
        changed = slot.progress[group.number] is not progress or slot.in_memory(row_id) not in {None, row}
        full = row.state is State.RETRYING and self._partition.drains.active >= ROOM
        if changed or group.halted or slot.leaving or full or not self._partition.caution.allows(row):
            return False
        self._partition.unparking.go_on(group, slot, row)
        return True
