"""The sweep: parked rows whose next retry is due are brought to the owners of their slots.

It claims nothing and changes nothing: it reads what is due by the store's clock and hands each owner no more than it
has room for; the owner begins the retry in its own commit (H5). When the sweep does not run, parking goes on and due
retries wait.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Protocol

from wow_ray.runtime.intents import ROOM
from wow_ray.runtime.trouble import Trouble

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from wow_ray.ports.clock import Clock
    from wow_ray.ports.ledger import Ledger
    from wow_ray.runtime.partition import Partition

log = logging.getLogger("wow_ray.ledger")

AT_ONCE = 100
LATE = 0.05
"""Seconds after a row's time at which it is looked for, so that the store's clock has surely passed it."""


class Hosting(Protocol):
    """Whoever has the partitions."""

    @property
    def partitions(self) -> Sequence[Partition]:
        """The partitions that run now."""


class Sweep:
    """Looks for due rows: when one is known to come due, and at least every `poll` seconds."""

    def __init__(self, ledger: Ledger, clock: Clock, host: Hosting, poll: float = 60.0) -> None:
        """Read through `ledger`; `poll` also finds what other processes parked."""
        self._ledger = ledger
        self._clock = clock
        self._host = host
        self._poll = poll
        self._look = asyncio.Event()
        self._trouble = Trouble(log, clock, "due rows cannot be read (%s); trying on", "due rows are read after %.1f s")

    def due_at(self, at: datetime) -> None:
        """Look again when a row parked here comes due."""
        for partition in self._host.partitions[:1]:
            seconds = max(0.0, (at - partition.store_now()).total_seconds()) + LATE
            if seconds <= self._poll:
                self._clock.call_at(self._clock.monotonic() + seconds, self._look.set)

    async def run(self) -> None:
        """Sweep for ever; ends by cancellation."""
        while True:
            self._look.clear()
            more = False
            for partition in list(self._host.partitions):
                try:
                    more |= await self.once(partition)
                except Exception as error:  # noqa: BLE001 - else parked retries wait for ever, and nobody hears of it
                    self._trouble.failed(error)
                else:
                    self._trouble.worked()
            wait = LATE if more else self._poll
            timer = self._clock.call_at(self._clock.monotonic() + wait, self._look.set)
            try:
                await self._look.wait()
            finally:
                timer.cancel()

    async def once(self, partition: Partition) -> bool:
        """Hand one partition what is due in its slots and fits; `True` = there may be more at once."""
        room = min(AT_ONCE, ROOM - partition.drains.active)
        if room <= 0 or not partition.slots:
            return False
        able = [group for group in partition.groups.values() if not group.paused and not group.halted]
        subscriptions = sorted({name for group in able for name in group.subscriptions()})
        rows = await self._ledger.due(list(partition.slots), subscriptions, room)
        taken = 0
        for row in rows:
            group, slot = partition.by_name.get(row.group), partition.slots.get(row.slot)
            if group is not None and slot is not None:
                taken += partition.unparking.take_due(group, slot, row)
        return taken == room
