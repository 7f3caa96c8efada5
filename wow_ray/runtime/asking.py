"""Asking classifiers of others, who may raise, wait or hang: the loop goes on whatever they do (K8).

Those of the application and of other packages are asked here. An `async def` is awaited in a task of its own; a plain
function is called in a thread of its own, one at a time, so that it needs no locks. Each may take a second for one
failure. One that takes longer has no opinion, and is not asked again before its call has really ended.
"""

from __future__ import annotations

import asyncio
import threading
from contextvars import copy_context
from inspect import iscoroutinefunction
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from wow_ray.policy.classifiers import Foreign
from wow_ray.policy.classify import checked

if TYPE_CHECKING:
    from collections.abc import Callable

    from wow_ray.failure import Category
    from wow_ray.policy.classifiers import Question
    from wow_ray.policy.classify import Asked, Broken
    from wow_ray.ports.clock import Clock

BOUND = 1.0
"""Seconds one classifier may take for all it is asked about one failure."""


class HungClassifierError(Exception):
    """A classifier has not answered in time."""


class Room:
    """What is left of the second that one classifier may take for one failure."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        """Begin with all of it."""
        self.left = BOUND


class Asking:
    """Asks classifiers, for one loop."""

    def __init__(self, clock: Clock, broken: Broken) -> None:
        """`broken` is told of a classifier that raised, hung or answered what is no category."""
        self._clock = clock
        self._broken = broken
        self._thread: Thread | None = None
        self._turn = asyncio.Lock()
        self._hung: set[int] = set()
        self.under_way = 0
        """Calls in threads that are waited for now."""

    async def ask(self, question: Question, subscription: str, room: Room) -> Category | None:
        """Wait for an opinion as long as there is room; `None` = it has none, does not work, or is still hung.

        Waiting for the turn in the thread is not the classifier's time.
        """
        classifier = question.classifier
        if room.left <= 0 or id(classifier) in self._hung:
            return None
        try:
            if waits(classifier):
                call = asyncio.ensure_future(_awaited(classifier, question.error, subscription))
                return checked(await self._within(room, call, classifier))
            async with self._turn:
                if id(classifier) in self._hung:
                    return None
                return checked(await self._in_thread(question, subscription, room))
        except KeyboardInterrupt:
            raise
        except BaseException as problem:
            if isinstance(problem, asyncio.CancelledError) and _cancelled_here():
                raise
            self._broken(classifier, problem)
            return None

    async def _in_thread(self, question: Question, subscription: str, room: Room) -> object:
        """Call a plain function in the thread; one that hangs keeps it, and the next question gets another."""
        thread = self._thread = self._thread or Thread()
        call = thread.call(lambda: question.classifier(question.error, subscription))
        self.under_way += 1
        try:
            return await self._within(room, call, question.classifier)
        finally:
            self.under_way -= 1
            if not call.done():
                thread.leave()
                self._thread = None

    async def _within(self, room: Room, call: asyncio.Future[Any], classifier: Asked) -> object:
        """Wait for the end of a call; raises `HungClassifierError` when it does not come in time."""
        over = asyncio.Event()
        call.add_done_callback(lambda _: over.set())
        began = self._clock.monotonic()
        timer = self._clock.call_at(began + room.left, over.set)
        try:
            await over.wait()
        finally:
            timer.cancel()
            room.left -= self._clock.monotonic() - began
            if not call.done():
                self._hung.add(id(classifier))
                call.add_done_callback(lambda ended: self._over(classifier, ended))
                if isinstance(call, asyncio.Task):
                    call.cancel()
        if not call.done():
            raise HungClassifierError(f"it has not answered within {BOUND:g} s")
        return call.result()

    def _over(self, classifier: Asked, call: asyncio.Future[Any]) -> None:
        """Let a classifier be asked again, whose call has ended after all; what it said then comes too late."""
        self._hung.discard(id(classifier))
        if not call.cancelled():
            call.exception()

    def close(self) -> None:
        """Let the thread end."""
        if self._thread is not None:
            self._thread.leave()
            self._thread = None


class Thread:
    """A thread that calls what it is given, in order; a daemon, so that a call that hangs does not keep the process."""

    def __init__(self) -> None:
        """Start it."""
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        threading.Thread(target=self._run, name="wow-ray classifiers", daemon=True).start()

    def call(self, function: Callable[[], object]) -> asyncio.Future[object]:
        """Call a function there, with the context variables from here."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[object] = loop.create_future()
        variables = copy_context()

        def run() -> None:
            try:
                result, error = variables.run(function), None
            except BaseException as raised:  # noqa: BLE001 - raised where it is waited for
                result, error = None, raised
            if isinstance(error, StopIteration):  # which no future can carry
                error = RuntimeError("the classifier raised StopIteration")
            try:
                loop.call_soon_threadsafe(_settle, future, result, error)
            except RuntimeError:
                return  # the loop was closed meanwhile: nobody waits

        self._calls.put(run)
        return future

    def leave(self) -> None:
        """Have it end after what it does now."""
        self._calls.put(None)

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            call()


def waits(classifier: Asked) -> bool:
    """Whether a classifier is an `async def`, as a function, a method or an object that is called."""
    function = classifier.function if isinstance(classifier, Foreign) else classifier
    return iscoroutinefunction(function) or iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


async def _awaited(classifier: Asked, error: BaseException, subscription: str) -> object:
    """Wait for an opinion; `SystemExit` out of a task would end the loop, so it becomes an error like any."""
    answer: Any = classifier(error, subscription)
    try:
        return await answer
    except SystemExit as left:
        raise RuntimeError("the classifier raised SystemExit") from left


def _settle(future: asyncio.Future[object], result: object, error: BaseException | None) -> None:
    """Hand the end of a call to whoever waits for it, unless nobody does any more."""
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


def _cancelled_here() -> bool:
    """Whether the cancellation was meant for us, rather than raised by the classifier."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
