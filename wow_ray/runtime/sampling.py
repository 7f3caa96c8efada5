"""Takes a sample of every group each fifteen seconds: one look at the store, one small write, nobody waits for it.

What stands is read off the store, what happened off the reports that partitions write anyway. The first sample knows
nothing of what happened; nor does it after a look that failed for longer than reports say anything about.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from wow_ray.failure import Category
from wow_ray.policy.happened import Happened, happened
from wow_ray.policy.parked import State
from wow_ray.ports.samples import EVERY, Sample
from wow_ray.runtime.trouble import Trouble

if TYPE_CHECKING:
    from wow_ray.policy.report import PartitionReport
    from wow_ray.ports.clock import Clock
    from wow_ray.ports.ledger import Ledger
    from wow_ray.ports.overview import GroupSeen, Overview, Snapshot
    from wow_ray.ports.reports import Reports
    from wow_ray.ports.samples import Samples

log = logging.getLogger("wow_ray.sampling")

PARKED = (State.PARKED, State.RETRYING, State.EXHAUSTED)
"""What people are shown as parked."""
FORGOTTEN = 10 * EVERY
"""Seconds after which what was counted before is no measure of the present any more."""

Counts = Mapping[tuple[str, State], int]


class Sampler:
    """Takes samples of one store."""

    def __init__(self, samples: Samples, overview: Overview, ledger: Ledger, reports: Reports, clock: Clock) -> None:
        """Nothing was counted yet."""
        self._samples = samples
        self._overview = overview
        self._ledger = ledger
        self._reports = reports
        self._clock = clock
        self._before: tuple[float, Mapping[str, PartitionReport]] | None = None

    async def run(self) -> None:
        """Take them for ever; ends by cancellation. What fails is left out, the next one is tried in its time."""
        trouble = Trouble(log, self._clock, "no sample can be taken (%s)", "samples are taken again after %.1f s")
        due = self._clock.monotonic()
        while True:
            try:
                await self.take()
            except Exception as error:  # noqa: BLE001 - nothing waits for it
                trouble.failed(error)
            else:
                trouble.worked()
            # Always at the same place of the store's stretches, so that each gets one.
            due += EVERY * max(1.0, -((due - self._clock.monotonic()) // EVERY))
            await self._clock.sleep(due - self._clock.monotonic())

    async def take(self) -> bool:
        """Take one of every group that a program has; `False` = somebody else has."""
        snapshot = await self._overview.snapshot()
        counts = await self._ledger.counts()
        now = self._clock.monotonic()
        reports = {each.owner: each.report for each in await self._reports.present() if each.report is not None}
        before, self._before = self._before, (now, reports)
        span: float | None = None
        told: Mapping[str, Happened] = {}
        if before is not None and 0 < now - before[0] <= FORGOTTEN:
            span, told = now - before[0], happened(before[1], reports)
        groups = [group for group in snapshot.groups if not group.retired]
        return await self._samples.add(
            [_sample(group, snapshot, counts, told.get(group.name), span) for group in groups]
        )


def _sample(group: GroupSeen, snapshot: Snapshot, counts: Counts, told: Happened | None, span: float | None) -> Sample:
    """Say how one group stands."""
    marks = [(slot.head, slot.marks[group.number]) for slot in snapshot.slots if group.number in slot.marks]
    stood = Sample(
        group.number,
        lag=sum(max(0, head - mark.cursor) for head, mark in marks),
        unfinished=sum(len(mark.unfinished) for _, mark in marks),
        parked=sum(counts.get((group.name, state), 0) for state in PARKED),
        exhausted=counts.get((group.name, State.EXHAUSTED), 0),
    )
    if told is None or span is None:
        return stood
    failures = {category: told.failures[category.value] for category in Category if told.failures[category.value]}
    return Sample(stood.group, stood.lag, stood.unfinished, stood.parked, stood.exhausted, span, told.handled, failures)
