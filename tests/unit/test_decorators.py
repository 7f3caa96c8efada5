"""`@on_event`, `@retry`, `@blocking`: what they accept, what they refuse, what they leave behind."""

from __future__ import annotations

from collections.abc import Coroutine
from datetime import timedelta
from functools import wraps
from typing import Any

import pytest

from tests.unit.authored import OrderPaid, refused
from wow_ray import DefinitionError, blocking, on_event, retry
from wow_ray.handlers.decorators import is_blocking, on_event_mark, retry_mark
from wow_ray.policy.classify import ListsGiven
from wow_ray.policy.settings_resolution import RetryGiven


async def handle(self: object, event: OrderPaid) -> None:
    """Stand for a handler."""


def a_function() -> Any:  # noqa: ANN401 - what a decorator is put on
    """Make a new undecorated handler."""

    async def on_paid(self: object, event: OrderPaid) -> None:
        """Handle it."""

    return on_paid


def test_decorators_answer_what_they_were_given() -> None:
    """A decorated function or class is the very same object, so that it can be called and made as before."""
    function, cls = a_function(), type("Notifier", (), {})
    assert on_event(function) is function
    assert retry(max_attempts=2)(function) is function
    assert blocking(function) is function
    assert retry(max_attempts=2)(cls) is cls


def test_on_event_takes_aliases_of_the_function_and_of_the_whole_subscription() -> None:
    """S20: former names are kept in order and once each, with or without the processor's name."""
    mark = on_event_mark(on_event(aliases=["on_shipped", "Old.on_shipped", "on_shipped"])(a_function()))
    assert mark is not None
    assert mark.aliases == ("on_shipped", "Old.on_shipped")
    bare = on_event_mark(on_event(a_function()))
    assert bare is not None
    assert bare.aliases == ()


@pytest.mark.parametrize("alias", ["", "on shipped", "a.b.c", "Old.", ".on_shipped"])
def test_an_alias_that_is_no_name_is_refused(alias: str) -> None:
    """P14: an alias must be a name that could have been stored; the error names the function and its place."""
    with refused("WOW-ALIAS", "on_paid", "test_decorators.py:"):
        on_event(aliases=[alias])(a_function())


def test_one_text_for_aliases_is_refused() -> None:
    """A text is a sequence of letters to Python; the error says how to write a list."""
    with refused("WOW-ALIAS", "aliases=['on_shipped']"):
        on_event(aliases="on_shipped")(a_function())


def test_key_is_refused_for_now() -> None:
    """Keyed sagas are not there yet, and a key that does nothing would promise an order that nobody keeps."""
    with refused("WOW-KEY", "keyed sagas", "not available in this version"):
        on_event(key="buyer")(a_function())


def test_on_event_is_for_functions_and_once() -> None:
    """A class, a staticmethod or a second `@on_event` is refused where it is written."""
    with refused("WOW-ON-EVENT", "for functions"):
        on_event(type("Notifier", (), {}))
    with refused("WOW-ON-EVENT", "next to the function"):
        on_event(staticmethod(a_function()))
    with refused("WOW-ON-EVENT", "twice"):
        on_event(on_event(a_function()))


def test_retry_keeps_only_what_is_given() -> None:
    """B2: what is left out is `None`, and stays apart from an explicit 0 where 0 is legal."""
    mark = retry_mark(retry(initial_backoff="0s", timeout=timedelta(seconds=2), unrecoverable=[])(a_function()))
    assert mark is not None
    assert mark.given == RetryGiven(initial_backoff=0.0, timeout=2.0)
    assert mark.lists == ListsGiven(unrecoverable=())


@pytest.mark.parametrize(
    ("settings", "code", "name"),
    [
        ({"max_attempts": 0}, "WOW-B2", "max_attempts"),
        ({"max_attempts": -1}, "WOW-B2", "max_attempts"),
        ({"max_attempts": True}, "WOW-B2", "max_attempts"),
        ({"max_attempts": 2.0}, "WOW-B2", "max_attempts"),
        ({"multiplier": 0}, "WOW-B2", "multiplier"),
        ({"multiplier": 0.99}, "WOW-B2", "multiplier"),
        ({"multiplier": float("nan")}, "WOW-B2", "multiplier"),
        ({"multiplier": float("inf")}, "WOW-B2", "multiplier"),
        ({"timeout": "0s"}, "WOW-B6", "timeout"),
        ({"timeout": 30}, "WOW-B6", "timeout"),
        ({"initial_backoff": "1"}, "WOW-B6", "initial_backoff"),
        ({"max_backoff": "-1s"}, "WOW-B6", "max_backoff"),
        ({"max_backoff": "30s 1m"}, "WOW-B6", "max_backoff"),
        ({"recoverable": ValueError}, "WOW-K5", "recoverable"),
        ({"unrecoverable": [ValueError()]}, "WOW-K5", "unrecoverable"),
        ({"systemic": [KeyboardInterrupt]}, "WOW-K5", "systemic"),
    ],
)
def test_an_illegal_setting_is_named_with_its_place(settings: dict[str, Any], code: str, name: str) -> None:
    """B2, B6, K5, S45: an explicit 0 where 0 is illegal, or any other bad value, is an error at definition."""
    with refused(code, f"@retry: {name}", "on_paid", "test_decorators.py:"):
        retry(**settings)(a_function())
    with refused(code, f"@retry: {name}", "Notifier"):
        retry(**settings)(type("Notifier", (), {}))


def test_an_initial_backoff_above_the_maximum_of_the_same_retry_is_refused() -> None:
    """C6, S42: both given at one level, the contradiction is an error that shows both values."""
    with refused("WOW-C6", "initial_backoff (10s)", "max_backoff (5s)"):
        retry(initial_backoff="10s", max_backoff="5s")(a_function())


def test_retry_is_for_functions_and_classes_and_once() -> None:
    """Anything else, or a second `@retry`, is refused where it is written."""
    with refused("WOW-RETRY", "for functions"):
        retry()(3)
    with refused("WOW-RETRY", "twice"):
        retry()(retry()(a_function()))


def test_a_retry_on_a_subclass_is_not_a_second_one() -> None:
    """C2: a subclass may have its own `@retry` beside its superclass's."""
    base = retry(max_attempts=2)(type("Base", (), {}))
    sub = retry(max_attempts=3)(type("Sub", (base,), {}))
    mark = retry_mark(sub)
    assert mark is not None
    assert mark.given.max_attempts == 3
    assert retry_mark(type("Bare", (base,), {})) is None


def test_a_plain_function_blocks_and_a_marked_one_does() -> None:
    """B5: a plain `def`, or one marked `@blocking`, runs on a thread; what gives a coroutine does not."""

    def plain() -> None:
        """Block."""

    @wraps(handle)
    def timed(self: object, event: OrderPaid) -> Coroutine[Any, Any, None]:
        return handle(self, event)

    assert is_blocking(plain)
    assert not is_blocking(timed)
    assert not is_blocking(handle)
    assert is_blocking(blocking(a_function()))
    with pytest.raises(DefinitionError):
        blocking(type("Notifier", (), {}))
