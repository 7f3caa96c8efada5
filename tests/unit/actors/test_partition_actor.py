"""A partition's actor takes what the plan names for it, by itself, and ends when it loses it (H18, L3)."""

from __future__ import annotations

import asyncio
import threading

from tests.unit.actors.local import LocalFleet, LocalSite, fleet_of
from tests.unit.runtime.desk import Desk, Paid, order
from tests.unit.runtime.shop import app
from wow_ray.actors.life import FAILED
from wow_ray.errors import StoreUnavailableError
from wow_ray.policy.slots import slot_of
from wow_ray.policy.suspicion import Ending
from wow_ray.ports.slots import Owner


async def started(fleet: LocalFleet, *names: str, seconds: float = 3.0) -> None:
    """Start these partitions and let time pass."""
    for name in names:
        await fleet.start(name)
    await fleet.site.desk.clock.advance(seconds)


async def paid(site: LocalSite, *ids: str) -> None:
    """Append one event to each order."""
    for each in ids:
        await site.client.events.append(order(each), [Paid()], expected_version=None)


async def test_a_partition_takes_the_slots_that_the_plan_names_for_it() -> None:
    """H18: nobody has to tell it; 8 slots over 2 partitions, and an event of either half is handled once."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await fleet.site.planned(2)
        await paid(fleet.site, "o-1", "o-2", "o-3", "o-4")
        await started(fleet, "shop-0", "shop-1")
        await paid(fleet.site, "o-1", "o-2", "o-3", "o-4")
        await desk.clock.advance(1)

        owned = await fleet.site.owned()
        assert [owned[slot] for slot in range(8)] == ["shop-0"] * 4 + ["shop-1"] * 4
        assert sorted(desk.done) == [(f"o-{n}", 2) for n in range(1, 5)]
        status = await fleet.actors["shop-1"].status()
        assert (status["standing"], status["plan"], status["slots"]) == ("running", 1, [4, 5, 6, 7])


async def test_without_a_plan_it_waits() -> None:
    """Neither a partition that is in no plan nor a program of another release owns anything (H19)."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await started(fleet, "shop-0", "shop-7")
        assert (await fleet.actors["shop-0"].status())["standing"] == "waiting"

        await fleet.site.planned(2, release="r2")
        await desk.clock.advance(3)
        assert set((await fleet.site.owned()).values()) == {None}

        await fleet.site.planned(2)
        await desk.clock.advance(3)
        assert (await fleet.actors["shop-0"].status())["standing"] == "running"
        assert (await fleet.actors["shop-7"].status())["standing"] == "waiting"


async def test_a_start_that_fails_is_tried_again() -> None:
    """The store is away for a minute: the process lives, says why it does not run, and runs 5 s after its return."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await fleet.site.planned(1)
        fleet.site.away = StoreUnavailableError("the store is away")
        await started(fleet, "shop-0", seconds=60)
        status = await fleet.actors["shop-0"].status()
        assert (status["standing"], "the store is away" in status["trouble"]) == ("starting", True)

        fleet.site.away = None
        await desk.clock.advance(5)
        status = await fleet.actors["shop-0"].status()
        assert (status["standing"], status["trouble"], fleet.ended) == ("running", "", [])


async def test_a_restarted_partition_takes_exactly_its_slots_again() -> None:
    """Supervisor or not: killed, the second incarnation owns what the first did, and the other keeps its own."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await fleet.site.planned(2)
        await started(fleet, "shop-0", "shop-1")
        before = await fleet.site.owned()

        await fleet.kill("shop-1")
        assert set((await fleet.site.owned()).values()) == {"shop-0", None}
        await started(fleet, "shop-1")

        assert await fleet.site.owned() == before


async def test_a_fenced_owner_ends_its_process_and_takes_nothing_back() -> None:
    """S33, H18: somebody else has acquired every slot of it; no call of it begins any more."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await fleet.site.planned(1)
        await started(fleet, "shop-0")
        (partition,) = fleet.actors["shop-0"]._service.partitions  # noqa: SLF001 - looked at from inside
        fleet.site.memory.lose_lease(partition.owner.id)
        other = fleet.site.memory.partition_stores()
        usurper = Owner("usurper", "shop-9", "elsewhere", 2, None)
        await other.lease.start(usurper)
        await other.slots.acquire(usurper, range(8))

        await paid(fleet.site, "o-1")
        await desk.clock.advance(10)

        assert fleet.ended[0] == ("shop-0", FAILED)
        assert desk.done == []
        assert set((await fleet.site.owned()).values()) == {"shop-9"}


async def test_a_newer_plan_is_followed_in_order() -> None:
    """L7: one partition becomes two; the first drains and keeps half, nothing is lost, repeated or out of order."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await fleet.site.planned(1)
        await started(fleet, "shop-0", "shop-1")
        for _ in range(3):
            await paid(fleet.site, "o-1", "o-2", "o-3")
        await desk.clock.advance(1)

        await fleet.site.planned(2)
        for _ in range(3):
            await paid(fleet.site, "o-1", "o-2", "o-3")
        await desk.clock.advance(10)

        assert sorted(desk.done) == [(f"o-{n}", version) for n in range(1, 4) for version in range(1, 7)]
        assert all(desk.versions(f"o-{n}") == [1, 2, 3, 4, 5, 6] for n in range(1, 4))
        assert [owner for _, owner in sorted((await fleet.site.owned()).items())] == ["shop-0"] * 4 + ["shop-1"] * 4


