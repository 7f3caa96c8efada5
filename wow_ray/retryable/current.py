"""Which call is under way: a context variable of that one call, never a counter of the function's (F5, S99)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from wow_ray.errors import DefinitionError


@dataclass(frozen=True, slots=True)
class CurrentCall:
    """One attempt of a retryable function.

    `id` stays the same at every attempt, also at those made days later elsewhere: hand it on as the idempotency key
    (F8). `attempt` counts calls from 1; `last` tells whether no further one follows a failure. `headers` are those the
    call was stored with.
    """

    id: str
    function: str
    attempt: int
    last: bool
    headers: Mapping[str, str] = field(default_factory=dict)


_CURRENT: ContextVar[CurrentCall | None] = ContextVar("wow_ray_current_call", default=None)


def current_call() -> CurrentCall:
    """Answer the innermost retryable call under way; raises `DefinitionError` (`WOW-F5`) where there is none."""
    call = _CURRENT.get()
    if call is None:
        raise DefinitionError("current_call() is known only while a @retryable function is called", "WOW-F5")
    return call


@contextmanager
def calling(call: CurrentCall) -> Iterator[None]:
    """Let this be the current call during a block; afterwards the one around it is again."""
    before = _CURRENT.set(call)
    try:
        yield
    finally:
        _CURRENT.reset(before)
