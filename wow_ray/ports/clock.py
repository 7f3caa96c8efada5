"""Time and chance, as arguments.

Nothing below the adapters asks the machine for either: the runtime measures waits on `monotonic`, and takes calendar
time only from the store's answers (`SlotStore`), so that a step of the local clock changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime

Dice = Callable[[], float]
"""Chance: each call gives a number in [0, 1)."""


class Cancellable(Protocol):
    """A call asked for at a later time."""

    def cancel(self) -> None:
        """Take it back; does nothing once it was made."""


class Clock(Protocol):
    """One process's time."""

    def now(self) -> datetime:
        """Give the calendar time, aware and in UTC; may step."""
        ...

    def monotonic(self) -> float:
        """Give seconds that never go back and never step."""
        ...

    def call_at(self, when: float, callback: Callable[[], None]) -> Cancellable:
        """Call `callback` in this loop once `monotonic()` has reached `when`; at the next turn when it has already."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait that long; zero or less lets the loop turn once."""
        ...
