"""The settings of one retryable function, checked where they are written (F1, B2, B6, C6, K5)."""

from __future__ import annotations

from collections.abc import Sequence

from wow_ray.durations import Duration, seconds, show
from wow_ray.errors import ConfigurationError, DefinitionError
from wow_ray.places import mistake
from wow_ray.policy.classify import Errors, checked_list
from wow_ray.policy.given import checked_count, checked_factor
from wow_ray.policy.local_retries import LocalPlan, Retried
from wow_ray.retryable.target import Target, innermost

DEFAULT_ATTEMPTS = 3
"""Calls made at once: the seed's, enough for what a moment repairs."""
DEFAULT_BACKOFF: Duration = "100ms"
DEFAULT_LONGEST: Duration = "5s"


def checked_plan(  # noqa: PLR0917 - the settings, in the order they are written
    target: Target,
    max_attempts: int,
    initial_backoff: Duration | None,
    multiplier: float,
    max_backoff: Duration | None,
    include: Sequence[type[Exception]],
    exclude: Sequence[type[Exception]],
) -> LocalPlan:
    """Check what `@retryable` was given; `None` = the default.

    A default ceiling is raised to a longer `initial_backoff`, so that nothing nobody wrote flattens what was (S42).

    Raises:
        DefinitionError: with the setting and the function's place.
    """
    try:
        first = seconds(DEFAULT_BACKOFF if initial_backoff is None else initial_backoff, "initial_backoff", zero=True)
        longest = seconds(DEFAULT_LONGEST if max_backoff is None else max_backoff, "max_backoff", zero=True)
        if first > longest and max_backoff is None:
            longest = first
        if first > longest and initial_backoff is None:
            first = longest
        if first > longest:
            raise DefinitionError(f"initial_backoff ({show(first)}) is above max_backoff ({show(longest)})", "WOW-C6")
        return LocalPlan(
            max_attempts=checked_count(max_attempts),
            initial_backoff=first,
            multiplier=checked_factor(multiplier),
            max_backoff=longest,
            retried=Retried(_errors(include, "include"), _errors(exclude, "exclude")),
        )
    except ConfigurationError as error:
        raise mistake(innermost(target.function), f"@retryable: {error.message}", error.code) from error


def _errors(entries: Sequence[type[Exception]], which: str) -> Errors:
    return checked_list(entries, which, "@retryable")
