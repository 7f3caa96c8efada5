"""Functions that are tried again in their own process (F1): how often, how far apart, which errors."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from wow_ray import (
    CallState,
    DefinitionError,
    UnrecoverableHandlingError,
    WaitTimeoutError,
    current_call,
    retryable,
)
from wow_ray.errors import ConfigurationError
from wow_ray.retryable.surroundings import present, surrounded
from wow_ray.testing import instant_retries


@pytest.fixture(autouse=True)
def waits() -> Iterator[list[float]]:
    """Note every wait instead of making it."""
    made: list[float] = []

    async def sleep(seconds: float) -> None:
        made.append(seconds)

    with surrounded(replace(present(), sleep=sleep, block=made.append)):
        yield made


class Failing:
    """Something that fails so many times with an error, then returns."""

    def __init__(self, times: int, error: BaseException) -> None:
        self.left = times
        self.error = error
        self.attempts: list[int] = []
        self.ids: set[str] = set()

    def work(self) -> int:
        """Fail or return 7."""
        call = current_call()
        self.attempts.append(call.attempt)
        self.ids.add(call.id)
        if self.left:
            self.left -= 1
            raise self.error
        return 7


def test_three_calls_a_tenth_of_a_second_apart_by_default(waits: list[float]) -> None:
    """F1: `max_attempts` counts calls; waits of 100 ms doubling between them, none after the last."""
    failing = Failing(9, ValueError("no"))

    with pytest.raises(ValueError, match="no"):
        retryable()(failing.work)()

    assert failing.attempts == [1, 2, 3]
    assert waits == [0.1, 0.2]


@pytest.mark.parametrize("times", [0, 1, 2])
def test_what_succeeds_in_the_end_answers(times: int) -> None:
    """F1: the first success is the answer; F8: all attempts of one call have one id."""
    failing = Failing(times, OSError())

    assert retryable()(failing.work)() == 7
    assert failing.attempts == list(range(1, times + 2))
    assert len(failing.ids) == 1


async def test_an_async_function_is_awaited_and_waits_in_the_loop(waits: list[float]) -> None:
    """F1: an `async` function stays one, its waits hold nothing but the caller."""
    failing = Failing(2, OSError())

    @retryable(initial_backoff=timedelta(seconds=1), multiplier=3)
    async def work() -> int:
        await asyncio.sleep(0)  # noqa: TID251 - one turn of the loop
        return failing.work()

    assert await work() == 7
    assert waits == [1.0, 3.0]


def test_the_ceiling_holds_and_nobodys_default_flattens(waits: list[float]) -> None:
    """S42: a long first wait raises the default ceiling; B3: no wait is above the one that was given."""
    failing = Failing(9, OSError())
    with pytest.raises(OSError):  # noqa: PT011 - any
        retryable(max_attempts=3, initial_backoff="10s")(failing.work)()
    assert waits == [10.0, 10.0]
    waits.clear()

    with pytest.raises(OSError):  # noqa: PT011 - any
        retryable(max_attempts=5, initial_backoff="3s", max_backoff="8s")(failing.work)()
    assert waits == [3.0, 6.0, 8.0, 8.0]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"max_attempts": 0}, "max_attempts is 0"),
        ({"max_attempts": True}, "max_attempts is True"),
        ({"multiplier": 0.5}, "multiplier is 0.5"),
        ({"initial_backoff": "5"}, "initial_backoff is '5'"),
        ({"max_backoff": "-1s"}, "max_backoff is '-1s'"),
        ({"initial_backoff": "P1S"}, "initial_backoff is 'P1S'"),
        ({"initial_backoff": "10s", "max_backoff": "5s"}, "initial_backoff (10s) is above max_backoff (5s)"),
        ({"include": [KeyboardInterrupt]}, "include of @retryable has KeyboardInterrupt"),
        ({"exclude": [asyncio.CancelledError]}, "exclude of @retryable has CancelledError"),
        ({"include": ValueError}, "include=[ValueError]"),
    ],
)
def test_an_illegal_setting_is_refused_where_it_is_written(options: dict[str, Any], text: str) -> None:
    """B2, B6, C6, K5, S81: the error names the setting, the function and its place."""
    with pytest.raises(ConfigurationError) as refused:
        retryable(**options)(Failing.work)

    assert text in refused.value.message
    assert "Failing.work (tests/unit/test_retryable.py:" in refused.value.message


class _Base(Exception):  # noqa: N818 - a name for the table
    pass


class _Near(_Base):
    pass


class _Both(_Near, TimeoutError):  # noqa: N818 - as above
    pass


@pytest.mark.parametrize(
    ("include", "exclude", "error", "calls"),
    [
        ([Exception], [], _Near(), 3),
        ([Exception], [_Base], _Near(), 1),
        ([_Near], [_Base], _Near(), 3),  # the nearest decides
        ([_Base], [_Near], _Near(), 1),
        ([_Near], [_Near], _Near(), 1),  # a tie is excluded
        ([TimeoutError], [_Near], _Both(), 1),  # in the order of the MRO
        ([_Near], [TimeoutError], _Both(), 3),
        ([_Near], [], ValueError(), 1),  # not included
        ([], [], ValueError(), 1),
        ([Exception], [], UnrecoverableHandlingError(), 1),
        ([Exception], [], KeyboardInterrupt(), 1),
        ([Exception], [], asyncio.CancelledError(), 1),
    ],
)
def test_the_nearest_class_decides(
    include: list[type[Exception]], exclude: list[type[Exception]], error: BaseException, calls: int
) -> None:
    """F1: include and exclude by the nearest class in the MRO, on a tie exclude; what is not retried goes out."""
    failing = Failing(9, error)
    recovered: list[BaseException] = []

    def note(error: BaseException) -> int:
        recovered.append(error)
        return 0

    function = retryable(include=include, exclude=exclude, recover=note)(failing.work)
    if calls == 1:
        with pytest.raises(type(error)) as raised:
            function()
        assert raised.value is error
        assert not recovered
    else:
        assert function() == 0
        assert recovered == [error]
    assert len(failing.attempts) == calls


def test_budgets_do_not_multiply_nor_share_a_counter() -> None:
    """F5, S47, S99: a nested call counts for itself; the outer one is current again when it ends, also by an error."""
    inner, seen = Failing(9, KeyError()), []

    @retryable(max_attempts=2)
    def outer() -> None:
        try:
            retryable(max_attempts=3)(inner.work)()
        finally:
            seen.append(current_call().attempt)

    with pytest.raises(KeyError):
        outer()

    assert seen == [1, 2]
    assert inner.attempts == [1, 2, 3, 1, 2, 3]
    with pytest.raises(DefinitionError, match="WOW-F5"):
        current_call()


async def test_concurrent_calls_never_share_a_counter() -> None:
    """F5, S99: a hundred at once; odd ones fail always and are called six times, even ones once."""
    calls: dict[int, list[int]] = {i: [] for i in range(100)}

    @retryable(max_attempts=6)
    async def work(i: int) -> int:
        await asyncio.sleep(0)  # noqa: TID251 - one turn of the loop
        calls[i].append(current_call().attempt)
        if i % 2:
            raise ValueError
        return i

    results = await asyncio.gather(*(work(i) for i in range(100)), return_exceptions=True)

    assert all(isinstance(result, ValueError) if i % 2 else result == i for i, result in enumerate(results))
    assert all(calls[i] == ([1, 2, 3, 4, 5, 6] if i % 2 else [1]) for i in range(100))


class Shop:
    """Every kind of member."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    @retryable(max_attempts=2)
    def method(self, x: int) -> str:
        """Fail once."""
        self.seen.append("method")
        if len(self.seen) < 2:
            raise ValueError
        return f"method {x}"

    @retryable(max_attempts=2)
    async def async_method(self, x: int) -> str:
        """Fail once, later."""
        return self.method(x)

    @retryable()
    @classmethod
    def class_method(cls, x: int) -> str:
        """Tell the class."""
        return f"{cls.__name__} {x}"

    @retryable()
    @staticmethod
    def static_method(x: int) -> str:
        """Tell nothing."""
        return f"static {x}"

    @classmethod
    @retryable()
    def below(cls, x: int) -> str:
        """Stand below @classmethod."""
        return f"{cls.__name__} {x}"


