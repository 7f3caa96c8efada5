"""A live load: events appended at a steady rate until it is told to stop."""

import asyncio
import time
from contextlib import suppress

from benchmarks.workload import Bookings, account
from wow_ray.ports.event_log import EventStore

AT_ONCE = 5
"""Events appended side by side."""


class Load:
    """Appends `rate` events a second, of accounts chosen by chance, until it is stopped."""

    def __init__(self, store: EventStore, bookings: Bookings, rate: float) -> None:
        """Append nothing yet."""
        self.bookings = bookings
        self.rate = rate
        self._store = store
        self._stopped = asyncio.Event()

    async def run(self) -> None:
        """Append, catching up with the rate when an append took long."""
        due = time.monotonic()
        while not self._stopped.is_set():
            names = [self.bookings.random.choice(self.bookings.names) for _ in range(AT_ONCE)]
            await asyncio.gather(*(self._append(name) for name in dict.fromkeys(names)))
            due += AT_ONCE / self.rate
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopped.wait(), max(0.0, due - time.monotonic()))

    async def _append(self, name: str) -> None:
        event = self.bookings.next_of(name)
        await self._store.append(account(name), [event], expected_version=event.number - 1)

    def stop(self) -> None:
        """Append no more."""
        self._stopped.set()
