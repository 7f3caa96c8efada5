# ruff: noqa: S101, PLR2004 - assert is how a contract speaks, and its numbers are examples
"""Samples: what is kept once, summed up as people look at it, and never made up."""

from __future__ import annotations

from dataclasses import replace

from wow_ray.failure import Category
from wow_ray.ports.retention import Old
from wow_ray.ports.samples import EVERY, Sample
from wow_ray.testing.contract.harness import Harness
from wow_ray.testing.contract.suite import Suite

HOUR = 3_600.0
FIRST = Sample(1, 10, 2, 3, 1, 15.0, 150, {Category.RECOVERABLE: 4, Category.SYSTEMIC: 1})
SECOND = Sample(2, 5, 1, 7, 0, 14.5, 50, {Category.RECOVERABLE: 2})


class SamplesContract(Suite):
    """The whole contract of `Samples`."""

    async def test_where_nobody_took_one_there_is_none(self, harness: Harness) -> None:
        """A gap is a gap."""
        assert list(await harness.client.samples.read(HOUR, EVERY)) == []

    async def test_groups_are_summed_up_and_each_is_there_by_itself(self, harness: Harness) -> None:
        """Numbers of all groups of one moment together; those of a group as they were."""
        assert await harness.client.samples.add([FIRST, SECOND])

        (both,) = await harness.client.samples.read(HOUR, HOUR)
        assert (both.lag, both.unfinished, both.parked, both.exhausted) == (15, 3, 10, 1)
        assert (both.span, both.handled) == (15.0, 200)
        assert both.failures == {Category.RECOVERABLE: 6, Category.SYSTEMIC: 1}
        assert both.at.tzinfo is not None

        (one,) = await harness.client.samples.read(HOUR, HOUR, 2)
        assert (one.lag, one.parked, one.span, one.handled) == (5, 7, 14.5, 50)
        assert one.failures == {Category.RECOVERABLE: 2}
        assert list(await harness.client.samples.read(HOUR, HOUR, 3)) == []

    async def test_two_who_take_samples_keep_one(self, harness: Harness) -> None:
        """Two processes may keep the house for a moment; of a stretch of fifteen seconds one sample is kept."""
        written = [await harness.client.samples.add([replace(FIRST, lag=lag)]) for lag in (10, 11, 12)]

        points = await harness.client.samples.read(HOUR, EVERY)
        assert written.count(True) == len(points) <= 2
        assert points[0].lag == 10

    async def test_what_nobody_knows_is_no_nought(self, harness: Harness) -> None:
        """A first sample counts nothing: its span is 0, and a rate of it would be made up."""
        await harness.client.samples.add([Sample(1, 10, 2, 3, 1)])

        (point,) = await harness.client.samples.read(HOUR, HOUR)
        assert (point.lag, point.span, point.handled, dict(point.failures)) == (10, 0.0, 0, {})

    async def test_no_group_is_no_sample(self, harness: Harness) -> None:
        """A program without handlers has nothing to keep."""
        assert not await harness.client.samples.add([])

    async def test_those_that_are_old_go(self, harness: Harness) -> None:
        """H53: younger ones stay."""
        await harness.client.samples.add([FIRST, SECOND])
        assert (await harness.client.remains.forget(Old.SAMPLES, HOUR, 100)).deleted == 0
        assert (await harness.client.remains.forget(Old.SAMPLES, 0.0, 100)).deleted == 2
        assert list(await harness.client.samples.read(HOUR, EVERY)) == []
