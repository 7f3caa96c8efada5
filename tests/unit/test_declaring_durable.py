"""What is refused of a durable function before anything is called, and what it is called by (F2, F3, F4)."""

from __future__ import annotations

import socket
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest

from tests.unit.authored import refused, resolved
from wow_ray import App, DefinitionError, Durable
from wow_ray.errors import ConfigurationError
from wow_ray.retryable.durable_function import DurableFunction
from wow_ray.retryable.worker_side import WorkerSide
from wow_ray.settings import Settings


def fine(x: int) -> int:
    """Be fine."""
    return x


def returns_text(x: int) -> str:
    """Return what has no neutral value."""
    return str(x)


def may_return_nothing(x: int) -> str | None:
    """Return what has one."""
    return str(x) if x else None


def returns_socket(x: int) -> socket.socket:
    """Return what cannot travel."""
    raise NotImplementedError(x)


def takes_socket(x: socket.socket) -> None:
    """Take what cannot travel."""


def says_nothing(x: int):  # type: ignore[no-untyped-def] # noqa: ANN201
    """Say not what it returns."""
    return x


def takes_anything(x) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001
    """Say not what it takes."""


def other_parameters(error: Exception, y: int) -> None:
    """Be no fallback of these."""


class Account:
    """A class with a method below another decorator."""


def durable(function: Callable[..., Any], app: App | None = None, **options: Any) -> DurableFunction[..., Any, Any]:  # noqa: ANN401
    """Declare."""
    options.setdefault("durable", True)
    anything: Any = (app or App("shop")).retryable
    made: DurableFunction[..., Any, Any] = anything(**options)(function)
    return made


@pytest.mark.parametrize(("hint", "neutral"), [(int, 0), (float, 0.0), (bool, False), (str | None, None), (None, None)])
def test_the_neutral_value_is_that_of_the_return_type(hint: Any, neutral: object) -> None:  # noqa: ANN401
    """F2: 0, 0.0 or False for exactly these, None otherwise."""

    def given(x: int) -> Any:  # noqa: ANN401
        return x

    given.__annotations__["return"] = hint
    found = durable(given, name="given").declared.neutral
    assert found == neutral
    assert type(found) is type(neutral)


@pytest.mark.parametrize(
    ("function", "options", "text"),
    [
        (
            returns_text,
            {},
            "None, which a failed call answers, is no str; write raise_error=True, default=…, or `| None`",
        ),
        (fine, {"default": "x"}, "default='x' is no int"),
        (returns_socket, {}, "returns what cannot travel"),
        (takes_socket, {}, "'x': socket cannot travel"),
        (says_nothing, {}, "says not what it returns"),
        (takes_anything, {}, "takes 'x' without a type"),
        (fine, {"fallback": other_parameters}, "fallback=other_parameters"),
        (fine, {"recover": other_parameters}, "write fallback="),
        (fine, {"priority": 10}, "priority is 10"),
        (fine, {"concurrency": 0}, "concurrency is 0"),
        (fine, {"name": "a b"}, "'a b' is no name"),
        (fine, {"aliases": "old"}, "write aliases=['old']"),
        (fine, {"max_attempts": 0}, "max_attempts is 0"),
    ],
)
def test_what_cannot_be_stored_is_refused_at_definition(
    function: Callable[..., Any], options: dict[str, Any], text: str
) -> None:
    """F2, F3: with the ways out, and the place."""
    with pytest.raises(ConfigurationError) as raised:
        durable(function, **options)
    assert text in raised.value.message


