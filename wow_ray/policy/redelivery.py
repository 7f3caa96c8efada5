"""When a delivery that was not taken is tried again: backoff with jitter, a bound, and what the other side asks for."""

from __future__ import annotations

from dataclasses import dataclass

from wow_ray.policy.budget import jitter, wait

FIRST = 5.0
MULTIPLIER = 3.0
LONGEST = 3_600.0
"""Seconds: 5, 15, 45, 135, 405, 1,215, then an hour each."""


@dataclass(frozen=True, slots=True)
class Redelivery:
    """`attempts` in all; the default goes on for about three and a half hours."""

    attempts: int = 10

    def again(self, attempt: int, dice: float, retry_after: float | None = None) -> float | None:
        """Give the seconds until the next attempt after the one of that number; `None` = it is given up.

        What the other side asks for is a lower bound, an hour at most.
        """
        if attempt >= self.attempts:
            return None
        spread = jitter(wait(FIRST, MULTIPLIER, LONGEST, attempt), dice, LONGEST)
        return max(spread, min(retry_after or 0.0, LONGEST))
