"""What of a payload may be shown: events' bodies, arguments and results of durable calls, their headers (P4).

A payload is JSON text. It is read, given to the app's own rules, and then walked: the value of a field whose name says
that it is secret goes whole, whatever it holds, and every other text is redacted as stored texts are. What cannot be
read, or what a rule cannot be asked about, is not shown at all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import translate
from typing import Any

from wow_ray.redaction import safe

Masker = Callable[[str, Any], Any]
"""Takes a name and a payload as JSON knows it, gives what may be shown.

The name is that of an event's type, or of a durable function: its own for the arguments, by name, with `:result` or
`:headers` behind it for the others.
"""

MASK = "***"
MOST_READ = 1_100_000
"""Characters of a payload that is read at all: more than is ever stored as one."""
MOST_SHOWN = 4_000
"""Characters of a payload that are shown."""
_DEEPEST = 100
_NOT_A_LETTER = re.compile(r"[\W_]+")

SECRET_FIELDS = (
    *("*password*", "*passwd*", "*passphrase*", "pwd", "*secret*", "*token", "*tokens", "*credential*"),
    *("*apikey*", "*accesskey*", "*privatekey*", "*signingkey*", "*encryptionkey*", "*signature", "authorization"),
    *("*authorization", "auth", "cookie", "setcookie", "session", "sessionid", "sid", "bearer", "jwt", "*dsn"),
    *("otp", "*totp*", "pin", "*pincode", "cvv*", "cvc*", "*cardnumber", "pan", "*iban", "ssn", "*socialsecurity*"),
)
"""Fields that are secret in every app; letters only, so that `apiKey`, `api_key` and `API-Key` are one."""


@dataclass(frozen=True, slots=True)
class Masking:
    """The rule of one app, from its settings and its code.

    `fields` and `whole` are patterns with `*` and `?`: of names of fields, and of names of event types and functions
    whose payloads are never shown. `maskers` are the app's own rules, asked in order.
    """

    fields: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    maskers: tuple[Masker, ...] = ()
    _fields: re.Pattern[str] = field(init=False, repr=False, compare=False)
    _whole: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Read the patterns once."""
        object.__setattr__(self, "_fields", _patterns([_plain(each) for each in (*SECRET_FIELDS, *self.fields)]))
        object.__setattr__(self, "_whole", _patterns(self.whole))

    def shown(self, name: str, payload: str) -> str:
        """Give what may be shown of a payload, cut to `MOST_SHOWN` characters; `***` when that is nothing.

        Asks the app's rules, which may raise anything and take any time: whatever they raise, nothing is shown.
        """
        if len(payload) > MOST_READ or self._whole.fullmatch(name.partition(":")[0]):
            return MASK
        try:
            value = json.loads(payload)
            for masker in self.maskers:
                value = masker(name, value)
            text = json.dumps(self._masked(value), ensure_ascii=False)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # noqa: BLE001 - what a rule may raise; the payload must not be shown for it
            return MASK
        return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}… ({len(text):,} characters)"

    def _masked(self, value: object, depth: int = 0) -> object:
        """Walk what JSON knows; raises for what it does not know, and for what is nested too deeply."""
        if depth > _DEEPEST:
            raise ValueError("nested too deeply to be looked at")
        match value:
            case None | bool() | int() | float():
                return value
            case str():
                return self._masked_text(value, depth)
            case dict():
                named = self._is_named_secret(value)
                return {
                    safe(key): MASK if self._is_secret(key) or (named and _plain(key) in _VALUES) else kept
                    for key, kept in ((key, self._masked(each, depth + 1)) for key, each in value.items())
                }
            case [str() as key, _] if self._is_secret(key):  # a header, as some write them
                return [safe(key), MASK]
            case list() | tuple():
                return [self._masked(each, depth + 1) for each in value]
            case _:
                raise TypeError("a rule gave what is no JSON")

    def _masked_text(self, text: str, depth: int) -> str:
        """Redact a text; JSON within it is walked as well, and what only begins like JSON is not shown."""
        if text.lstrip().startswith(('{"', '[{"', '[["')):
            try:
                return json.dumps(self._masked(json.loads(text), depth + 1), ensure_ascii=False)
            except (ValueError, RecursionError):
                return MASK
        return safe(text)

    def _is_secret(self, name: str) -> bool:
        """Whether a field's name says that its value is secret."""
        return self._fields.fullmatch(_plain(name)) is not None

    def _is_named_secret(self, pairs: dict[str, Any]) -> bool:
        """Whether this is one field written out, as `{"name": "Authorization", "value": …}`."""
        return any(isinstance(pairs.get(key), str) and self._is_secret(pairs[key]) for key in _NAMES)


_NAMES = ("name", "key", "field", "header", "Name", "Key")
_VALUES = frozenset({"value", "values", "content", "text"})


def _plain(name: str) -> str:
    """Give a name's letters and digits in lower case, and its `*` and `?` where it is a pattern."""
    parts = re.split(r"([*?])", name)
    return "".join(each if each in {"*", "?"} else _NOT_A_LETTER.sub("", each).lower() for each in parts)


def _patterns(patterns: Sequence[str]) -> re.Pattern[str]:
    """Make one expression of several patterns; none fit nothing."""
    return re.compile("|".join(map(translate, patterns)) or r"(?!)")
