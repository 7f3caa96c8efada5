"""The supervisor proposes one plan, keeps who is in it, and can be missed."""

from __future__ import annotations

from tests.unit.actors.local import LocalFleet, fleet_of
from tests.unit.runtime.desk import Desk, Paid, order
from tests.unit.runtime.shop import app
from wow_ray.actors.fleet import LEDGER, SUPERVISOR
from wow_ray.actors.supervisor import SILENT, STRANGE, STUCK
from wow_ray.errors import StoreUnavailableError
from wow_ray.policy.plan import Plan, spread
from wow_ray.policy.suspicion import Ending
from wow_ray.ports.slots import Owner


async def planned(fleet: LocalFleet, partitions: int) -> int:
    """Plan, and let it carry that out."""
    plan = await fleet.site.scaled(partitions)
    await fleet.site.desk.clock.advance(5)
    return plan.number


async def test_it_starts_a_partition_for_each_name_in_its_plan() -> None:
    """8 slots over 3 partitions: three actors run, and every slot has an owner."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await fleet.start(SUPERVISOR)

        assert await planned(fleet, 3) == 1

        assert await fleet.names() == {SUPERVISOR, "shop-0", "shop-1", "shop-2"}
        assert set((await fleet.site.owned()).values()) == {"shop-0", "shop-1", "shop-2"}
        status = await fleet.actors[SUPERVISOR].status()
        assert {name: each["standing"] for name, each in status["partitions"].items()} == dict.fromkeys(
            ("shop-0", "shop-1", "shop-2"), "running"
        )


async def test_without_it_everything_goes_on() -> None:
    """Killed for a minute: events are handled, a dead partition takes its slots again; back, it changes nothing."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await fleet.start(SUPERVISOR)
        await planned(fleet, 2)
        await fleet.kill(SUPERVISOR)

        await fleet.site.client.events.append(order("o-1"), [Paid()], expected_version=None)
        await desk.clock.advance(30)
        await fleet.kill("shop-0")
        await fleet.start("shop-0")  # as Ray does
        await desk.clock.advance(30)
        assert desk.done == [("o-1", 1)]
        before = await fleet.site.owned()

        await fleet.start(SUPERVISOR)
        await desk.clock.advance(5)

        assert await fleet.site.owned() == before
        assert (fleet.replaced, fleet.ended) == ([], [])
        assert await fleet.site.plans.present() == Plan(1, "r1", spread("shop", 2, 8))


async def test_a_partition_that_was_never_started_or_is_gone_for_good_is_started() -> None:
    """Ray restarts processes; an actor that it has given up is made anew under its name within two rounds."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await fleet.start(SUPERVISOR)
        await planned(fleet, 2)
        await fleet.kill("shop-1")

        await desk.clock.advance(3)

        assert (await fleet.actors["shop-1"].status())["standing"] == "running"


async def test_an_actor_that_does_not_answer_for_15_s_is_replaced() -> None:
    """A stopped process is never noticed by Ray; one that is away is being started anew, and is left alone."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await fleet.start(SUPERVISOR)
        await planned(fleet, 2)
        fleet.away.add("shop-1")
        fleet.silent.add("shop-0")

        await desk.clock.advance(SILENT - 4)
        assert fleet.replaced == []
        await desk.clock.advance(8)

        assert fleet.replaced == ["shop-0"]
        await desk.clock.advance(30)
        assert fleet.replaced == ["shop-0"]


