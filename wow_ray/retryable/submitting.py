"""How one call is submitted; what no store keeps is refused where it is written (F2, F3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wow_ray.errors import DefinitionError
from wow_ray.names import MAX_ID_BYTES
from wow_ray.policy.durable_call import PRIORITIES

MOST_HEADER = 8_000
"""Bytes of one header: it is for traces and tenants, data is passed as arguments."""


@dataclass(frozen=True, slots=True)
class SubmitOptions:
    """How one call is submitted; see `DurableFunction.options`."""

    delay: float = 0.0
    priority: int | None = None
    key: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    connection: Any = None


def checked_priority(value: object) -> int:
    """Answer a priority; raises `DefinitionError` for what is none."""
    if isinstance(value, bool) or not isinstance(value, int) or value not in PRIORITIES:
        raise DefinitionError(
            f"priority is {value!r}; it is a whole number from 0 to 9, the higher goes first", "WOW-B2"
        )
    return value


def checked_text(value: object, what: str, *, most: int = MAX_ID_BYTES) -> str:
    """Answer a text that every store keeps, in at most so many bytes; raises `DefinitionError` saying `what` it is."""
    if not isinstance(value, str):
        raise DefinitionError(f"{what} is {value!r:.80}; it is a text", "WOW-F2")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise DefinitionError(f"{what} is {value!r:.80}, which holds a lone surrogate", "WOW-F2") from None
    if not value or "\x00" in value or size > most:
        text = f"{what} is {value!r:.80}; it has from 1 to {most:,} bytes ({size:,} are given), none of them NUL"
        raise DefinitionError(text, "WOW-F2")
    return value


def checked_headers(value: object) -> dict[str, str]:
    """Answer headers, which are texts by name; an empty one is legal. Raises `DefinitionError` for any other."""
    if not isinstance(value, Mapping):
        raise DefinitionError(f"headers is {value!r:.80}; write a dictionary of texts", "WOW-F2")
    return {
        checked_text(name, "a header's name"): text and checked_text(text, f"the header {name!r}", most=MOST_HEADER)
        for name, text in value.items()
    }
