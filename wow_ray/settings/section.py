"""What a part of the tree of settings is made of: its kind, and the kinds of its values."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


class DurationField:
    """Marks a field as a duration: written like `"500ms"`, kept in seconds. With `zero`, 0 is legal."""

    def __init__(self, *, zero: bool = False, forever: bool = False) -> None:
        """Say whether 0 is legal, and the word `forever`, which is `None` then."""
        self.zero = zero
        self.forever = forever


def no_bool(value: object) -> object:
    """Refuse true and false where a number is wanted: Python takes them for one."""
    if isinstance(value, bool):
        raise ValueError("a number is wanted, not true or false")  # noqa: TRY004 - pydantic takes this one
    return value


Seconds = Annotated[float, DurationField()]
SecondsOrForever = Annotated[float, DurationField(forever=True)] | None
SecondsOrZero = Annotated[float, DurationField(zero=True)]
Factor = Annotated[float, BeforeValidator(no_bool), Field(ge=1, allow_inf_nan=False)]
Count = Annotated[int, BeforeValidator(no_bool), Field(ge=1)]
CountOrZero = Annotated[int, BeforeValidator(no_bool), Field(ge=0)]


class Section(BaseModel):
    """A part of the tree."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
