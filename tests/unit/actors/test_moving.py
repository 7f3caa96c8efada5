"""Another number of partitions while the app runs: slots move one by one, partitions come and go (L7, H18, H25)."""

from __future__ import annotations

import asyncio
from typing import Literal

from tests.unit.actors.local import SLOTS, LocalFleet, fleet_of
from tests.unit.runtime.desk import BadParcel, Desk, Paid, order
from tests.unit.runtime.shop import app
from wow_ray.actors.fleet import SUPERVISOR
from wow_ray.adapters.memory.faults import Operation
from wow_ray.errors import StoreUnavailableError
from wow_ray.policy.plan import Plan
from wow_ray.policy.slots import slot_of

IDS = [f"o-{number}" for number in range(12)]


async def paid(fleet: LocalFleet, *ids: str) -> None:
    """Append one event to each order."""
    for each in ids or IDS:
        await fleet.site.client.events.append(order(each), [Paid()], expected_version=None)


async def planned(fleet: LocalFleet, partitions: int, seconds: float = 5.0) -> None:
    """Plan, and let it be carried out."""
    await fleet.site.scaled(partitions)
    await fleet.site.desk.clock.advance(seconds)


async def owners(fleet: LocalFleet) -> list[str | None]:
    """Give the partition that owns each slot."""
    return [owner for _, owner in sorted((await fleet.site.owned()).items())]


async def has_what_the_plan_says(fleet: LocalFleet) -> bool:
    """Tell whether everybody owns what the plan names, and nobody else is there."""
    plan = await fleet.site.plans.present()
    assert plan is not None
    return await fleet.site.owned() == plan.owners() and await fleet.names() == {SUPERVISOR, *plan.partitions}


async def test_from_one_to_many_and_back_while_events_come() -> None:
    """L7: 1, 4, 8, 2, 1; every event is handled once and in order, and in the end nobody is there who need not be."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await fleet.start(SUPERVISOR)
        await planned(fleet, 1)
        for version, partitions in enumerate((1, 4, 8, 2, 1), 1):
            await paid(fleet)
            await planned(fleet, partitions, 1.0)
            await paid(fleet)
            await desk.clock.advance(6)
            assert await has_what_the_plan_says(fleet), partitions
            assert all(desk.versions(each) == list(range(1, 2 * version + 1)) for each in IDS)

        assert (fleet.ended, fleet.replaced) == ([], [])
        assert await fleet.site.client.ledger.counts() == {}


async def test_a_partition_that_gets_and_gives_slots_is_not_started_anew() -> None:
    """L7: the ones that stay are the same incarnations, with the slots that they keep."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await fleet.start(SUPERVISOR)
        await planned(fleet, 2)
        before = {name: fleet.actors[name]._service for name in ("shop-0", "shop-1")}  # noqa: SLF001 - looked at from inside
        await planned(fleet, 3)
        await planned(fleet, 2)

        assert {name: fleet.actors[name]._service for name in before} == before  # noqa: SLF001 - as above
        assert await owners(fleet) == ["shop-0"] * 4 + ["shop-1"] * 4


async def test_a_slot_stays_where_it_is_until_its_next_owner_lives() -> None:
    """L7: there is no room for the new partition's process for a minute; nothing stands still meanwhile."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await fleet.site.planned(1)
        await fleet.start("shop-0")
        await desk.clock.advance(2)
        await fleet.site.planned(2)
        await desk.clock.advance(60)
        await paid(fleet)
        await desk.clock.advance(1)
        assert all(desk.versions(each) == [1] for each in IDS)
        assert set(await owners(fleet)) == {"shop-0"}

        await fleet.start("shop-1")
        await desk.clock.advance(2)
        assert await owners(fleet) == ["shop-0"] * 4 + ["shop-1"] * 4


async def test_how_far_the_moves_have_come_is_told() -> None:
    """Progress: what has to come and to leave, and the slots that a call keeps (H25)."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        slot = slot_of("shop", "order", "o-1", SLOTS)
        ended = asyncio.Event()

        async def stubborn(_: object) -> None:
            while not ended.is_set():
                try:
                    await ended.wait()
                except asyncio.CancelledError:
                    continue

        desk.next("o-1", stubborn)
        await fleet.site.planned(1)
        await fleet.start("shop-0")
        await desk.clock.advance(1)
        await paid(fleet, "o-1")
        await desk.clock.advance(1)
        assert await fleet.site.plans.propose(Plan(2, "r1", {"shop-1": tuple(range(SLOTS))}))
        await desk.clock.advance(1)
        moves = (await fleet.actors["shop-0"].status())["moves"]
        assert (moves["joining"], moves["leaving"]) == (0, SLOTS)

        await fleet.start("shop-1")
        await desk.clock.advance(11.4)
        told = {name: (await fleet.actors[name].status())["moves"] for name in ("shop-0", "shop-1")}
        assert (told["shop-1"]["joining"], told["shop-1"]["kept"]) == (1, [])
        assert told["shop-0"]["stood"] < 0.1
        assert told["shop-1"]["took"] < 0.1
        assert (await fleet.site.owned())[slot] == "shop-0"

        ended.set()
        await desk.clock.advance(4)
        assert set(await owners(fleet)) == {"shop-1"}
        assert desk.versions("o-1") == [1]


