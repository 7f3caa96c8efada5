"""`@on_event`, `@retry`, `@blocking`: they attach what was said to the function or class and answer it unchanged.

Nothing is registered here; `resolution` reads the marks when the app starts.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast, overload

from wow_ray.durations import Duration, seconds, show
from wow_ray.errors import ConfigurationError, DefinitionError
from wow_ray.names import checked_name
from wow_ray.places import mistake
from wow_ray.policy.classify import Errors, ListsGiven, checked_list
from wow_ray.policy.given import checked_count, checked_factor
from wow_ray.policy.settings_resolution import RetryGiven

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

ON_EVENT = "__wow_on_event__"
RETRY = "__wow_retry__"
BLOCKING = "__wow_blocking__"


@dataclass(frozen=True, slots=True)
class OnEventMark:
    """What `@on_event` said. An alias without a dot is a former name of the function, one with a dot of the whole."""

    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RetryMark:
    """What one `@retry` said; `None` = not given."""

    given: RetryGiven
    lists: ListsGiven


def on_event_mark(function: object) -> OnEventMark | None:
    """Answer what `@on_event` said of the function itself, or `None`."""
    return cast("OnEventMark | None", getattr(function, "__dict__", {}).get(ON_EVENT))


def retry_mark(target: object) -> RetryMark | None:
    """Answer what `@retry` said of the function or class itself (not of a base of it), or `None`."""
    return cast("RetryMark | None", getattr(target, "__dict__", {}).get(RETRY))


def is_async(function: Callable[..., Any]) -> bool:
    """Tell whether a call gives a coroutine, also where a plain function wraps an async one (`functools.wraps`)."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(inspect.unwrap(function))


def is_blocking(function: Callable[..., Any]) -> bool:
    """Tell whether the function runs on a thread: a plain `def`, or one marked `@blocking` (B5)."""
    return BLOCKING in function.__dict__ or not is_async(function)


@overload
def on_event(f: F, /) -> F: ...
@overload
def on_event(*, aliases: Sequence[str] = (), key: str | None = None) -> Callable[[F], F]: ...
def on_event(f: F | None = None, /, *, aliases: Sequence[str] = (), key: str | None = None) -> F | Callable[[F], F]:
    """Make a method of a processor class a handler of the events its parameter is annotated with.

    `aliases` are former names: `"on_shipped"` of the function, `"OldNotifier.on_shipped"` of the whole subscription.
    The subscription takes over their progress and parked aggregates, once (L5, P14). `key` needs sagas, which this
    version does not have.

    Raises:
        DefinitionError: for anything but a function, `key`, a second `@on_event`, or an alias that is no name.
    """

    def attach(function: F) -> F:
        _refuse_non_function(function, "@on_event", "WOW-ON-EVENT")
        if key is not None:
            raise mistake(function, "key= belongs to keyed sagas, which are not available in this version", "WOW-KEY")
        if on_event_mark(function) is not None:
            raise mistake(function, "carries @on_event twice; give all aliases to one", "WOW-ON-EVENT")
        function.__dict__[ON_EVENT] = OnEventMark(_checked_aliases(function, aliases))
        return function

    return attach if f is None else attach(f)


def retry(
    *,
    max_attempts: int | None = None,
    initial_backoff: Duration | None = None,
    max_backoff: Duration | None = None,
    multiplier: float | None = None,
    timeout: Duration | None = None,
    recoverable: Sequence[type[BaseException]] | None = None,
    unrecoverable: Sequence[type[BaseException]] | None = None,
    systemic: Sequence[type[BaseException]] | None = None,
) -> Callable[[T], T]:
    """Set the budget of a handler, or of all handlers of a processor class; what is left out comes from elsewhere (C1).

    `max_attempts` counts calls, from 1. `multiplier` is at least 1, `timeout` above 0; the waits may be 0. Durations
    read `"500ms"`, `"1m 30s"`, `"PT2S"`, or are a `timedelta` (B2, B6). The lists
    say which errors are the aggregate's own and may pass (`recoverable`), will never pass (`unrecoverable`), or are an
    outage (`systemic`); each covers subclasses, and a handler's list replaces its processor's of that name (K2, K3).

    Raises:
        DefinitionError: naming the setting and the place, when a value is illegal or the target no function or class.
    """

    def attach(target: T) -> T:
        if not inspect.isclass(target):
            _refuse_non_function(target, "@retry", "WOW-RETRY")
        if retry_mark(target) is not None:
            raise mistake(target, "carries @retry twice; put all settings into one", "WOW-RETRY")
        try:
            given = _given(max_attempts, initial_backoff, multiplier, max_backoff, timeout)
            lists = ListsGiven(
                recoverable=_list(recoverable, "recoverable"),
                unrecoverable=_list(unrecoverable, "unrecoverable"),
                systemic=_list(systemic, "systemic"),
            )
        except ConfigurationError as error:
            raise mistake(target, f"@retry: {error.message}", error.code) from error
        setattr(target, RETRY, RetryMark(given, lists))
        return target

    return attach


def blocking(f: F, /) -> F:
    """Say that a handler blocks, so that it runs on a thread; a plain `def` does without saying (B5).

    Raises:
        DefinitionError: for anything but a function.
    """
    _refuse_non_function(f, "@blocking", "WOW-BLOCKING")
    f.__dict__[BLOCKING] = True
    return f


def _refuse_non_function(target: object, what: str, code: str) -> None:
    if not inspect.isfunction(target):
        said = "put it below, next to the function" if isinstance(target, (staticmethod, classmethod)) else "it is none"
        raise mistake(target, f"{what} is for functions of a processor class; {said}", code)


def _checked_aliases(function: Callable[..., Any], aliases: Sequence[str]) -> tuple[str, ...]:
    if isinstance(aliases, str):  # a sequence of texts, to a type checker
        raise mistake(function, f"aliases={aliases!r} is one text; write aliases=[{aliases!r}]", "WOW-ALIAS")
    for alias in aliases:
        parts = alias.split(".")
        try:
            if len(parts) > 2:  # noqa: PLR2004 - Processor.handler
                raise DefinitionError(f"{alias!r} is neither 'handler' nor 'Processor.handler'")  # noqa: TRY301
            for part in parts:
                checked_name(part, "a former handler")
        except DefinitionError as error:
            raise mistake(function, f"aliases: {error.message}", "WOW-ALIAS") from error
    return tuple(dict.fromkeys(aliases))


def _given(
    max_attempts: int | None,
    initial_backoff: Duration | None,
    multiplier: float | None,
    max_backoff: Duration | None,
    timeout: Duration | None,
) -> RetryGiven:
    first = _duration(initial_backoff, "initial_backoff", zero=True)
    longest = _duration(max_backoff, "max_backoff", zero=True)
    if first is not None and longest is not None and first > longest:
        raise DefinitionError(f"initial_backoff ({show(first)}) is above max_backoff ({show(longest)})", "WOW-C6")
    return RetryGiven(
        max_attempts=None if max_attempts is None else checked_count(max_attempts),
        initial_backoff=first,
        multiplier=None if multiplier is None else checked_factor(multiplier),
        max_backoff=longest,
        timeout=_duration(timeout, "timeout"),
    )


def _duration(value: Duration | None, setting: str, *, zero: bool = False) -> float | None:
    return None if value is None else seconds(value, setting, zero=zero)


def _list(entries: Sequence[type[BaseException]] | None, which: str) -> Errors | None:
    return None if entries is None else checked_list(entries, which, "@retry")
