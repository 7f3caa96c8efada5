"""What a handler asks for is read from its parameters; each mistake in them is one error with a code and a place."""

from __future__ import annotations

import typing
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from pydantic import BaseModel
from typing_extensions import TypeAliasType

from tests.unit.authored import OrderPaid, OrderShipped, OrderState, ParcelSent, Undeclared, refused
from wow_ray import Context, Event, ProjectContext, ReactContext, StateEvent, blocking
from wow_ray.handlers.contexts import Context as AnyContext
from wow_ray.handlers.signature import Kind, Signature, read_signature

if TYPE_CHECKING:
    from somewhere import NotThere  # type: ignore[import-not-found]

PaidOrShipped = TypeAliasType("PaidOrShipped", OrderPaid | OrderShipped)


class Owner:
    """The class the handlers stand in."""

    Inner = OrderPaid


def read(function: Callable[..., Any], kind: Kind = "reactor") -> Signature:
    """Read a handler of a reactor."""
    return read_signature(function, Owner, kind)


class Good:
    """Handlers that are all right."""

    async def event(self, event: Event[OrderPaid]) -> None:
        """Take an event."""

    async def body(self, paid: OrderPaid) -> None:
        """Take the body alone."""

    async def inner_union(self, event: Event[OrderPaid | OrderShipped]) -> None:
        """Take two types."""

    async def outer_union(self, event: Event[OrderPaid] | Event[OrderShipped]) -> None:
        """Take two types."""

    async def old_union(self, event: typing.Union[OrderPaid, OrderShipped]) -> None:  # noqa: UP007 - still legal
        """Take two bodies."""

    async def aliased(self, event: Event[PaidOrShipped]) -> None:
        """Take what an alias names."""

    async def annotated(self, event: Annotated[Event[OrderPaid], "said"]) -> None:
        """Take what is annotated further."""

    async def state(self, event: StateEvent[OrderState]) -> None:
        """Take everything, with the state."""

    async def state_and_type(self, event: StateEvent[OrderState, OrderShipped]) -> None:
        """Take one type, with the state."""

    async def state_union(
        self, event: StateEvent[OrderState, OrderPaid] | StateEvent[OrderState, OrderShipped]
    ) -> None:
        """Take two types, with the state."""

    async def inner_name(self, event: Event[Inner]) -> None:  # type: ignore[name-defined] # noqa: F821 - Owner's
        """Take what the class names."""

    async def odd_return(self, event: Event[OrderPaid]) -> NotThere:
        """Return what only a type checker knows."""


@pytest.mark.parametrize(
    ("name", "types", "body_only", "state"),
    [
        ("event", ["order_paid"], False, None),
        ("body", ["order_paid"], True, None),
        ("inner_union", ["order_paid", "order_shipped"], False, None),
        ("outer_union", ["order_paid", "order_shipped"], False, None),
        ("old_union", ["order_paid", "order_shipped"], True, None),
        ("aliased", ["order_paid", "order_shipped"], False, None),
        ("annotated", ["order_paid"], False, None),
        ("state", [], False, OrderState),
        ("state_and_type", ["order_shipped"], False, OrderState),
        ("state_union", ["order_paid", "order_shipped"], False, OrderState),
        ("inner_name", ["order_paid"], False, None),
        ("odd_return", ["order_paid"], False, None),
    ],
)
def test_an_event_parameter_says_form_types_and_state(
    name: str, types: list[str], *, body_only: bool, state: type | None
) -> None:
    """Every legal form is read from annotations that are texts (`from __future__ import annotations`)."""
    found = read(vars(Good)[name])
    assert [spec.name for spec in found.events] == types
    assert (found.aggregate, found.body_only, found.state, found.context) == ("order", body_only, state, None)


class Contexts:
    """Handlers with a second argument."""

    async def bare(self, event: OrderPaid, ctx) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001 - the case
        """Ask for whatever fits."""

    async def any(self, event: OrderPaid, ctx: Context) -> None:
        """Ask for what every processor has."""

    async def react(self, event: OrderPaid, ctx: ReactContext) -> None:
        """Ask for a reactor's."""

    async def project(self, event: OrderPaid, ctx: ProjectContext) -> None:
        """Ask for a projection's."""

    def bare_blocking(self, event: OrderPaid, ctx) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001 - the case
        """Ask for whatever fits, on a thread."""

    def any_blocking(self, event: OrderPaid, ctx: Context) -> None:
        """Ask for what every processor has, on a thread."""


@pytest.mark.parametrize(
    ("name", "kind", "context"),
    [
        ("bare", "reactor", ReactContext),
        ("any", "reactor", Context),
        ("react", "reactor", ReactContext),
        ("bare_blocking", "reactor", ReactContext),
        ("bare", "projection", ProjectContext),
        ("any", "projection", Context),
        ("project", "projection", ProjectContext),
        ("bare_blocking", "projection", Context),
        ("any_blocking", "projection", Context),
    ],
)
def test_ctx_is_what_is_annotated_else_what_fits(name: str, kind: Kind, context: type[AnyContext]) -> None:
    """Without an annotation `ctx` is the processor's own kind; on a thread there is no connection (B5)."""
    assert read(vars(Contexts)[name], kind).context is context


@pytest.mark.parametrize(("name", "kind"), [("project", "reactor"), ("react", "projection")])
def test_a_ctx_of_another_kind_is_refused(name: str, kind: Kind) -> None:
    """A reactor has no connection and a projection does not react; the error names what fits."""
    with refused("WOW-CONTEXT", f"Contexts.{name}", "test_signature.py:", "Context or "):
        read(vars(Contexts)[name], kind)


