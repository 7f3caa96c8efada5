"""Plain functions on threads: what they raise has to get back to whoever waits on the loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def on_this_thread(function: Callable[[], T]) -> T:
    """Call; `StopIteration`, which no future can carry, becomes what a coroutine makes of it.

    Left as it is, it would be lost on the way, and whoever waits would wait for ever.
    """
    try:
        return function()
    except StopIteration as error:
        raise RuntimeError("a plain function raised StopIteration") from error
