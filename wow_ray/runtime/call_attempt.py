"""One call of a durable function, or of its fallback: watched by a deadline, cancelled for cause, never left alone.

What comes back is how it ended. An attempt that timed out counts as failed, also when the function swallowed the
cancellation (B4); a plain function is on a thread, and is late when it returns late (B5). What has not ended a grace
period after its timeout is given up.
"""

from __future__ import annotations

import asyncio
from contextvars import Context, copy_context
from dataclasses import dataclass
from inspect import iscoroutine
from typing import TYPE_CHECKING, Any

from wow_ray.errors import DefinitionError
from wow_ray.runtime.calls import late
from wow_ray.runtime.deadlines import GRACE
from wow_ray.runtime.threads import on_this_thread

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from wow_ray.ports.clock import Cancellable, Clock


@dataclass(frozen=True, slots=True)
class Returned:
    """It returned in time."""

    value: Any


@dataclass(frozen=True, slots=True)
class Raised:
    """It failed, or came late."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class Stopped:
    """It was ended by our own stopping: no attempt (B4)."""


@dataclass(frozen=True, slots=True)
class NotEnding:
    """It goes on although it should have ended long ago."""

    error: TimeoutError


Outcome = Returned | Raised | Stopped | NotEnding


class CallAttempt:
    """One call under way. `stop` and `lose` may be called at any time, also before and after it."""

    def __init__(self, clock: Clock, threads: Executor, base: Context) -> None:
        """`base` are the context variables every call begins with (H31)."""
        self._clock = clock
        self._threads = threads
        self._base = base
        self._task: asyncio.Future[Any] | None = None
        self._end: asyncio.Future[None] | None = None
        """Done once the call has ended, or nobody waits for that any more."""
        self._timer: Cancellable | None = None
        self._stopped = False
        self._timed_out = False
        self._blocking = False

    @property
    def waiting(self) -> bool:
        """Whether a call is under way."""
        return self._task is not None and not self._task.done()

    @property
    def stopped(self) -> bool:
        """Whether it was stopped."""
        return self._stopped

    async def make(self, call: Callable[[], Any], limit: float, *, is_async: bool) -> Outcome:
        """Make the call and wait for its end, at most `limit` seconds and the grace period."""
        loop = asyncio.get_running_loop()
        self._timed_out, self._blocking = False, not is_async
        variables = self._base.copy()
        if self._stopped:
            return Stopped()
        started = self._clock.monotonic()
        if is_async:
            self._task = loop.create_task(_awaited(call), context=variables)
        else:
            self._task = loop.run_in_executor(self._threads, variables.run, on_this_thread, call)
        self._end = loop.create_future()
        self._task.add_done_callback(self._over)
        self._timer = self._clock.call_at(started + limit, self._late)
        try:
            await self._end
        finally:
            self._timer.cancel()
        if not self._task.done():
            self._task.add_done_callback(_seen)
            return Stopped() if self.stopped else NotEnding(late(limit))
        return self._outcome(self._task, limit, self._clock.monotonic() - started)

    def stop(self) -> None:
        """End the call because the worker stops, or its claim is lost; one on a thread goes on to its own end."""
        self._stopped = True
        if self._task is None or self._task.done():
            return
        if not self._blocking:
            self._task.cancel()
        else:
            self._wait_no_more()

    def _outcome(self, task: asyncio.Future[Any], limit: float, took: float) -> Outcome:
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if self._timed_out or (self._blocking and took >= limit):
            timeout = late(limit)
            timeout.__cause__ = error
            return Raised(timeout)
        if error is None:
            value = task.result()
            if self._blocking and iscoroutine(value):
                value.close()
                return Raised(
                    DefinitionError("a plain function returned a coroutine; declare it `async def`", "WOW-ASYNC")
                )
            return Returned(value)
        return Stopped() if self._stopped and issubclass(type(error), asyncio.CancelledError) else Raised(error)

    def _late(self) -> None:
        if self._task is not None and not self._task.done():
            self._timed_out = True
            self._timer = self._clock.call_at(self._clock.monotonic() + GRACE, self._wait_no_more)
            if not self._blocking:
                self._task.cancel()

    def _over(self, task: asyncio.Future[Any]) -> None:
        """Hear that the call has ended."""
        if task is self._task:
            self._wait_no_more()

    def _wait_no_more(self) -> None:
        if self._end is not None and not self._end.done():
            self._end.set_result(None)


def fresh_base() -> Context:
    """Give the context variables of this moment, for every later call to begin with."""
    return copy_context()


async def _awaited(call: Callable[[], Any]) -> object:
    return await call()


def _seen(task: asyncio.Future[Any]) -> None:
    """Look at the end of a call that was given up, so that nobody says it was never looked at."""
    if not task.cancelled():
        task.exception()
