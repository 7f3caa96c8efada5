"""A function whose calls are stored when they fail, and tried later by the cluster (F2)."""

from __future__ import annotations

import functools
import logging
from collections.abc import Mapping
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, cast, overload

from wow_ray.durations import Duration
from wow_ray.failure import Category, Failure
from wow_ray.places import mistake
from wow_ray.policy.durable_call import NewCall
from wow_ray.retryable.arguments import Arguments
from wow_ray.retryable.attempts import attempts, awaited_attempts
from wow_ray.retryable.binding import Bindable
from wow_ray.retryable.codec import Codec
from wow_ray.retryable.door import FindDoor
from wow_ray.retryable.durable import checked_delay
from wow_ray.retryable.host import hosted
from wow_ray.retryable.stored_handle import StoredHandle
from wow_ray.retryable.submitting import SubmitOptions, checked_headers, checked_priority, checked_text
from wow_ray.retryable.surroundings import present
from wow_ray.retryable.target import Target, innermost
from wow_ray.retryable.worker_side import Declared, WorkerSide

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")

log = logging.getLogger("wow_ray.retryable")


class DurableFunction(Bindable, Generic[P, R, T]):
    """What `@app.retryable(durable=...)` makes of a function; `for_workers` is what runs its stored calls.

    `P` are its parameters, `R` is what a call gives, `T` what it returns in the end.
    """

    def __init__(self, target: Target, declared: Declared, result: Codec, door: FindDoor) -> None:
        """Made by `app.retryable`; a method is complete once its class is."""
        super().__init__(target)
        self.declared = declared
        self._door = door
        self._result = result
        self._options = SubmitOptions()
        self._owner: type[Any] | None = None
        self._arguments: Arguments | None = None if in_class(target) else Arguments(target, receiver=False)

    def __repr__(self) -> str:
        """Say what it is."""
        return f"<durable {self.declared.name}>"

    def __set_name__(self, owner: type[Any], name: str) -> None:
        """Take a method's receiver from its class, now that it is complete; raises `DefinitionError`."""
        self._complete(owner, handed=self.declared.fallback is not None)
        self._owner = owner
        self._arguments = Arguments(self.target, receiver=self.target.kind != "staticmethod")

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call it; what fails is stored and tried later, and answers the neutral value, or raises with `raise_error`.

        Raises `NotConnectedError` where the app is not connected, before anything is called, and what storing raises.
        """
        door, call_id = self._door(), present().new_id()
        before, rest = self._split(args)
        payload = self.arguments.write(rest, kwargs)
        call = functools.partial(self.target.function, *before, *rest, **kwargs)
        name, plan = self.declared.name, self.declared.plan
        side = self.for_workers() if self.declared.durable.max_retries == 0 else None
        if self.target.is_async:

            async def later(error: BaseException) -> Any:  # noqa: ANN401 - R
                if side is not None:
                    answer = side.last_stop(error, before, rest, kwargs)
                    if side.fallback_is_async(error):
                        await answer
                else:
                    stored = self._failed(call_id, payload, error)
                    await door.reach(lambda: door.calls.submit(stored))
                    door.stored()
                return self._answer(error, call_id)

            return cast("R", awaited_attempts(plan, name, call_id, call, later))

        def now(error: BaseException) -> Any:  # noqa: ANN401 - R
            if side is not None:
                side.last_stop(error, before, rest, kwargs)
            else:
                stored = self._failed(call_id, payload, error)
                door.reach_blocking(lambda: door.calls.submit(stored))
                door.stored()
            return self._answer(error, call_id)

        door.refuse_blocking(name)
        return cast("R", attempts(plan, name, call_id, call, now))

    async def submit(self, *args: P.args, **kwargs: P.kwargs) -> StoredHandle[T]:
        """Store the call at once; the cluster runs it in the background. Answers a handle on it.

        Raises `NotConnectedError`, `CannotTravelError` with the parameter's name.
        """
        door, options = self._door(), self._options
        _, rest = self._split(args)
        call = NewCall(
            id=present().new_id(),
            function=self.declared.name,
            payload=self.arguments.write(rest, kwargs),
            key=options.key,
            priority=self.declared.priority if options.priority is None else options.priority,
            delay=options.delay,
            headers=options.headers,
        )
        if options.connection is not None:
            stored = await door.calls.submit(call, connection=options.connection)
        else:
            stored = await door.reach(lambda: door.calls.submit(call))
        door.stored()
        return StoredHandle(stored.id, door, self._result, new=stored.new)

    def submit_blocking(self, *args: P.args, **kwargs: P.kwargs) -> str:
        """Do as `submit`, in code without an event loop; answers the call's id."""
        door = self._door()
        door.refuse_blocking(self.declared.name)
        return door.reach_blocking(lambda: self.submit(*args, **kwargs)).id

    def options(
        self,
        *,
        delay: Duration = "0s",
        priority: int | None = None,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        connection: Any = None,  # noqa: ANN401 - the driver's own
    ) -> Self:
        """Give the same function for calls to be submitted otherwise: `f.options(delay="1h").submit(...)`.

        `delay` before the first call, at most 366 days. `priority` from 0 to 9, the higher first. `key` dedupes: while
        a call under it is pending, submitting answers that one. `headers` travel with it (`current_call().headers`).
        `connection`: store it in the transaction that is open there, to exist when that commits (Postgres only).
        Raises `ConfigurationError` naming the option.
        """
        checked = SubmitOptions(
            checked_delay(delay, "delay"),
            None if priority is None else checked_priority(priority),
            None if key is None else checked_text(key, "key"),
            checked_headers(headers or {}),
            connection,
        )
        other = self._bound(self._receiver, self._before)
        other._options = checked  # noqa: SLF001 - a copy of itself
        return other

    def handle(self, call_id: str) -> StoredHandle[T]:
        """Give a handle on a call by its id, in any process that is connected."""
        return StoredHandle(call_id, self._door(), self._result)

    @property
    def arguments(self) -> Arguments:
        """The parameters; raises `DefinitionError` for a method that was never told its class."""
        if self._arguments is None:
            text = "stands below another decorator in its class; put @app.retryable outermost"
            raise mistake(innermost(self.target.function), text, "WOW-F2")
        return self._arguments

    def for_workers(self, host: Mapping[str, Any] | None = None) -> WorkerSide:
        """Give what a worker needs of it, with what the `host` sets for it; raises as `arguments` and `hosted` do."""
        declared = hosted(self.declared, host) if host else self.declared
        return WorkerSide(self.target, declared, self.arguments, self._result, self._owner, self._methods or {})

    def _split(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Part the receiver from the arguments that travel."""
        if self._before or self._owner is None or self.target.kind != "plain":
            return self._before, args
        return args[:1], args[1:]

    def _failed(self, call_id: str, payload: str, error: BaseException) -> NewCall:
        """Give the call to be stored after the last call here failed."""
        most = present().most
        plan = self.declared.plan
        return NewCall(
            id=call_id,
            function=self.declared.name,
            payload=payload,
            priority=self.declared.priority,
            delay=self.declared.durable.first_delay(),
            attempts=plan.max_attempts if most is None else min(most, plan.max_attempts),
            spent=1,
            failure=Failure.capture(error, Category.RECOVERABLE, "default"),
        )

    def _answer(self, error: BaseException, call_id: str) -> Any:  # noqa: ANN401 - of the function's type
        """Let the error out or hide it, as was declared; the call is looked after either way."""
        if self.declared.raise_error:
            raise error
        log.warning("%s failed and is tried again later as call %s: %r", self.declared.name, call_id, error)
        return self.declared.neutral


class DurableMethod(DurableFunction[P, R, T]):
    """The same as a type checker sees it where it may stand in a class: bound to its instance on access."""

    @overload
    def __get__(self, instance: None, owner: type[Any]) -> Self: ...
    @overload
    def __get__(
        self: DurableMethod[Concatenate[S, Q], R, T], instance: S, owner: type[Any] | None = None
    ) -> DurableFunction[Q, R, T]: ...
    def __get__(self, instance: object, owner: type[Any] | None = None) -> Any:
        """Bind the receiver."""
        return self._bind(instance, owner)


class DurableMember(DurableFunction[P, R, T]):
    """The same made of a class or static method."""

    def __get__(self, instance: object, owner: type[Any] | None = None) -> Self:
        """Bind the class."""
        return self._bind(instance, owner)


def in_class(target: Target) -> bool:
    """Tell whether a function stands in the body of a class, from its qualified name."""
    if target.kind != "plain":
        return True
    around = target.name.rpartition(".")[0]
    return bool(around) and not around.endswith("<locals>")
