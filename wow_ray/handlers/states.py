"""How a state class folds: which events its `apply` takes."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wow_ray.events import EventSpec, state_spec
from wow_ray.handlers.annotations import declared_events, resolved
from wow_ray.places import mistake


@dataclass(frozen=True, slots=True)
class FoldSpec:
    """A state class, its aggregate, and by type name the events its `apply` is given; all others pass it by."""

    aggregate: str
    cls: type[Any]
    events: Mapping[str, EventSpec]


def read_fold(cls: type[Any]) -> FoldSpec:
    """Read a declared state class.

    Raises:
        DefinitionError: when it cannot be made without arguments, or `apply` does not say which declared events of its
            own aggregate it takes.
    """
    spec = state_spec(cls)
    if spec is None:
        raise mistake(cls, "is not declared as a state: put @order.state on the class", "WOW-UNDECLARED")
    try:
        inspect.signature(cls).bind()
    except TypeError as error:
        raise mistake(cls, f"is a state and must be made without arguments: {error}", "WOW-STATE") from error
    parameters = list(inspect.signature(cls.apply).parameters.values())
    if len(parameters) != 2 or parameters[1].annotation is inspect.Parameter.empty:  # noqa: PLR2004 - self, event
        text = "takes (self, event), annotated with the union of what it takes: event: OrderPaid | OrderShipped"
        raise mistake(cls.apply, text, "WOW-STATE")
    owner = next(base for base in cls.__mro__ if "apply" in vars(base))
    events = declared_events(resolved(cls.apply, parameters[1].name, owner), cls.apply)
    for event in events:
        if event.aggregate != spec.aggregate:
            text = f"is the state of {spec.aggregate!r} but applies {event.cls.__qualname__} of {event.aggregate!r}"
            raise mistake(cls, text, "WOW-ONE-AGGREGATE")
    return FoldSpec(spec.aggregate, cls, {event.name: event for event in events})
