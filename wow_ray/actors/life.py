"""An actor's background work: a task in its data loop, without which its process is worth nothing.

Ray reports no background task that fails, and an actor whose loop has died looks alive to it (measured). So both end
the process here, and Ray starts a new one, which loads what the store says.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from wow_ray.ports.clock import Cancellable, Clock

T = TypeVar("T")

log = logging.getLogger("wow_ray.actors")

FAILED = 70
"""The exit code of a process that ended itself."""
BEAT = 0.5
"""Seconds between two signs of life of the data loop."""
WATCH = 1.0
"""Seconds between two looks at the thread of the data loop."""


class Life:
    """The work and the signs of life of one actor; made in its data loop.

    Methods of the control group run in another thread with another loop: they read plain values, and `hop` for more.
    """

    def __init__(
        self, name: str, clock: Clock, work: Coroutine[Any, Any, None], end: Callable[[int], Any] = os._exit
    ) -> None:
        """Begin the work; `end(code)` ends the process at once."""
        self.name = name
        self.loop = asyncio.get_running_loop()
        self.began = clock.monotonic()
        self._clock = clock
        self._end = end
        self._beaten = self.began
        self._timer: Cancellable | None = None
        self._thread = threading.current_thread()
        self._closed = threading.Event()
        self._task = self.loop.create_task(work)
        self._task.add_done_callback(self._over)
        self._beat()
        threading.Thread(target=self._watch, name=f"wow-ray watch {name}", daemon=True).start()

    @property
    def silence(self) -> float:
        """Seconds since the data loop last turned."""
        return max(0.0, self._clock.monotonic() - self._beaten - BEAT)

    async def hop(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something in the data loop, from whatever loop this is awaited in."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.loop))

    def fails(self, error: BaseException) -> None:
        """End the process because of an error."""
        log.critical("%s is over, its process ends: %r", self.name, error, exc_info=error)
        self._closed.set()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        self._end(FAILED)

    async def close(self) -> None:
        """Cancel the work and watch nothing any more; for those who host an actor without Ray."""
        self._closed.set()
        if self._timer is not None:
            self._timer.cancel()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    def _over(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None and not self._closed.is_set():
            self.fails(error)

    def _beat(self) -> None:
        self._beaten = self._clock.monotonic()
        if not self._closed.is_set():
            self._timer = self._clock.call_at(self._beaten + BEAT, self._beat)

    def _watch(self) -> None:
        """Live in a thread: a handler's `SystemExit` ends the loop and its thread, and nobody else would notice."""
        while not self._closed.wait(WATCH):
            if not self._thread.is_alive():
                self.fails(RuntimeError("the thread of the event loop has ended"))
                return
