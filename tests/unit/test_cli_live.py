"""What `status`, `partitions list` and `subscriptions` write of what partitions do at present."""

from __future__ import annotations

import io
import itertools
from collections.abc import AsyncIterator, Callable

import pytest
from rich.console import Console

from tests.unit.pausing import pause
from tests.unit.runtime.desk import CarrierDown, Desk, TooBusy, paid, scenario
from tests.unit.runtime.shop import app
from wow_ray.cli.looking import Partitions, show_partitions, show_status
from wow_ray.cli.subscriptions import Groups, Shown, show_group, show_groups
from wow_ray.ops import Known, Operations, StatusView
from wow_ray.runtime.pace import Pace
from wow_ray.testing import Running

GROUP = "Notifier.on_paid"


@pytest.fixture
def desk() -> Desk:
    """Where the handlers work."""
    return Desk()


@pytest.fixture
async def running(desk: Desk) -> AsyncIterator[Running]:
    """Two partitions that report."""
    async with scenario(app, desk, partitions=2, slots=2, pace=Pace()) as running:
        yield running


@pytest.fixture
def operations(running: Running) -> Operations:
    """What an operator works with."""
    ids = itertools.count(1)
    return Operations(
        "shop",
        client=running.memory.client_stores(),
        overview=running.memory.overview(),
        clock=running.clock,
        new_id=lambda: f"r-{next(ids)}",
        known=Known.of_app(running.service.spec),
    )


def written(show: Callable[[Console], None]) -> str:
    """Give what is written on a wide page."""
    page = Console(file=io.StringIO(), width=400, markup=False, highlight=False)
    show(page)
    text = page.file.getvalue()  # type: ignore[attr-defined] # a StringIO
    return "\n".join(" ".join(line.split()) for line in text.splitlines())


async def group_of(operations: Operations) -> str:
    """Give what `subscriptions show` writes."""
    found = Shown(await operations.subscription(GROUP), ())
    return written(lambda page: show_group(found, page))


def partitions_of(status: StatusView) -> Partitions:
    """Give what `partitions list` shows."""
    names = ("plan", "release", "slots", "unowned", "moves", "running", "rate", "failed_rate", "troubles", "partitions")
    return Partitions(**{name: getattr(status, name) for name in names})


async def test_a_group_that_runs_is_written_with_its_calls_and_rates(running: Running, operations: Operations) -> None:
    """Architecture 8: one line in the list; everything, by partition, when one is shown."""
    await paid(running, *(f"o-{n}" for n in range(50)))
    await running.clock.advance(10.0)

    listed = Groups(await operations.subscriptions())
    assert f"{GROUP} running 0 of 64 5.0/s" in written(lambda page: show_groups(listed, page))
    text = await group_of(operations)
    assert "state running" in text
    assert "calls 0 of 64 at once, 5.0/s" in text
    assert "since start 50 handled, 0 failed, 0 parked" in text
    assert "seen now" in text
    assert "shop-0 running 0 of 32" in text
    assert "shop-1 running 0 of 32" in text


async def test_a_group_that_is_paused_in_one_partition_says_where_why_and_what_comes_next(
    running: Running, operations: Operations, desk: Desk
) -> None:
    """D3, W4: since when, the next probe, and what the last one ended in."""
    desk.always("a", CarrierDown("no route"))
    await paid(running, "a")
    await running.clock.advance(20.0)

    listed = Groups(await operations.subscriptions())
    line = written(lambda page: show_groups(listed, page))
    where = "shop-0" if f"{GROUP} paused in shop-0" in line else "shop-1"
    assert f"{GROUP} paused in {where} 0 of 64" in line
    text = await group_of(operations)
    assert f"state paused in {where}: tests.unit.runtime.desk.CarrierDown: no route" in text
    assert "probing systemic since 2030-01-01 00:00:00Z, next probe 2030-01-01 00:00:" in text
    assert "probes failed, the last ended in tests.unit.runtime.desk.CarrierDown: no route" in text
    assert "failing 1 aggregate" in text


async def test_a_lower_limit_says_why(running: Running, operations: Operations, desk: Desk) -> None:
    """D4: the other side is busy."""
    for each in "abcdefgh":
        desk.next(each, TooBusy("3"))
    await paid(running, *"abcdefgh")
    await running.clock.advance(2.5)

    text = await group_of(operations)
    assert "state slowed" in text
    assert ": the other side is busy" in text
    assert "share 64 at once (busy)" in text


async def test_what_somebody_stopped_and_what_is_silent_is_written(running: Running, operations: Operations) -> None:
    """H44, H60: reasons, and for how long nothing was heard."""
    await pause(running.memory, GROUP)
    await running.clock.advance(4.0)
    assert "state stopped: operator" in await group_of(operations)

    async with running.memory.gate("reports.write"):
        await running.clock.advance(30.0)
        text = await group_of(operations)
        assert "state stale: no report for 30 s" in text
        assert "seen 30s ago" in text
        status = await operations.status()
        assert "trouble shop-0: no report for 30 s; shop-1: no report for 30 s" in written(
            lambda page: show_status(status, page)
        )
        assert "trouble: shop-1: no report for 30 s" in written(
            lambda page: show_partitions(partitions_of(status), page)
        )


async def test_partitions_are_listed_with_how_they_are(running: Running, operations: Operations, desk: Desk) -> None:
    """Architecture 8: state, calls, rates, the last commit, and the groups that do not simply run."""
    desk.always("a", CarrierDown("no route"))
    await paid(running, "a")
    await running.clock.advance(10.0)

    status = await operations.status()
    text = written(lambda page: show_partitions(partitions_of(status), page))
    assert "shop-0 1 running " in text
    assert f"{GROUP} paused" in text
    shown = written(lambda page: show_status(status, page))
    assert " calls, 0.0/s, " in shown
    assert "failures/s" in shown
    assert "never" not in shown


async def test_what_runs_nowhere_is_written_so(operations: Operations, running: Running) -> None:
    """A store without a program, or with one of the release before, shows what it knows."""
    running.memory._server.reports.clear()  # noqa: SLF001 - as if nobody had said anything
    assert "state no partition says anything of it" in await group_of(operations)
    status = await operations.status()
    assert "never" in written(lambda page: show_status(status, page))
    empty = Partitions(None, None, 2, (0, 1), (), 0, 0.0, 0.0, (), ())
    text = written(lambda page: show_partitions(empty, page))
    assert "2 slots of 2 have no owner that lives" in text
    assert "no partition runs" in text