async def test_a_drain_lets_calls_end_and_gives_the_slots_up() -> None:
    """S48: a call of 3 s is under way; it ends, costs nothing, and the successor does not repeat it."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await fleet.site.planned(1)
        await started(fleet, "shop-0")
        desk.next("o-1", desk.sleeping(3))
        await paid(fleet.site, "o-1")
        await desk.clock.advance(1)

        draining = asyncio.ensure_future(fleet.drain("shop-0", 30))
        await desk.clock.advance(1)
        assert not draining.done()
        await desk.clock.advance(5)

        assert await draining
        assert set((await fleet.site.owned()).values()) == {None}
        await fleet.kill("shop-0")
        await started(fleet, "shop-0")
        assert desk.versions("o-1") == [1]


async def test_five_drains_in_a_row_charge_nothing() -> None:
    """S48: a call that never ends is interrupted by each of 5 drains; nothing is charged, nothing parked."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await fleet.site.planned(1)
        desk.next("o-1", *[desk.sleeping(20)] * 5)
        for turn in range(5):
            await started(fleet, "shop-0")
            if turn == 0:
                await paid(fleet.site, "o-1")
            await desk.clock.advance(1)
            draining = asyncio.ensure_future(fleet.drain("shop-0", 30))
            await desk.clock.advance(15)
            assert await draining
            await fleet.kill("shop-0")
        await started(fleet, "shop-0")

        assert [call.attempt for call in desk.calls] == [1] * 6
        assert desk.done == [("o-1", 1)]
        assert await fleet.site.client.ledger.counts() == {}


async def test_a_loop_that_dies_takes_its_process_with_it() -> None:
    """A handler's `SystemExit` ends the loop and its thread: Ray would not notice, so a watch in the process does."""
    ended = threading.Event()
    loop = asyncio.new_event_loop()

    async def born() -> LocalFleet:
        fleet = LocalFleet(LocalSite(app, Desk()))
        fleet.on_end = ended.set
        await fleet.start("shop-0")
        return fleet

    fleets: list[LocalFleet] = []
    thread = threading.Thread(target=lambda: fleets.append(loop.run_until_complete(born())))
    thread.start()
    thread.join()

    assert await asyncio.to_thread(ended.wait, 10)
    await asyncio.to_thread(lambda: loop.run_until_complete(fleets[0].close()))
    loop.close()


async def test_a_status_is_answered_from_another_thread() -> None:
    """The control group's thread reads plain values while the data loop does something else."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await fleet.site.planned(1)
        await started(fleet, "shop-0")
        slot = slot_of("shop", "order", "o-1", 8)

        status = await asyncio.to_thread(lambda: asyncio.run(fleet.actors["shop-0"].status()))

        assert slot in status["slots"]
        group: dict[str, object] = {"handled": 0, "failures": 0, "running": 0, "paused": False, "still": False}
        group |= {"limit": 32, "full": 32, "cause": ""}
        assert status["groups"] == {"Notifier.on_paid": group}


async def test_a_process_that_a_signal_ends_in_order_died_of_nothing() -> None:
    """P15, S48: Ray's last call of it says so, whatever was under way; without the store it ends all the same."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await fleet.site.planned(1)
        await fleet.start("shop-0")
        await desk.clock.advance(1)
        await asyncio.to_thread(fleet.actors["shop-0"].__ray_shutdown__)
        fleet.site.away = StoreUnavailableError("away")
        await asyncio.to_thread(fleet.actors["shop-0"].__ray_shutdown__)
        fleet.site.away = None
        await fleet.kill("shop-0")
        await fleet.start("shop-0")
        await desk.clock.advance(1)

        server = fleet.site.memory._server  # noqa: SLF001 - looks into the store
        (start,) = server.starts.of(Owner("somebody", "shop-0", "test", 1, None))
        assert start.ending is Ending.EXCUSED
