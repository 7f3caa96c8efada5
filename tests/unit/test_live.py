"""What operators are shown of partitions' reports: states, reasons, sums, and what is not taken for the present."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from wow_ray.ops.lags import Oldest
from wow_ray.ops.live import Lagging, heard_of, live_group, live_partition, troubles
from wow_ray.ops.live_views import LiveGroup
from wow_ray.policy.report import GroupReport, PartitionReport, PauseReport
from wow_ray.ports.overview import OwnerSeen, SlotSeen, Snapshot
from wow_ray.ports.reports import ReportSeen

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
RUNS = GroupReport(100, 4, 2, 10.0, 0.5, 3, 8, 8)
PAUSED = replace(
    RUNS,
    rate=0.0,
    running=1,
    failing=7,
    pause=PauseReport("systemic", "2030-01-01T11:59:00Z", "", "Down: no route", 4.0, "Down: still none", 3, 1),
)
REPORT = PartitionReport(every=2.0, up=60.0, slots=4, committed=0.1)


def snapshot(*partitions: str, left: float = 8.0) -> Snapshot:
    """A store whose slots are shared by these partitions, four each, with so much left of their leases."""
    slots = [SlotSeen(n, 0, name, f"{name}/1", {}) for n, name in enumerate(partitions)]
    owners = [OwnerSeen(f"{name}/1", name, "node", 7, left) for name in partitions]
    return Snapshot(NOW, "memory", 9, (), tuple(slots), tuple(owners))


def said(partition: str, report: PartitionReport | None, age: float = 1.0, owner: str = "1") -> ReportSeen:
    """What a partition has said so long ago."""
    return ReportSeen(partition, f"{partition}/{owner}", NOW - timedelta(seconds=age), age, report)


def of(group: GroupReport, **changes: object) -> PartitionReport:
    """A report of one group."""
    return replace(REPORT, groups={"Sales": group}, **changes)  # type: ignore[arg-type] # the fields of a report


def live(*reports: ReportSeen, left: float = 8.0) -> LiveGroup:
    """The group of these reports."""
    names = [each.partition for each in reports]
    found = live_group("Sales", heard_of(snapshot(*names, left=left), reports), {})
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("report", "age", "state", "why"),
    [
        (of(RUNS), 1.0, "running", ""),
        (of(RUNS), 10.0, "running", ""),
        (of(RUNS), 10.1, "stale", "no report for 10 s"),
        (of(RUNS, every=3_600.0), 10.1, "running", ""),
        (of(replace(RUNS, limit=2, limited="busy")), 1.0, "slowed", "the other side is busy"),
        (of(replace(RUNS, limit=1, limited="ramp")), 1.0, "slowed", "the load comes back by and by after a pause"),
        (of(replace(RUNS, limit=1, limited="ceiling")), 1.0, "slowed", "all partitions together may do no more"),
        (of(RUNS, gates=("lease", "store")), 1.0, "held", "its lease is not sure, our own store is away"),
        (of(RUNS, gates=("new",)), 1.0, "held", "new"),
        (of(PAUSED), 1.0, "paused", "Down: no route"),
        (of(PAUSED, gates=("store",)), 1.0, "paused", "Down: no route"),
        (of(replace(PAUSED, stops=("deploy", "operator"))), 1.0, "stopped", "deploy, operator"),
        (of(PAUSED), 60.0, "stale", "no report for 60 s"),
    ],
)
def test_a_group_has_one_state_in_a_partition_and_a_reason(
    report: PartitionReport, age: float, state: str, why: str
) -> None:
    """H44, D3, D4: what somebody asked for goes before what it does by itself; the old is never the present."""
    (part,) = live(said("shop-0", report, age)).parts
    assert (part.state, part.why, part.age) == (state, why, age)


def test_a_group_is_as_its_gravest_partition_and_says_where() -> None:
    """D3: one of three is paused; sums are of all of them, rates of those that say so now."""
    found = live(
        said("shop-0", of(RUNS), 2.5),
        said("shop-1", of(PAUSED), 1.0),
        said("shop-2", of(replace(RUNS, limit=2, limited="busy")), 0.5),
    )

    assert (found.state, found.where, found.why) == ("paused", ("shop-1",), "Down: no route")
    assert (found.handled, found.failed, found.parked, found.age) == (300, 12, 6, 2.5)
    assert (found.rate, found.failed_rate, found.running) == (20.0, 1.5, 7)
    assert (found.limit, found.share, found.limited, found.failing) == (18, 24, ("busy",), 7)
    assert found.pause is not None
    assert found.pause.partition == "shop-1"
    assert found.pause.since == NOW - timedelta(minutes=1)
    assert found.pause.next_probe == NOW + timedelta(seconds=3)  # told a second ago: in four
    assert (found.pause.subscription, found.pause.last_probe_error) == ("Sales", "Down: still none")
    assert (found.pause.probes_failed, found.pause.healthy_needed) == (3, 1)


def test_the_pause_shown_of_several_is_the_one_that_has_lasted_longest() -> None:
    """W7: since when somebody has been waiting."""
    later = replace(PAUSED, pause=replace(PAUSED.pause, since="2030-01-01T11:59:30Z"))  # type: ignore[type-var] # it has one
    odd = replace(PAUSED, pause=replace(PAUSED.pause, since="yesterday"))  # type: ignore[type-var] # as above
    found = live(said("shop-0", of(odd)), said("shop-1", of(later)), said("shop-2", of(PAUSED)))
    assert found.pause is not None
    assert found.pause.partition == "shop-2"


def test_what_a_stale_partition_said_is_shown_and_not_counted_as_present() -> None:
    """H60: it may be stuck; nobody is told that it handles ten a second."""
    found = live(said("shop-0", of(RUNS)), said("shop-1", of(RUNS), 40.0))
    assert (found.state, found.where, found.why, found.age) == ("stale", ("shop-1",), "no report for 40 s", 40.0)
    assert (found.handled, found.rate, found.running) == (200, 10.0, 3)


def test_reports_of_nobody_are_not_shown() -> None:
    """L3: an incarnation that is gone, a partition that was scaled away, a report that cannot be read."""
    reports = [said("shop-0", of(RUNS), owner="0"), said("shop-9", of(RUNS)), said("shop-1", None)]
    assert heard_of(snapshot("shop-0", "shop-1"), reports) == ()
    assert live_group("Sales", (), {}) is None
    assert live_group("Nobody", heard_of(snapshot("shop-0"), [said("shop-0", of(RUNS))]), {}) is None


def test_a_partition_whose_lease_has_ended_is_stale_until_somebody_takes_its_slots() -> None:
    """L3: it does nothing any more, however lately it has said that it does; readiness tells its slots."""
    report = said("shop-0", of(RUNS))
    (part,) = live(report, left=-1.0).parts
    assert (part.state, part.why) == ("stale", "its lease has ended")
    assert troubles(heard_of(snapshot("shop-0", left=-1.0), [report])) == ()


@pytest.mark.parametrize(
    ("report", "age", "said_of"),
    [
        (REPORT, 9.9, []),
        (REPORT, 10.1, ["shop-0: no report for 10 s"]),
        (replace(REPORT, late={"feed": 9.9, "stops": 2.0}), 1.0, []),
        (replace(REPORT, late={"feed": 12.0}), 1.0, ["shop-0: its feed is 12 s overdue"]),
        (replace(REPORT, uncommitted=29.9), 1.0, []),
        (replace(REPORT, uncommitted=31.0), 1.0, ["shop-0: what it has to commit waits for 31 s"]),
        (replace(REPORT, committed=3_600.0), 1.0, []),
    ],
)
def test_health_knows_a_loop_without_a_turn_and_a_commit_that_waits(
    report: PartitionReport, age: float, said_of: list[str]
) -> None:
    """H60: ten seconds and thirty; a partition with nothing to commit may be silent in the log for an hour."""
    assert list(troubles(heard_of(snapshot("shop-0"), [said("shop-0", report, age)]))) == said_of


def test_a_partition_names_the_groups_that_do_not_simply_run() -> None:
    """Architecture 8: sums of its groups, and what is odd about it."""
    report = replace(REPORT, groups={"Sales": RUNS, "Mails": PAUSED}, replaced=1, left_out=2, loop_lag=0.4)
    (heard,) = heard_of(snapshot("shop-0"), [said("shop-0", report)])
    found = live_partition(heard)
    assert (found.state, found.groups, found.left_out) == ("running", {"Mails": "paused"}, 2)
    assert (found.handled, found.running, found.rate, found.failed_rate) == (200, 4, 10.0, 1.0)
    assert (found.replaced, found.loop_lag, found.up, found.committed) == (1, 0.4, 60.0, 0.1)
    assert found.to_json()["groups"] == {"Mails": "paused"}


def test_what_a_partition_has_left_to_do_is_the_stores() -> None:
    """H60: the report does not know how long its oldest event has waited, the log does."""
    oldest = Oldest(0, 7, NOW, 3.0)
    heard = heard_of(snapshot("shop-0"), [said("shop-0", of(RUNS))])
    found = live_group("Sales", heard, {"shop-0": Lagging(12, oldest)})
    assert found is not None
    assert (found.parts[0].lag, found.parts[0].oldest) == (12, oldest)
