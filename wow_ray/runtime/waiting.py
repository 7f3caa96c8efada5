"""Waiting for our own work with a bound on the injected clock."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from wow_ray.ports.clock import Clock


T = TypeVar("T")


async def within(clock: Clock, seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """Wait for the work that long on the injected clock; raises `TimeoutError`, and then the work is cancelled."""
    task = asyncio.get_running_loop().create_task(work)
    until = clock.monotonic() + seconds
    timer = clock.call_at(until, lambda: _cancel(task))
    try:
        return await task
    except asyncio.CancelledError:
        if task.cancelled() and clock.monotonic() >= until:
            raise TimeoutError(f"not done within {seconds:g} s") from None
        raise
    finally:
        timer.cancel()


def _cancel(task: asyncio.Task[Any]) -> None:
    task.cancel()
