"""What was decorated: a function of which kind, how it is called, and what it is called by (F1)."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_type_hints

from wow_ray.places import mistake

Kind = Literal["plain", "classmethod", "staticmethod"]


@dataclass(frozen=True, slots=True)
class Target:
    """A function to be retried.

    `function` is what is called with all arguments, a method's receiver first. `kind` says what stood around it;
    `signature` is `None` for what is written in C and does not tell.
    """

    function: Callable[..., Any]
    kind: Kind
    name: str
    is_async: bool
    signature: inspect.Signature | None


def read_target(given: Any) -> Target:  # noqa: ANN401 - whatever was decorated
    """Read what was decorated: a function, a method, a class or static method, a partial or a callable object.

    Raises:
        DefinitionError: for a class, a generator, what is retryable already, and what cannot be called.
    """
    kind: Kind = "plain"
    function = given
    if isinstance(given, (classmethod, staticmethod)):
        kind = "classmethod" if isinstance(given, classmethod) else "staticmethod"
        function = given.__func__
    plain = innermost(function)
    if getattr(type(function), "__wow_retryable__", False):
        raise mistake(plain, "carries @retryable twice; put all settings into one", "WOW-F1")
    if inspect.isclass(function) or not callable(function):
        raise mistake(given, "is no function; @retryable is for functions, methods and callable objects", "WOW-F1")
    if inspect.isgeneratorfunction(plain) or inspect.isasyncgenfunction(plain):
        text = "is a generator, whose call does nothing yet that could fail; make it return what it yields"
        raise mistake(plain, text, "WOW-GENERATOR")
    try:
        signature = inspect.signature(function)
    except ValueError:
        signature = None
    name = getattr(plain, "__qualname__", type(function).__qualname__)
    return Target(function, kind, name, inspect.iscoroutinefunction(plain), signature)


def innermost(function: Any) -> Any:  # noqa: ANN401 - as above
    """Give the function that does the work: through partials, wrappers, bound methods and `__call__`."""
    for _ in range(32):
        if isinstance(function, functools.partial):
            function = function.func
        elif inspect.ismethod(function):
            function = function.__func__
        elif inspect.isfunction(function):
            inner = inspect.unwrap(function)
            # An async function may be wrapped by a plain one: the call gives what the innermost gives.
            if inner is function:
                return function
            function = inner
        else:
            call = None if inspect.isclass(function) else vars(type(function)).get("__call__")
            if not inspect.isfunction(call):
                return function
            function = call
    return function


def hint_of(function: Any, parameter: str) -> Any:  # noqa: ANN401 - any type
    """Give an annotation as an object, or as text where its names do not exist yet; `Parameter.empty` = none."""
    plain = innermost(function)
    raw = getattr(plain, "__annotations__", {}).get(parameter, inspect.Parameter.empty)
    if not isinstance(raw, str):
        return type(None) if raw is None else raw
    try:
        holder: Any = type("_Hints", (), {"__annotations__": {parameter: raw}})
        return get_type_hints(holder, getattr(plain, "__globals__", {}), include_extras=True)[parameter]
    except Exception:  # noqa: BLE001 - whatever is wrong with it, its text can be compared
        return raw
