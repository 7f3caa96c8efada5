"""What a partition says of itself every two seconds, and that nothing of it is in anybody's way (H60, D3, D4)."""

from __future__ import annotations

import pytest

from tests.unit.pausing import pause
from tests.unit.runtime.desk import CarrierDown, Desk, Door, TooBusy, UnknownBuyer, crash, paid, scenario
from tests.unit.runtime.shop import app
from wow_ray import StoreUnavailableError
from wow_ray.policy.report import GroupReport, PartitionReport, moment
from wow_ray.ports.reports import ReportSeen
from wow_ray.runtime.pace import Pace
from wow_ray.runtime.reporting import SPAN, Rates
from wow_ray.testing import Running
from wow_ray.testing.clock import at_rest

GROUP = "Notifier.on_paid"
AWAY = StoreUnavailableError("the store is away")


async def seen(running: Running) -> tuple[ReportSeen, PartitionReport]:
    """Give the report of the only partition."""
    (found,) = await running.service.client.reports.present()
    assert found.report is not None
    return found, found.report


async def told(running: Running) -> GroupReport:
    """Give what it says of the group."""
    return (await seen(running))[1].groups[GROUP]


async def test_a_partition_says_how_it_is_when_it_starts_and_every_two_seconds() -> None:
    """H60: the report is never older than that, and tells which loops turn."""
    async with scenario(app, Desk(), pace=Pace()) as running:
        found, report = await seen(running)
        assert (found.partition, found.owner) == ("shop-0", running.service.partitions[0].owner.id)
        assert (report.every, report.slots, report.gates, report.left_out) == (2.0, 16, (), 0)
        ages = []
        for _ in range(100):
            await running.clock.advance(0.37)
            ages.append((await seen(running))[0].age)
        assert max(ages) <= 2.0
        _, report = await seen(running)
        assert report.up == pytest.approx(36.0, abs=1.1)
        assert (report.loop_lag, report.late, report.uncommitted, report.replaced) == (0.0, {}, 0.0, 0)


async def test_what_was_handled_failed_and_parked_is_counted_and_has_a_rate() -> None:
    """Architecture 8: a hundred in ten seconds are ten a second, and nothing a second once they are long past."""
    desk = Desk()
    desk.always("bad", UnknownBuyer())
    async with scenario(app, desk, pace=Pace()) as running:
        await paid(running, "bad", *(f"o-{n}" for n in range(99)))
        await running.clock.advance(10.0)
        group = await told(running)
        assert (group.handled, group.failed, group.parked) == (99, 1, 1)
        assert group.rate == pytest.approx(9.9, abs=0.1)
        assert group.failed_rate == 0.1
        assert (group.running, group.waiting, group.open, group.pause, group.limited) == (0, 0, 0, None, "")
        await running.clock.advance(2 * SPAN)
        group = await told(running)
        assert (group.handled, group.rate, group.failed_rate) == (99, 0.0, 0.0)


async def test_calls_under_way_and_aggregates_that_wait_are_told() -> None:
    """Somebody who wonders why nothing goes on sees that all of its calls are taken."""
    desk, door = Desk(), Door()
    ids = [f"o-{n}" for n in range(40)]
    for each in ids:
        desk.next(each, door)
    async with scenario(app, desk, pace=Pace(concurrency=16)) as running:
        await paid(running, *ids)
        await running.clock.advance(3.0)
        group = await told(running)
        assert (group.running, group.limit, group.share, group.waiting, group.open) == (8, 8, 8, 32, 40)
        door.open()
        await running.clock.advance(3.0)
        assert (await told(running)).waiting == 0


