"""Hints that something was appended, so that an idle partition looks before its next poll (architecture 4.1).

Lossy on purpose: a hint may be lost, late, doubled or old, and nothing but speed may rest on it. Whoever listens goes
on polling the heads all the while; a bus that is away costs at most one poll.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

Heads = Mapping[int, int]
"""Positions that slots have reached, by slot."""


class Wakes(Protocol):
    """The bus of one app: all who use the same schema and context hear each other, and nobody else."""

    def told(self, heads: Heads) -> None:
        """Spread that slots have reached these positions; call it after the commit, in the loop.

        Returns at once and never raises. What is told within a few milliseconds goes out together.
        """
        ...

    def listening(self, callback: Callable[[Heads], None]) -> AbstractAsyncContextManager[None]:
        """Have `callback` called in the loop with what anybody tells, until the block ends.

        Entering neither waits for the bus nor fails when it is away: it is tried again for as long as the block lasts.
        """
        ...

    async def close(self) -> None:
        """Send what was told last, unless the bus is away, and give up its connections."""
        ...
