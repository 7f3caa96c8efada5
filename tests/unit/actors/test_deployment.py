"""Bringing an app's actors up and down: what differs is changed, nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from tests.unit.actors.local import LocalFleet, fleet_of
from tests.unit.runtime.desk import Desk, Paid, order
from tests.unit.runtime.shop import app
from wow_ray.actors.deployment import Deployment
from wow_ray.actors.fleet import LEDGER, SUPERVISOR
from wow_ray.errors import StoreUnavailableError, WowError
from wow_ray.policy.plan import Plan
from wow_ray.policy.suspicion import Ending
from wow_ray.ports.slots import Owner

T = TypeVar("T")


async def passing(fleet: LocalFleet, work: Coroutine[Any, Any, T], seconds: float = 10.0) -> T:
    """Let time pass until some work is done."""
    task = asyncio.ensure_future(work)
    for _ in range(int(seconds)):
        await fleet.site.desk.clock.advance(1)
        if task.done():
            break
    return await asyncio.wait_for(task, 1)


async def up(fleet: LocalFleet, partitions: int, said: list[str] | None = None) -> Plan:
    """Bring it up."""
    deployment = Deployment(fleet.site, fleet, ([] if said is None else said).append)
    async with fleet.site.control() as control:
        return await passing(fleet, deployment.up(control, partitions))


async def test_up_starts_everything_and_answers_when_it_runs() -> None:
    """Two partitions, a supervisor and the ledger's actor; an event is handled."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        plan = await up(fleet, 2)

        assert await fleet.names() == {SUPERVISOR, LEDGER, "shop-0", "shop-1"}
        assert set((await fleet.site.owned()).values()) == set(plan.partitions)
        await fleet.site.client.events.append(order("o-1"), [Paid()], expected_version=None)
        await desk.clock.advance(1)
        assert desk.done == [("o-1", 1)]


async def test_up_again_changes_nothing_and_another_number_moves_the_slots() -> None:
    """The second `up` answers the same plan and touches no actor; the third makes a plan of three partitions."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        plan = await up(fleet, 2)
        before = dict(fleet.actors)

        assert await up(fleet, 2) == plan
        assert fleet.actors == before

        assert (await up(fleet, 3)).number == plan.number + 1
        assert set((await fleet.site.owned()).values()) == {"shop-0", "shop-1", "shop-2"}


async def test_down_leaves_nothing_running_and_a_plan_in_which_nobody_owns_anything() -> None:
    """So that an actor that could not be reached gives its slots up as well."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet, fleet_of(app, desk, memory=fleet.site.memory) as unreachable:
        await up(fleet, 2)
        await unreachable.start("shop-0")
        await desk.clock.advance(2)
        async with fleet.site.control() as control:
            await passing(fleet, Deployment(fleet.site, fleet, print).down(control))

        assert await fleet.names() == frozenset()
        await desk.clock.advance(3)
        assert set((await fleet.site.owned()).values()) == {None}
        assert (await unreachable.actors["shop-0"].status())["standing"] == "waiting"


async def test_a_partition_that_does_not_drain_in_time_died_of_nothing() -> None:
    """P15, H10: its process is ended all the same, on purpose; the next start suspects nobody of it."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await up(fleet, 1)

        async def hangs(partition: str, patience: float) -> bool:
            del partition, patience
            return False

        fleet.drain = hangs  # type: ignore[method-assign]
        async with fleet.site.control() as control:
            await passing(fleet, Deployment(fleet.site, fleet, print).down(control))
        assert await fleet.names() == frozenset()
        await up(fleet, 1)

        server = fleet.site.memory._server  # noqa: SLF001 - looks into the store
        (start,) = server.starts.of(Owner("somebody", "shop-0", "test", 1, None))
        assert start.ending is Ending.EXCUSED


async def test_a_program_in_the_foreground_leaves_the_plan_to_whoever_waits() -> None:
    """A second machine runs the same command and waits for the slots; the first one ends, the second one takes over."""
    desk = Desk()
    async with fleet_of(app, desk) as first, fleet_of(app, desk, memory=first.site.memory) as second:
        await up(first, 1)
        waiting = Deployment(second.site, second, print, 1_000)
        async with second.site.control() as control:
            starting = asyncio.ensure_future(waiting.up(control, 1))
            await desk.clock.advance(60)
            assert not starting.done()

            await passing(first, Deployment(first.site, first, print).down(None))
            await passing(second, asyncio.wait_for(starting, 5))

        assert set((await second.site.owned()).values()) == {"shop-0"}


async def test_a_partition_that_does_not_start_fails_it_with_the_reason() -> None:
    """Somebody else holds every slot for good; or the store cannot be reached from the partitions' processes."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        other = fleet.site.memory.partition_stores()
        usurper = Owner("usurper", "elsewhere", "elsewhere", 2, None)
        await other.lease.start(usurper)
        await other.slots.acquire(usurper, range(8))
        said: list[str] = []
        deployment = Deployment(fleet.site, fleet, said.append, 30)
        async with fleet.site.control() as control:
            with pytest.raises(WowError, match="somebody else's"):
                await passing(fleet, deployment.up(control, 1), 60)
            assert any("shop-0 does not run yet" in line for line in said)

            fleet.site.away = StoreUnavailableError("the store is away")
            await fleet.close()
            with pytest.raises(WowError, match="the store is away"):
                await passing(fleet, Deployment(fleet.site, fleet, print, 30).up(control, 1), 200)
