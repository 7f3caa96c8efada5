"""A function that is tried again in its own process (F1)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, cast, overload

from wow_ray.places import mistake
from wow_ray.policy.local_retries import LocalPlan
from wow_ray.retryable.attempts import attempts, awaited_attempts
from wow_ray.retryable.handles import LocalHandle, in_loop, in_pool
from wow_ray.retryable.recovering import RecoverMethod, nearest_method, recover_methods
from wow_ray.retryable.surroundings import present
from wow_ray.retryable.target import Target, innermost

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")

Methods = Mapping[type[BaseException], RecoverMethod]


class RetryableFunction(Generic[P, R, T]):
    """What `@retryable` makes of a function: called as before, tried again when it fails.

    `P` are its parameters, `R` is what a call gives, `T` what it returns in the end (the same for a plain function).
    """

    __wow_retryable__ = True

    def __init__(self, target: Target, plan: LocalPlan, handed: Target | None) -> None:
        """Made by `retryable`; `handed` is what `recover=` named."""
        self.target = target
        self.plan = plan
        self._handed = handed
        self._methods: Methods | None = None
        self._receiver: object = None
        self._before: tuple[Any, ...] = ()
        # Takes over name, docstring, module and `__wrapped__`, so that tools see the function.
        functools.update_wrapper(self, innermost(target.function))
        self.__wrapped__ = target.function

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
        """Find the `@recover` methods of the class, now that it is complete; raises `DefinitionError`."""
        methods = recover_methods(owner, self.target)
        if methods and self._handed is not None:
            text = f"has recover= and the @recover method {methods[0].name} of its class; keep one of them"
            raise mistake(innermost(self.target.function), text, "WOW-F1")
        self._methods = {method.error: method for method in methods}

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

    def _bound(self, receiver: object, before: tuple[Any, ...]) -> Self:
        """Give the same function for one receiver."""
        bound = object.__new__(type(self))
        bound.__dict__.update(self.__dict__)
        bound._receiver, bound._before = receiver, before
        return bound

    def _bind(self, instance: object, owner: type[Any] | None) -> Self:
        """Bind as a function, a classmethod or a staticmethod would."""
        if owner is None:
            owner = type(instance)
        if self._methods is None:
            self._refuse_inside(owner)
        match self.target.kind:
            case "staticmethod":
                return self._bound(owner, ())
            case "classmethod":
                return self._bound(owner, (owner,))
            case "plain":
                return self if instance is None else self._bound(instance, (instance,))

    def _refuse_inside(self, owner: type[Any]) -> None:
        """Refuse what stands below another decorator in a class whose `@recover` methods it would not find (F1)."""
        if recover_methods(owner, self.target):
            raise mistake(
                innermost(self.target.function), "stands below another decorator; put @retryable outermost", "WOW-F1"
            )


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
