# ruff: noqa: ARG001, ARG002, ARG003 - what recovers takes what was given, used or not
"""Who answers when all calls failed, and that one who does not fit is refused when it is defined (F1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NoReturn

import pytest

from wow_ray import DefinitionError, current_call, recover, retryable
from wow_ray.retryable.surroundings import present, surrounded


@pytest.fixture(autouse=True)
def _instant() -> Iterator[None]:
    async def sleep(_: float) -> None:
        pass

    with surrounded(replace(present(), sleep=sleep, block=lambda _: None)):
        yield


def fail(user: int, *, order: str = "o") -> int:
    """Fail always."""
    raise LookupError(user, order)


async def fail_later(user: int) -> int:
    """Fail always, in a loop."""
    raise LookupError(user)


def test_the_handed_function_answers_once_with_the_same_arguments() -> None:
    """F1: `recover(error, *args, **kwargs)` is called once after the last failure, outside of the call."""
    seen: list[Any] = []

    def give_up(error: Exception, user: int, *, order: str = "o") -> int:
        seen.append((type(error), user, order))
        with pytest.raises(DefinitionError):
            current_call()
        return -1

    assert retryable(recover=give_up)(fail)(3, order="x") == -1
    assert seen == [(LookupError, 3, "x")]


async def test_an_async_function_may_be_recovered_by_either_kind() -> None:
    """F1: for an async function both kinds of `recover` do."""

    async def later(error: Exception, user: int) -> int:
        return -user

    def now(error: Exception, user: int) -> int:
        return -2 * user

    assert await retryable(recover=later)(fail_later)(3) == -3
    either: Any = now  # a checker wants the function's own kind
    assert await retryable(recover=either)(fail_later)(3) == -6


def test_one_that_takes_anything_fits_anything() -> None:
    """(error, *args, **kwargs) serves every function, and one that only raises returns no other type."""

    def log(error: Exception, *args: Any, **kwargs: Any) -> NoReturn:  # noqa: ANN401 - anything
        raise RuntimeError from error

    anything: Any = log
    with pytest.raises(RuntimeError):
        retryable(recover=anything)(fail)(3)


class Grants:
    """A class with several ways out."""

    def __init__(self) -> None:
        self.calls = 0
        self.ways: list[str] = []

    @retryable(max_attempts=2)
    def grant(self, error: type[Exception]) -> str:
        """Fail as told."""
        self.calls += 1
        raise error

    @recover
    def anything(self, failed: Exception, error: type[Exception]) -> str:
        """For any error."""
        self.ways.append("anything")
        return f"anything {error.__name__}"

    @recover
    def missing(self, failed: LookupError, error: type[Exception]) -> str:
        """For what is not there."""
        self.ways.append("missing")
        return "missing"

    @retryable(max_attempts=2)
    @classmethod
    def of_class(cls, n: int) -> str:
        """Fail always."""
        raise ValueError

    @recover
    @classmethod
    def for_class(cls, error: Exception, n: int) -> str:
        """For the class method."""
        return f"{cls.__name__} {n}"

    @retryable(max_attempts=2)
    async def unrelated(self, other: str) -> None:
        """Fail without a way out."""
        raise ValueError(other)


class Louder(Grants):
    """A subclass that answers otherwise."""

    def missing(self, failed: LookupError, error: type[Exception]) -> str:
        """Override the way out."""
        return "MISSING"


async def test_the_method_for_the_nearest_error_answers() -> None:
    """F1: the `@recover` method of the same class with the nearest error type and the same parameters, once."""
    grants = Grants()

    assert grants.grant(KeyError) == "missing"
    assert grants.grant(OSError) == "anything OSError"
    assert Grants.grant(grants, IndexError) == "missing"
    assert (grants.calls, grants.ways) == (6, ["missing", "anything", "missing"])
    assert Louder().grant(KeyError) == "MISSING"
    members: Any = Louder  # a checker sees a class method below a decorator as a plain one
    assert members.of_class(2) == "Louder 2"
    with pytest.raises(ValueError, match="alone"):
        await grants.unrelated("alone")


def _other_parameters(error: Exception, user: int) -> int:
    return 0


def _other_type(error: Exception, user: str, *, order: str = "o") -> int:
    return 0


def _other_return(error: Exception, user: int, *, order: str = "o") -> str:
    return ""


async def _async(error: Exception, user: int, *, order: str = "o") -> int:
    return 0


def _nothing() -> int:
    return 0


@pytest.mark.parametrize(
    ("handed", "text"),
    [
        (_other_parameters, r"it takes \(error, user\), not \(error, user, \*?,? ?order\)"),
        (_other_type, "user is int there and str here"),
        (_other_return, "returns int, and it returns str"),
        (_async, "it is async"),
        (_nothing, "its first parameter is the error"),
        (Grants, "is no function"),
    ],
)
def test_one_that_does_not_fit_is_refused_at_definition(handed: Any, text: str) -> None:  # noqa: ANN401 - anything
    """F1: the seed's Java silently disables it; we name what differs."""
    with pytest.raises(DefinitionError, match=text):
        retryable(recover=handed)(fail)


def refused_class(make: Callable[[], object]) -> DefinitionError:
    """Give what a class statement was refused with; Python 3.11 wraps it, later versions do not."""
    with pytest.raises((RuntimeError, DefinitionError)) as raised:
        make()
    error = raised.value if isinstance(raised.value, DefinitionError) else raised.value.__cause__
    assert isinstance(error, DefinitionError)
    return error


def test_a_recover_method_that_serves_nobody_is_refused() -> None:
    """F1: it would never be called, and nobody would notice."""

    def make() -> object:
        class Wrong:
            @retryable()
            def grant(self, user: int) -> int:
                return user

            @recover
            def give_up(self, error: Exception, order: int) -> int:
                return order

        return Wrong

    assert "fits no @retryable method" in refused_class(make).message


def test_two_for_one_error_are_refused() -> None:
    """F1: which one should answer?"""

    def make() -> object:
        class Wrong:
            @retryable()
            def grant(self, user: int) -> int:
                return user

            @recover
            def one(self, error: OSError, user: int) -> int:
                return user

            @recover
            def other(self, error: OSError, user: int) -> int:
                return user

        return Wrong

    assert "one and other" in refused_class(make).message
