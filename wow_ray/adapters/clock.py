"""The machine's time: the one place where the program meets it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime

from wow_ray.ports.clock import Cancellable


def monotonic() -> float:
    """Give the machine's seconds that never go back; the same from every thread of a process."""
    return time.monotonic()


class SystemClock:
    """`ports.clock.Clock` on the running loop, whose own time is the machine's monotonic one."""

    def now(self) -> datetime:
        """See the port."""
        return datetime.now(UTC)

    monotonic = staticmethod(time.monotonic)
    """See the port; read for every event, so there is nothing between."""

    def call_at(self, when: float, callback: Callable[[], None]) -> Cancellable:
        """See the port.

        The loop is told the distance from now rather than `when` itself, so that a loop with a clock of its own is
        right too.
        """
        loop = asyncio.get_running_loop()
        return loop.call_later(max(0.0, when - time.monotonic()), callback)

    async def sleep(self, seconds: float) -> None:
        """See the port."""
        await asyncio.sleep(max(0.0, seconds))


def block(seconds: float) -> None:
    """Wait on this thread; zero or less does not wait."""
    if seconds > 0:
        time.sleep(seconds)
