"""One call of a handler that may wait: stepped in its own context, watched by the deadlines, or run on a thread.

What comes back is how the call ended: `None` = it returned in time, an error = the attempt counts as failed. A timeout
counts as failed also when the handler swallowed its cancellation (B4), and nothing here returns before the call has
really ended. Our own interruption is no attempt: it is raised as `Interrupted` (K5).
"""

from __future__ import annotations

import asyncio
from contextvars import Context, copy_context
from functools import partial
from inspect import iscoroutine
from typing import TYPE_CHECKING, Any

from wow_ray.errors import DefinitionError
from wow_ray.policy.classify import control_flow
from wow_ray.runtime.deadlines import Call
from wow_ray.runtime.stepping import Suspended
from wow_ray.runtime.threads import on_this_thread

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from wow_ray.ports.clock import Clock
    from wow_ray.runtime.deadlines import Deadlines
    from wow_ray.runtime.group import Handler
    from wow_ray.runtime.lane import Cell, Lane


class Interrupted(Exception):  # noqa: N818 - a control signal, not an error
    """The call was ended by our own stopping, or its slot was lost."""


class Attempt:
    """What is called: one event of a lane, its handler, how long it may take, and the worker's task that steps it."""

    __slots__ = ("cell", "handler", "lane", "limit", "task")

    def __init__(self, lane: Lane, cell: Cell, handler: Handler, task: asyncio.Task[None]) -> None:
        """Take the limit from the handler, or for a parked retry from its parked settings (P6)."""
        self.lane = lane
        self.cell = cell
        self.handler = handler
        self.task = task
        self.limit = handler.parked.timeout if lane.retrying else handler.timeout


class Calls:
    """Makes the calls of one partition."""

    def __init__(self, clock: Clock, deadlines: Deadlines, threads: Executor, suspending: Callable[[], None]) -> None:
        """`suspending()` is told whenever a call is about to wait, so that other work can go on."""
        self._clock = clock
        self._deadlines = deadlines
        self._threads = threads
        self._suspending = suspending
        self._base = copy_context()

    def fresh_context(self) -> Context:
        """Give the context variables that every call begins with: those of the partition's start (H31)."""
        return self._base.copy()

    async def invoke(self, attempt: Attempt, *arguments: Any) -> BaseException | None:  # noqa: ANN401 - the handler's
        """Call the handler and wait for its end."""
        if attempt.handler.blocking:
            return await self._on_thread(attempt, arguments)
        started = self._clock.monotonic()
        try:
            coroutine = attempt.handler.function(*arguments)
            variables = self.fresh_context()
            waits_for = variables.run(coroutine.send, None)
        except StopIteration:
            return late(attempt.limit) if self._clock.monotonic() - started > attempt.limit else None
        except BaseException as error:
            if control_flow(error):
                raise
            return error
        return await self.watched(attempt, Suspended(coroutine, variables, waits_for))

    async def watched(self, attempt: Attempt, suspended: Suspended) -> BaseException | None:
        """Await a suspended call under its deadline.

        A cancellation that is not ours fails the attempt, also one of this very task (K5): `Workers` ends that task.
        """
        task = attempt.task
        call = Call(attempt.lane, attempt.cell, self._clock.monotonic() + attempt.limit, task, blocking=False)
        self._deadlines.watch(call)
        self._suspending()
        error: BaseException | None = None
        try:
            await suspended
        except BaseException as raised:
            if control_flow(raised):
                raise
            error = raised
        finally:
            self._deadlines.calls.discard(call)
        if call.timed_out or call.interrupted:
            while task.cancelling():
                task.uncancel()
        _ended(call)
        if call.interrupted and error is not None:
            raise Interrupted
        return _as_late(attempt, error) if call.timed_out else error

    async def _on_thread(self, attempt: Attempt, arguments: tuple[Any, ...]) -> BaseException | None:
        """Run a blocking handler on a thread.

        It counts as failed when it returns late, not when the timeout passes (B5).
        """
        lane, handler = attempt.lane, attempt.handler
        call = Call(lane, attempt.cell, self._clock.monotonic() + attempt.limit, attempt.task, blocking=True)
        due = call.deadline
        run = partial(self.fresh_context().run, on_this_thread, partial(handler.function, *arguments))
        future = asyncio.get_running_loop().run_in_executor(self._threads, run)
        self._deadlines.watch(call)
        self._suspending()
        error: BaseException | None = None
        result: object = None
        try:
            result = await asyncio.shield(future)
        except asyncio.CancelledError:
            if not future.done():
                raise
            error = future.exception()
        except BaseException as raised:
            if control_flow(raised):
                raise
            error = raised
        finally:
            self._deadlines.calls.discard(call)
        _ended(call)
        if iscoroutine(result):
            result.close()
            text = f"{handler.subscription} is a plain function that returned a coroutine; declare it `async def`"
            return DefinitionError(text, "WOW-ASYNC")
        return _as_late(attempt, error) if self._clock.monotonic() >= due else error


def late(limit: float) -> TimeoutError:
    """Give the error of an attempt that took longer than it may."""
    return TimeoutError(f"the attempt ran longer than its timeout of {limit:g} s")


def _as_late(attempt: Attempt, error: BaseException | None) -> TimeoutError:
    timeout = late(attempt.limit)
    timeout.__cause__ = error
    return timeout


def _ended(call: Call) -> None:
    """Let an aggregate whose call was given up be called again, now that the call has ended (B4)."""
    if call.abandoned:
        call.lane.group.stuck.pop(call.lane.key, None)
