"""What is done about a failed call of a retryable function in its own process (F1): a pure choice.

Times are seconds. `include` and `exclude` are read by the nearest class in the error's MRO; on a tie `exclude` wins.
"""

from __future__ import annotations

from dataclasses import dataclass

from wow_ray.errors import UnrecoverableHandlingError
from wow_ray.failure import unwrapped
from wow_ray.policy.budget import wait
from wow_ray.policy.classify import Errors, control_flow

EVERYTHING: Errors = (Exception,)
"""What is retried unless `include` says otherwise."""


@dataclass(frozen=True, slots=True)
class Retried:
    """Which errors are tried again; checked lists, an entry covers its subclasses."""

    include: Errors = EVERYTHING
    exclude: Errors = ()

    def covers(self, error: BaseException) -> bool:
        """Tell whether the error is tried again; `UnrecoverableHandlingError` is excluded without being listed."""
        error = unwrapped(error)
        if control_flow(error):
            return False
        for cls in type(error).__mro__:
            if cls in self.exclude or cls is UnrecoverableHandlingError:
                return False
            if cls in self.include:
                return True
        return False


@dataclass(frozen=True, slots=True)
class LocalPlan:
    """Calls made at once: `max_attempts` in all, `initial_backoff * multiplier ** n` apart, at most `max_backoff`."""

    max_attempts: int
    initial_backoff: float
    multiplier: float
    max_backoff: float
    retried: Retried


@dataclass(frozen=True, slots=True)
class Again:
    """Call once more after `wait`."""

    wait: float


@dataclass(frozen=True, slots=True)
class Last:
    """That was the last call: recover, store, or let the error out."""


@dataclass(frozen=True, slots=True)
class Propagate:
    """An error that is not tried again goes out as it is; neither `recover` nor `fallback` is called."""


LocalDecision = Again | Last | Propagate


def decide_local(plan: LocalPlan, error: BaseException, attempt: int, most: int | None = None) -> LocalDecision:
    """Answer what follows the failure of the `attempt`-th call (from 1); `most` caps the calls, for tests."""
    if not plan.retried.covers(error):
        return Propagate()
    if attempt >= (plan.max_attempts if most is None else min(most, plan.max_attempts)):
        return Last()
    return Again(wait(plan.initial_backoff, plan.multiplier, plan.max_backoff, attempt))
