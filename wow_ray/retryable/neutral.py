"""What a caller gets instead of an error when its call was stored (F2)."""

from __future__ import annotations

from typing import Any, get_args

from wow_ray.errors import CannotTravelError
from wow_ray.places import mistake
from wow_ray.retryable.arguments import return_hint
from wow_ray.retryable.codec import Codec
from wow_ray.retryable.target import Target, innermost

ZEROS: dict[Any, Any] = {int: 0, float: 0.0, bool: False}


class _Missing:
    """No default was given; `None` is one."""

    def __repr__(self) -> str:
        return "<not given>"


MISSING: Any = _Missing()


def neutral_value(target: Target, result: Codec, default: Any) -> Any:  # noqa: ANN401 - of the function's type
    """Give the default, else 0, 0.0 or False for exactly these types, else `None`.

    Raises:
        DefinitionError: when the return annotation does not allow that value, with the ways out.
    """
    hint = return_hint(target.function)
    value = default if default is not MISSING else ZEROS.get(hint)
    if value is None and default is MISSING and (hint in (None, type(None), Any) or type(None) in get_args(hint)):
        return None
    try:
        result.write(value)
    except CannotTravelError as error:
        said = f"default={default!r} is no" if default is not MISSING else "None, which a failed call answers, is no"
        name = getattr(hint, "__qualname__", None) or str(hint)
        ways = "raise_error=True, default=…, or `| None` in the return annotation"
        raise mistake(innermost(target.function), f"{said} {name}; write {ways}", "WOW-F2") from error
    return value
