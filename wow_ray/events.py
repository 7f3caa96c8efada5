"""What an author declares and a handler receives: aggregates, event types, states, references, events.

The spec of an event lives on its class (`@order.event("order_paid")`), so a producer imports events without the app,
and nothing is registered by import order. Decoding is the class's own pydantic validator. A decoded body is shared by
the handlers of one read only where nothing in it can change; others get one each, and so does every retry (H31).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from types import UnionType
from typing import Annotated, Any, Generic, Literal, NamedTuple, Protocol, TypeVar, Union, cast, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel
from typing_extensions import TypeVar as DefaultTypeVar

from wow_ray.errors import DefinitionError
from wow_ray.names import checked_id, checked_name

C = TypeVar("C", bound=type)
S = TypeVar("S")
T = TypeVar("T")
E = DefaultTypeVar("E", default=Any)

EVENT_SPEC = "__wow_event__"
STATE_SPEC = "__wow_state__"


@dataclass(frozen=True, slots=True)
class AggregateRef:
    """One aggregate: its context, its aggregate's name and its id.

    Made by `order("o-42")`, where the context is empty until an app is connected: the app that appends or reads fills
    in its own.
    """

    context: str
    aggregate: str
    id: str

    def __str__(self) -> str:
        """Read as `order/o-42`."""
        return f"{self.aggregate}/{self.id}"


@dataclass(frozen=True, slots=True)
class EventSpec:
    """How one event class is stored: its aggregate, type name and schema revision."""

    aggregate: str
    name: str
    revision: int
    cls: type[BaseModel]

    @property
    def frozen(self) -> bool:
        """Whether its instances cannot be changed, not even deep inside, so that handlers may share one (H31)."""
        return _is_unchanging(self.cls)


@dataclass(frozen=True, slots=True)
class StateSpec:
    """Which aggregate a state class folds."""

    aggregate: str
    cls: type[Any]


class Aggregate:
    """A kind of aggregate, by its stable name.

    `order = Aggregate("order")`; `order("o-42")` is a reference to one of them; `@order.event(...)` and
    `@order.state` declare what its events and its state are. Classes may move between modules, names may not change.
    """

    def __init__(self, name: str) -> None:
        """Take the stable name; raises `DefinitionError` when it may not be stored."""
        self.name = checked_name(name, "an aggregate")

    def __call__(self, id: str) -> AggregateRef:  # noqa: A002 - the public name of the thing (api.md)
        """Refer to one aggregate of this kind; raises `InvalidEventError` for an id that cannot be stored."""
        return AggregateRef("", self.name, checked_id(id))

    def __repr__(self) -> str:
        """Read as it is written."""
        return f"Aggregate({self.name!r})"

    def event(self, name: str, *, revision: int = 1) -> Callable[[C], C]:
        """Declare a pydantic model as the event type `name` of this aggregate at schema `revision` (1 or more).

        Raises `DefinitionError` when the class is no `BaseModel`, is an event already, or the name may not be stored.
        """
        checked_name(name, "an event type")
        if not _is_revision(revision):
            msg = f"the revision of event {name!r} is {revision!r}; it is a whole number from 1"
            raise DefinitionError(msg, "WOW-EVENT-REVISION")

        def declare(cls: C) -> C:
            if not _is_model(cls):
                msg = f"{cls!r} is declared as event {name!r} but is no pydantic BaseModel"
                raise DefinitionError(msg, "WOW-EVENT-MODEL")
            own = cls.__dict__.get(EVENT_SPEC)
            if own is not None:
                taken = f"{own.name!r} of {own.aggregate!r}"
                msg = f"{cls.__qualname__} is declared as event {name!r} and already is event {taken}"
                raise DefinitionError(msg, "WOW-EVENT-TWICE")
            setattr(cls, EVENT_SPEC, EventSpec(self.name, name, revision, cls))
            return cls

        return declare

    def state(self, cls: C) -> C:
        """Declare the class folded from this aggregate's events.

        It is made without arguments, and `state = state.apply(event)` is called for each event; `apply` is pure.
        Raises `DefinitionError` when there is no `apply`.
        """
        if not callable(getattr(cls, "apply", None)):
            msg = f"{cls.__qualname__} is the state of {self.name!r} but has no apply(self, event) method"
            raise DefinitionError(msg, "WOW-STATE")
        setattr(cls, STATE_SPEC, StateSpec(self.name, cls))
        return cls


def _is_revision(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_model(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, BaseModel)


_PLAIN = (str, int, float, bytes, Decimal, date, time, timedelta, UUID, Enum, type(None))


def _is_unchanging(hint: Any, within: frozenset[Any] = frozenset()) -> bool:  # noqa: ANN401 - any annotation
    """Tell whether values of an annotation can never change: plain values, and frozen containers and models of them."""
    origin = get_origin(hint)
    if origin is Annotated:
        return _is_unchanging(get_args(hint)[0], within)
    if origin in {tuple, frozenset, Union, UnionType}:
        return all(each is Ellipsis or _is_unchanging(each, within) for each in get_args(hint))
    if origin is Literal or hint in within:
        return True
    if origin is not None or not isinstance(hint, type):
        return False
    if not issubclass(hint, BaseModel):
        return issubclass(hint, _PLAIN)
    fields = [field.annotation for field in hint.model_fields.values()]
    return bool(hint.model_config.get("frozen")) and all(_is_unchanging(field, within | {hint}) for field in fields)


def event_spec(cls: type[Any]) -> EventSpec | None:
    """Answer how the class itself (not a base of it) was declared as an event, or `None` when it was not."""
    return cast("EventSpec | None", cls.__dict__.get(EVENT_SPEC))


def state_spec(cls: type[Any]) -> StateSpec | None:
    """Answer which aggregate the class itself folds, or `None` when it is no state."""
    return cast("StateSpec | None", cls.__dict__.get(STATE_SPEC))


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose the event is: an optional tenant and owner, kept with every event and given to every handler."""

    tenant_id: str | None = None
    owner_id: str | None = None


