"""How long the other side asked to be left alone: `Retry-After` in all its shapes (D4)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from itertools import islice
from math import ceil, isfinite
from typing import Any, cast

from wow_ray.failure import causes
from wow_ray.policy.classify import leaves

_LEAVES = 64
_LONGEST_TEXT = 512
_SENT = 8
_HEADERS = 1_000
_NUMBER = re.compile(r"[0-9]+(\.[0-9]*)?")


def retry_after(value: object, now: datetime, cap: float) -> float | None:
    """Answer the seconds to wait at least, from 0 to `cap`, or `None` when the value says nothing.

    Understood are seconds (a number; as text a fraction is rounded up), an HTTP date in its three forms (without a
    zone: UTC), a `timedelta`, a `datetime`, and a list of these, as clients have it for a header sent twice: the
    longest. A time that has passed gives 0, so that the normal backoff applies; negative numbers and anything else give
    `None`. `now` is aware.
    """
    found: float | None = None
    match value:
        case str() | bytes():
            found = _of_text(value if isinstance(value, str) else value.decode("latin-1"), now)
        case int() | float() if not isinstance(value, bool) and value >= 0:
            found = float(min(value, cap))
        case timedelta() if value >= timedelta(0):
            found = value.total_seconds()
        case datetime():
            found = _until(value, now)
        case list() | tuple():
            found = max((wish for each in value[:_SENT] if (wish := _one(each, now, cap)) is not None), default=None)
        case _:
            pass
    return None if found is None else min(found, cap)


def retry_after_of(error: BaseException, now: datetime, cap: float) -> float | None:
    """Find what an error asks for, by its looks: `.retry_after`, then `.headers`, then `.response.headers`.

    Looks at the error, then along its explicit causes (16 links), and answers the first that says something; of a
    group's errors, the longest wait. Attributes that raise count as not there.
    """
    for link in causes(error):
        found = max(
            (wish for leaf in leaves(link)[:_LEAVES] if (wish := _wish(leaf, now, cap)) is not None), default=None
        )
        if found is not None:
            return found
    return None


def _one(value: object, now: datetime, cap: float) -> float | None:
    """Answer what one of several values says; a list among them says nothing."""
    return None if isinstance(value, (list, tuple)) else retry_after(value, now, cap)


def _of_text(text: str, now: datetime) -> float | None:
    """Read seconds or an HTTP date."""
    text = text.strip()
    if len(text) > _LONGEST_TEXT:
        return None
    if _NUMBER.fullmatch(text):
        return float(ceil(number)) if isfinite(number := float(text)) else number
    try:
        return _until(parsedate_to_datetime(text), now)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _until(moment: datetime, now: datetime) -> float:
    """Answer the seconds from now until a moment, 0 when it has passed; a moment without a zone is in UTC."""
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return max((aware - now).total_seconds(), 0.0)


def _wish(error: BaseException, now: datetime, cap: float) -> float | None:
    """Answer what one error asks for at the likeliest of its places that says something."""
    wishes = (_understood(value, now, cap) for value in _values(error))
    return next((wish for wish in wishes if wish is not None), None)


def _understood(value: object, now: datetime, cap: float) -> float | None:
    """Read a foreign value, whose time zone or arithmetic may raise."""
    try:
        return retry_after(value, now, cap)
    except (Exception, SystemExit):  # noqa: BLE001 - foreign code, asked for a hint only
        return None


def _values(error: BaseException) -> Iterator[object]:
    """Give every place of one error where the wish may stand, the likeliest first."""
    yield _attribute(error, "retry_after")
    yield header(_attribute(error, "headers"))
    yield header(_attribute(_attribute(error, "response"), "headers"))


def _attribute(owner: object, name: str) -> object:
    """Read an attribute of something foreign; `None` when it is missing or its code raises."""
    try:
        return getattr(owner, name, None)
    except (Exception, SystemExit):  # noqa: BLE001 - foreign code, asked for a hint only
        return None


def header(headers: Any) -> object:  # noqa: ANN401 - foreign, of any shape
    """Look `Retry-After` up, however it is spelled, in a mapping or in pairs; `None` = not there, or it breaks."""
    try:
        items = getattr(headers, "items", None)
        pairs: Any = items() if callable(items) else headers
        for name, value in islice(pairs or (), _HEADERS):
            plain = name.decode("latin-1") if isinstance(name, bytes) else str(name)
            if plain.lower().replace("_", "-") == "retry-after":
                return cast("object", value)
    except (Exception, SystemExit):  # noqa: BLE001 - foreign code, asked for a hint only
        return None
    return None
