"""What `.submit(...)` gives: a handle on a call that goes on by itself."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from typing import Any, Generic, TypeVar

from wow_ray.durations import Duration, seconds, show
from wow_ray.errors import WaitTimeoutError
from wow_ray.policy.durable_call import CallState

T = TypeVar("T")

BACKGROUND = 32
"""Calls of plain functions that run in the background at once; the seed's executor has as many for one core."""


class CallHandle(ABC, Generic[T]):
    """A call under way: here in the background, or stored and run by the cluster. `id` is the call's for good (F8)."""

    id: str

    @abstractmethod
    async def state(self) -> CallState:
        """Ask where it stands."""

    @abstractmethod
    async def result(self, timeout: Duration | None = None) -> T:  # noqa: ASYNC109 - the name in the design
        """Wait for what it returns.

        Raises `WaitTimeoutError` when that takes longer; when the call failed its own error, or `CallFailedError`.
        """

    @abstractmethod
    async def cancel(self) -> bool:
        """Let it be called no more, and end a call under way; `False` = it was over."""


class LocalHandle(CallHandle[T]):
    """A call in the background of this process; it ends with the process."""

    def __init__(self, call_id: str, future: Future[T] | asyncio.Task[T]) -> None:
        """Made by `.submit(...)`."""
        self.id = call_id
        self._future = future

    async def state(self) -> CallState:
        """See the base class; a thread that has begun cannot be told from one that is about to."""
        if not self._future.done():
            waits = isinstance(self._future, Future) and not self._future.running()
            return CallState.WAITING if waits else CallState.RUNNING
        if self._future.cancelled():
            return CallState.CANCELLED
        return CallState.SUCCEEDED if self._future.exception() is None else CallState.EXHAUSTED

    async def result(self, timeout: Duration | None = None) -> T:  # noqa: ASYNC109 - the name in the design
        """See the base class."""
        limit = None if timeout is None else seconds(timeout, "result(timeout)", zero=True)
        future = self._future
        waited = asyncio.wrap_future(future) if isinstance(future, Future) else future
        await asyncio.wait({waited}, timeout=limit)
        if not waited.done():
            raise WaitTimeoutError(f"call {self.id} has not ended within {show(limit or 0.0)}")
        return waited.result()

    def wait(self, timeout: Duration | None = None) -> T:
        """Do as `result`, in code without an event loop; for functions that are not `async`."""
        limit = None if timeout is None else seconds(timeout, "wait(timeout)", zero=True)
        if isinstance(self._future, asyncio.Task):
            raise WaitTimeoutError("an async call runs in its loop; write `await handle.result(...)`")
        try:
            return self._future.result(limit)
        except TimeoutError:
            if self._future.done():
                raise
            raise WaitTimeoutError(f"call {self.id} has not ended within {show(limit or 0.0)}") from None

    async def cancel(self) -> bool:
        """See the base class; a plain function that has begun goes on to its end."""
        return self._future.cancel()


_tasks: set[asyncio.Task[Any]] = set()


def in_loop(call_id: str, call: Callable[[], Any]) -> LocalHandle[Any]:
    """Run an async call as a task of the running loop, which keeps it alive."""
    task = asyncio.get_running_loop().create_task(call())
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
    return LocalHandle(call_id, task)


def in_pool(call_id: str, call: Callable[[], T]) -> LocalHandle[T]:
    """Run a blocking call on a thread, in a copy of the present context."""
    return LocalHandle(call_id, _pool().submit(copy_context().run, call))


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(BACKGROUND, thread_name_prefix="wow-ray-background")
