"""How one value travels: as JSON through its annotation, and back as it was (F3).

Our own, whatever encoder the application has. No pickle, no class names: what comes back is what the annotation says.
So a value is read back when it is written, and refused unless it came back equal and of the same type.
"""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any, get_origin, is_typeddict

from pydantic import BaseModel, ConfigDict, PydanticUserError, TypeAdapter

from wow_ray.errors import CannotTravelError
from wow_ray.retryable.sameness import same
from wow_ray.retryable.unions import tagged

MOST_BYTES = 1_000_000
"""The largest payload or result, in bytes of JSON (S75)."""

_CONFIG = ConfigDict(
    ser_json_inf_nan="strings",  # NaN and the infinities come back, and no store refuses them (S73)
    ser_json_bytes="base64",
    val_json_bytes="base64",
    ser_json_timedelta="iso8601",
)


class Codec:
    """Writes and reads values of one annotation."""

    def __init__(self, hint: Any) -> None:  # noqa: ANN401 - any type
        """Raises `CannotTravelError` for a type that pydantic cannot write as JSON."""
        try:
            self._adapter = _adapter(tagged(hint, _adapter))
        except (PydanticUserError, TypeError) as error:
            said = str(error).splitlines()[0]
            raise CannotTravelError(f"{_named(hint)} cannot travel as JSON: {said}") from error

    def write(self, value: Any) -> str:  # noqa: ANN401 - a value of any type
        """Give the value as JSON; raises `CannotTravelError` when it would come back otherwise."""
        try:
            text = self._adapter.dump_json(value, warnings="error")
            back = self._adapter.validate_json(text)
            equal = same(value, back)
        except RecursionError:
            raise CannotTravelError(f"a {type(value).__qualname__} is nested too deeply to travel") from None
        except Exception as error:
            said = " ".join(str(error).split())[:300]
            raise CannotTravelError(f"{_shown(value)} cannot travel: {said}") from error
        if not equal:
            text_back = f"{_shown(value)} would come back as {_shown(back)}"
            raise CannotTravelError(f"{text_back}; annotate it with its own type, or pass what its annotation says")
        return text.decode()

    def read(self, text: str) -> Any:  # noqa: ANN401 - a value of any type
        """Give the value back; raises `CannotTravelError` when it no longer fits."""
        try:
            return self._adapter.validate_json(text)
        except ValueError as error:
            said = " ".join(str(error).split())[:300]
            raise CannotTravelError(f"{text[:64]} no longer fits: {said}") from error


def _adapter(hint: Any) -> TypeAdapter[Any]:  # noqa: ANN401 - any type
    """Make the adapter; models, dataclasses and typed dictionaries bring a configuration of their own."""
    plain = get_origin(hint) or hint
    own = inspect.isclass(plain) and (issubclass(plain, BaseModel) or dataclasses.is_dataclass(plain))
    if own or is_typeddict(plain):
        return TypeAdapter(hint)
    return TypeAdapter(hint, config=_CONFIG)


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - the author's own code; what is wrong is said without it
        text = f"a value whose repr raises {type(error).__name__}"
    return f"{text if len(text) <= 64 else text[:60] + '…'} ({type(value).__qualname__})"  # noqa: PLR2004 - one line


def _named(hint: Any) -> str:  # noqa: ANN401 - any type
    return str(getattr(hint, "__qualname__", None) or hint)
