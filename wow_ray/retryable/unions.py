"""Unions travel with a tag, so that what went in as one member never comes back as another (F3).

JSON alone cannot tell `UUID | str` apart. Each union of several types inside an annotation is replaced by a schema
that writes `[place, value]`: the first member, in the order they are written, that the value comes back from unchanged.
A union that pydantic tells apart by a discriminator keeps that. The unions inside a model are the model's own.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Annotated, Any, Optional, Union, get_args, get_origin

from pydantic import GetCoreSchemaHandler, TypeAdapter
from pydantic.fields import FieldInfo
from pydantic.types import Discriminator
from pydantic_core import core_schema, to_json

from wow_ray.retryable.sameness import same

_CONTAINERS = (list, set, frozenset, dict, tuple)

MakeAdapter = Callable[[Any], TypeAdapter[Any]]


class Tagged:
    """The schema of one union: see the module."""

    def __init__(self, members: tuple[Any, ...], make: MakeAdapter) -> None:
        """Make an adapter for each member; raises what pydantic raises for one that cannot travel."""
        self.adapters = [make(member) for member in members]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:  # noqa: ANN401 - pydantic's form
        """Give pydantic what it writes and reads with."""
        return core_schema.no_info_plain_validator_function(
            self.read, serialization=core_schema.plain_serializer_function_ser_schema(self.write)
        )

    def write(self, value: Any) -> list[Any]:  # noqa: ANN401 - a value of any type
        """Give the value behind the place of its type; raises `ValueError` when no member takes it whole."""
        for place, adapter in enumerate(self.adapters):
            try:
                written = adapter.dump_json(value, warnings="error")
                if same(adapter.validate_json(written), value):
                    return [place, adapter.dump_python(value, mode="json", warnings="error")]
            except (ValueError, TypeError):  # this member is another type
                continue
        msg = f"no member of the union takes a {type(value).__name__} unchanged"
        raise ValueError(msg)

    def read(self, written: Any) -> Any:  # noqa: ANN401 - a value of any type
        """Give the value back; raises `ValueError` for what was not written so."""
        if not isinstance(written, list) or len(written) != 2 or not isinstance(written[0], int):  # noqa: PLR2004 - a pair
            raise ValueError("a union travels as [place, value]")
        if not 0 <= written[0] < len(self.adapters):
            msg = f"the union has no member at place {written[0]}"
            raise ValueError(msg)
        return self.adapters[written[0]].validate_json(to_json(written[1]))


def tagged(hint: Any, make: MakeAdapter) -> Any:  # noqa: ANN401 - any type
    """Give the annotation with its unions replaced; `None` beside one type needs no tag."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        if any(_discriminates(mark) for mark in hint.__metadata__):
            return hint
        return Annotated[(tagged(arguments[0], make), *hint.__metadata__)]
    if origin in (Union, types.UnionType):
        members = tuple(member for member in arguments if member is not types.NoneType)
        inner = tagged(members[0], make) if len(members) == 1 else Annotated[Any, Tagged(members, make)]
        return inner if len(members) == len(arguments) else Optional[inner]  # noqa: UP045 - made of a value
    if hint is Callable or origin is Callable:
        raise TypeError("a function is no data")
    if arguments and (origin in _CONTAINERS or getattr(origin, "__module__", "") == "collections.abc"):
        return origin[tuple(each if each is Ellipsis else tagged(each, make) for each in arguments)]
    return hint


def _discriminates(mark: object) -> bool:
    return isinstance(mark, Discriminator) or (isinstance(mark, FieldInfo) and mark.discriminator is not None)
