"""The way from a request to `Operations`, which may have to be opened first, or later than this program started."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Annotated, TypeVar

from fastapi import Depends, Request

from wow_ray.errors import StoreUnavailableError, WowError
from wow_ray.ops.operations import Operations

T = TypeVar("T")

PATIENCE = 5.0
"""Seconds that the store may take to open, and to answer somebody who looks."""

Opened = Callable[[], AbstractAsyncContextManager[Operations]]


async def within(answer: Awaitable[T]) -> T:
    """Wait for an answer of the store, not for ever; raises `StoreUnavailableError`."""
    try:
        return await asyncio.wait_for(answer, PATIENCE)
    except TimeoutError as error:
        raise StoreUnavailableError(f"the store has not answered for {PATIENCE:g} s") from error


class Door:
    """Opens `Operations` when first asked, again when that failed, and anew when the store was lost."""

    def __init__(self, opened: Opened) -> None:
        """Open nothing yet: a program that starts before its store must not end of it."""
        self._opened = opened
        self._found: Operations | None = None
        self._stack = AsyncExitStack()
        self._opening = asyncio.Lock()

    async def operations(self) -> Operations:
        """Give what there is, opening it if need be; raises what opening raises, in time."""
        async with self._opening:
            if self._found is None:
                self._found = await within(self._stack.enter_async_context(self._opened()))
            return self._found

    async def close(self) -> None:
        """Close what was opened; the next request finds the store anew, which may be at another address by then."""
        async with self._opening:
            stack, self._stack, self._found = self._stack, AsyncExitStack(), None
        with contextlib.suppress(WowError, OSError):  # it may be away
            await within(stack.aclose())


async def operations_of(request: Request) -> Operations:
    """Give the operations that a request's application works with."""
    door: Door = request.app.state.door
    return await door.operations()


Ops = Annotated[Operations, Depends(operations_of)]
