"""`app.retryable`: the retryable functions of an app, the durable ones under names of their own (F2, F4)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, overload

from wow_ray.durations import Duration
from wow_ray.errors import DefinitionError
from wow_ray.places import mistake, title
from wow_ray.policy.durable_call import DEFAULT_PRIORITY
from wow_ray.ports.functions import StoredFunction
from wow_ray.retryable.declaring import DurableDecorator, Given, declare
from wow_ray.retryable.decorator import Decorator, retryable
from wow_ray.retryable.door import Door
from wow_ray.retryable.durable import Durable
from wow_ray.retryable.durable_function import DurableFunction
from wow_ray.retryable.host import refuse_unknown
from wow_ray.retryable.neutral import MISSING
from wow_ray.retryable.options import DEFAULT_ATTEMPTS
from wow_ray.retryable.target import innermost


class Functions(ABC):
    """The part of an app that declares retryable functions."""

    def __init__(self) -> None:
        """Begin with none."""
        self._functions: dict[str, DurableFunction[..., Any, Any]] = {}

    @abstractmethod
    def _door(self) -> Door:
        """Give the open connection; raises `NotConnectedError`."""

    def functions(self, host: Mapping[str, Mapping[str, Any]] | None = None) -> tuple[StoredFunction, ...]:
        """Give the durable functions for workers, with what the `host` sets for them by name.

        Raises `DefinitionError` for what turns out wrong only now, `SettingsError` for settings of nobody.
        """
        names = {name: each.declared.name for name, each in self._functions.items()}
        refuse_unknown(host or {}, names)
        given = {names[key]: values for key, values in (host or {}).items()}
        made = dict.fromkeys(self._functions.values())
        return tuple(each.for_workers(given.get(each.declared.name)) for each in made)

    @overload
    def retryable(
        self,
        /,
        *,
        durable: Literal[False] = ...,
        max_attempts: int | None = ...,
        initial_backoff: Duration | None = ...,
        multiplier: float = ...,
        max_backoff: Duration | None = ...,
        include: Sequence[type[Exception]] = ...,
        exclude: Sequence[type[Exception]] = ...,
        recover: Callable[..., Any] | None = ...,
    ) -> Decorator: ...
    @overload
    def retryable(
        self,
        /,
        *,
        durable: Literal[True] | Durable,
        name: str | None = ...,
        aliases: Sequence[str] = ...,
        max_attempts: int | None = ...,
        initial_backoff: Duration | None = ...,
        multiplier: float = ...,
        max_backoff: Duration | None = ...,
        include: Sequence[type[Exception]] = ...,
        exclude: Sequence[type[Exception]] = ...,
        fallback: Callable[..., Any] | None = ...,
        raise_error: bool = ...,
        default: object = ...,
        priority: int = ...,
        concurrency: int | None = ...,
    ) -> DurableDecorator: ...
    def retryable(
        self,
        /,
        *,
        durable: bool | Durable = False,
        name: str | None = None,
        aliases: Sequence[str] = (),
        max_attempts: int | None = None,
        initial_backoff: Duration | None = None,
        multiplier: float = 2.0,
        max_backoff: Duration | None = None,
        include: Sequence[type[Exception]] = (Exception,),
        exclude: Sequence[type[Exception]] = (),
        recover: Callable[..., Any] | None = None,
        fallback: Callable[..., Any] | None = None,
        raise_error: bool = False,
        default: object = MISSING,
        priority: int = DEFAULT_PRIORITY,
        concurrency: int | None = None,
    ) -> Any:
        """Have a function tried again: in process as `wow_ray.retryable` does, and with `durable` later by the cluster.

        With `durable` (`True` = `Durable()`) `max_attempts` calls (1) are made at once, in the caller; what they could
        not do is stored and tried later, by whoever runs the app. The caller then gets 0, 0.0, False or `None`, or
        `default`; with `raise_error` the error. `fallback(error, *args, **kwargs)`, or a method's `@recover` method, is
        called at the very end. `.submit(...)` stores a call at once, `.options(...)` says how.

        `name` is what calls are stored under (the function's own, with its class), `aliases` are former names.
        `priority` from 0 to 9, the higher first (4); `concurrency` is how many run at once in all workers together.
        Methods are called on the app's resource of their class. Raises `DefinitionError`, with the function's place.
        """
        if durable is False:
            calls = DEFAULT_ATTEMPTS if max_attempts is None else max_attempts
            _refuse(fallback, "fallback= is called after stored calls; without durable= write recover=")
            in_process: Any = retryable
            waits = {"initial_backoff": initial_backoff, "multiplier": multiplier, "max_backoff": max_backoff}
            return in_process(max_attempts=calls, **waits, include=include, exclude=exclude, recover=recover)
        _refuse(recover, "with durable= write fallback=, which is called at the very end, in place of recover=")
        if durable is not True and not isinstance(durable, Durable):
            raise DefinitionError(f"durable={durable!r} is neither True nor Durable(...), nor False", "WOW-F2")
        plan = (max_attempts, initial_backoff, multiplier, max_backoff, include, exclude)
        given = Given(durable, name, aliases, *plan, fallback, raise_error, default, priority, concurrency)
        return lambda function: self._declared(declare(function, given, self._door))

    def _declared(self, made: DurableFunction[..., Any, Any]) -> DurableFunction[..., Any, Any]:
        """Keep it under its name and its former ones; raises `DefinitionError` for a name that is taken (F4)."""
        for name in (made.declared.name, *made.declared.aliases):
            other = self._functions.setdefault(name, made)
            if other is not made:
                theirs = title(innermost(other.target.function))
                text = f"is called {name!r} as is {theirs}; give one of them another name="
                raise mistake(innermost(made.target.function), text, "WOW-TWICE")
        return made


def _refuse(given: object, why: str) -> None:
    """Raise `DefinitionError` when an option was given that means nothing there."""
    if given is not None:
        raise DefinitionError(why, "WOW-F2")
