"""Samples of how groups stood, in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING

from wow_ray.failure import Category
from wow_ray.ports.samples import EVERY, Point, Sample

if TYPE_CHECKING:
    from wow_ray.adapters.memory.server import Server


class MemorySamples:
    """`ports.samples.Samples` in memory."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def add(self, samples: Sequence[Sample]) -> bool:
        """See the port."""
        return await self._server.faults.run("ledger.read", lambda: self._add(samples))

    async def read(self, seconds: float, step: float, group: int | None = None) -> Sequence[Point]:
        """See the port."""
        return await self._server.faults.run("ledger.read", lambda: self._read(seconds, step, group))

    def _add(self, samples: Sequence[Sample]) -> bool:
        at, kept = begin(self._server.now(), EVERY), self._server.samples
        new = [each for each in samples if (at, each.group) not in kept]
        kept.update({(at, each.group): each for each in new})
        return bool(new)

    def _read(self, seconds: float, step: float, group: int | None) -> tuple[Point, ...]:
        since = self._server.now() - timedelta(seconds=seconds)
        kept = sorted(self._server.samples.items(), key=lambda one: one[0])
        wanted = [(at, each) for (at, number), each in kept if at > since and group in {None, number}]
        moments = [_together(at, [each for _, each in some]) for at, some in groupby(wanted, key=lambda one: one[0])]
        steps = groupby(moments, key=lambda one: begin(one.at, step))
        return tuple(_joined(at, list(some)) for at, some in steps)


def begin(at: datetime, step: float) -> datetime:
    """Give the beginning of the stretch that a time is in."""
    return datetime.fromtimestamp(at.timestamp() // step * step, UTC)


def _together(at: datetime, groups: Sequence[Sample]) -> Point:
    """Sum the groups of one moment up."""
    failures: Counter[Category] = Counter()
    for each in groups:
        failures.update(each.failures or {})
    return Point(
        at,
        sum(each.lag for each in groups),
        sum(each.unfinished for each in groups),
        sum(each.parked for each in groups),
        sum(each.exhausted for each in groups),
        max(each.span or 0.0 for each in groups),
        sum(each.handled for each in groups),
        failures,
    )


def _joined(at: datetime, moments: Sequence[Point]) -> Point:
    """Take the moments of one step together."""
    failures: Counter[Category] = Counter()
    for each in moments:
        failures.update(each.failures)
    return Point(
        at,
        max(each.lag for each in moments),
        max(each.unfinished for each in moments),
        max(each.parked for each in moments),
        max(each.exhausted for each in moments),
        sum(each.span for each in moments),
        sum(each.handled for each in moments),
        {category: failures[category] for category in Category if failures[category]},
    )
