"""What a worker needs of a durable function: `ports.functions.StoredFunction`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from inspect import BoundArguments
from typing import Any

from wow_ray.errors import CannotTravelError
from wow_ray.policy.budget import Budget
from wow_ray.policy.classify import Lists
from wow_ray.policy.durable_fit import Unfit
from wow_ray.policy.local_retries import LocalPlan
from wow_ray.retryable.arguments import Arguments
from wow_ray.retryable.codec import MOST_BYTES, Codec
from wow_ray.retryable.durable import DurableBudget
from wow_ray.retryable.recovering import RecoverMethod, nearest_method
from wow_ray.retryable.target import Target


@dataclass(frozen=True, slots=True)
class Declared:
    """What `@app.retryable(durable=...)` said, checked.

    `neutral` is what a caller gets whose call was stored (not with `raise_error`).
    """

    name: str
    aliases: tuple[str, ...]
    plan: LocalPlan
    durable: DurableBudget
    raise_error: bool
    neutral: Any
    fallback: Target | None
    priority: int
    concurrency: int | None


class WorkerSide:
    """One durable function as its workers see it: read, called, its fallback called, its result written."""

    def __init__(  # noqa: PLR0917 - the parts of one declaration
        self,
        target: Target,
        declared: Declared,
        arguments: Arguments,
        result: Codec,
        owner: type[Any] | None,
        methods: Mapping[type[BaseException], RecoverMethod],
    ) -> None:
        """Made by `DurableFunction.for_workers`; `methods` are the `@recover` methods of a method's class."""
        self._target = target
        self._declared = declared
        self._arguments = arguments
        self._result = result
        self._owner = owner
        self._methods = methods
        retried = declared.plan.retried
        self.subscription = declared.name
        self.aliases = declared.aliases
        self.budget: Budget = declared.durable.budget
        # What was named is the call's own; `Exception` alone names nothing, so that classifiers are asked.
        self.lists = Lists(tuple(each for each in retried.include if each is not Exception), retried.exclude)
        self.concurrency = declared.concurrency
        self.is_async = target.is_async
        self.receiver = owner if target.kind == "plain" else None
        self.has_fallback = declared.fallback is not None or bool(methods)

    def covers(self, error: BaseException) -> bool:
        """See the port."""
        return self._declared.plan.retried.covers(error)

    def read(self, payload: str) -> BoundArguments | Unfit:
        """See the port."""
        return self._arguments.read(payload)

    def call(self, receiver: object, arguments: BoundArguments) -> Any:  # noqa: ANN401 - what it gives
        """See the port."""
        return self._target.function(*self._before(receiver), *arguments.args, **arguments.kwargs)

    def fall_back(self, error: BaseException, receiver: object, arguments: BoundArguments) -> Any:  # noqa: ANN401 - what it gives
        """See the port."""
        return self.last_stop(error, self._before(receiver), arguments.args, arguments.kwargs)

    def fallback_is_async(self, error: BaseException) -> bool:
        """See the port."""
        if self._declared.fallback is not None:
            return self._declared.fallback.is_async
        method = nearest_method(self._methods, error)
        return method is not None and method.target.is_async

    def last_stop(
        self, error: BaseException, before: tuple[Any, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:  # noqa: ANN401 - what it gives
        """Call the fallback with the error and all arguments; `None` where there is none for this error."""
        if self._declared.fallback is not None:
            return self._declared.fallback.function(error, *before, *args, **kwargs)
        method = nearest_method(self._methods, error)
        if method is None:
            return None
        receiver = before[0] if before else self._owner
        return getattr(receiver, method.name)(error, *args, **kwargs)

    def write_result(self, result: object) -> str:
        """See the port."""
        text = self._result.write(result)
        if (size := len(text.encode())) > MOST_BYTES:
            raise CannotTravelError(
                f"{self.subscription}: the result has {size:,} bytes, {MOST_BYTES:,} is the most; "
                "store it elsewhere and return where"
            )
        return text

    def _before(self, receiver: object) -> tuple[Any, ...]:
        """Give what goes before the arguments."""
        if self._owner is None or self._target.kind == "staticmethod":
            return ()
        return (receiver,) if self._target.kind == "plain" else (self._owner,)