async def test_a_pause_is_told_at_once_with_its_next_probe_and_what_the_last_one_ended_in() -> None:
    """D3, W4: why, since when, what failed; afterwards that the load comes back by and by (W6)."""
    desk = Desk()
    desk.next("a", CarrierDown("no route"), *[CarrierDown("still none")] * 6)
    async with scenario(app, desk, pace=Pace()) as running:
        await running.clock.advance(1.0)
        await paid(running, "a")
        await running.clock.advance(0.3)
        found, report = await seen(running)
        assert found.age <= 0.3
        told_of = report.groups[GROUP].pause
        assert told_of is not None
        assert (told_of.why, told_of.probe_error, told_of.probes, told_of.needs) == ("systemic", "", 0, 1)
        assert told_of.error.endswith("CarrierDown: no route")
        assert 0 < told_of.next_probe <= 2.0
        since = moment(told_of.since)
        assert since is not None
        assert abs((since - found.at).total_seconds()) <= 1.0
        assert report.groups[GROUP].failing == 1

        await running.clock.advance(told_of.next_probe + 0.5)
        group = await told(running)
        assert group.pause is not None
        assert 1 <= group.pause.probes <= 3
        assert group.pause.probe_error.endswith("CarrierDown: still none")
        assert group.pause.since == told_of.since

        await running.clock.advance(60.0)
        group = await told(running)
        assert (group.pause, group.handled, group.failing) == (None, 1, 0)


async def test_a_pause_that_has_ended_is_told_at_once_and_the_ramp_with_it() -> None:
    """W6: nobody looks at a pause that is over; the limit begins at one, and the report says why."""
    desk = Desk()
    desk.next("a", CarrierDown())
    async with scenario(app, desk, pace=Pace(report_interval=3_600.0)) as running:
        await paid(running, "a")
        for _ in range(400):
            await running.clock.advance(0.05)
            group = running.service.partitions[0].by_name[GROUP]
            if desk.done and group.pause is None:
                break
        await running.clock.advance(0.3)
        group_told = await told(running)
        assert (group_told.pause, group_told.limited, group_told.limit) == (None, "ramp", group.limit)
        assert group_told.limit < group_told.share


async def test_many_pauses_at_once_make_few_reports() -> None:
    """H47: a report is one write to the store; whatever flaps, there are four of them a second at most."""
    async with scenario(app, Desk(), pace=Pace()) as running:
        written = set()
        for _ in range(200):
            for _ in range(5):
                running.service.partitions[0].reporting.hurry()
            await running.clock.advance(0.01)
            written.add((await seen(running))[0].at)
        assert 7 <= len(written) <= 9


async def test_a_busy_other_side_is_told_as_the_reason_of_a_lower_limit() -> None:
    """D4: the limit now, the share it has, and why it is lower."""
    desk, door = Desk(), Door()
    ids = [f"o-{n}" for n in range(32)]
    for each in ids:
        desk.next(each, door)
    async with scenario(app, desk, pace=Pace()) as running:
        await paid(running, *ids)
        await running.clock.advance(1.0)
        door.open(TooBusy())
        await running.clock.advance(0.05)
        running.service.partitions[0].reporting.hurry()
        await running.clock.advance(0.05)
        group = await told(running)
        assert (group.limit, group.share, group.limited) == (16, 32, "busy")
        assert group.waiting == 32


async def test_what_somebody_has_stand_still_is_told() -> None:
    """H44: by its reasons, beside what is paused by itself."""
    async with scenario(app, Desk(), pace=Pace()) as running:
        await pause(running.memory, GROUP)
        await running.clock.advance(4.0)
        assert (await told(running)).stops == ("operator",)


async def test_a_store_that_does_not_take_reports_is_in_nobodys_way() -> None:
    """P2: away, slow or odd: events are handled, commands and pauses are looked for, and later it reports again."""
    desk = Desk()
    async with scenario(app, desk, pace=Pace()) as running:
        running.memory.fail_next("reports.write", AWAY, times=10)
        await running.clock.advance(9.0)
        running.memory.fail_next("reports.write", RuntimeError("unheard of"), times=3)
        await running.clock.advance(9.0)
        async with running.memory.gate("reports.write") as gate:
            await paid(running, "a")
            await running.clock.advance(30.0)
            assert gate.held == 1
            assert desk.done == [("a", 1)]
            assert not running.service.partitions[0].ended.done()
        running.memory.fail_next("reports.write", AWAY, times=0)
        await running.clock.advance(5.0)
        assert (await seen(running))[0].age <= 2.0
        assert (await told(running)).handled == 1