def test_a_blocking_handler_cannot_ask_for_the_connection() -> None:
    """B5: what runs on a thread gets no connection of the loop."""

    def on_paid(self: object, event: OrderPaid, ctx: ProjectContext) -> None:
        """Block."""

    async def marked(self: object, event: OrderPaid, ctx: ProjectContext) -> None:
        """Block as well."""

    for function in (on_paid, blocking(marked)):
        with refused("WOW-CONTEXT", "gets no connection"):
            read(function, "projection")


class Bad:
    """Handlers with one mistake each."""

    async def alone(self) -> None:
        """Take no event."""

    async def three(self, event: OrderPaid, ctx: Context, more: int) -> None:
        """Take too much."""

    async def starred(self, *events: OrderPaid) -> None:
        """Take any number."""

    async def keyword(self, event: OrderPaid, *, ctx: Context) -> None:
        """Take ctx by keyword only."""

    async def misnamed(self, event: OrderPaid, context: Context) -> None:
        """Call ctx something else."""

    async def silent(self, event) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001 - the case
        """Say no type."""

    async def bare_event(self, event: Event) -> None:  # type: ignore[type-arg]
        """Say no event."""

    async def bare_state(self, event: StateEvent) -> None:  # type: ignore[type-arg]
        """Say no state."""

    async def number(self, event: Event[int]) -> None:
        """Name what is no model."""

    async def optional(self, event: OrderPaid | None) -> None:
        """Take an event or none."""

    async def undeclared(self, event: Event[Undeclared]) -> None:
        """Name a model that is no event."""

    async def no_state(self, event: StateEvent[OrderPaid, OrderPaid]) -> None:
        """Name a state that is none."""

    async def mixed(self, event: Event[OrderPaid] | OrderShipped) -> None:
        """Mix forms."""

    async def two_aggregates(self, event: Event[OrderPaid | ParcelSent]) -> None:
        """Read two aggregates."""

    async def foreign_state(self, event: StateEvent[OrderState, ParcelSent]) -> None:
        """Take the state of another aggregate."""

    async def everything_and_one(self, event: StateEvent[OrderState] | StateEvent[OrderState, OrderPaid]) -> None:
        """Take all, and one of them again."""

    async def unknown_name(self, event: NotThere) -> None:
        """Name what only a type checker knows."""

    async def broken(self, event: Event[OrderPaid].nothing) -> None:  # type: ignore[valid-type]
        """Be no type at all."""

    async def odd_ctx(self, event: OrderPaid, ctx: int) -> None:
        """Want a number for ctx."""

    def generator(self, event: OrderPaid) -> Iterator[OrderPaid]:
        """Yield."""
        yield event

    async def async_generator(self, event: OrderPaid) -> AsyncIterator[OrderPaid]:
        """Yield as well."""
        yield event


@pytest.mark.parametrize(
    ("name", "code", "text"),
    [
        ("alone", "WOW-SIGNATURE", "(self, event) or (self, event, ctx), not (self)"),
        ("three", "WOW-SIGNATURE", "not (self, event, ctx, more)"),
        ("starred", "WOW-SIGNATURE", "not (self, *events)"),
        ("keyword", "WOW-SIGNATURE", "ctx"),
        ("misnamed", "WOW-SIGNATURE", "always called ctx, not 'context'"),
        ("silent", "WOW-ANNOTATION", "annotate 'event'"),
        ("bare_event", "WOW-ANNOTATION", "Event[OrderPaid]"),
        ("bare_state", "WOW-ANNOTATION", "StateEvent[OrderState]"),
        ("number", "WOW-UNDECLARED", "int"),
        ("optional", "WOW-ANNOTATION", "NoneType"),
        ("undeclared", "WOW-UNDECLARED", "@order.event('its_name')"),
        ("no_state", "WOW-UNDECLARED", "@order.state"),
        ("mixed", "WOW-ANNOTATION", "mixes forms"),
        ("two_aggregates", "WOW-ONE-AGGREGATE", "ParcelSent of 'parcel'"),
        ("foreign_state", "WOW-ONE-AGGREGATE", "OrderState of 'order'"),
        ("everything_and_one", "WOW-ANNOTATION", "leave the single ones out"),
        ("unknown_name", "WOW-ANNOTATION", "NotThere"),
        ("broken", "WOW-ANNOTATION", "cannot be read"),
        ("odd_ctx", "WOW-CONTEXT", "with int"),
        ("generator", "WOW-GENERATOR", "is a generator"),
        ("async_generator", "WOW-GENERATOR", "is a generator"),
    ],
)
def test_each_mistake_is_one_error_with_its_place(name: str, code: str, text: str) -> None:
    """An author reads what is wrong, what would be right, and the file and line of the function."""
    line = vars(Bad)[name].__code__.co_firstlineno
    with refused(code, f"Bad.{name} (", f"test_signature.py:{line}", text):
        read(vars(Bad)[name])


def test_a_subclass_of_an_event_is_not_the_event() -> None:
    """The stored type belongs to the declared class; a subclass of it would not be what is decoded."""

    class Express(OrderShipped):
        """Inherits from an event without being one."""

    async def on_express(self: object, event: object) -> None:
        """Take it."""

    on_express.__annotations__["event"] = Express
    with refused("WOW-UNDECLARED", "only its base OrderShipped is"):
        read(on_express)


def test_event_models_need_not_be_frozen() -> None:
    """H31: events are shared by handlers, which is documented; models stay as their authors write them."""

    class Handlers:
        """One handler."""

        async def on_paid(self, event: OrderPaid) -> None:
            """Take an event whose model is not frozen."""

    assert not OrderPaid.model_config.get("frozen")
    assert issubclass(OrderPaid, BaseModel)
    assert read(Handlers.on_paid).body_only
