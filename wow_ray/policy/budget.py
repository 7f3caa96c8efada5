"""How many calls, how far apart, how long each: the budgets, and the arithmetic of their waits.

All times are seconds. Chance is an argument: `dice` is a number from 0 up to, not including, 1.
"""

from __future__ import annotations

from dataclasses import dataclass

UPWARD = 0.25
"""The largest share by which an upward jitter lengthens a wait."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The budget of one event at one handler: `max_attempts` calls in all, each allowed `timeout` (B1, B2)."""

    max_attempts: int
    initial_backoff: float
    multiplier: float
    max_backoff: float
    timeout: float


DEFAULT_RETRY = Budget(max_attempts=5, initial_backoff=0.1, multiplier=2.0, max_backoff=5.0, timeout=30.0)
"""Five calls within 1.5 s of waiting: past a hiccup, short of what anybody would call an outage."""


@dataclass(frozen=True, slots=True)
class Backpressure:
    """The budget of its own that busy answers have: `max_attempts` calls of which the last parks (D4).

    What a `Retry-After` asks for is a lower bound of the wait, but never more than `retry_after_cap`.
    """

    max_attempts: int = 20
    initial_backoff: float = 0.2
    multiplier: float = 2.0
    max_backoff: float = 30.0
    retry_after_cap: float = 600.0


@dataclass(frozen=True, slots=True)
class ParkedRetries:
    """The automatic long-horizon calls of a parked aggregate: `max_retries`, then it waits for a person (P6, P8).

    The first is due `initial_delay` after parking, the n-th `initial_delay * multiplier ** (n - 1)` after the one
    before it, never more than `max_delay`; each may last `timeout`, in place of the handler's own. 0 retries: none.
    """

    max_retries: int = 10
    initial_delay: float = 180.0
    multiplier: float = 2.0
    max_delay: float = 86_400.0
    timeout: float = 120.0


@dataclass(frozen=True, slots=True)
class Systemic:
    """When a partition of a group pauses, and how it probes (W1, W4, P16).

    `aggregates` different ones failing within `window` pause it; probes begin `initial_probe` apart, each wait twice
    the last, never more than `max_probe`; more than `mass_parks` alike within a minute pause the group (0 = never).
    """

    aggregates: int = 3
    window: float = 10.0
    initial_probe: float = 0.1
    max_probe: float = 5.0
    mass_parks: int = 100


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds a live attempt: one budget a category, none of which spends another's (D5)."""

    retry: Budget
    backpressure: Backpressure
    systemic: Systemic


def wait(initial: float, multiplier: float, cap: float, n: int) -> float:
    """Answer the n-th wait (n from 1): `initial * multiplier ** (n - 1)`, never negative, never above `cap`.

    Takes the same time for every n and overflows for none, 10**9 and beyond included: what cannot be computed any
    more is above the cap.
    """
    if initial <= 0 or cap <= 0:
        return 0.0
    if multiplier <= 1 or n <= 1:
        return min(initial, cap)
    try:
        return min(initial * float(multiplier) ** (n - 1), cap)
    except OverflowError:
        return cap


def jitter(wait: float, dice: float, cap: float) -> float:
    """Spread a wait over its upper half, `[wait / 2, wait]`, and never above `cap`: at the cap it still spreads."""
    return min(wait, cap) * (0.5 + 0.5 * dice)


def jitter_up(wait: float, dice: float, cap: float | None) -> float:
    """Lengthen a wait by up to a quarter, never shorten it: for waits that are a promise not to come earlier.

    `cap` bounds what the jitter adds, not the wait itself: a wait above it stays as it is. `None` bounds nothing.
    """
    longer = wait * (1 + UPWARD * dice)
    return longer if cap is None else max(wait, min(longer, cap))