NO_SCOPE = Scope()


class Event(Generic[T]):
    """One event as a handler gets it.

    `version` is that of the aggregate at the commit this event belongs to, `sequence` its place in the commit from 0.
    `occurred_at` is the database's time of the append, aware and in UTC. `headers` are the appender's own.
    """

    __slots__ = ("body", "headers", "occurred_at", "ref", "scope", "sequence", "version")

    def __init__(  # noqa: PLR0917 - the parts of an event are these, and tens of thousands a second are made
        self,
        body: T,
        ref: AggregateRef,
        scope: Scope,
        version: int,
        sequence: int,
        occurred_at: datetime,
        headers: Mapping[str, str],
    ) -> None:
        """Hold the parts; made by the runtime and by the test kit."""
        self.body = body
        self.ref = ref
        self.scope = scope
        self.version = version
        self.sequence = sequence
        self.occurred_at = occurred_at
        self.headers = headers

    def __repr__(self) -> str:
        """Read as body, aggregate and place, without scope or headers."""
        return f"<{type(self).__name__} {self.ref}@{self.version}:{self.sequence} {self.body!r}>"


class StateEvent(Event[E], Generic[S, E]):
    """An event with the state of its aggregate as of this event (the event itself already applied).

    `StateEvent[OrderState]` receives every event of the state's aggregate, `StateEvent[OrderState, OrderShipped]`
    those of one type.
    """

    __slots__ = ("state",)

    def __init__(  # noqa: PLR0917 - the parts of an event are these, and tens of thousands a second are made
        self,
        body: E,
        ref: AggregateRef,
        scope: Scope,
        version: int,
        sequence: int,
        occurred_at: datetime,
        headers: Mapping[str, str],
        state: S,
    ) -> None:
        """Hold the parts; made by the runtime and by the test kit."""
        super().__init__(body, ref, scope, version, sequence, occurred_at, headers)
        self.state = state


@dataclass(frozen=True, slots=True)
class Commit:
    """What an append answered.

    `version` is the aggregate's version after it; `positions` are the events' places in the log of slot `slot`, in
    order.
    """

    ref: AggregateRef
    version: int
    slot: int
    positions: tuple[int, ...]


class StoredEvent(NamedTuple):
    """One row of the log as it is read, undecoded. A tuple, because tens of thousands a second are made.

    `payload` is JSON text; `headers` JSON text or `None`. The order of the fields is the order of the columns in
    every read.
    """

    slot: int
    position: int
    aggregate: str
    aggregate_id: str
    version: int
    sequence: int
    type: str
    revision: int
    tenant_id: str | None
    owner_id: str | None
    payload: str
    headers: str | None
    occurred_at: datetime


@dataclass(frozen=True, slots=True)
class NewCommit:
    """Events to append together as one version of one aggregate; the unit of `append_many`."""

    ref: AggregateRef
    events: tuple[BaseModel, ...]
    expected_version: int | None = None
    scope: Scope | None = None
    commit_id: str | None = None
    headers: Mapping[str, str] | None = None


class Folds(Protocol):
    """What a state class must offer."""

    def apply(self, event: Any) -> Any:  # noqa: ANN401 - the union of the author's own events
        """Answer the state after the event."""
        ...
