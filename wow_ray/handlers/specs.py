"""What an app is, resolved and frozen: what the runtime works from, with nothing left to look up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal

from wow_ray.events import EventSpec
from wow_ray.handlers.resources import Provider
from wow_ray.handlers.signature import Kind
from wow_ray.handlers.states import FoldSpec
from wow_ray.policy.budget import Backpressure, Budget, ParkedRetries, Systemic
from wow_ray.policy.classifiers import AnyClassifier
from wow_ray.policy.classify import Lists
from wow_ray.policy.masking import Masking
from wow_ray.ports.functions import StoredFunction
from wow_ray.ports.stores import ClientStores

Start = Literal["beginning", "end"]
Isolation = Literal["lane", "actor"]
Attach = Callable[[ClientStores, Callable[[], None]], AbstractContextManager[Any]]

SMALL_SHARE = 0.1
"""What a process of `isolation="actor"` takes of a node's CPUs unless told otherwise: enough to be spread."""


@dataclass(frozen=True, slots=True)
class Processes:
    """What each process of an `isolation="actor"` processor is to have, as Ray counts it."""

    num_cpus: float = SMALL_SHARE
    num_gpus: float = 0.0


@dataclass(frozen=True, slots=True)
class HandlerSpec:
    """One handler function, its subscription and everything it runs under.

    `function` is the method's name on an instance of the processor. `events` are by type name; with `all_types` they
    are those known to the program, and every other type of the aggregate is the handler's too. `body_only`: it is given
    the body, not an `Event`. `wants_state` is the class to fold. `wants_connection` implies `wants_context`.
    `blocking`: it runs on a thread; `is_async` tells whether the call gives a coroutine. `provenance` says where each
    setting comes from.
    """

    subscription: str
    function: str
    aliases: tuple[str, ...]
    aggregate: str
    events: Mapping[str, EventSpec]
    all_types: bool
    body_only: bool
    wants_state: type[Any] | None
    wants_context: bool
    wants_connection: bool
    blocking: bool
    is_async: bool
    budget: Budget
    backpressure: Backpressure
    parked: ParkedRetries
    systemic: Systemic
    concurrency: int | None
    lists: Lists
    provenance: Mapping[str, str]
    place: str


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """The handlers that share a checkpoint and a lane per aggregate (H3), in the order of their definition.

    A projection is one group of its own name; a reactor's handler is a group `Processor.handler`, unless `together`
    made the class one group. `types` finds the handler of an (aggregate, type); `catch_all` that of any other type of
    an aggregate; `aggregates` are those of which every type is to be read, because state is folded from them (H21).
    `aliases` are former names of the group. `processes` counts where `isolation` is `"actor"`.
    """

    name: str
    kind: Kind
    processor: type[Any]
    handlers: tuple[HandlerSpec, ...]
    start: Start
    isolation: Isolation
    types: Mapping[tuple[str, str], HandlerSpec]
    catch_all: Mapping[str, HandlerSpec]
    aggregates: frozenset[str]
    aliases: tuple[str, ...]
    processes: Processes = Processes()

    def handler(self, aggregate: str, type_name: str) -> HandlerSpec | None:
        """Give the handler that takes events of this type, or `None`."""
        return self.types.get((aggregate, type_name)) or self.catch_all.get(aggregate)


@dataclass(frozen=True, slots=True)
class AppSpec:
    """An app as it was found to be at start, all checks passed.

    `events` are all event types within reach of handlers and states, by (aggregate, type name); `states` the folds by
    their class; `warnings` what is legal and probably not meant. `masking` says what of payloads may be shown.
    `functions` are the durable ones; `attached(stores, told)` lets them reach these stores during a block, wherever in
    this process they are called, and calls `told` when they have stored something.
    """

    context: str
    key_prefix: str
    groups: tuple[GroupSpec, ...]
    providers: tuple[Provider, ...]
    classifiers: tuple[AnyClassifier, ...]
    events: Mapping[tuple[str, str], EventSpec]
    states: Mapping[type[Any], FoldSpec]
    warnings: tuple[str, ...]
    functions: tuple[StoredFunction, ...] = ()
    masking: Masking = field(default_factory=Masking)
    attached: Attach = field(default=lambda _stores, _told: nullcontext())

    def handlers(self) -> Iterator[HandlerSpec]:
        """Give the handlers of all groups, in order."""
        for group in self.groups:
            yield from group.handlers

    def processors(self) -> tuple[type[Any], ...]:
        """Give the processor classes, each once, in order."""
        return tuple(dict.fromkeys(group.processor for group in self.groups))
