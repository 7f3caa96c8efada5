"""The store's time, carried on by the monotonic clock, so that a step of this machine's calendar changes nothing."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wow_ray.ports.clock import Clock


class StoreTime:
    """Knows what the store's clock shows; set anew by every answer of the store."""

    def __init__(self, clock: Clock) -> None:
        """Begin with this machine's own calendar, until the store has said something."""
        self._clock = clock
        self._anchor = (clock.now(), clock.monotonic())

    def heard(self, now: datetime) -> None:
        """Note the time that the store has just given."""
        self._anchor = (now, self._clock.monotonic())

    def now(self) -> datetime:
        """Give the store's time."""
        at, monotonic = self._anchor
        return at + timedelta(seconds=self._clock.monotonic() - monotonic)
