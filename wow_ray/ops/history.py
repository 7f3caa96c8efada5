"""What came before: how groups stood over the last hours, from the samples that are kept (`ports.samples`)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, get_args

from wow_ray.ops.plain import View
from wow_ray.ports.samples import EVERY, Point

if TYPE_CHECKING:
    from wow_ray.ports.samples import Samples

Range = Literal["1h", "6h", "24h", "48h"]
RANGES: tuple[Range, ...] = get_args(Range)
SECONDS: Mapping[Range, float] = {"1h": 3_600.0, "6h": 21_600.0, "24h": 86_400.0, "48h": 172_800.0}
STEPS = 120
"""Points of a range at most: more than that nobody tells apart on a page."""
MISSING = 3 * EVERY
"""Seconds beyond a step without a sample, after which it is a gap: one may fall between two stretches of the time."""


@dataclass(frozen=True, slots=True)
class PointView(View):
    """How all stood in one step from `at` on, at its highest; `rate` and `failures` per second, `None` = not known.

    `failures` are those of calls, by category; categories without any are left out.
    """

    at: datetime
    lag: int
    unfinished: int
    parked: int
    exhausted: int
    rate: float | None
    failures: Mapping[str, float] | None

    @classmethod
    def of(cls, point: Point) -> PointView:
        """View a point."""
        known = point.span > 0
        failures = {category.value: round(count / point.span, 3) for category, count in point.failures.items() if known}
        return cls(
            point.at,
            point.lag,
            point.unfinished,
            point.parked,
            point.exhausted,
            round(point.handled / point.span, 2) if known else None,
            failures if known else None,
        )


@dataclass(frozen=True, slots=True)
class HistoryView(View):
    """A range of `seconds` up to `until` in steps of so many, as far as there are samples.

    `gaps` are stretches within it in which nobody took any: an app that did not run, or a store that was away.
    """

    range: str
    until: datetime
    seconds: float
    step: float
    points: tuple[PointView, ...]
    gaps: tuple[tuple[datetime, datetime], ...]


async def history(samples: Samples, until: datetime, range_: Range, group: int | None = None) -> HistoryView:
    """Look back from now, by the store's time, for one group or all together."""
    seconds = SECONDS[range_]
    step = max(EVERY, seconds / STEPS)
    points = tuple(map(PointView.of, await samples.read(seconds, step, group)))
    return HistoryView(range_, until, seconds, step, points, gaps_of(points, step))


def gaps_of(points: Sequence[PointView], step: float) -> tuple[tuple[datetime, datetime], ...]:
    """Give the stretches between points in which there should have been others."""
    pairs = itertools.pairwise(points)
    return tuple((one.at, next_.at) for one, next_ in pairs if (next_.at - one.at).total_seconds() > step + MISSING)