def test_ways_out_of_a_missing_neutral_value() -> None:
    """F2: raise_error=True, default=…, or `| None`."""
    assert durable(returns_text, raise_error=True).declared.raise_error
    assert durable(returns_text, default="?").declared.neutral == "?"
    assert durable(may_return_nothing).declared.neutral is None


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"max_retries": -1}, "max_retries is -1"),
        ({"initial_delay": "-1s"}, "initial_delay is '-1s'"),
        ({"initial_delay": "400d"}, "a delay is at most 366 days"),
        ({"max_delay": "5"}, "max_delay is '5'"),
        ({"multiplier": 0}, "multiplier is 0"),
        ({"timeout": "0s"}, "timeout is '0s'"),
        ({"initial_delay": "1m", "max_delay": "1s"}, "initial_delay (1m) is above max_delay (1s)"),
    ],
)
def test_a_schedule_is_validated_at_definition(options: dict[str, Any], text: str) -> None:
    """S103, S81, C6: a delay of 400 days or below zero, stray durations, a first wait above the last."""
    with pytest.raises(ConfigurationError) as raised:
        Durable(**options)
    assert text in raised.value.message


def test_nobodys_default_flattens_a_schedule() -> None:
    """S42: a longer first delay raises the default ceiling, and a lower ceiling lowers the default first delay."""
    assert Durable(initial_delay="1m").seconds.max_delay == 60
    assert Durable(max_delay="1s").seconds.initial_delay == 1
    assert repr(Durable()) == (
        "Durable(max_retries=5, initial_delay='5s', max_delay='10s', multiplier=1, timeout='2m')"
    )


def test_names_are_stable_and_taken_once() -> None:
    """F4: the function's own name, or `name=`; former names are taken too; the error names both places."""
    app = App("shop")
    assert durable(fine, app).declared.name == "fine"
    assert durable(returns_text, app, default="", name="Texts.one", aliases=["texts"]).declared.name == "Texts.one"
    with refused("WOW-TWICE", "is called 'fine' as is fine"):
        durable(may_return_nothing, app, name="fine")
    with refused("WOW-TWICE", "'texts'"):
        durable(may_return_nothing, app, name="x", aliases=["texts"])


def test_what_no_other_process_can_find_is_refused() -> None:
    """F4: `__main__` is another module everywhere; a function inside a function has no name of its own."""
    mine = FunctionType(fine.__code__, {**fine.__globals__, "__name__": "__main__"}, "fine")
    mine.__annotations__ = dict(fine.__annotations__)
    mine.__module__ = "__main__"
    with refused("WOW-F4", "__main__"):
        durable(mine)

    def inside(x: int) -> int:
        return x

    with refused("WOW-F4", "name="):
        durable(inside)
    assert durable(inside, name="inside").declared.name == "inside"


def test_a_method_below_another_decorator_is_refused_at_start() -> None:
    """F2: it never learns its class, and so not its receiver."""
    app = App("shop")

    class Shelf:
        def lost(self, x: int) -> int:
            return x

    Shelf.lost.__qualname__ = "Shelf.lost"
    durable(Shelf.lost, app, name="Shelf.lost")
    with refused("WOW-F2", "put @app.retryable outermost"):
        resolved(app)


def test_the_receiver_has_to_be_a_resource() -> None:
    """Issue: receivers come from the app's resources; what its class cannot be made of is refused at start."""
    app = App("shop")

    class Shelf:
        def __init__(self, place: Account) -> None:
            self.place = place

        @app.retryable(durable=True, name="Shelf.put")
        def put(self, x: int) -> int:
            return x

    with pytest.raises(DefinitionError, match=r"Shelf .*takes place: Account, which nobody provides"):
        resolved(app)
    spec = app.resolved(Settings(), overridden=(Shelf,))
    (function,) = spec.functions
    assert isinstance(function, WorkerSide)
    assert function.receiver is Shelf


def test_without_durable_it_is_the_plain_decorator() -> None:
    """F1: an app's function without `durable` needs no name, no annotations and no store."""

    @App("shop").retryable(max_attempts=2)
    def local(x):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
        return x

    assert local(3) == 3
    with refused("WOW-F2", "recover="):
        durable(fine, durable=False, fallback=other_parameters)
