"""Samples of how groups stand: what is counted, what is left out, and that nothing waits for it."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.unit.ops_window import GROUP, Carrier, Window, a_window, made_app
from wow_ray.errors import StoreUnavailableError
from wow_ray.failure import Category
from wow_ray.policy.happened import Happened, happened
from wow_ray.policy.report import GroupReport, PartitionReport, read, written
from wow_ray.ports.reports import ReportSeen
from wow_ray.ports.samples import EVERY
from wow_ray.runtime.sampling import FORGOTTEN, Sampler
from wow_ray.testing import Scenario

HOUR = 3_600.0


def report(handled: int, **failed_by: int) -> PartitionReport:
    """A report of one group."""
    return PartitionReport(groups={GROUP: GroupReport(handled=handled, failed_by=failed_by)})


def test_a_counter_that_goes_on_tells_its_growth_and_a_new_one_all_of_it() -> None:
    """A process that came since has counted from nought; one that is gone tells nothing any more."""
    before = {"a": report(100, recoverable=5), "gone": report(7_000)}
    now = {"a": report(130, recoverable=6, systemic=2), "b": report(11, recoverable=1)}
    assert happened(before, now) == {GROUP: Happened(41, Counter(recoverable=2, systemic=2))}


def test_a_counter_never_tells_less_than_nothing() -> None:
    """A store that was restored may hold an older report of the same owner."""
    assert happened({"a": report(100)}, {"a": report(90)}) == {GROUP: Happened(0, Counter())}


def test_failures_by_category_stand_in_a_report() -> None:
    """They are read as they were written, and an older program's report has none."""
    said = report(3, recoverable=2)
    assert read(written(said)) == said
    assert read('{"groups": {"x": {"failed": 2}}}') == PartitionReport(groups={"x": GroupReport(failed=2)})


@pytest.fixture
async def window() -> AsyncIterator[Window]:
    """An app that runs, and its window."""
    async with a_window() as opened:
        yield opened


class Said:
    """What partitions say of themselves, as a test has them say it."""

    def __init__(self, report: PartitionReport) -> None:
        self.report = report

    async def present(self) -> Sequence[ReportSeen]:
        """Give it."""
        return [ReportSeen("partition-0", "a", datetime(2030, 1, 1, tzinfo=UTC), 0.0, self.report)]


def sampler_of(window: Window, said: Said) -> Sampler:
    """Take samples of the window's app."""
    running = window.running
    client = running.memory.client_stores()
    return Sampler(client.samples, running.memory.overview(), client.ledger, said, running.clock)  # type: ignore[arg-type] # what it uses


async def test_a_sample_tells_what_stands_and_what_happened_since_the_one_before(window: Window) -> None:
    """Lag and rows are the store's, counts the partitions'; of the first one nobody knows what happened."""
    said = Said(report(1))
    sampler, samples = sampler_of(window, said), window.running.memory.client_stores().samples
    await window.place("o-1")
    await window.running.advance("5s")
    assert await sampler.take()
    assert not await sampler.take()
    window.carrier.broken = {"o-2"}
    await window.place("o-2", "o-3", "o-4")
    await window.running.advance("14s")
    said.report = report(3, recoverable=2)
    assert await sampler.take()

    first, second = await samples.read(HOUR, EVERY)
    assert (first.lag, first.parked, first.span) == (0, 0, 0.0)
    assert (second.parked, second.exhausted, second.handled) == (1, 0, 2)
    assert second.failures == {Category.RECOVERABLE: 2}
    assert 10 < second.span <= 20


async def test_samples_are_taken_in_time_and_a_store_that_is_away_leaves_a_gap(window: Window) -> None:
    """What was missed is not made up, and after a long time what was counted before is no measure."""
    sampler, samples = sampler_of(window, Said(report(1))), window.running.memory.client_stores().samples
    await window.place("o-1")
    taking = asyncio.ensure_future(sampler.run())
    await window.running.advance("60s")
    before = await samples.read(HOUR, EVERY)
    window.running.memory.fail_next("ledger.read", StoreUnavailableError("away"), times=1_000)
    await window.running.advance(f"{FORGOTTEN + 60:.0f}s")
    window.running.memory.fail_next("ledger.read", StoreUnavailableError("away"), times=0)
    await window.running.advance("60s")
    taking.cancel()

    points = await samples.read(HOUR, EVERY)
    steps = [(late.at - early.at).total_seconds() for early, late in itertools.pairwise(points)]
    assert 4 <= len(before) <= 5
    assert sorted(steps)[:-1] == [EVERY] * (len(steps) - 1)
    assert max(steps) >= FORGOTTEN
    after = points[len(before)]
    assert (after.span, [point.span > 0 for point in points[len(before) + 1 :]]) == (0.0, [True] * 3)


async def test_a_group_that_no_program_has_any_more_is_not_sampled() -> None:
    """What is drawn is what runs."""
    async with Scenario(made_app(), {Carrier: Carrier()}) as running:
        client, overview = running.memory.client_stores(), running.memory.overview()
        snapshot = await overview.snapshot()
        gone = replace(snapshot, groups=tuple(replace(group, retired=True) for group in snapshot.groups))

        class Gone:
            """Looks at a store whose groups are all retired."""

            async def snapshot(self) -> object:
                """Give it."""
                return gone

        sampler = Sampler(client.samples, Gone(), client.ledger, client.reports, running.clock)  # type: ignore[arg-type] # what it uses of one
        assert not await sampler.take()