class Branch(Shop):
    """A subclass."""


async def test_every_kind_of_member_is_bound_as_without_it() -> None:
    """F1: methods, class and static methods, through the instance, the class and a subclass."""
    assert Shop().method(1) == "method 1"
    assert Shop.method(Shop(), 1) == "method 1"
    assert await Branch().async_method(2) == "method 2"
    shop: Any = Shop  # a checker sees a class method below a decorator as a plain one
    branch: Any = Branch
    assert (shop.class_method(3), branch().class_method(3)) == ("Shop 3", "Branch 3")
    assert (shop.static_method(4), shop().static_method(4)) == ("static 4", "static 4")
    assert (shop.below(5), branch().below(5)) == ("Shop 5", "Branch 5")
    assert Shop.method.__doc__ == "Fail once."


def test_partials_and_callable_objects_are_tried_again() -> None:
    """F1: what can be called can be retried."""
    failing = Failing(2, OSError())

    class Caller:
        def __call__(self, plus: int) -> int:
            return failing.work() + plus

    assert retryable()(functools.partial(Caller(), 1))() == 8
    failing.left = 1
    assert retryable()(Caller())(plus=2) == 9


def _sync_generator() -> Iterator[int]:
    yield 1


async def _async_generator() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (_sync_generator, "is a generator"),
        (_async_generator, "is a generator"),
        (functools.partial(_sync_generator), "is a generator"),
        (Shop, "is no function"),
        (3, "is no function"),
        (retryable()(Failing.work), "carries @retryable twice"),
    ],
)
def test_what_cannot_be_tried_again_is_refused(given: Any, text: str) -> None:  # noqa: ANN401 - anything
    """F1: generators, classes and what is retryable already are refused at definition."""
    with pytest.raises(DefinitionError, match=text):
        retryable()(given)


