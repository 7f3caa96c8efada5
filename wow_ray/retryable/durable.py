"""`Durable`: how long and how often a stored call is tried (F2)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from wow_ray.durations import Duration, seconds, show
from wow_ray.errors import DefinitionError
from wow_ray.policy.budget import Budget
from wow_ray.policy.given import checked_count, checked_factor

LONGEST_DELAY = timedelta(days=366).total_seconds()
"""The longest delay, in seconds: whoever waits for more than a year wants a calendar, not a retry (S103)."""


@dataclass(frozen=True, slots=True)
class DurableBudget:
    """What `Durable` says, in seconds; `max_retries` calls beyond those that were made at once."""

    max_retries: int
    initial_delay: float
    max_delay: float
    multiplier: float
    timeout: float

    @property
    def budget(self) -> Budget:
        """The same as the budget of a stored call: what the caller did at once is its first call."""
        return Budget(self.max_retries + 1, self.initial_delay, self.multiplier, self.max_delay, self.timeout)

    def first_delay(self) -> float:
        """Give the seconds before the first stored call of one that has failed in its caller."""
        return min(self.initial_delay, self.max_delay)


class Durable:
    """What could not be done at once is stored, and tried later by the cluster (F2).

    `max_retries` counts the stored calls, beyond those made at once. The first is due `initial_delay` after the
    failure, each further wait `multiplier` times the last, never above `max_delay`. Each may take `timeout`.
    Durations read `"5s"`, `"10m"`, `"PT2S"`, or are a `timedelta`; none is longer than 366 days.
    """

    def __init__(
        self,
        *,
        max_retries: int = 5,
        initial_delay: Duration | None = None,
        max_delay: Duration | None = None,
        multiplier: float = 1.0,
        timeout: Duration = "2m",
    ) -> None:
        """Left out: 5 retries, 5 s apart, at most 10 s, 2 min each. Raises `ConfigurationError` naming the setting."""
        first = checked_delay("5s" if initial_delay is None else initial_delay, "initial_delay")
        longest = checked_delay("10s" if max_delay is None else max_delay, "max_delay")
        if first > longest and max_delay is None:
            longest = first
        if first > longest and initial_delay is None:
            first = longest
        if first > longest:
            raise DefinitionError(f"initial_delay ({show(first)}) is above max_delay ({show(longest)})", "WOW-C6")
        self.seconds = DurableBudget(
            max_retries=checked_count(max_retries, "max_retries", least=0),
            initial_delay=first,
            max_delay=longest,
            multiplier=checked_factor(multiplier),
            timeout=seconds(timeout, "timeout"),
        )

    def __repr__(self) -> str:
        """Show every setting as it counts."""
        given = self.seconds
        return (
            f"Durable(max_retries={given.max_retries}, initial_delay={show(given.initial_delay)!r}, "
            f"max_delay={show(given.max_delay)!r}, multiplier={given.multiplier:g}, timeout={show(given.timeout)!r})"
        )


def checked_delay(value: Duration, setting: str) -> float:
    """Answer a delay in seconds; raises `SettingsError` for what is none, `DefinitionError` for more than a year."""
    delay = seconds(value, setting, zero=True)
    if delay > LONGEST_DELAY:
        raise DefinitionError(f"{setting} is {show(delay)}; a delay is at most 366 days", "WOW-B6")
    return delay
