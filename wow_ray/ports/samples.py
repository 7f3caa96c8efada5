"""Samples: how each group stood every fifteen seconds, kept for some days, so that people see what came before.

Whoever keeps the house takes them; two who do write one. Nothing is decided by them. While nobody takes any there are
none, and nothing is made up for that time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from wow_ray.failure import Category

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

EVERY = 15.0
"""Seconds from one sample to the next; at most one is kept of each such stretch of the store's time."""


@dataclass(frozen=True, slots=True)
class Sample:
    """How one group stood: positions not read and not finished, rows parked, and of these for a person to decide.

    `handled` events and `failures` of calls by category are those of the last `span` seconds; `None` = nobody knows,
    since nothing was counted before.
    """

    group: int
    lag: int
    unfinished: int
    parked: int
    exhausted: int
    span: float | None = None
    handled: int = 0
    failures: Mapping[Category, int] | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """Some samples together, from `at` on: the largest of what stood, the sum of what happened in `span` seconds.

    `span` 0 = of none of them is it known what happened.
    """

    at: datetime
    lag: int
    unfinished: int
    parked: int
    exhausted: int
    span: float
    handled: int
    failures: Mapping[Category, int]


class Samples(Protocol):
    """Samples of one store. Raises `StoreUnavailableError`."""

    async def add(self, samples: Sequence[Sample]) -> bool:
        """Keep how the groups stand now; `False` = it is kept already, and nothing was written."""
        ...

    async def read(self, seconds: float, step: float, group: int | None = None) -> Sequence[Point]:
        """Give the last so many seconds in steps, of one group or of all summed up, the oldest first.

        Steps in which nobody took a sample are not there.
        """
        ...
