"""How many calls of a group run at once in a partition: less at once when the other side is busy, then more again.

A busy answer halves the limit, at most once per wait, never below one (D4). Successes bring it back: one more for
every round of calls while busy answers were met lately, twice as many a round once they have stayed away. After a
pause the limit begins at one and doubles per success (W6). A ceiling from outside bounds it all the time.
"""

from __future__ import annotations

from typing import Literal

QUIET = 5.0
"""Seconds without a busy answer after which the limit climbs fast."""

NEVER = float("-inf")

Cause = Literal["", "busy", "ramp", "ceiling"]


class Limiter:
    """The limit of one group in one partition. Times are seconds on the caller's monotonic clock."""

    __slots__ = ("_busy_at", "_exact", "_full", "_held_until", "_ramping", "ceiling")

    def __init__(self, full: int) -> None:
        """Begin at `full`, the group's own share (at least 1)."""
        self._full = full
        self._exact = float(full)
        self._ramping = False
        self._held_until = NEVER
        self._busy_at = NEVER
        self.ceiling: int | None = None
        """The most that somebody who sees all partitions allows here; `None` = no opinion."""

    @property
    def top(self) -> int:
        """The most there can be at present."""
        return self._full if self.ceiling is None else max(1, min(self._full, self.ceiling))

    @property
    def limit(self) -> int:
        """How many calls may run at once, at least 1."""
        return max(1, min(int(self._exact), self.top))

    @property
    def climbing(self) -> bool:
        """Whether successes raise the limit."""
        return self._exact < self.top

    @property
    def cause(self) -> Cause:
        """Why the limit is below the group's own share; empty = it is not."""
        if self.climbing:
            return "ramp" if self._ramping else "busy"
        return "ceiling" if self.top < self._full else ""

    def busy(self, now: float, until: float, running: int) -> bool:
        """Take a busy answer into account whose wait lasts `until`; `True` = the limit was halved.

        Halved is what really ran (`running`), which may be far below the limit; further busy answers of calls that were
        under way before this wait is over change nothing.
        """
        self._busy_at = now
        if now < self._held_until:
            return False
        self._held_until = until
        self._ramping = False
        self._exact = float(max(1, min(self.limit, max(running, 1)) // 2))
        return True

    def restart(self) -> None:
        """Begin at one, after a pause (W6)."""
        self._exact = 1.0
        self._ramping = True

    def succeeded(self, times: int, now: float) -> None:
        """Climb by so many successes."""
        top = self.top
        for _ in range(times):
            if self._exact >= top:
                break
            if self._ramping:
                self._exact *= 2
            elif now - self._busy_at >= QUIET:
                self._exact += 1
            else:
                self._exact += 1 / self._exact
        if self._exact >= top:
            self._exact = float(max(self._full, top))
            self._ramping = False
