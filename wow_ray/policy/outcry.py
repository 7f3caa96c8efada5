"""When trouble is worth a line: once when it begins, once a minute while it lasts, once when it is over for good.

A server that restarts, or whose connections are cut again and again, fails and works many times a second; said each
time, that buries everything else. Knows no clock and no log: times are seconds on the caller's monotonic clock.
"""

from __future__ import annotations

from dataclasses import dataclass

SETTLED = 5.0
"""Seconds without a failure after which trouble counts as over; failures closer together are one trouble."""
REMIND = 60.0
"""Seconds between two lines about the same trouble."""


@dataclass(frozen=True, slots=True)
class Over:
    """Trouble that is over: the seconds from its first failure to the success that lasted, and how many failed."""

    seconds: float
    failures: int


class Outcry:
    """One thing that may be in trouble."""

    __slots__ = ("_failures", "_said", "_since", "_works_since")

    def __init__(self) -> None:
        """Begin without trouble."""
        self._since: float | None = None
        self._works_since: float | None = None
        self._said = 0.0
        self._failures = 0

    @property
    def lasting(self) -> bool:
        """Whether there is trouble, or was until a moment ago."""
        return self._since is not None

    def failed(self, now: float) -> bool:
        """Take a failure into account; `True` = it is worth a line."""
        self.over(now)
        self._works_since = None
        self._failures += 1
        if self._since is None:
            self._since = self._said = now
            return True
        if now - self._said >= REMIND:
            self._said = now
            return True
        return False

    def worked(self, now: float) -> None:
        """Take a success into account; ask `over` once `SETTLED` seconds have passed."""
        if self._since is not None and self._works_since is None:
            self._works_since = now

    def over(self, now: float) -> Over | None:
        """Answer, once, that trouble is over: nothing has failed for `SETTLED` seconds since it worked again."""
        if self._since is None or self._works_since is None or now - self._works_since < SETTLED:
            return None
        over = Over(self._works_since - self._since, self._failures)
        self._since = self._works_since = None
        self._failures = 0
        return over