async def test_the_next_owner_dies_before_it_has_what_was_given_up_for_it() -> None:
    """H18: started anew it takes exactly what the plan names; nothing is lost or handled twice."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await fleet.site.planned(1)
        for name in ("shop-0", "shop-1"):
            await fleet.start(name)
        await desk.clock.advance(2)
        async with fleet.site.memory.gate("slots.acquire_free", "end"):
            await fleet.site.planned(2)
            await paid(fleet)
            await desk.clock.advance(1)
            await fleet.kill("shop-1")
        await fleet.start("shop-1")
        await paid(fleet)
        await desk.clock.advance(3)

        assert await owners(fleet) == ["shop-0"] * 4 + ["shop-1"] * 4
        assert all(desk.versions(each) == [1, 2] for each in IDS)


async def test_the_old_owner_dies_while_it_gives_slots_up() -> None:
    """L2, L7: whether or not the store has its last word; it comes back with the slots that it keeps."""
    places: tuple[Literal["start", "end"], ...] = ("start", "end")
    for at in places:
        desk = Desk()
        async with fleet_of(app, desk) as fleet:
            await fleet.site.planned(1)
            for name in ("shop-0", "shop-1"):
                await fleet.start(name)
            await desk.clock.advance(2)
            await paid(fleet)
            await desk.clock.advance(1)
            async with fleet.site.memory.gate("slots.let_go", at):
                await fleet.site.planned(2)
                await desk.clock.advance(1)
                await fleet.kill("shop-0")
            await paid(fleet)
            await fleet.start("shop-0")
            await desk.clock.advance(3)

            assert await owners(fleet) == ["shop-0"] * 4 + ["shop-1"] * 4
            assert all(desk.versions(each) == [1, 2] for each in IDS)


async def test_the_store_goes_away_in_the_middle_of_it() -> None:
    """H26: every partition tries on; afterwards everybody has what the plan names, and every event was handled once."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await fleet.site.planned(1)
        for name in ("shop-0", "shop-1", "shop-2"):
            await fleet.start(name)
        await desk.clock.advance(2)
        operations: tuple[Operation, ...] = ("slots.let_go", "slots.acquire_free", "plans", "ledger.read")
        for operation in operations:
            fleet.site.memory.fail_next(operation, StoreUnavailableError("away"), 3)
        await fleet.site.memory.client_stores().events.append(order("o-1"), [Paid()], expected_version=None)
        for _ in range(3):
            await desk.clock.advance(1)
        await fleet.site.planned(3)
        await desk.clock.advance(5)

        plan = await fleet.site.plans.present()
        assert plan is not None
        assert await fleet.site.owned() == plan.owners()
        assert desk.versions("o-1") == [1]


async def test_a_third_plan_is_followed_while_the_second_one_is_not_carried_out_yet() -> None:
    """H18: what was on its way goes on to whoever the newest plan names."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await fleet.start(SUPERVISOR)
        await planned(fleet, 1)
        await paid(fleet)
        for partitions in (4, 2, 5, 3):
            await planned(fleet, partitions, 0.4)
            await paid(fleet)
        await desk.clock.advance(8)

        assert await has_what_the_plan_says(fleet)
        assert all(desk.versions(each) == [1, 2, 3, 4, 5] for each in IDS)


async def test_due_retries_of_slots_that_wait_to_move_are_made_where_they_are() -> None:
    """P6: the ledger's actor tells whom the plan names, who does not have them; their owner looks itself."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await fleet.site.planned(1)
        await fleet.start("shop-0")
        await desk.clock.advance(1)
        desk.next("o-1", *[BadParcel("no")] * 5)
        await paid(fleet, "o-1")
        await desk.clock.advance(10)
        assert await fleet.site.plans.propose(Plan(2, "r1", {"shop-1": tuple(range(SLOTS))}))

        await desk.clock.advance(200)

        assert desk.done == [("o-1", 1)]