async def test_submit_runs_an_async_call_in_the_background() -> None:
    """F1: without `durable` a handle on a task of this loop; its error is the call's own."""
    go = asyncio.Event()

    @retryable(max_attempts=2)
    async def work(x: int) -> int:
        await go.wait()
        if x < 0:
            raise ValueError
        return x

    good, bad, ended = work.submit(1), work.submit(-1), work.submit(2)
    assert await good.state() is CallState.RUNNING
    with pytest.raises(WaitTimeoutError, match="has not ended within 0s"):
        await good.result("0s")
    assert await ended.cancel()
    go.set()

    assert await good.result("5s") == 1
    assert await good.state() is CallState.SUCCEEDED
    with pytest.raises(ValueError):  # noqa: PT011 - any
        await bad.result()
    assert await bad.state() is CallState.EXHAUSTED
    assert await ended.state() is CallState.CANCELLED
    assert len({good.id, bad.id, ended.id}) == 3


async def test_submit_runs_a_plain_call_on_a_thread() -> None:
    """F1: plain functions need no loop; with one their handle can be awaited."""
    failing = Failing(2, OSError())
    handle = retryable()(failing.work).submit()

    assert await asyncio.to_thread(handle.wait, "5s") == 7
    assert await handle.result("5s") == 7
    assert failing.ids == {handle.id}


def test_a_test_mode_removes_waits_and_caps_attempts(waits: list[float]) -> None:
    """F1: for tests of code that uses retryable functions."""
    failing = Failing(9, OSError())
    function = retryable(max_attempts=5)(failing.work)

    with instant_retries(), pytest.raises(OSError):  # noqa: PT011 - any
        function()
    assert (failing.attempts, waits) == ([1, 2, 3, 4, 5], [])

    with instant_retries(max_attempts=2), pytest.raises(OSError):  # noqa: PT011 - any
        function()
    assert failing.attempts[5:] == [1, 2]
    with pytest.raises(DefinitionError), instant_retries(max_attempts=0):
        pass


def test_the_last_attempt_is_told() -> None:
    """`current_call().last` tells a function that nobody tries again after it."""
    seen: list[bool] = []

    @retryable(max_attempts=3)
    def work() -> None:
        seen.append(current_call().last)
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 - any
        work()
    assert seen == [False, False, True]


def test_wrapped_functions_keep_what_they_are() -> None:
    """A plain wrapper of an async function gives a coroutine, and is awaited."""

    def logged(function: Callable[[], Awaitable[int]]) -> Callable[[], Awaitable[int]]:
        @functools.wraps(function)
        def inner() -> Awaitable[int]:
            return function()

        return inner

    failing = Failing(1, OSError())

    @retryable()
    @logged
    async def work() -> int:
        return failing.work()

    async def main() -> int:
        return await work()

    assert asyncio.run(main()) == 7
