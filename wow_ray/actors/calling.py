"""The process that makes calls for a partition: it holds one processor, made here, with resources of its own.

Whatever a handler raises becomes data before it leaves: class, text, traceback, and the category, found here where the
class of the error exists. What ends the process ends only the one call it was making (S76, P15).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Callable, Coroutine
from functools import partial
from inspect import iscoroutine
from typing import Any

from pydantic import TypeAdapter

from wow_ray.actors.isolation import Reply, Told, processor_of
from wow_ray.actors.site import Calling, Site
from wow_ray.errors import DefinitionError
from wow_ray.events import AggregateRef, StoredEvent
from wow_ray.failure import capture, causes
from wow_ray.handlers.contexts import Context, ReactContext
from wow_ray.handlers.resources import Resources
from wow_ray.handlers.specs import GroupSpec, HandlerSpec
from wow_ray.policy.classify import control_flow
from wow_ray.policy.retry_after import retry_after_of
from wow_ray.raised import attributes_of
from wow_ray.runtime.decoding import decode, event_of, state_event_of
from wow_ray.runtime.threads import on_this_thread
from wow_ray.runtime.verdicts import Verdicts

log = logging.getLogger("wow_ray.actors")

ENDED_BY_HANDLER = 71
"""The exit code of a process that a handler ended by raising `SystemExit` or `KeyboardInterrupt` (K5)."""


class CallActor:
    """Makes the calls of one processor. Nothing is opened when it is made."""

    def __init__(self, site: Site, processor: str, end: Callable[[int], Any] = os._exit) -> None:
        """Take the processor's class by its name in the app; `end` ends the process."""
        self._site = site
        self._processor = processor
        self._end = end
        self._clock = site.clock()
        self._loop = asyncio.get_running_loop()
        self._leave = asyncio.Event()
        self._keeping: asyncio.Task[None] | None = None
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._instance: Any = None
        self._calling: Calling | None = None
        self._verdicts: Verdicts | None = None
        self._handlers: dict[str, tuple[GroupSpec, HandlerSpec]] = {}
        self._calls: dict[int, asyncio.Task[BaseException | None]] = {}

    async def ready(self) -> str:
        """Open the processor's resources unless they are open; answers what is wrong, and the next time tries again."""
        if self._instance is not None:
            return ""
        if self._keeping is None:
            self._opened = self._loop.create_future()
            self._keeping = self._loop.create_task(self._kept(self._opened))
        try:
            await asyncio.shield(self._opened)
        except Exception as error:  # noqa: BLE001 - told to the partition, which waits and asks again
            return f"{type(error).__name__}: {error}"
        return ""

    async def call(self, number: int, told: Told) -> Reply | None:
        """Make one call; `None` = it ended well."""
        group, handler = self._handlers[told.subscription]
        task = self._calls[number] = self._loop.create_task(self._ended(group, handler, told))
        try:
            error = await task
        finally:
            del self._calls[number]
        if error is None:
            return None
        if control_flow(error):
            log.critical("%s raised %r, which ends its process", told.subscription, error)
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            self._end(ENDED_BY_HANDLER)
        return await self._reply(error, handler)

    async def cancel(self, number: int) -> None:
        """Cancel a call, from the control group's thread; one that is over already stays as it is."""

        def cancel() -> None:
            if (task := self._calls.get(number)) is not None:
                task.cancel()

        self._loop.call_soon_threadsafe(cancel)

    async def close(self) -> None:
        """Close the resources."""
        self._leave.set()
        if self._keeping is not None:
            await asyncio.wait({self._keeping})

    async def _kept(self, opened: asyncio.Future[None]) -> None:
        """Hold the resources open, in one task."""
        try:
            async with (
                self._site.calling() as calling,
                Resources(calling.spec.providers, calling.overrides) as resources,
            ):
                self._handlers = {
                    handler.subscription: (group, handler)
                    for group in calling.spec.groups
                    for handler in group.handlers
                    if processor_of(group) == self._processor
                }
                cls = next(group.processor for group, _ in self._handlers.values())
                self._calling, self._instance = calling, await resources.build(cls)
                verdicts = Verdicts(calling.spec.classifiers, calling.modules, _never, self._clock)
                self._verdicts = verdicts
                opened.set_result(None)
                await self._leave.wait()
                verdicts.close()
                self._instance = None
        except BaseException as error:
            self._keeping = None
            if opened.done():
                log.exception("%s did not close what it opened", self._processor)
                raise
            opened.set_exception(error)

    async def _ended(self, group: GroupSpec, handler: HandlerSpec, told: Told) -> BaseException | None:
        """Call the handler and answer what it raised: `SystemExit` raised on would end the loop, not the process."""
        try:
            arguments = self._arguments(group, handler, told)
            function = partial(getattr(self._instance, handler.function), *arguments)
            if not handler.blocking:
                await function()
            elif iscoroutine(result := await _to_its_end(asyncio.to_thread(on_this_thread, function))):
                result.close()
                text = f"{handler.subscription} is a plain function that returned a coroutine; declare it `async def`"
                return DefinitionError(text, "WOW-ASYNC")
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is data from here on
            return error
        return None

    def _arguments(self, group: GroupSpec, handler: HandlerSpec, told: Told) -> list[Any]:
        """Put together what the handler takes, from what is stored."""
        calling = self._calling
        assert calling is not None  # noqa: S101 - no call comes before `ready`
        row = StoredEvent(*told.row)
        ref = AggregateRef(calling.spec.context, row.aggregate, row.aggregate_id)
        body = decode(row, calling.spec.events.get((row.aggregate, row.type)))
        found: list[Any] = [body if handler.body_only else event_of(row, body, ref)]
        if handler.wants_state is not None and told.state is not None:
            state = TypeAdapter(handler.wants_state).validate_json(told.state)
            found = [state_event_of(row, body, ref, state)]
        if handler.wants_context:
            kind = ReactContext if group.kind == "reactor" else Context
            found.append(kind(told.key, told.attempt, told.subscription, ref))
        return found

    async def _reply(self, error: BaseException, handler: HandlerSpec) -> Reply:
        """Turn an error into data, and say what it means while it is here."""
        verdicts = self._verdicts
        assert verdicts is not None  # noqa: S101 - no call comes before `ready`
        found = await verdicts.gathered(error, handler)
        wait = retry_after_of(error, self._clock.now(), handler.backpressure.retry_after_cap)
        state = next((code for link in causes(error) for code in _codes(link) if isinstance(code, str)), "")
        return Reply(capture(error, found.category, found.source), wait, state)


async def _to_its_end(work: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401 - what a handler returns
    """Wait for a thread, also when cancelled: the call has not ended before it has (B4)."""
    task = asyncio.ensure_future(work)
    while not task.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait({task})
    return task.result()


def _codes(error: BaseException) -> tuple[object, object]:
    """Give what an error of a database driver has as its SQLSTATE, by either name."""
    own = attributes_of(error)
    return own.get("sqlstate", getattr(type(error), "sqlstate", None)), own.get("pgcode")


def _never(error: BaseException) -> bool:  # noqa: ARG001 - how retries are spread is the partition's to say
    return False
