"""What annotations mean: strings resolved, unions taken apart, event classes looked up."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator
from types import SimpleNamespace, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from typing_extensions import TypeAliasType

from wow_ray.errors import DefinitionError
from wow_ray.events import EventSpec, event_spec
from wow_ray.places import mistake, title

Function = Callable[..., Any]


def resolved(function: Function, parameter: str, owner: type[Any] | None = None) -> Any:  # noqa: ANN401 - any type
    """Give a parameter's annotation, or that of `"return"`, as an object, with names as seen where it is written.

    Only this one annotation is looked at, so that another one may name what is imported for the type checker alone.

    Raises:
        DefinitionError: when it cannot be resolved, with the name that is missing.
    """
    plain = inspect.unwrap(function)
    try:
        raw = plain.__annotations__[parameter]
        holder: Any = SimpleNamespace(__annotations__={parameter: raw})
        names = dict(vars(owner)) if owner is not None else {}
        return typing.get_type_hints(holder, getattr(plain, "__globals__", {}), names)[parameter]
    except NameError as error:
        text = (
            f"the annotation of {parameter!r} names {error.name!r}, which cannot be found; import or define it at the "
            "top of the module, not under TYPE_CHECKING or inside a function"
        )
        raise mistake(function, text, "WOW-ANNOTATION") from error
    except Exception as error:
        text = f"the annotation of {parameter!r} cannot be read: {type(error).__name__}: {error}"
        raise mistake(function, text, "WOW-ANNOTATION") from error


def members(hint: Any) -> Iterator[Any]:  # noqa: ANN401 - any type
    """Give the members of a union, through aliases and `Annotated`; anything else is its own only member."""
    while isinstance(hint, TypeAliasType):
        hint = hint.__value__
    if get_origin(hint) is Annotated:
        yield from members(get_args(hint)[0])
    elif get_origin(hint) in (Union, UnionType):
        for member in get_args(hint):
            yield from members(member)
    else:
        yield hint


def declared_events(hint: Any, function: Function) -> tuple[EventSpec, ...]:  # noqa: ANN401 - any type
    """Give how each event class of a union was declared.

    Raises:
        DefinitionError: for what is no class, or no class declared with `@aggregate.event(...)`.
    """
    specs: list[EventSpec] = []
    for member in members(hint):
        spec = event_spec(member) if inspect.isclass(member) else None
        if spec is None:
            raise _undeclared(member, function)
        if spec not in specs:
            specs.append(spec)
    return tuple(specs)


def _undeclared(member: object, function: Function) -> DefinitionError:
    if not inspect.isclass(member) or member is type(None):
        text = f"{member!r} is no event class; write for example Event[OrderPaid], StateEvent[OrderState] or OrderPaid"
        return mistake(function, text, "WOW-ANNOTATION")
    base = next((cls for cls in member.__mro__[1:] if event_spec(cls) is not None), None)
    hint = f"; only its base {base.__qualname__} is" if base is not None else ""
    text = f"{title(member)} is not declared as an event{hint}: put @order.event('its_name') on the class"
    return mistake(function, text, "WOW-UNDECLARED")
