"""Partitions and their supervisor while a downstream is away or busy (W7, D3, D4)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.actors.local import SLOTS, LocalFleet, fleet_of
from tests.unit.runtime.desk import CarrierDown, Desk, Paid, TooBusy, order
from tests.unit.runtime.shop import app
from wow_ray.actors.fleet import SUPERVISOR
from wow_ray.policy.slots import slot_of
from wow_ray.runtime.group import Group

PARTITIONS = 4


async def running(fleet: LocalFleet, partitions: int = PARTITIONS) -> None:
    """Have so many partitions run under a supervisor."""
    await fleet.start(SUPERVISOR)
    await fleet.site.scaled(partitions)
    await fleet.site.desk.clock.advance(5)


def group_of(fleet: LocalFleet, name: str) -> Group:
    """Give the one group of a partition."""
    service = fleet.actors[name]._service  # noqa: SLF001 - what it hosts is the point
    (partition,) = service.partitions
    (group,) = partition.groups.values()
    return group  # type: ignore[no-any-return] # read from an actor without types


def groups(fleet: LocalFleet) -> list[Group]:
    """Give the group of every partition that runs."""
    return [group_of(fleet, name) for name in sorted(fleet.actors) if name.startswith("shop-")]


def spread_ids(each: int) -> list[str]:
    """Name so many orders for every slot."""
    found: dict[int, list[str]] = {slot: [] for slot in range(SLOTS)}
    number = 0
    while any(len(names) < each for names in found.values()):
        name = f"o-{number}"
        names = found[slot_of("shop", "order", name, SLOTS)]
        if len(names) < each:
            names.append(name)
        number += 1
    return [name for names in found.values() for name in names]


async def outage(fleet: LocalFleet, ids: list[str], step: Any) -> None:  # noqa: ANN401 - a step of the desk
    """Let everything fail, and everybody be called."""
    for name in ids:
        fleet.site.desk.always(name, step)
        await fleet.site.client.events.append(order(name), [Paid()], expected_version=None)
    await fleet.site.desk.clock.advance(5)


async def test_in_an_outage_one_probe_at_a_time_goes_out_cluster_wide_and_the_first_success_hurries_all() -> None:
    """W7, D3, H17: four partitions are paused and take turns; with the other side back all go on within moments."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await running(fleet)
        ids = spread_ids(3)
        await outage(fleet, ids, desk.failing(0.5, CarrierDown()))
        assert all(group.paused for group in groups(fleet))
        most = 0
        for _ in range(600):
            await desk.clock.advance(0.1)
            most = max(most, sum(desk.running.values()))
        assert most == 1
        for name in ids:
            desk.drop_steps(name)
        paused = [sum(group.paused for group in groups(fleet))]
        while paused[-1] and len(paused) < 200:
            await desk.clock.advance(0.1)
            paused.append(sum(group.paused for group in groups(fleet)))
        assert len([count for count in paused if 0 < count < PARTITIONS]) <= 3
        await desk.clock.advance(10)
        assert sorted(name for name, _ in desk.done) == sorted(ids)


@pytest.mark.parametrize("how", ["killed", "silent"])
async def test_without_an_answer_of_the_supervisor_each_partition_probes_alone(how: str) -> None:
    """W7, H18: it is gone, or does not answer within a second; every partition finds out by itself."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await running(fleet)
        ids = spread_ids(1)
        await outage(fleet, ids, CarrierDown())
        if how == "killed":
            await fleet.kill(SUPERVISOR)
        else:
            fleet.silent.add(SUPERVISOR)
        for name in ids:
            desk.drop_steps(name)
        await desk.clock.advance(15)
        assert not any(group.paused for group in groups(fleet))
        assert sorted(name for name, _ in desk.done) == sorted(ids)


async def test_a_supervisor_that_begins_anew_in_an_outage_knows_all_of_it_again() -> None:
    """W7, 4.4: it is rebuilt from what the partitions say; its view names where it is paused and who probes."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await running(fleet)
        ids = spread_ids(1)
        await outage(fleet, ids, desk.failing(1, CarrierDown()))
        await fleet.kill(SUPERVISOR)
        await desk.clock.advance(5)
        await fleet.start(SUPERVISOR)
        await desk.clock.advance(8)
        view = (await fleet.actors[SUPERVISOR].status())["groups"]["Notifier.on_paid"]
        assert view["paused"] == [f"shop-{number}" for number in range(PARTITIONS)]
        assert view["probing"] in view["paused"]
        for name in ids:
            desk.drop_steps(name)
        await desk.clock.advance(20)
        assert sorted(name for name, _ in desk.done) == sorted(ids)


async def test_a_busy_downstream_bounds_all_partitions_and_the_bound_ends_with_the_trouble() -> None:
    """D4, W7: shop-0 meets busy answers; shop-1 does not, and begins no full load there; lost advice ends by itself."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await running(fleet, 2)
        busy = [each for each in spread_ids(1) if slot_of("shop", "order", each, SLOTS) < SLOTS // 2]
        await outage(fleet, busy, TooBusy())
        first, second = groups(fleet)
        assert first.limiter.cause == "busy"
        assert second.limit == 2 * first.limit < 32
        assert second.limiter.cause == "ceiling"
        await fleet.kill(SUPERVISOR)
        await desk.clock.advance(15)
        assert second.limit == 32
