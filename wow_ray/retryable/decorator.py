"""`@retryable`: declare that a plain function is tried again, in process (F1)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from wow_ray.durations import Duration
from wow_ray.retryable.function import RetryableFunction, RetryableMethod, made_of
from wow_ray.retryable.options import DEFAULT_ATTEMPTS, checked_plan
from wow_ray.retryable.recovering import check_handed
from wow_ray.retryable.target import read_target

P = ParamSpec("P")
T = TypeVar("T")


class Decorator(Protocol):
    """What `retryable(...)` gives; an `async` function stays one."""

    @overload
    def __call__(
        self, function: classmethod[Any, P, Coroutine[Any, Any, T]], /
    ) -> RetryableFunction[P, Coroutine[Any, Any, T], T]: ...
    @overload
    def __call__(self, function: classmethod[Any, P, T], /) -> RetryableFunction[P, T, T]: ...
    @overload
    def __call__(  # type: ignore[overload-overlap]  # the first that fits counts
        self, function: staticmethod[P, Coroutine[Any, Any, T]], /
    ) -> RetryableFunction[P, Coroutine[Any, Any, T], T]: ...
    @overload
    def __call__(self, function: staticmethod[P, T], /) -> RetryableFunction[P, T, T]: ...  # type: ignore[overload-overlap]  # the first that fits counts
    @overload
    def __call__(
        self, function: Callable[P, Coroutine[Any, Any, T]], /
    ) -> RetryableMethod[P, Coroutine[Any, Any, T], T]: ...
    @overload
    def __call__(self, function: Callable[P, T], /) -> RetryableMethod[P, T, T]: ...


@overload
def retryable(
    *,
    max_attempts: int = ...,
    initial_backoff: Duration | None = ...,
    multiplier: float = ...,
    max_backoff: Duration | None = ...,
    include: Sequence[type[Exception]] = ...,
    exclude: Sequence[type[Exception]] = ...,
    recover: None = ...,
) -> Decorator: ...
@overload
def retryable(  # type: ignore[overload-overlap]  # the first that fits counts
    *,
    max_attempts: int = ...,
    initial_backoff: Duration | None = ...,
    multiplier: float = ...,
    max_backoff: Duration | None = ...,
    include: Sequence[type[Exception]] = ...,
    exclude: Sequence[type[Exception]] = ...,
    recover: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]],
) -> Callable[[Callable[P, Coroutine[Any, Any, T]]], RetryableMethod[P, Coroutine[Any, Any, T], T]]: ...
@overload
def retryable(
    *,
    max_attempts: int = ...,
    initial_backoff: Duration | None = ...,
    multiplier: float = ...,
    max_backoff: Duration | None = ...,
    include: Sequence[type[Exception]] = ...,
    exclude: Sequence[type[Exception]] = ...,
    recover: Callable[Concatenate[Any, P], T],
) -> Callable[[Callable[P, T]], RetryableMethod[P, T, T]]: ...
def retryable(
    *,
    max_attempts: int = DEFAULT_ATTEMPTS,
    initial_backoff: Duration | None = None,
    multiplier: float = 2.0,
    max_backoff: Duration | None = None,
    include: Sequence[type[Exception]] = (Exception,),
    exclude: Sequence[type[Exception]] = (),
    recover: Callable[..., Any] | None = None,
) -> Any:
    """Try a function again when it fails: `max_attempts` calls in all, waits of 100 ms doubling up to 5 s between.

    For functions, methods, class and static methods, plain or `async`, partials and callable objects; needs neither a
    store nor Ray. A plain function waits by blocking its thread. Durations read `"500ms"`, `"1m 30s"`, `"PT2S"`, or are
    a `timedelta`. The nearest class in the error's MRO decides between `include` and `exclude`, on a tie `exclude`;
    what is not retried goes out as it is. After the last failure `recover(error, *args, **kwargs)` is called once and
    answers instead: this one, else the `@recover` method of the class. Put it outermost, above `@classmethod`.
    `.submit(...)` runs a call in the background of this process.

    Raises:
        DefinitionError: naming the place: an illegal setting, a generator, a `recover` that does not fit.
    """

    def decorate(function: Any) -> RetryableFunction[..., Any, Any]:  # noqa: ANN401 - whatever is decorated
        target = read_target(function)
        plan = checked_plan(target, max_attempts, initial_backoff, multiplier, max_backoff, include, exclude)
        handed = None if recover is None else check_handed(target, recover, "recover")
        return made_of(target, plan, handed)

    return decorate
