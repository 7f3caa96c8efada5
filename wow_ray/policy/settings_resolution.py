"""Under which budget a handler runs: what was given where, and who wins (section 2 of the contract)."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from wow_ray.durations import show
from wow_ray.errors import ConfigurationError, DefinitionError, SettingsError
from wow_ray.policy.budget import Budget

SETTINGS = ("max_attempts", "initial_backoff", "multiplier", "max_backoff", "timeout")
HOST_SUBSCRIPTION, HANDLER, CLASS, HOST, BUILT_IN = PLACES = (
    "host subscription",
    "handler",
    "class",
    "host",
    "built-in",
)
"""Where a setting may come from, the first that gives it wins (C1)."""

_LEGAL = {
    "max_attempts": "a whole number of calls, 1 at least",
    "initial_backoff": "a duration, 0 or longer",
    "multiplier": "a number, 1 at least",
    "max_backoff": "a duration, 0 or longer",
    "timeout": "a duration longer than 0",
}


@dataclass(frozen=True, slots=True)
class RetryGiven:
    """What one place gives; `None` = not given. Durations in seconds. An explicit 0 is given, legal or not (B2)."""

    max_attempts: int | None = None
    initial_backoff: float | None = None
    multiplier: float | None = None
    max_backoff: float | None = None
    timeout: float | None = None


def resolve_budget(
    host_subscription: RetryGiven | None,
    handler: RetryGiven | None,
    cls: RetryGiven | None,
    host_global: RetryGiven | None,
    builtin: Budget | RetryGiven,
) -> tuple[Budget, dict[str, str], tuple[str, ...]]:
    """Answer the budget, for each setting where it came from (one of `PLACES`), and warnings to be given once.

    `builtin` gives every setting. Raises `SettingsError` (given by the host) or `DefinitionError` (by a decorator)
    naming setting and place: for an illegal value (B2), also one that is outranked, and for an `initial_backoff` above
    a `max_backoff` given at the same place. Given at two places, the first is clamped with a warning (C6).
    """
    layers = tuple(zip(PLACES, (host_subscription, handler, cls, host_global, builtin), strict=True))
    for place, layer in layers:
        if layer is not None:
            _check(place, layer)
    found: dict[str, float] = {}
    origins: dict[str, str] = {}
    for setting in SETTINGS:
        for place, layer in layers:
            value = None if layer is None else getattr(layer, setting)
            if value is not None:
                found[setting], origins[setting] = value, place
                break
        else:
            raise SettingsError(f"{setting} has no built-in value", "WOW-C1")
    warnings = _clamp(found, origins)
    budget = Budget(
        max_attempts=int(found["max_attempts"]),
        initial_backoff=float(found["initial_backoff"]),
        multiplier=float(found["multiplier"]),
        max_backoff=float(found["max_backoff"]),
        timeout=float(found["timeout"]),
    )
    return budget, origins, warnings


def _clamp(found: dict[str, float], origins: dict[str, str]) -> tuple[str, ...]:
    """Bring an initial wait down to the maximum that another place gives, and say so (C6)."""
    initial, longest = found["initial_backoff"], found["max_backoff"]
    if initial <= longest:
        return ()
    found["initial_backoff"] = longest
    text = f"initial_backoff is {show(initial)} ({origins['initial_backoff']}) but max_backoff is {show(longest)} "
    text += f"({origins['max_backoff']}): every wait will be {show(longest)}; give both at one place"
    return (text,)


def _check(place: str, layer: Budget | RetryGiven) -> None:
    """Raise for an illegal value of one place, or an illegal pair."""
    for setting in SETTINGS:
        value = getattr(layer, setting)
        if value is not None and not _is_legal(setting, value):
            raise _error(place, f"{setting} of the {place} is {value!r}; it is {_LEGAL[setting]}", "WOW-B2")
    initial, longest = layer.initial_backoff, layer.max_backoff
    if initial is not None and longest is not None and initial > longest:
        raise _error(
            place,
            f"initial_backoff of the {place} is {show(initial)}, above its max_backoff of {show(longest)}; "
            "make the maximum the longer of the two",
            "WOW-C6",
        )


def _is_legal(setting: str, value: object) -> bool:
    """Whether a value may be given for a setting (B2)."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    if isinstance(value, float) and not isfinite(value):
        return False
    match setting:
        case "max_attempts":
            return isinstance(value, int) and value >= 1
        case "multiplier":
            return value >= 1
        case "timeout":
            return value > 0
        case _:
            return value >= 0


def _error(place: str, text: str, code: str) -> ConfigurationError:
    """Make the error of the kind that fits the place."""
    return DefinitionError(text, code) if place in {HANDLER, CLASS} else SettingsError(text, code)
