"""The calls made at once, one after the other with their waits: for functions that wait and for those that block."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import count
from typing import TypeVar, assert_never

from wow_ray.policy.local_retries import Again, Last, LocalPlan, Propagate, decide_local
from wow_ray.retryable.current import CurrentCall, calling
from wow_ray.retryable.surroundings import present

T = TypeVar("T")


def attempts(plan: LocalPlan, name: str, call_id: str, call: Callable[[], T], last: Callable[[BaseException], T]) -> T:
    """Call until it returns, the budget is spent, or an error comes that is not tried again.

    `last(error)` gives the answer after the last failure, or raises.
    """
    around = present()
    for attempt in count(1):
        try:
            with calling(_current(plan, name, call_id, attempt, around.most)):
                return call()
        except BaseException as error:
            decision = decide_local(plan, error, attempt, around.most)
            match decision:
                case Propagate():
                    raise
                case Last():
                    return last(error)
                case Again():
                    pause = 0.0 if around.instant else decision.wait
                case _:
                    assert_never(decision)
        if pause > 0:
            around.block(pause)
    raise AssertionError("unreachable")


async def awaited_attempts(
    plan: LocalPlan,
    name: str,
    call_id: str,
    call: Callable[[], Awaitable[T]],
    last: Callable[[BaseException], Awaitable[T]],
) -> T:
    """Do as `attempts` does, with a function that is awaited; a wait holds nothing but the caller."""
    around = present()
    for attempt in count(1):
        try:
            with calling(_current(plan, name, call_id, attempt, around.most)):
                return await call()
        except BaseException as error:
            decision = decide_local(plan, error, attempt, around.most)
            match decision:
                case Propagate():
                    raise
                case Last():
                    return await last(error)
                case Again():
                    pause = 0.0 if around.instant else decision.wait
                case _:
                    assert_never(decision)
        if pause > 0:
            await around.sleep(pause)
    raise AssertionError("unreachable")


def _current(plan: LocalPlan, name: str, call_id: str, attempt: int, most: int | None) -> CurrentCall:
    limit = plan.max_attempts if most is None else min(most, plan.max_attempts)
    return CurrentCall(call_id, name, attempt, attempt >= limit)