async def test_a_loop_that_does_not_turn_for_a_minute_is_replaced() -> None:
    """The control thread answers, and says that the data loop hangs."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await fleet.start(SUPERVISOR)
        await planned(fleet, 1)
        life = fleet.actors["shop-0"].life
        assert life._timer is not None  # noqa: SLF001 - the sign of life, taken away
        life._timer.cancel()  # noqa: SLF001

        await desk.clock.advance(STUCK - 10)
        assert fleet.replaced == []
        await desk.clock.advance(15)

        assert fleet.replaced == ["shop-0"]


async def test_what_it_replaces_died_of_nothing() -> None:
    """P15, H10: replaced three times within a call, each time told to the store before; then nobody is careful."""
    desk = Desk()
    desk.always("o-1", desk.sleeping(28))
    async with fleet_of(app, desk) as fleet:
        await fleet.start(SUPERVISOR)
        await planned(fleet, 1)
        await fleet.site.client.events.append(order("o-1"), [Paid()], expected_version=None)
        for count in range(1, 4):
            await desk.clock.advance(2)
            fleet.silent.add("shop-0")
            await desk.clock.advance(SILENT + 8)
            assert fleet.replaced == ["shop-0"] * count

        await desk.clock.advance(2)
        server = fleet.site.memory._server  # noqa: SLF001 - looks into the store
        starts = server.starts.of(Owner("somebody", "shop-0", "test", 1, None))
        assert [start.ending for start in starts] == [Ending.EXCUSED] * 3
        assert len(desk.calls) == 4
        assert desk.done == []
        assert not fleet.actors["shop-0"]._service.partitions[0].caution.active  # noqa: SLF001
        await desk.clock.advance(30)
        assert desk.done == [("o-1", 1)]


async def test_a_store_that_is_away_does_not_keep_it_from_replacing() -> None:
    """H10: then the end counts as a death, which by itself costs nothing."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await fleet.start(SUPERVISOR)
        await planned(fleet, 1)
        fleet.site.memory.fail_next("slots.excuse", StoreUnavailableError("away"))
        fleet.silent.add("shop-0")

        await desk.clock.advance(SILENT + 8)

        assert fleet.replaced == ["shop-0"]


async def test_what_a_former_supervisor_has_left_is_ended() -> None:
    """It died while two partitions gave up their slots: the next one has not seen them, but they have run before."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await fleet.start(SUPERVISOR)
        await planned(fleet, 4)
        await fleet.kill(SUPERVISOR)
        await fleet.site.planned(2)
        await desk.clock.advance(5)
        assert {"shop-2", "shop-3"} <= await fleet.names()
        await fleet.start(SUPERVISOR)

        await desk.clock.advance(3)
        assert await fleet.names() == {SUPERVISOR, "shop-0", "shop-1"}


async def test_what_has_never_run_is_waited_for_and_ended_by_and_by() -> None:
    """H19: it may be rehearsing for the next plan; whoever started it has died, since three minutes have passed."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await fleet.start(SUPERVISOR)
        await planned(fleet, 1)
        await fleet.start("shop-9")

        await desk.clock.advance(STRANGE - 10)
        assert "shop-9" in await fleet.names()
        await desk.clock.advance(20)
        assert await fleet.names() == {SUPERVISOR, "shop-0"}


async def test_fewer_partitions_are_ended_once_they_have_given_up_their_slots() -> None:
    """4 become 2; the two that are not needed any more end, and no slot is without an owner."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await fleet.start(SUPERVISOR)
        await planned(fleet, 4)
        assert await planned(fleet, 2) == 2

        await desk.clock.advance(15)

        assert await fleet.names() == {SUPERVISOR, "shop-0", "shop-1"}
        assert set((await fleet.site.owned()).values()) == {"shop-0", "shop-1"}


async def test_a_node_that_leaves_is_emptied_in_order_before_it_goes() -> None:
    """L7, S48: partitions drain and go on elsewhere, one after the other, then the ledger; that is no death."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await fleet.start(SUPERVISOR)
        await fleet.start(LEDGER)
        await planned(fleet, 3)
        before = await fleet.site.owned()

        fleet.evacuated = {"shop-0", "shop-2", LEDGER}
        await desk.clock.advance(10)

        assert fleet.replaced == ["shop-0", "shop-2", LEDGER]
        assert await fleet.site.owned() == before
        server = fleet.site.memory._server  # noqa: SLF001 - looks into the store
        for name in ("shop-0", "shop-2"):
            starts = server.starts.of(Owner("somebody", name, "test", 1, None))
            assert [start.ending for start in starts] == [Ending.CLEAN]
