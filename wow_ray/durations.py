"""How long something lasts: what people may write for it, and how it is shown to them.

A bare number is refused everywhere, because nobody can tell seconds from milliseconds by looking at it.
"""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction
from math import isfinite

from wow_ray.errors import SettingsError

Duration = str | timedelta

LONGEST = 100 * 365.25 * 86_400
"""A hundred years, in seconds: more is a slip of the pen, and would overflow a date."""

_LONGEST_TEXT = 64
_SECOND = 1_000  # milliseconds
_UNITS = {
    "d": Fraction(86_400),
    "h": Fraction(3_600),
    "m": Fraction(60),
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
}
_ORDER = list(_UNITS)
_PART = re.compile(r"([0-9]+)(\.[0-9]+)?(d|h|ms|m|s|us|ns)")
_ISO = re.compile(
    r"P(?:([0-9]+)D)?(?:T(?=[0-9])(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+(?:\.[0-9]+)?)S)?)?",
)
_EXAMPLES = "write '500ms', '2s', '1m 30s', 'PT1M30S' or a timedelta"


def seconds(value: object, setting: str, *, zero: bool = False) -> float:
    """Answer how many seconds `value`, given for `setting`, lasts.

    Understood are Kotlin's form (`500ms`, `1m 30s`, `1.5s`: units from large to small, each at most once, one blank
    between parts, a fraction on the last number only), ISO-8601 (`PT2S`, `P1DT2H`) and `timedelta`. The sum is exact,
    so `1000ms` equals `1s`. Raises `SettingsError`, naming the setting and what would be right, for everything else:
    bare numbers, negatives, stray text, more than a hundred years, and zero unless `zero=True`.
    """
    if isinstance(value, timedelta):
        exact = Fraction(value // timedelta(microseconds=1), 10**6)
    elif isinstance(value, str):
        exact = _parsed(value, setting)
    else:
        raise _refused(setting, value, f"{_kind(value)} has no unit; {_EXAMPLES}")
    if exact < 0:
        raise _refused(setting, value, f"a duration is not negative; {_EXAMPLES}")
    if exact > LONGEST:
        raise _refused(setting, value, "more than 100 years is no wait; '24h' is a long one")
    if exact == 0 and not zero:
        raise _refused(setting, value, "zero is not allowed here; '1ms' is the shortest that makes sense")
    return float(exact)


def show(seconds: float) -> str:
    """Give a length of time as people read it: `200ms`, `1.5s`, `1m 30s`, `1d 2h`.

    From a second up it is rounded to milliseconds, below to three places of its unit; what it gives for a number
    that is finite and not negative is understood by `seconds()`.
    """
    if not isfinite(seconds):
        return "for ever" if seconds > 0 else "unknown"
    if seconds < 0:
        return f"-{show(-seconds)}"
    milliseconds = round(seconds * 1_000)
    if milliseconds >= _SECOND:
        return _in_parts(milliseconds)
    for unit, size in (("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)):
        count = round(seconds / size, 3)
        if count >= 1:
            return f"{count:.3f}".rstrip("0").rstrip(".") + unit
    return "0s"


def _in_parts(milliseconds: int) -> str:
    """Write whole milliseconds, one second at least, in the units from days down, leaving out those that are zero."""
    rest, fraction = divmod(milliseconds, _SECOND)
    parts = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    if rest or fraction:
        tail = f".{fraction:03}".rstrip("0") if fraction else ""
        parts.append(f"{rest}{tail}s")
    return " ".join(parts)


def _parsed(text: str, setting: str) -> Fraction:
    """Read one of the two written forms exactly, or raise `SettingsError`."""
    if len(text) > _LONGEST_TEXT:
        raise _refused(setting, text, f"that is too long for a duration; {_EXAMPLES}")
    iso = _ISO.fullmatch(text)
    if iso is not None and any(iso.groups()):
        sizes = (_UNITS["d"], _UNITS["h"], _UNITS["m"], _UNITS["s"])
        return sum((Fraction(n) * size for n, size in zip(iso.groups(), sizes, strict=True) if n), Fraction(0))
    parts = [_PART.fullmatch(part) for part in text.split(" ")]
    total, last = Fraction(0), -1
    for place, part in enumerate(parts):
        if part is None:
            raise _refused(setting, text, _what_is_wrong(text))
        whole, fraction, unit = part.groups()
        if _ORDER.index(unit) <= last:
            raise _refused(setting, text, "units go from large to small, each once, as in '1h 30m'")
        if fraction and place < len(parts) - 1:
            raise _refused(setting, text, "only the last number may have a fraction, as in '1m 1.5s'")
        last = _ORDER.index(unit)
        total += Fraction(whole + (fraction or "")) * _UNITS[unit]
    return total


def _what_is_wrong(text: str) -> str:
    """Say why a text that no form fits was refused."""
    if text.startswith("-") or "T-" in text or " -" in text:
        return f"a duration is not negative; {_EXAMPLES}"
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        return f"a bare number has no unit; write '{text}s' or '{text}ms'"
    if re.fullmatch(r"P[0-9]+[HMS].*", text):
        return f"hours, minutes and seconds follow a T in ISO-8601, as in 'PT{text[1:]}'"
    if re.fullmatch(r"([0-9.]+(d|h|ms|m|s|us|ns) ?)+", text):
        return "one blank goes between the parts, as in '1m 30s'"
    return f"that is no duration; {_EXAMPLES}"


def _kind(value: object) -> str:
    """Name what was given instead of a duration."""
    return "a bare number" if isinstance(value, (int, float)) else f"a value of type {type(value).__name__}"


def _refused(setting: str, value: object, why: str) -> SettingsError:
    """Make the error that names the setting, the value as given and what would be right."""
    shown = repr(value)
    return SettingsError(f"{setting} is {shown if len(shown) <= _LONGEST_TEXT else shown[:60] + '…'}: {why}", "WOW-B6")
