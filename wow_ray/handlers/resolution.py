"""From what was declared and what the host set to one frozen `AppSpec`, with every check to be made before a start."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import PydanticSchemaGenerationError, TypeAdapter

from wow_ray.errors import DefinitionError
from wow_ray.events import EventSpec
from wow_ray.handlers.budgets import Host, assigned, effective, flat
from wow_ray.handlers.contexts import ProjectContext
from wow_ray.handlers.decorators import is_async, is_blocking
from wow_ray.handlers.inheritance import class_retry
from wow_ray.handlers.processors import Declared, Handler, read_handlers
from wow_ray.handlers.resources import ProviderFunction, check_graph, read_provider
from wow_ray.handlers.specs import AppSpec, GroupSpec, HandlerSpec
from wow_ray.handlers.states import FoldSpec, read_fold
from wow_ray.places import mistake, place, title
from wow_ray.policy.classifiers import AnyClassifier
from wow_ray.ports.functions import StoredFunction

Events = Mapping[tuple[str, str], EventSpec]

_log = logging.getLogger("wow_ray.handlers")


@dataclass(frozen=True, slots=True)
class Parts:
    """What an app was declared to be, in the order of the declarations."""

    context: str
    key_prefix: str
    processors: tuple[Declared, ...]
    providers: tuple[ProviderFunction, ...]
    classifiers: tuple[AnyClassifier, ...]
    functions: tuple[StoredFunction, ...] = ()


def resolve(parts: Parts, host: Host, overridden: Collection[Any] = ()) -> AppSpec:
    """Read and check everything; calls nothing of the author's and opens nothing.

    `overridden` are types of resources that are given from outside in place of providers (tests).

    Raises:
        ConfigurationError: the first mistake found, a `DefinitionError` or a `SettingsError`.
    """
    _refuse_twins(parts.processors)
    written = {declared.name: read_handlers(declared) for declared in parts.processors}
    everything = [handler for handlers in written.values() for handler in handlers]
    _refuse_taken_aliases(everything)
    providers = tuple(read_provider(function) for function in parts.providers)
    made = {provider.makes for provider in providers} | set(overridden)
    receivers = {function.receiver for function in parts.functions if function.receiver is not None}
    takers = [declared.cls for declared in parts.processors] + [cls for cls in receivers if cls not in made]
    check_graph(providers, takers, overridden, also_wanted=receivers)
    states = {cls: read_fold(cls) for cls in dict.fromkeys(handler.signature.state for handler in everything) if cls}
    events = _events(everything, states.values())
    names = {handler.subscription: handler.aliases for handler in everything}
    own, warnings = assigned(parts.context, names, host.subscriptions)
    groups: list[GroupSpec] = []
    said = list(warnings)
    everyone = flat(host.subscription)
    for declared in parts.processors:
        specs = []
        for handler in written[declared.name]:
            spec, more = _spec(declared, handler, own.get(handler.subscription, {}), everyone, events)
            specs.append(spec)
            said += more
        groups += _groups(declared, specs)
    _refuse_taken_groups(groups)
    return AppSpec(
        context=parts.context,
        key_prefix=parts.key_prefix,
        groups=tuple(groups),
        providers=providers,
        classifiers=parts.classifiers,
        events=events,
        states=states,
        warnings=tuple(dict.fromkeys(said)),
        functions=parts.functions,
    )


def report_warnings(spec: AppSpec, reported: set[str]) -> None:
    """Log the warnings that are not in `reported` yet, and add them: each is said once."""
    for warning in spec.warnings:
        if warning not in reported:
            reported.add(warning)
            _log.warning("%s", warning)


def _refuse_twins(processors: Sequence[Declared]) -> None:
    seen: dict[str, Declared] = {}
    for declared in processors:
        other = seen.setdefault(declared.name, declared)
        if other is not declared:
            text = f"is called {declared.name!r} as is {title(other.cls)}; give one of them another name="
            raise mistake(declared.cls, text, "WOW-TWICE")


def _refuse_taken_aliases(handlers: Sequence[Handler]) -> None:
    """A former name must be free: a subscription takes over the progress found under it, once (L5)."""
    taken = {handler.subscription: handler for handler in handlers}
    for handler in handlers:
        for alias in handler.aliases:
            other = taken.setdefault(alias, handler)
            if other is not handler or alias == handler.subscription:
                text = f"has the alias {alias!r}, which is taken by {title(other.method.function)}"
                raise mistake(handler.method.function, text, "WOW-ALIAS")


def _refuse_taken_groups(groups: Sequence[GroupSpec]) -> None:
    names = {group.name: group for group in groups}
    for group in groups:
        for alias in group.aliases:
            other = names.setdefault(alias, group)
            if other is not group:
                text = f"takes over the group {alias!r} through an alias, which {title(other.processor)} still is"
                raise mistake(group.processor, text, "WOW-ALIAS")


def _events(handlers: Sequence[Handler], states: Iterable[FoldSpec]) -> dict[tuple[str, str], EventSpec]:
    """Give every event type within reach.

    Raises:
        DefinitionError: naming both, when two classes are declared as one type.
    """
    found: dict[tuple[str, str], EventSpec] = {}
    reached = [spec for handler in handlers for spec in handler.signature.events]
    reached += [spec for state in states for spec in state.events.values()]
    for spec in reached:
        other = found.setdefault((spec.aggregate, spec.name), spec)
        if other.cls is not spec.cls:
            text = f"is event {spec.name!r} of {spec.aggregate!r} as is {title(other.cls)}; one type is one class"
            raise mistake(spec.cls, text, "WOW-TWICE")
    return found


def _spec(
    declared: Declared, handler: Handler, own: Mapping[str, Any], everyone: Mapping[str, Any], events: Events
) -> tuple[HandlerSpec, tuple[str, ...]]:
    """Give one handler's spec, and warnings about it."""
    method, asked = handler.method, handler.signature
    if declared.isolation == "actor":
        _refuse_what_cannot_travel(handler)
    under = effective(handler.subscription, own, method.retry, class_retry(declared.cls), everyone)
    mine = asked.events or tuple(spec for (aggregate, _), spec in events.items() if aggregate == asked.aggregate)
    spec = HandlerSpec(
        subscription=handler.subscription,
        function=method.name,
        aliases=handler.aliases,
        aggregate=asked.aggregate,
        events={spec.name: spec for spec in mine},
        all_types=not asked.events,
        body_only=asked.body_only,
        wants_state=asked.state,
        wants_context=asked.context is not None,
        wants_connection=asked.context is ProjectContext,
        blocking=is_blocking(method.function),
        is_async=is_async(method.function),
        budget=under.budget,
        backpressure=under.backpressure,
        parked=under.parked,
        systemic=under.systemic,
        concurrency=under.concurrency,
        lists=under.lists,
        provenance=under.provenance,
        place=place(method.function),
    )
    return spec, under.warnings


