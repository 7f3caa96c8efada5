"""Samples of how groups stood, on Postgres."""

from __future__ import annotations

from collections.abc import Sequence

from wow_ray.adapters.postgres.connect import Sessions
from wow_ray.failure import Category
from wow_ray.ports.samples import EVERY, Point, Sample


class PostgresSamples:
    """`ports.samples.Samples` on Postgres, on somebody else's sessions: what it does is little and short."""

    def __init__(self, sessions: Sessions) -> None:
        """Use these sessions; whoever made them closes them."""
        self._sessions = sessions

    async def add(self, samples: Sequence[Sample]) -> bool:
        """See the port."""
        rows = [
            (each.group, each.lag, each.unfinished, each.parked, each.exhausted, *_happened(each)) for each in samples
        ]
        columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(11)]
        async with self._sessions.use() as session:
            return bool(await session.fetch("add_samples", EVERY, *columns))

    async def read(self, seconds: float, step: float, group: int | None = None) -> Sequence[Point]:
        """See the port."""
        async with self._sessions.use() as session:
            rows = await session.fetch("read_samples", seconds, step, group)
        return tuple(
            Point(
                row["at"],
                row["lag"],
                row["unfinished"],
                row["parked"],
                row["exhausted"],
                row["span"],
                row["handled"],
                {category: row[category.value] for category in Category if row[category.value]},
            )
            for row in rows
        )


def _happened(sample: Sample) -> tuple[float | int | None, ...]:
    """Give what happened, as the table has it: nulls where nobody knows."""
    if sample.span is None:
        return (None,) * 6
    failures = sample.failures or {}
    return (sample.span, sample.handled, *(failures.get(category, 0) for category in Category))
