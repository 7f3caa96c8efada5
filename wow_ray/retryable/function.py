"""A function that is tried again in its own process (F1)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, cast, overload

from wow_ray.policy.local_retries import LocalPlan
from wow_ray.retryable.attempts import attempts, awaited_attempts
from wow_ray.retryable.binding import Bindable
from wow_ray.retryable.handles import LocalHandle, in_loop, in_pool
from wow_ray.retryable.recovering import nearest_method
from wow_ray.retryable.surroundings import present
from wow_ray.retryable.target import Target

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")


class RetryableFunction(Bindable, Generic[P, R, T]):
    """What `@retryable` makes of a function: called as before, tried again when it fails.

    `P` are its parameters, `R` is what a call gives, `T` what it returns in the end (the same for a plain function).
    """

    def __init__(self, target: Target, plan: LocalPlan, handed: Target | None) -> None:
        """Made by `retryable`; `handed` is what `recover=` named."""
        super().__init__(target)
        self.plan = plan
        self._handed = handed

    def __repr__(self) -> str:
        """Say what it is."""
        return f"<retryable {self.target.name}>"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call it, again where that helps; the answer of `recover` is the answer."""
        return cast("R", self._run(present().new_id(), args, kwargs))

    def submit(self, *args: P.args, **kwargs: P.kwargs) -> LocalHandle[T]:
        """Call it in the background of this process: async as a task of this loop, plain on a thread.

        What is not `durable` ends with the process; `@app.retryable(durable=...)` survives it.
        """
        call_id = present().new_id()
        start = in_loop if self.target.is_async else in_pool
        return start(call_id, lambda: self._run(call_id, args, kwargs))

    def __set_name__(self, owner: type[Any], name: str) -> None:
        """Find the `@recover` methods of the class; raises `DefinitionError`."""
        self._complete(owner, handed=self._handed is not None)

    def _run(self, call_id: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:  # noqa: ANN401 - R
        target = self.target
        given = (*self._before, *args)
        call = functools.partial(target.function, *given, **kwargs)
        if target.is_async:

            async def awaited(error: BaseException) -> Any:  # noqa: ANN401 - R
                answer, waits = self._recovered(error, args, kwargs)
                return await answer if waits else answer

            return awaited_attempts(self.plan, target.name, call_id, call, awaited)
        return attempts(self.plan, target.name, call_id, call, lambda error: self._recovered(error, args, kwargs)[0])

    def _recovered(self, error: BaseException, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, bool]:
        """Have somebody else answer, or let the error out; tells whether the answer is to be awaited."""
        if self._handed is not None:
            return self._handed.function(error, *self._before, *args, **kwargs), self._handed.is_async
        receiver, rest = self._receiver, args
        if receiver is None and self._methods:  # called through the class: the receiver is the first argument
            receiver, rest = (args[0], args[1:]) if args else (None, args)
        method = nearest_method(self._methods or {}, error)
        if method is None or receiver is None:
            raise error
        return getattr(receiver, method.name)(error, *rest, **kwargs), method.target.is_async


class RetryableMethod(RetryableFunction[P, R, T]):
    """The same as a type checker sees it where it may stand in a class: bound to its instance on access."""

    @overload
    def __get__(self, instance: None, owner: type[Any]) -> Self: ...
    @overload
    def __get__(
        self: RetryableMethod[Concatenate[S, Q], R, T], instance: S, owner: type[Any] | None = None
    ) -> RetryableFunction[Q, R, T]: ...
    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> Self: ...
    def __get__(self, instance: object, owner: type[Any] | None = None) -> Any:
        """Bind the receiver."""
        return self._bind(instance, owner)


class RetryableMember(RetryableFunction[P, R, T]):
    """The same made of a class or static method, whose parameters never hold the receiver."""

    def __get__(self, instance: object, owner: type[Any] | None = None) -> Self:
        """Bind the class."""
        return self._bind(instance, owner)


def made_of(target: Target, plan: LocalPlan, handed: Target | None) -> RetryableFunction[..., Any, Any]:
    """Make the object that takes the function's place."""
    cls: Callable[[Target, LocalPlan, Target | None], RetryableFunction[..., Any, Any]]
    cls = RetryableMethod if target.kind == "plain" else RetryableMember
    return cls(target, plan, handed)
