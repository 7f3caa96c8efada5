"""The way from a durable function to the store that its app is connected to."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from wow_ray.ports.durable_calls import DurableCalls

T = TypeVar("T")


class Door(Protocol):
    """One open connection of an app; it belongs to an event loop, and is reached from others and from threads."""

    @property
    def calls(self) -> DurableCalls:
        """The store; to be used inside `reach` and `reach_blocking` only. Raises `NotConnectedError` when closed."""
        ...

    async def reach(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Await a coroutine in the connection's own loop."""
        ...

    def reach_blocking(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Wait for a coroutine in the connection's own loop, from another thread."""
        ...

    def stored(self) -> None:
        """Tell whoever runs calls in this process, if anybody does, that there may be one; from any thread."""
        ...

    def refuse_blocking(self, name: str) -> None:
        """Raise `NotConnectedError` where `reach_blocking` would stop the very loop that it waits for."""
        ...


FindDoor = Callable[[], Door]
"""Gives the open connection; raises `NotConnectedError` naming `app.connect()`."""
