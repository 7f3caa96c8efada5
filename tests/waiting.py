"""Waiting in tests: for a condition, with a deadline, never for a fixed time."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable


async def until(condition: Callable[[], object | Awaitable[object]], what: str, *, seconds: float = 30.0) -> None:
    """Wait until `condition()` (plain or async) is true; fail with `what` after `seconds` of real time."""
    deadline = time.monotonic() + seconds
    while True:
        answer = condition()
        if inspect.isawaitable(answer):
            answer = await answer
        if answer:
            return
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:g} s in vain for {what}")
        await asyncio.sleep(0.01)


def until_blocking(condition: Callable[[], object], what: str, *, seconds: float = 30.0) -> None:
    """As `until`, for tests without an event loop."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:g} s in vain for {what}")
        time.sleep(0.01)
