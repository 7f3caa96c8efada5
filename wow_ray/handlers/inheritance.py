"""What a processor class inherits: handlers, their aliases, and `@retry` (C2, C3).

An override of a handler is a handler of the same name, under the nearest `@on_event` of what it overrides; setting the
name to `None` in a subclass ends it. `@blocking` speaks of one function's body and is not inherited.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from typing_extensions import is_protocol

from wow_ray.errors import DefinitionError
from wow_ray.handlers.annotations import Function
from wow_ray.handlers.decorators import OnEventMark, RetryMark, on_event_mark, retry_mark
from wow_ray.names import checked_name
from wow_ray.places import mistake, title


@dataclass(frozen=True, slots=True)
class Method:
    """One handler function: where it stands, and the marks it runs under, its own or inherited."""

    name: str
    function: Function
    owner: type[Any]
    mark: OnEventMark
    retry: RetryMark | None


def methods(cls: type[Any]) -> tuple[Method, ...]:
    """Give the class's handlers in the order of their first definition, bases first.

    Raises:
        DefinitionError: for a handler that is no plain method, and for `@retry` on a function that is no handler.
    """
    names = dict.fromkeys(name for base in reversed(cls.__mro__) for name in vars(base))
    return tuple(method for name in names if (method := _method(cls, name)) is not None)


def class_retry(cls: type[Any]) -> RetryMark | None:
    """Give the class's own `@retry`, else that of its nearest superclass, taken whole (C2)."""
    return next((mark for base in cls.__mro__ if (mark := retry_mark(base)) is not None), None)


def refuse_annotated_interfaces(cls: type[Any]) -> None:
    """Raise `DefinitionError` when an interface in the class's MRO, or a function of one, carries `@retry` (C3)."""
    for base in cls.__mro__[1:]:
        if not is_interface(base):
            continue
        for carrier in (base, *vars(base).values()):
            if retry_mark(carrier) is not None:
                text = f"has {title(carrier)} in its MRO, an interface, which carries @retry; put @retry on the class"
                raise mistake(cls, text, "WOW-C3")


def is_interface(cls: type[Any]) -> bool:
    """Tell whether the class only says what others do: a `Protocol`, or an ABC whose public methods are all abstract.

    An ABC without any public method says nothing and is an ordinary base class.
    """
    if is_protocol(cls):
        return True
    public = [inspect.getattr_static(cls, name) for name in _public_names(cls)]
    called = [
        member for member in public if callable(member) or isinstance(member, (property, classmethod, staticmethod))
    ]
    return bool(called) and all(getattr(member, "__isabstractmethod__", False) for member in called)


def _public_names(cls: type[Any]) -> Iterator[str]:
    yield from dict.fromkeys(name for base in cls.__mro__ for name in vars(base) if not name.startswith("_"))


def _method(cls: type[Any], name: str) -> Method | None:
    chain = [(base, vars(base)[name]) for base in cls.__mro__ if name in vars(base)]
    owner, function = chain[0]
    # A staticmethod or classmethod hides the marks of its function.
    plain = [getattr(member, "__func__", member) for _, member in chain]
    mark = next((mark for member in plain if (mark := on_event_mark(member)) is not None), None)
    if mark is None:
        if inspect.isfunction(plain[0]) and retry_mark(plain[0]) is not None:
            raise mistake(function, "carries @retry but is no handler; add @on_event", "WOW-RETRY")
        return None
    if function is None:
        return None
    if not inspect.isfunction(function):
        text = (
            f"{name!r} is or replaces a handler but no plain method; define it with self, or set it to None to end it"
        )
        raise mistake(cls, text, "WOW-ON-EVENT")
    try:
        checked_name(name, "a handler")
    except DefinitionError as error:
        raise mistake(function, error.message, error.code) from error
    retry = next((retry for member in plain if (retry := retry_mark(member)) is not None), None)
    return Method(name, function, owner, mark, retry)