def _refuse_what_cannot_travel(handler: Handler) -> None:
    """Refuse a connection and a state that a call in another process could not be given."""
    function, asked = handler.method.function, handler.signature
    if asked.context is ProjectContext:
        text = "takes ctx.connection, a transaction of the partition's process; with isolation='actor' say ctx: Context"
        raise mistake(function, text, "WOW-ISOLATION")
    state: Any = asked.state
    try:
        TypeAdapter(state)
    except PydanticSchemaGenerationError as error:
        text = (
            f"takes the state {title(asked.state)}, which pydantic cannot write down; "
            "with isolation='actor' make it a BaseModel or a dataclass"
        )
        raise mistake(function, text, "WOW-ISOLATION") from error


def _groups(declared: Declared, specs: Sequence[HandlerSpec]) -> Iterable[GroupSpec]:
    """Group the handlers of one processor class (H3)."""
    if declared.kind == "projection" or declared.together:
        yield _group(declared, declared.name, specs)
    else:
        for spec in specs:
            yield _group(declared, spec.subscription, [spec])


def _group(declared: Declared, name: str, specs: Sequence[HandlerSpec]) -> GroupSpec:
    types: dict[tuple[str, str], HandlerSpec] = {}
    for spec in specs:
        for type_name in spec.events:
            other = types.setdefault((spec.aggregate, type_name), spec)
            if other is not spec:
                raise _claimed_twice(declared, f"event {type_name!r} of {spec.aggregate!r}", other, spec)
    catch_all: dict[str, HandlerSpec] = {}
    for spec in specs:
        if spec.all_types and catch_all.setdefault(spec.aggregate, spec) is not spec:
            raise _claimed_twice(declared, f"all of {spec.aggregate!r}", catch_all[spec.aggregate], spec)
    if name == declared.name:
        aliases = [alias.split(".")[0] for spec in specs for alias in spec.aliases]
    else:
        aliases = [alias for spec in specs for alias in spec.aliases]
    return GroupSpec(
        name=name,
        kind=declared.kind,
        processor=declared.cls,
        handlers=tuple(specs),
        start=declared.start,
        isolation=declared.isolation,
        processes=declared.processes,
        types=types,
        catch_all=catch_all,
        aggregates=frozenset(spec.aggregate for spec in specs if spec.wants_state is not None),
        aliases=tuple(dict.fromkeys(alias for alias in aliases if alias != name)),
    )


def _claimed_twice(declared: Declared, what: str, first: HandlerSpec, second: HandlerSpec) -> DefinitionError:
    text = f"{first.function} ({first.place}) and {second.function} ({second.place}) both take {what}; keep one of them"
    return mistake(declared.cls, text, "WOW-TWICE")
