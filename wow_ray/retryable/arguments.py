"""All arguments of one call, by name, in one envelope (F3, S95).

Only what was passed is kept, by the parameters' names: a parameter that got a new place, or a default, is still right,
and defaults apply where the call is made. The envelope has a version of its own; a program that does not know it, or
whose function no longer fits, says so and calls nothing.
"""

from __future__ import annotations

import inspect
import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from inspect import BoundArguments, Parameter
from types import GenericAlias
from typing import Any

from wow_ray.errors import CannotTravelError
from wow_ray.places import mistake
from wow_ray.policy.durable_fit import Unfit
from wow_ray.retryable.codec import MOST_BYTES, Codec
from wow_ray.retryable.target import Target, hint_of, innermost

VERSION = 1
"""Of the envelope; raised when it is written in another way."""


class Arguments:
    """The parameters of one function, without a method's receiver."""

    def __init__(self, target: Target, *, receiver: bool) -> None:
        """Read the annotations; raises `DefinitionError` for a parameter without one, or whose type cannot travel."""
        if target.signature is None:
            raise mistake(target.function, "does not tell its parameters; write a `def` around it", "WOW-F3")
        parameters = list(target.signature.parameters.values())[1 if receiver else 0 :]
        self._function = target.function
        self._signature = target.signature.replace(parameters=parameters)
        self._codecs = {each.name: self._codec(target, each) for each in parameters}
        variadic = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
        self._required = {
            each.name for each in parameters if each.default is Parameter.empty and each.kind not in variadic
        }

    @staticmethod
    def _codec(target: Target, parameter: Parameter) -> Codec:
        place = innermost(target.function)
        hint = hint_of(target.function, parameter.name)
        if hint is Parameter.empty:
            text = f"takes {parameter.name!r} without a type; annotate it: arguments travel through their annotations"
            raise mistake(place, text, "WOW-F3")
        if isinstance(hint, str):
            text = (
                f"the annotation {hint!r} of {parameter.name!r} cannot be resolved; import or define its names at the "
                "top of the module, above the function"
            )
            raise mistake(place, text, "WOW-ANNOTATION")
        if parameter.kind is Parameter.VAR_POSITIONAL:
            hint = GenericAlias(tuple, (hint, ...))
        elif parameter.kind is Parameter.VAR_KEYWORD:
            hint = GenericAlias(dict, (str, hint))
        try:
            return Codec(hint)
        except CannotTravelError as error:
            raise mistake(place, f"{parameter.name!r}: {error.message}", "WOW-F3") from error

    def write(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        """Capture the arguments of a call.

        Raises `TypeError` as the call would, `CannotTravelError` with the parameter's name, or with the size.
        """
        bound = self._signature.bind(*args, **kwargs)
        parts = []
        for name, value in bound.arguments.items():
            try:
                parts.append(f"{json.dumps(name)}:{self._codecs[name].write(value)}")
            except CannotTravelError as error:
                raise CannotTravelError(f"{self._named}: {name!r}: {error.message}") from error
        text = f'{{"v":{VERSION},"a":{{{",".join(parts)}}}}}'
        if (size := len(text.encode())) > MOST_BYTES:
            largest = max(parts, key=len).partition(":")[0]
            raise CannotTravelError(
                f"{self._named}: the arguments have {size:,} bytes, {MOST_BYTES:,} is the most ({largest} is the "
                "largest); store it elsewhere and pass where"
            )
        return text

    def read(self, text: str) -> BoundArguments | Unfit:
        """Give the arguments back, or say why they do not fit this function."""
        try:
            envelope = json.loads(text)
            version, stored = envelope["v"], envelope["a"]
        except (ValueError, TypeError, KeyError):
            return Unfit("the payload is no envelope of arguments", older=False)
        if version != VERSION:
            return Unfit(f"the payload has version {version}, this program knows {VERSION}", older=False)
        if missing := sorted(self._required - stored.keys()):
            return Unfit(f"cannot bind: {', '.join(missing)}", older=True)
        if unknown := sorted(stored.keys() - self._codecs.keys()):
            return Unfit(f"cannot bind: there is no parameter {', '.join(unknown)}", older=False)
        values: dict[str, Any] = {}
        for name in self._signature.parameters:
            if name in stored:
                try:
                    values[name] = self._codecs[name].read(json.dumps(stored[name]))
                except CannotTravelError as error:
                    return Unfit(f"cannot bind: {name}: {error.message}", older=False)
        return BoundArguments(self._signature, OrderedDict(values))

    @property
    def _named(self) -> str:
        return str(getattr(innermost(self._function), "__qualname__", self._function))


def return_hint(function: Callable[..., Any]) -> Any:  # noqa: ANN401 - any type
    """Give the return annotation; raises `DefinitionError` where there is none, or it cannot be resolved."""
    hint = hint_of(function, "return")
    if hint is inspect.Signature.empty or isinstance(hint, str):
        found = (
            f"its return annotation {hint!r} cannot be resolved"
            if isinstance(hint, str)
            else "says not what it returns"
        )
        raise mistake(
            innermost(function), f"{found}; write `-> None` or the type, known at the top of the module", "WOW-F3"
        )
    return hint


def result_codec(function: Callable[..., Any]) -> Codec:
    """Give the codec of what a function returns; raises `DefinitionError`."""
    try:
        return Codec(return_hint(function))
    except CannotTravelError as error:
        raise mistake(innermost(function), f"returns what cannot travel: {error.message}", "WOW-F3") from error
