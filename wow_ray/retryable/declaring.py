"""Declaring a durable function: its name, and everything that can be refused before anything is called (F2, F4)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec, Protocol, TypeVar, overload

from wow_ray.durations import Duration
from wow_ray.errors import ConfigurationError, DefinitionError
from wow_ray.names import checked_name
from wow_ray.places import mistake
from wow_ray.policy.given import checked_count
from wow_ray.retryable.arguments import result_codec
from wow_ray.retryable.door import FindDoor
from wow_ray.retryable.durable import Durable
from wow_ray.retryable.durable_function import DurableFunction, DurableMember, DurableMethod
from wow_ray.retryable.neutral import neutral_value
from wow_ray.retryable.options import checked_plan
from wow_ray.retryable.recovering import check_handed
from wow_ray.retryable.submitting import checked_priority
from wow_ray.retryable.target import Target, innermost, read_target
from wow_ray.retryable.worker_side import Declared

P = ParamSpec("P")
T = TypeVar("T")


class DurableDecorator(Protocol):
    """What `app.retryable(durable=...)` gives; an `async` function stays one."""

    @overload
    def __call__(
        self, function: Callable[P, Coroutine[Any, Any, T]], /
    ) -> DurableMethod[P, Coroutine[Any, Any, T], T]: ...
    @overload
    def __call__(self, function: Callable[P, T], /) -> DurableMethod[P, T, T]: ...


@dataclass(frozen=True, slots=True)
class Given:
    """What `app.retryable(durable=...)` was given, as it was written."""

    durable: bool | Durable
    name: str | None
    aliases: Sequence[str]
    max_attempts: int | None
    initial_backoff: Duration | None
    multiplier: float
    max_backoff: Duration | None
    include: Sequence[type[Exception]]
    exclude: Sequence[type[Exception]]
    fallback: Callable[..., Any] | None
    raise_error: bool
    default: Any
    priority: int
    concurrency: int | None


def declare(function: Any, given: Given, door: FindDoor) -> DurableFunction[..., Any, Any]:  # noqa: ANN401 - whatever is decorated
    """Make the durable function.

    Raises:
        ConfigurationError: with the place, for whatever is wrong with it.
    """
    target = read_target(function)
    place = innermost(target.function)
    plan = checked_plan(
        target,
        1 if given.max_attempts is None else given.max_attempts,
        given.initial_backoff,
        given.multiplier,
        given.max_backoff,
        given.include,
        given.exclude,
    )
    result = result_codec(target.function)
    handed = None if given.fallback is None else _fallback(target, given.fallback)
    try:
        declared = Declared(
            name=_name(target, given.name),
            aliases=tuple(dict.fromkeys(_dotted(alias) for alias in _texts(given.aliases))),
            plan=plan,
            durable=(given.durable if isinstance(given.durable, Durable) else Durable()).seconds,
            raise_error=given.raise_error,
            neutral=None if given.raise_error else neutral_value(target, result, given.default),
            fallback=handed,
            priority=checked_priority(given.priority),
            concurrency=None if given.concurrency is None else checked_count(given.concurrency, "concurrency"),
        )
    except ConfigurationError as error:
        if str(getattr(place, "__qualname__", "?")) in error.message:
            raise
        raise mistake(place, f"@app.retryable: {error.message}", error.code) from error
    cls = DurableMethod if target.kind == "plain" else DurableMember
    return cls(target, declared, result, door)


def _fallback(target: Target, fallback: Callable[..., Any]) -> Target:
    """Read the fallback; what it returns is nobody's result, so its type does not matter."""
    return check_handed(target, fallback, "fallback", returns=False)


def _name(target: Target, given: str | None) -> str:
    """Give the stable name under which calls are stored (F4)."""
    plain = innermost(target.function)
    if getattr(plain, "__module__", "") == "__main__":
        text = "is defined in __main__, which is another module in every process; move it to one that can be imported"
        raise DefinitionError(text, "WOW-F4")
    if given is not None:
        return _dotted(given)
    if "<" in target.name:
        text = "is defined inside a function, so that its name is not its own; give it one: name='roll_back_stock'"
        raise DefinitionError(text, "WOW-F4")
    return _dotted(target.name)


def _dotted(name: object) -> str:
    """Check a name of one part or more, as `Stock.roll_back`."""
    if not isinstance(name, str):
        checked_name(name, "a durable function")
    return ".".join(checked_name(part, "a durable function") for part in str(name).split("."))


def _texts(aliases: Sequence[str]) -> Sequence[str]:
    if isinstance(aliases, str):  # a sequence of texts, to a type checker
        raise DefinitionError(f"aliases={aliases!r} is one text; write aliases=[{aliases!r}]", "WOW-ALIAS")
    return aliases
