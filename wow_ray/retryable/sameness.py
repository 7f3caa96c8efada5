"""Whether a value came back from its travel equal and of the same type, all the way down (F3, S93)."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from datetime import datetime, time
from decimal import Decimal
from typing import Any

from pydantic import BaseModel


def same(one: Any, other: Any) -> bool:  # noqa: ANN401, PLR0911 - values of any type, told apart by it
    """Tell whether two values are equal and of the same types, their parts too.

    Stricter than `==`: `True` is no 1, `Decimal("0.10")` no `Decimal("0.1")`, a subclass no base class, and a time
    keeps its offset. More lenient in one point: NaN is NaN. Raises what the values' own `==` raises.
    """
    if type(one) is not type(other):
        return False
    match one:
        case float():
            return bool(one == other) or (math.isnan(one) and math.isnan(other))
        case Decimal():
            return bool(one.as_tuple() == other.as_tuple())
        case datetime() | time():
            return bool(one == other and one.utcoffset() == other.utcoffset())
        case BaseModel():
            return _same_models(one, other)
        case Mapping():
            return len(one) == len(other) and all(
                same(key, its) and same(one[key], other[its]) for key, its in zip(one, other, strict=True)
            )
        case list() | tuple():
            return len(one) == len(other) and all(map(same, one, other))
        case set() | frozenset():
            return _same_sets(one, other)
    if dataclasses.is_dataclass(one):
        return all(same(getattr(one, field.name), getattr(other, field.name)) for field in dataclasses.fields(one))
    return bool(one == other)


def _same_models(one: BaseModel, other: BaseModel) -> bool:
    extra, its = one.__pydantic_extra__ or {}, other.__pydantic_extra__ or {}
    private, theirs = one.__pydantic_private__ or {}, other.__pydantic_private__ or {}
    return same(vars(one), vars(other)) and same(extra, its) and same(private, theirs)


def _same_sets(one: Any, other: Any) -> bool:  # noqa: ANN401 - sets of anything
    if one != other:
        return False
    found = {member: member for member in other}
    return all(same(member, found[member]) for member in one)
