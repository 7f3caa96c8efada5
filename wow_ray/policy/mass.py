"""Many parks alike: the sign of a fault of ours, such as a bad deploy, that no class of errors tells (P16).

More than so many parks with one fingerprint within a minute, and more of them than aggregates handled well in it.
"""

from __future__ import annotations

from collections import deque

MINUTE = 60.0
BEAT = 1.0
"""Seconds between two notes of how many were handled well."""


class MassParks:
    """The parks of one group in one partition within the last minute; times are monotonic seconds."""

    def __init__(self) -> None:
        """Know of none."""
        self._parks: dict[str, deque[float]] = {}
        self._handled: deque[tuple[float, int]] = deque()
        self._quiet_until = 0.0

    def beat(self, now: float, handled: int) -> None:
        """Note how many aggregates were handled well since the beginning; to be told every second or so."""
        if not self._handled or now - self._handled[-1][0] >= BEAT:
            self._handled.append((now, handled))
        while len(self._handled) > 1 and now - self._handled[1][0] >= MINUTE:
            self._handled.popleft()

    def parked(self, fingerprint: str, now: float, handled: int, most: int) -> bool:
        """Note a park, `handled` as in `beat`; `True` = pause the group.

        `most` parks alike are accepted; 0 = any number.
        """
        if most <= 0 or now < self._quiet_until:
            return False
        self.beat(now, handled)
        alike = self._parks.setdefault(fingerprint, deque())
        alike.append(now)
        for name in [name for name, times in self._parks.items() if now - times[-1] > MINUTE]:
            del self._parks[name]
        while now - alike[0] > MINUTE:
            alike.popleft()
        return len(alike) > max(most, handled - self._handled[0][1])

    def forget(self, quiet_until: float) -> None:
        """Begin anew, and pause for nothing until then: the group is paused, or an operator has lifted that pause."""
        self._parks.clear()
        self._quiet_until = quiet_until
