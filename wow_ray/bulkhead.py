"""`Bulkhead`: how many calls of one client may be under way at once, so that a slow one does not take everything."""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, ParamSpec, Self, TypeVar, cast

from wow_ray.durations import Duration, seconds, show
from wow_ray.errors import BulkheadFullError, DefinitionError

P = ParamSpec("P")
R = TypeVar("R")

_Place = Future[None]
"""Waited for; done = a place was given to whoever waits."""


class Bulkhead:
    """Room for `limit` calls at once in this process, from any thread and any event loop, first come, first served.

    Use it round a client: `async with bulkhead:`, in blocking handlers `with bulkhead:`, or `@bulkhead` on a function
    of either kind. When it is full the call waits as long as `wait` says, without one not at all; then it raises
    `BulkheadFullError`, which counts as backpressure: the event is retried later, the partition slows down. The wait
    is part of the attempt, so keep it well below the handler's timeout.
    """

    def __init__(self, limit: int, *, wait: Duration | None = None, name: str = "bulkhead") -> None:
        """`name` stands in the error's text. Raises `DefinitionError` for a limit below 1.

        Raises `SettingsError` for a wait that is no duration.
        """
        if type(limit) is not int or limit < 1:
            raise DefinitionError(f"Bulkhead({limit!r}): the limit is a whole number of calls, 1 at least")
        self.limit = limit
        self.name = name
        self._wait = 0.0 if wait is None else seconds(wait, "Bulkhead(wait=...)", zero=True)
        self._lock = threading.Lock()
        self._in_use = 0
        self._waiting: deque[_Place] = deque()

    @property
    def in_use(self) -> int:
        """How many calls are under way."""
        return self._in_use

    @property
    def waiting(self) -> int:
        """How many calls wait for a place."""
        return len(self._waiting)

    def __repr__(self) -> str:
        """Show the numbers of this moment."""
        return f"<{self.name}: {self.in_use} of {self.limit} in use, {self.waiting} waiting>"

    async def __aenter__(self) -> Self:
        place = self._asked()
        if place is None:
            return self
        try:
            await asyncio.wait({asyncio.wrap_future(place)}, timeout=self._wait)
        except BaseException:
            if not self._taken_back(place):
                self._release()
            raise
        return self._given(place)

    async def __aexit__(self, *_: object) -> None:
        self._release()

    def __enter__(self) -> Self:
        _refuse_loop(self.name)
        place = self._asked()
        if place is None:
            return self
        try:
            place.result(self._wait)
        except TimeoutError:
            pass
        except BaseException:
            if not self._taken_back(place):
                self._release()
            raise
        return self._given(place)

    def __exit__(self, *_: object) -> None:
        self._release()

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Put every call of a function in the bulkhead: one place a call, from its begin to its end.

        Raises `DefinitionError` for a generator, whose call has no end to wait for.
        """
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise DefinitionError(f"{function.__qualname__} is a generator; use `with` inside it")
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def within(*args: P.args, **kwargs: P.kwargs) -> Any:  # noqa: ANN401 - what the function returns
                async with self:
                    return await function(*args, **kwargs)

            return cast("Callable[P, R]", within)

        @functools.wraps(function)
        def inside(*args: P.args, **kwargs: P.kwargs) -> R:
            with self:
                return function(*args, **kwargs)

        return inside

    def _asked(self) -> _Place | None:
        """Take a place at once (`None`), or get in line for one; raises `BulkheadFullError` when that is no use."""
        with self._lock:
            if self._in_use < self.limit:
                self._in_use += 1
                return None
            if self._wait:
                place: _Place = Future()
                self._waiting.append(place)
                return place
        raise self._full()

    def _given(self, place: _Place) -> Self:
        """End a wait: keep the place, also one given at the last moment, or raise `BulkheadFullError`."""
        if self._taken_back(place):
            raise self._full()
        return self

    def _taken_back(self, place: _Place) -> bool:
        """Leave the line; `False` = the place has been given already."""
        with self._lock:
            if place.done() and not place.cancelled():
                return False
            if place in self._waiting:
                self._waiting.remove(place)
        place.cancel()
        return True

    def _release(self) -> None:
        """Hand the place to the first in line, else count one call less."""
        with self._lock:
            while self._waiting:
                place = self._waiting.popleft()
                if place.set_running_or_notify_cancel():
                    place.set_result(None)
                    return
            self._in_use -= 1

    def _full(self) -> BulkheadFullError:
        waited = f", and none became free within {show(self._wait)}" if self._wait else ""
        return BulkheadFullError(f"{self.name}: all {self.limit} places are in use{waited}")


def _refuse_loop(name: str) -> None:
    """Raise where `with` would stop an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise DefinitionError(f"{name}: `with` would block the event loop here; write `async with`", "WOW-ASYNC")
