"""Numbers of a budget as people write them, checked where they are written (B2)."""

from __future__ import annotations

import math

from wow_ray.errors import DefinitionError


def checked_count(value: object, setting: str = "max_attempts", *, least: int = 1) -> int:
    """Answer a whole number from `least`; raises `DefinitionError` naming the setting."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        what = "it counts calls and is a whole number" if setting == "max_attempts" else "it is a whole number"
        raise DefinitionError(f"{setting} is {value!r}; {what} from {least}", "WOW-B2")
    return value


def checked_factor(value: object, setting: str = "multiplier") -> float:
    """Answer a finite number from 1; raises `DefinitionError` naming the setting."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 1:
        raise DefinitionError(f"{setting} is {value!r}; it is a finite number from 1", "WOW-B2")
    return float(value)
