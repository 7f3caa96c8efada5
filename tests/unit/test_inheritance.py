"""What a processor class inherits: handlers, aliases, `@retry`; and what an interface may not carry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol

import pytest

from tests.unit.authored import OrderPaid, OrderShipped, refused, resolved
from wow_ray import App, Event, blocking, on_event, retry
from wow_ray.handlers.inheritance import class_retry, is_interface, methods
from wow_ray.handlers.specs import HandlerSpec


@retry(max_attempts=3, timeout="2s")
class Base:
    """A processor with a budget, one handler with its own."""

    @on_event(aliases=["on_old"])
    @retry(max_attempts=7)
    async def on_x(self, event: Event[OrderPaid]) -> None:
        """Handle it."""

    @on_event
    async def on_y(self, event: Event[OrderShipped]) -> None:
        """Handle it."""


class Sub(Base):
    """Without a budget of its own."""

    async def on_x(self, event: Event[OrderPaid]) -> None:
        """Handle it otherwise, under what it overrides."""


@retry(initial_backoff="1s")
class Sub2(Base):
    """With a budget of its own."""


def specs(cls: type[Any], **settings: Any) -> dict[str, HandlerSpec]:  # noqa: ANN401 - settings of any kind
    """Resolve one reactor class, its handlers by function."""
    app = App("shop")
    app.reactor(cls)
    return {handler.function: handler for handler in resolved(app, settings).handlers()}


def test_a_class_without_retry_runs_under_its_superclasss() -> None:
    """C2, S80: 3 calls of 2 s each, as Base says."""
    budget = specs(Sub)["on_y"].budget
    assert (budget.max_attempts, budget.timeout) == (3, 2.0)


def test_a_class_with_its_own_retry_takes_nothing_of_its_superclasss() -> None:
    """C2, S80: the annotation is replaced whole, so the timeout comes from the host and not from Base."""
    budget = specs(Sub2, subscription={"retry": {"timeout": "7s"}})["on_y"].budget
    assert (budget.max_attempts, budget.initial_backoff, budget.timeout) == (5, 1.0, 7.0)


def test_an_override_without_retry_runs_under_what_it_overrides() -> None:
    """C2, S80: Sub.on_x has 7 calls, and the rest from the class."""
    budget = specs(Sub)["on_x"].budget
    assert (budget.max_attempts, budget.timeout) == (7, 2.0)


def test_an_empty_retry_replaces_the_inherited_one_too() -> None:
    """C2: `@retry()` gives nothing, and so ends what the superclass gave."""
    cls = retry()(type("Sub3", (Base,), {}))
    assert specs(cls)["on_y"].budget.max_attempts == 5


def test_the_nearest_superclass_counts() -> None:
    """C2: of several annotated superclasses the first in the MRO."""
    middle = retry(max_attempts=9)(type("Middle", (Base,), {}))
    mark = class_retry(type("Leaf", (middle,), {}))
    assert mark is not None
    assert mark.given.max_attempts == 9


def test_an_override_is_a_handler_with_the_aliases_of_what_it_overrides() -> None:
    """Dropping a subscription needs more than a forgotten decorator; its former names are those of the new class."""
    found = specs(Sub)["on_x"]
    assert (found.subscription, found.aliases) == ("Sub.on_x", ("Sub.on_old",))


def test_a_handler_is_ended_by_none() -> None:
    """A subclass that says `on_x = None` has no such subscription."""
    assert list(specs(type("Quiet", (Base,), {"on_x": None}))) == ["on_y"]


def test_an_override_that_is_no_function_is_refused() -> None:
    """A handler replaced by something that cannot be called like one is a mistake."""
    with refused("WOW-ON-EVENT", "'on_x' is or replaces a handler"):
        specs(type("Odd", (Base,), {"on_x": 3}))
    for wrap in (staticmethod, classmethod):
        with refused("WOW-ON-EVENT", "'on_z'", "with self"):
            specs(type("Odd", (), {"on_z": wrap(vars(Base)["on_y"])}))


def test_blocking_is_not_inherited() -> None:
    """`@blocking` speaks of one body (B5): an async override runs on the loop, a plain one on a thread."""

    class Slow:
        """With a blocking handler."""

        @on_event
        @blocking
        async def on_x(self, event: OrderPaid) -> None:
            """Block."""

    async def on_x(self: object, event: OrderPaid) -> None:
        """Do not block."""

    assert specs(Slow)["on_x"].blocking
    assert not specs(type("Quick", (Slow,), {"on_x": on_x}))["on_x"].blocking


def test_handlers_stand_in_the_order_of_their_definition() -> None:
    """H3: bases first; an override keeps the place of what it overrides."""
    assert [method.name for method in methods(Sub)] == ["on_x", "on_y"]


def test_retry_on_a_function_that_is_no_handler_is_refused() -> None:
    """A budget that would never count is a forgotten `@on_event`."""

    @retry(max_attempts=2)
    async def helper(self: object) -> None:
        """Help."""

    with refused("WOW-RETRY", "add @on_event"):
        specs(type("Forgetful", (Base,), {"helper": helper}))


@retry(max_attempts=2)
class Notifying(Protocol):
    """An interface with a budget."""

    async def on_x(self, event: Event[OrderPaid]) -> None:
        """Say what others do."""


class AbstractNotifying(ABC):
    """An interface, one function of which has a budget."""

    @abstractmethod
    @retry(max_attempts=2)
    async def on_x(self, event: Event[OrderPaid]) -> None:
        """Say what others do."""


@retry(max_attempts=2)
class Half(ABC):
    """No interface: it does something itself."""

    @abstractmethod
    async def on_z(self, event: Event[OrderPaid]) -> None:
        """Say what others do."""

    async def tell(self) -> str:
        """Do something."""
        return "told"


@pytest.mark.parametrize("interface", [Notifying, AbstractNotifying])
def test_an_annotated_interface_is_refused_at_definition(interface: type[Any]) -> None:
    """C3, S80: registering a class that has one in its MRO is an error that names both."""

    class ShipmentNotifier(interface):  # type: ignore[misc]
        """Implements the interface."""

        @on_event
        async def on_x(self, event: Event[OrderPaid]) -> None:
            """Handle it."""

    for decorate in (App("shop").reactor, App("shop").projection):
        with refused("WOW-C3", "ShipmentNotifier (", interface.__qualname__, "put @retry on the class"):
            decorate(ShipmentNotifier)


def test_an_abstract_base_that_does_something_is_no_interface() -> None:
    """C3: only an ABC whose public methods are all abstract is one; Half's `@retry` counts for its subclasses."""
    assert is_interface(Notifying)
    assert is_interface(AbstractNotifying)
    assert not is_interface(Half)
    assert not is_interface(Base)
    assert not is_interface(retry(max_attempts=2)(type("Marker", (ABC,), {})))

    class Whole(Half):
        """Completes it."""

        @on_event
        async def on_z(self, event: Event[OrderPaid]) -> None:
            """Handle it."""

    assert specs(Whole)["on_z"].budget.max_attempts == 2


def test_a_class_that_cannot_be_made_is_refused() -> None:
    """A protocol or an abstract class is no processor."""
    for abstract in (Notifying, Half):
        with refused("WOW-PROCESSOR", "is abstract"):
            App("shop").reactor(abstract)
