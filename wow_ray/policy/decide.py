"""What is done about a failed attempt: retry it, slow down, pause, or park (section 4 of the contract).

A decision is a value; the shell carries it out whole. Times are seconds on the caller's monotonic clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from wow_ray.failure import Category
from wow_ray.policy.budget import Backpressure, Limits, Systemic, jitter, jitter_up, wait
from wow_ray.policy.classify import Classified
from wow_ray.policy.parked import Reason

__all__ = [
    "UNSPENT",
    "Decision",
    "Limits",
    "Park",
    "Pause",
    "Retry",
    "SlowDown",
    "Spent",
    "decide",
]


@dataclass(frozen=True, slots=True)
class Spent:
    """What one event has spent at one handler: failed calls, busy answers, and systemic failures in a row.

    A success of the aggregate sets it back to `UNSPENT` (D6).
    """

    attempts: int = 0
    backpressure: int = 0
    probes: int = 0


UNSPENT = Spent()


@dataclass(frozen=True, slots=True)
class Retry:
    """Call the handler again at `at`; only this aggregate waits until then (B7)."""

    at: float
    spent: Spent


@dataclass(frozen=True, slots=True)
class SlowDown:
    """Call the handler again at `at`, and halve the concurrency of the partition's group (D4)."""

    at: float
    spent: Spent


@dataclass(frozen=True, slots=True)
class Pause:
    """Pause the partition's group; nothing is charged, and the next single call, the probe, goes out at `probe_at`."""

    probe_at: float
    spent: Spent


@dataclass(frozen=True, slots=True)
class Park:
    """Record the aggregate in the ledger for `reason`; its later events wait. There is no further wait (B1)."""

    reason: Reason
    spent: Spent


Decision = Retry | SlowDown | Pause | Park


def decide(  # noqa: PLR0917 - what failed, what was spent, what bounds it, and when
    classified: Classified,
    spent: Spent,
    limits: Limits,
    now: float,
    dice: float,
    retry_after: float | None,
    *,
    jittered: bool = False,
) -> Decision:
    """Answer what is done about a failure of a live or draining call.

    `spent` is what was spent before this failure; the decision carries what is spent with it. Each category counts
    its own (D5): a recoverable or unrecoverable failure one attempt, a busy answer one of backpressure, a systemic one
    nothing but the number of the probe. The waits: recoverable without jitter, or with it when `jittered` (for
    conflicts that would meet again in step, K7); backpressure and probes always with it, never above their maximum.
    `retry_after` counts for backpressure only: as a lower bound, above the maximum if it must be, lengthened but never
    shortened by the jitter (H35).
    """
    match classified.category:
        case Category.UNRECOVERABLE:
            return Park(Reason.UNRECOVERABLE, _charged(spent))
        case Category.RECOVERABLE:
            return _retried(_charged(spent), limits, now, dice if jittered else None)
        case Category.SYSTEMIC:
            return _paused(Spent(spent.attempts, spent.backpressure, spent.probes + 1), limits.systemic, now, dice)
        case Category.BACKPRESSURE:
            counted = Spent(spent.attempts, spent.backpressure + 1, spent.probes)
            return _slowed(counted, limits.backpressure, now, dice, retry_after or 0.0)
        case _:
            assert_never(classified.category)


def _charged(spent: Spent) -> Spent:
    return Spent(spent.attempts + 1, spent.backpressure, spent.probes)


def _retried(spent: Spent, limits: Limits, now: float, dice: float | None) -> Retry | Park:
    """Retry within the budget (D2), or park after its last call."""
    budget = limits.retry
    if spent.attempts >= budget.max_attempts:
        return Park(Reason.BUDGET_SPENT, spent)
    delay = wait(budget.initial_backoff, budget.multiplier, budget.max_backoff, spent.attempts)
    return Retry(now + (delay if dice is None else jitter(delay, dice, budget.max_backoff)), spent)


def _paused(spent: Spent, systemic: Systemic, now: float, dice: float) -> Pause:
    """Pause however often it has been tried (D3)."""
    delay = wait(systemic.initial_probe, 2.0, systemic.max_probe, spent.probes)
    return Pause(now + jitter(delay, dice, systemic.max_probe), spent)


def _slowed(spent: Spent, pressure: Backpressure, now: float, dice: float, asked: float) -> SlowDown | Park:
    """Slow down within the budget of busy answers (D4), or park after its last call."""
    if spent.backpressure >= pressure.max_attempts:
        return Park(Reason.BACKPRESSURE_SPENT, spent)
    backoff = wait(pressure.initial_backoff, pressure.multiplier, pressure.max_backoff, spent.backpressure)
    delay = jitter(backoff, dice, pressure.max_backoff)
    asked = min(asked, pressure.retry_after_cap)
    return SlowDown(now + max(delay, jitter_up(asked, dice, None)), spent)
