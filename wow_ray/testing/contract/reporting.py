# ruff: noqa: S101, PLR2004 - assert is how a contract speaks, and its numbers are examples
"""What partitions say of themselves, and that nobody but the owner says it."""

from __future__ import annotations

from dataclasses import replace

from wow_ray.policy.report import MOST, GroupReport, PartitionReport, PauseReport
from wow_ray.ports.slots import Owner
from wow_ray.testing.contract.harness import Harness
from wow_ray.testing.contract.suite import Suite

PAUSED = PauseReport("systemic", "2030-01-01T00:00:00Z", "Sales.on_paid", "Down: no answer", 2.5, "Down: none", 3, 1)
SAID = PartitionReport(
    every=2.0,
    up=12.5,
    slots=64,
    committed=0.125,
    uncommitted=0.5,
    loop_lag=0.25,
    late={"feed": 1.5},
    gates=("lease", "store"),
    replaced=1,
    groups={
        "Sales": GroupReport(10, 3, 2, 1.5, 0.5, 4, 8, 32, "busy", 5, 2, 7, 120, ("deploy", "operator"), PAUSED),
        "Mails.on_paid": GroupReport(limit=32, share=32),
    },
)


class ReportsContract(Suite):
    """The whole contract of `Reports`."""

    async def test_a_report_is_read_as_it_was_written(self, harness: Harness) -> None:
        """Architecture 8: every field, by partition, with the store's time."""
        owner = await holding(harness)

        assert await harness.partition.reports.write(owner, SAID)

        (seen,) = await harness.client.reports.present()
        assert (seen.partition, seen.owner, seen.report) == (owner.partition, owner.id, SAID)
        assert seen.at.tzinfo is not None
        assert 0 <= seen.age < 60

    async def test_a_report_replaces_the_one_before(self, harness: Harness) -> None:
        """One row for each partition, however long it runs."""
        owner = await holding(harness)
        reports = harness.partition.reports
        await reports.write(owner, SAID)
        (first,) = await reports.present()

        await reports.write(owner, replace(SAID, slots=3))

        (seen,) = await reports.present()
        assert (seen.report, seen.at >= first.at) == (replace(SAID, slots=3), True)

    async def test_only_who_holds_the_lease_reports(self, harness: Harness) -> None:
        """L3: what is left of an owner that was taken for dead says nothing over its successor's head."""
        stranger = harness.another_owner()
        assert not await harness.partition.reports.write(stranger, SAID)
        owner = await holding(harness)
        assert await harness.partition.reports.write(owner, SAID)
        await harness.partition.lease.stop()

        assert not await harness.partition.reports.write(owner, replace(SAID, slots=3))

        (seen,) = await harness.client.reports.present()
        assert seen.report == SAID

    async def test_a_successor_takes_the_place_of_what_a_dead_one_has_left(self, harness: Harness) -> None:
        """L3: the row is the partition's, whoever runs it."""
        owner = await holding(harness)
        await harness.partition.reports.write(owner, SAID)
        await harness.partition.lease.stop()
        successor = replace(harness.another_owner(), partition=owner.partition)
        other = harness.another_partition()
        await other.lease.start(successor)

        assert await other.reports.write(successor, replace(SAID, slots=3))
        await other.reports.withdraw(owner)

        (seen,) = await harness.client.reports.present()
        assert (seen.owner, seen.report) == (successor.id, replace(SAID, slots=3))
        await other.lease.stop()

    async def test_a_partition_that_stops_takes_its_report_away_and_no_other(self, harness: Harness) -> None:
        """B4: an orderly end leaves nothing to be taken for a partition that is stuck."""
        owner = await holding(harness)
        other, another = harness.another_partition(), harness.another_owner()
        await other.lease.start(another)
        await harness.partition.reports.write(owner, SAID)
        await other.reports.write(another, SAID)

        await harness.partition.reports.withdraw(owner)
        await harness.partition.reports.withdraw(owner)

        assert [seen.partition for seen in await harness.client.reports.present()] == [another.partition]
        await other.lease.stop()

    async def test_a_report_of_two_hundred_groups_in_trouble_is_kept_small(self, harness: Harness) -> None:
        """H48: under 64 KB, with every group and why it is paused; odd texts of errors are no matter."""
        odd = replace(PAUSED, error="no \x00 \ud800 answer " * 50, probe_error="é" * 500)
        groups = {
            f"Notifier{n:03}.on_order_placed": replace(SAID.groups["Sales"], pause=odd, window=0) for n in range(200)
        }
        owner = await holding(harness)

        assert await harness.partition.reports.write(owner, replace(SAID, groups=groups))

        (seen,) = await harness.client.reports.present()
        assert seen.report is not None
        assert seen.report.groups.keys() == groups.keys()
        assert {group.pause.why for group in seen.report.groups.values() if group.pause is not None} == {"systemic"}
        assert MOST < 65_536


async def holding(harness: Harness) -> Owner:
    """Make an owner that holds its lease."""
    owner = harness.another_owner()
    await harness.partition.lease.start(owner)
    return owner