async def test_an_orderly_stop_takes_the_report_away_also_one_that_is_being_written() -> None:
    """B4: what is left would look like a partition that is stuck."""
    first = scenario(app, Desk(), pace=Pace())
    async with first as running:
        gate = running.memory.gate("reports.write", "end")
        running.service.partitions[0].reporting.hurry()
        await running.clock.advance(0.5)
        await gate.reached()
        running.clock.call_at(running.clock.monotonic() + 1.0, gate.open)
    assert list(await first.memory.client_stores().reports.present()) == []


async def test_a_partition_that_died_leaves_its_last_words_and_its_successor_replaces_them() -> None:
    """L3: nobody writes for the dead; the next incarnation has the row from its first moment on."""
    desk = Desk()
    first = scenario(app, desk, pace=Pace())
    async with first as running:
        await paid(running, "a")
        await running.clock.advance(5.0)
        await crash(running)
        await running.clock.advance(5.0)
        (left,) = await first.memory.client_stores().reports.present()
        assert left.age >= 5.0
    async with scenario(app, desk, pace=Pace(), memory=first.memory) as running:
        found, report = await seen(running)
        assert found.owner != left.owner
        assert (found.age, report.groups[GROUP].handled) == (0.0, 0)


async def test_what_waits_to_be_committed_and_a_loop_that_does_not_turn_are_told() -> None:
    """H60: a commit that hangs for 40 s and a feed that waits for the store as long."""
    async with scenario(app, Desk(), pace=Pace()) as running:
        await running.clock.advance(1.0)
        async with running.memory.gate("slots.commit") as commit, running.memory.gate("reader.heads") as heads:
            await paid(running, "a")
            running.service.partitions[0].commits.poke()
            await at_rest()
            running.service.partitions[0].holdings.slots[0].dirty = True
            await running.clock.advance(40.0)
            await heads.reached()
            await commit.reached()
            _, report = await seen(running)
            assert report.uncommitted == pytest.approx(39.0, abs=2.1)
            assert report.committed >= 39.0
            assert report.late["feed"] == pytest.approx(39.0, abs=2.1)
            assert report.late.keys() == {"feed"}
        await running.clock.advance(5.0)
        _, report = await seen(running)
        assert (report.late, report.uncommitted) == ({}, 0.0)
        assert report.committed <= 6.0


async def test_a_loop_that_was_held_up_is_told_by_how_long() -> None:
    """H60: a handler that computes for a second keeps everybody waiting; the next report says so, the one after not."""
    async with scenario(app, Desk(), pace=Pace()) as running:
        running.clock._monotonic += 1.5  # noqa: SLF001 - time passes without a turn of the loop
        await running.clock.advance(0.0)
        await running.clock.advance(2.0)
        assert (await seen(running))[1].loop_lag == pytest.approx(1.5, abs=0.3)
        await running.clock.advance(2.0)
        assert (await seen(running))[1].loop_lag == 0.0


def test_rates_are_of_the_last_ten_seconds() -> None:
    """By counts at 0, 2, …, 20 s: 100 in the first second count until they are ten seconds old."""
    rates = Rates(0.0)
    found = {at: rates.at(float(at), {"g": (100, 50)})["g"] for at in range(2, 22, 2)}

    assert found[2] == (50.0, 25.0)  # 100 / 2 s
    assert found[10] == (10.0, 5.0)  # 100 / 10 s
    assert found[14] == (0.0, 0.0)
    assert Rates(0.0).at(0.1, {"g": (5, 0)})["g"] == (5.0, 0.0)  # over a second at least
