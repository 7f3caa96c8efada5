"""What a handler asks for, read from its parameters: which events, in which form, with or without `ctx`.

Event models need not be frozen. A decoded event is shared by the handlers of one read: do not change it (H31).
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from inspect import Parameter
from typing import Any, Literal, get_args, get_origin

from wow_ray.events import Event, EventSpec, StateEvent, state_spec
from wow_ray.handlers.annotations import Function, declared_events, members, resolved
from wow_ray.handlers.contexts import Context, ProjectContext, ReactContext
from wow_ray.handlers.decorators import is_blocking
from wow_ray.places import mistake

Kind = Literal["projection", "reactor"]

CONTEXTS: Mapping[Kind, type[Context]] = {"projection": ProjectContext, "reactor": ReactContext}


@dataclass(frozen=True, slots=True)
class Signature:
    """What one handler asks for.

    `events` is empty for `StateEvent[S]` alone, which takes every type of the state's aggregate. `context` is the
    class of the `ctx` to give, `None` = it takes none.
    """

    aggregate: str
    events: tuple[EventSpec, ...]
    body_only: bool
    state: type[Any] | None
    context: type[Context] | None


def read_signature(function: Function, owner: type[Any], kind: Kind) -> Signature:
    """Read the parameters of a handler that stands in class `owner`.

    Raises:
        DefinitionError: with one code for each kind of mistake, and the function's place.
    """
    _refuse_generator(function)
    event, ctx = _parameters(function)
    form, state, events = _event_form(function, resolved(function, event.name, owner))
    aggregate = _one_aggregate(function, state, events)
    return Signature(aggregate, events, form == "body", state, _context(function, ctx, owner, kind))


def _refuse_generator(function: Function) -> None:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise mistake(function, "is a generator; a handler does its work and returns", "WOW-GENERATOR")


def _parameters(function: Function) -> tuple[Parameter, Parameter | None]:
    """Give the event's parameter and that of `ctx`; `self` is the first, whatever it is called."""
    parameters = list(inspect.signature(function).parameters.values())
    kinds = {Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD}
    named = ", ".join(str(p.replace(annotation=Parameter.empty)) for p in parameters)
    asked = f"takes (self, event) or (self, event, ctx), not ({named})"
    if len(parameters) not in (2, 3) or any(parameter.kind not in kinds for parameter in parameters):
        raise mistake(function, asked, "WOW-SIGNATURE")
    event, ctx = parameters[1], parameters[2] if len(parameters) == 3 else None  # noqa: PLR2004 - self, event, ctx
    if ctx is not None and ctx.name != "ctx":
        text = f"{asked}: the second argument is always called ctx, not {ctx.name!r}"
        raise mistake(function, text, "WOW-SIGNATURE")
    if event.annotation is Parameter.empty:
        text = f"says not which events it takes; annotate {event.name!r}: Event[...], StateEvent[...] or the class"
        raise mistake(function, text, "WOW-ANNOTATION")
    return event, ctx


def _event_form(function: Function, hint: object) -> tuple[str, type[Any] | None, tuple[EventSpec, ...]]:
    """Give the form (`body`, `event`, `state`), the state's class, and the events (none = all of the aggregate)."""
    found = [_member_form(function, member) for member in members(hint)]
    form, state, _ = found[0]
    if any((other, its_state) != (form, state) for other, its_state, _ in found):
        text = "mixes forms in one union; use Event[A | B], StateEvent[S, A | B] or A | B throughout"
        raise mistake(function, text, "WOW-ANNOTATION")
    everything = [events for _, _, events in found if not events]
    if everything and len(found) > 1:
        text = "asks for every event of the state and for single ones; leave the single ones out"
        raise mistake(function, text, "WOW-ANNOTATION")
    return form, state, tuple(dict.fromkeys(spec for _, _, events in found for spec in events))


def _member_form(function: Function, member: Any) -> tuple[str, type[Any] | None, tuple[EventSpec, ...]]:  # noqa: ANN401 - a type
    origin, arguments = get_origin(member), get_args(member)
    if member in (Event, StateEvent):
        example = "Event[OrderPaid]" if member is Event else "StateEvent[OrderState]"
        raise mistake(function, f"says not which events it takes; write for example {example}", "WOW-ANNOTATION")
    if origin is Event:
        return "event", None, declared_events(arguments[0], function)
    if origin is StateEvent:
        state, body = arguments
        if not inspect.isclass(state) or state_spec(state) is None:
            text = f"{state!r} in StateEvent[...] is not declared as a state: put @order.state on the class"
            raise mistake(function, text, "WOW-UNDECLARED")
        return "state", state, () if body is Any else declared_events(body, function)
    return "body", None, declared_events(member, function)


def _one_aggregate(function: Function, state: type[Any] | None, events: tuple[EventSpec, ...]) -> str:
    of = {spec.aggregate: f"{spec.cls.__qualname__} of {spec.aggregate!r}" for spec in events}
    folds = state_spec(state) if state is not None else None
    if folds is not None:
        of[folds.aggregate] = f"{folds.cls.__qualname__} of {folds.aggregate!r}"
    if len(of) > 1:
        text = f"takes {', '.join(of.values())}; one handler reads one aggregate type (H28): make a handler of each"
        raise mistake(function, text, "WOW-ONE-AGGREGATE")
    return next(iter(of))


def _context(function: Function, ctx: Parameter | None, owner: type[Any], kind: Kind) -> type[Context] | None:
    if ctx is None:
        return None
    fitting = CONTEXTS[kind]
    if ctx.annotation is Parameter.empty:
        return Context if is_blocking(function) and fitting is ProjectContext else fitting
    asked: object = resolved(function, "ctx", owner)
    if asked is Context:
        return Context
    if asked is not fitting:
        name = getattr(asked, "__qualname__", asked)
        text = f"annotates ctx with {name}; the ctx of a {kind} is Context or {fitting.__name__}"
        raise mistake(function, text, "WOW-CONTEXT")
    if fitting is ProjectContext and is_blocking(function):
        text = "runs on a thread and gets no connection; make it `async def` without @blocking, or say ctx: Context"
        raise mistake(function, text, "WOW-CONTEXT")
    return fitting
