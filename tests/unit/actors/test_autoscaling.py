"""The number of partitions follows the lag by itself, where the settings say so (architecture 6)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from tests.unit.actors.local import LocalFleet, fleet_of
from tests.unit.runtime.desk import CarrierDown, Desk, Paid, order
from tests.unit.runtime.shop import app
from wow_ray.actors.autoscaling import ACTOR
from wow_ray.actors.fleet import SUPERVISOR
from wow_ray.actors.supervisor import SILENT
from wow_ray.policy.autoscale import Bounds
from wow_ray.policy.plan import Plan

BOUNDS = Bounds(1, 3, 10, 5.0)
MANY = [f"o-{number}" for number in range(40)]


async def started(fleet: LocalFleet, bounds: Bounds | None) -> None:
    """Have one partition run under a supervisor with these bounds."""
    fleet.site.autoscale = bounds
    await fleet.site.planned(1)
    await fleet.start(SUPERVISOR)
    await fleet.site.desk.clock.advance(3)


@asynccontextmanager
async def flooded(fleet: LocalFleet) -> AsyncIterator[None]:
    """Let much come, and nothing be read."""
    async with fleet.site.memory.gate("reader.page"):
        for each in MANY:
            await fleet.site.client.events.append(order(each), [Paid()], expected_version=None)
        yield


async def plan_of(fleet: LocalFleet) -> Plan:
    """Give the present plan."""
    plan = await fleet.site.plans.present()
    assert plan is not None
    return plan


async def test_a_rising_lag_adds_partitions_and_an_empty_log_takes_them_away_again() -> None:
    """40 events behind, 10 for each: 2 after a cool-down, 3 after the next, no more; then one less each time."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await started(fleet, BOUNDS)
        seen = []
        async with flooded(fleet):
            for _ in range(20):
                await desk.clock.advance(1)
                seen.append(len((await plan_of(fleet)).partitions))
            plan = await plan_of(fleet)
        for _ in range(20):
            await desk.clock.advance(1)
            seen.append(len((await plan_of(fleet)).partitions))

        changes = [here for here in range(1, len(seen)) if seen[here] != seen[here - 1]]
        assert [seen[here] for here in [0, *changes]] == [1, 2, 3, 2, 1]
        assert all(then - now >= BOUNDS.cool_down for now, then in pairwise(changes))
        assert (plan.actor, plan.reason) == (ACTOR, "40 events behind, 10 for each partition")
        assert sorted(name for name, _ in desk.done) == sorted(MANY)


@pytest.mark.parametrize("bounds", [None, Bounds(1, 1, 10, 5.0)])
async def test_without_bounds_nothing_changes(bounds: Bounds | None) -> None:
    """It is off unless `autoscale.max` is set."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await started(fleet, bounds)
        async with flooded(fleet):
            await desk.clock.advance(30)

        assert (await plan_of(fleet)).number == 1


async def test_what_stands_still_asks_for_nothing() -> None:
    """W1, H44: its surroundings fail, or somebody has paused it; more partitions would not help."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        for each in MANY:
            desk.always(each, CarrierDown())
        await started(fleet, BOUNDS)
        for each in MANY:
            await fleet.site.client.events.append(order(each), [Paid()], expected_version=None)
        await desk.clock.advance(1)
        async with flooded(fleet):
            await desk.clock.advance(30)

            assert (await plan_of(fleet)).number == 1


async def test_a_partition_without_room_in_the_cluster_is_waited_for() -> None:
    """Its actor waits for a place and is not taken for hung; whoever has its slots goes on meanwhile."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await started(fleet, None)
        fleet.silent.add("shop-1")
        fleet.homeless.add("shop-1")
        await fleet.site.scaled(2)
        await desk.clock.advance(3 * SILENT)
        assert fleet.replaced == []

        fleet.homeless.clear()
        await desk.clock.advance(SILENT)
        assert fleet.replaced == ["shop-1"]
        await desk.clock.advance(3)
        assert set((await fleet.site.owned()).values()) == {"shop-0", "shop-1"}
