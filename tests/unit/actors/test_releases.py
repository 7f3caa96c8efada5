"""Another program takes over from the one that runs, slot by slot and without a stop, or not at all (L7, H19)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from tests.unit.actors.local import LocalFleet, LocalSite, fleet_of
from tests.unit.runtime.desk import Desk, Paid, Shipped, order
from tests.unit.runtime.shop import app, books
from wow_ray import App, Context, Event, on_event
from wow_ray.actors.deployment import Deployment
from wow_ray.actors.fleet import LEDGER, SUPERVISOR
from wow_ray.actors.getting_ready import REPLACED
from wow_ray.errors import ConfigurationError, ConflictError, WowError
from wow_ray.policy.pauses import PauseReason
from wow_ray.policy.plan import Plan
from wow_ray.ports.pauses import PauseAsked, PauseNote

T = TypeVar("T")

IDS = [f"o-{number}" for number in range(12)]
"""Orders of all slots."""


async def passing(fleet: LocalFleet, work: Coroutine[Any, Any, T], seconds: float = 40.0) -> T:
    """Let time pass until some work is done."""
    task = asyncio.ensure_future(work)
    for _ in range(int(seconds * 4)):
        if task.done():
            break
        await fleet.site.desk.clock.advance(0.25)
    return await asyncio.wait_for(task, 1)


async def paid(fleet: LocalFleet, *ids: str) -> None:
    """Append one event to each order."""
    for each in ids or IDS:
        await fleet.site.client.events.append(order(each), [Paid()], expected_version=None)


def program(fleet: LocalFleet, release: str, edition: str = "") -> LocalSite:
    """Have whoever is started from now on run another program."""
    fleet.site = LocalSite(app, fleet.site.desk, release=release, edition=edition, memory=fleet.site.memory)
    return fleet.site


async def up(fleet: LocalFleet, partitions: int = 2, said: list[str] | None = None, patience: float = 30.0) -> Plan:
    """Bring the present program up."""
    deployment = Deployment(fleet.site, fleet, ([] if said is None else said).append, patience)
    async with fleet.site.control() as control:
        return await deployment.up(control, partitions)


async def down(fleet: LocalFleet) -> None:
    """Bring it down."""
    async with fleet.site.control() as control:
        await Deployment(fleet.site, fleet, print).down(control)


async def releases(fleet: LocalFleet) -> dict[str, str]:
    """Give the release that every actor runs."""
    return {name: (await fleet.actors[name].status())["release"] for name in await fleet.names()}


async def owners(fleet: LocalFleet) -> set[str | None]:
    """Give who owns slots."""
    return set((await fleet.site.owned()).values())


async def test_a_release_takes_over_without_a_moment_in_which_nobody_owns_a_slot() -> None:
    """L7, H19: events come all the time; each is handled once and in order, and only the new program is left."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await passing(fleet, up(fleet))
        await paid(fleet)
        await desk.clock.advance(1)
        program(fleet, "r2")
        rolling = asyncio.ensure_future(up(fleet))
        rounds, longest = 1, 0
        while not rolling.done() and rounds < 200:
            await paid(fleet)
            rounds += 1
            await desk.clock.advance(0.1)
            unowned = sum(owner is None for owner in (await fleet.site.owned()).values())
            longest = longest + 1 if unowned else 0
            assert longest < 10, "slots without an owner for a second"
        plan = await rolling
        await desk.clock.advance(2)

        assert (plan.number, plan.release, list(plan.partitions)) == (2, "r2", ["shop-2", "shop-3"])
        assert all(desk.versions(each) == list(range(1, rounds + 1)) for each in IDS)
        assert await releases(fleet) == dict.fromkeys((SUPERVISOR, LEDGER, "shop-2", "shop-3"), "r2")
        assert await fleet.site.client.ledger.counts() == {}
        assert (fleet.ended, fleet.replaced) == ([], [])


async def test_the_names_of_a_program_that_is_gone_are_taken_again() -> None:
    """So that there are never more than two programs' names: 0 and 1, then 2 and 3, then 0 and 1."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        names = []
        for release in ("r1", "r2", "r1"):
            program(fleet, release)
            names.append(list((await passing(fleet, up(fleet))).partitions))

        assert names == [["shop-0", "shop-1"], ["shop-2", "shop-3"], ["shop-0", "shop-1"]]


async def test_the_same_release_with_another_edition_is_rolled_over_and_with_the_same_one_it_is_not() -> None:
    """Settings or files have changed under the same name; repeated, nothing is touched; a number only moves slots."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await passing(fleet, up(fleet))
        program(fleet, "r1", "more retries")
        plan = await passing(fleet, up(fleet))
        assert (plan.edition, list(plan.partitions)) == ("more retries", ["shop-2", "shop-3"])
        before = dict(fleet.actors)

        assert await passing(fleet, up(fleet)) == plan
        assert fleet.actors == before
        assert list((await passing(fleet, up(fleet, 3))).partitions) == ["shop-0", "shop-2", "shop-3"]
        assert {name: fleet.actors[name] for name in before} == before


@pytest.mark.parametrize(
    ("error", "soon"),
    [(ConfigurationError("no setting is called 'retires'"), True), (OSError("mail is not reachable"), False)],
)
async def test_a_program_that_does_not_start_leaves_the_old_one_running_and_says_why(
    error: Exception,
    soon: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """A mistake is told at once; what may pass is waited for. The old program is not touched, what tried is ended."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        plan = await passing(fleet, up(fleet))
        before = dict(fleet.actors)
        program(fleet, "r2").broken = error
        began = desk.clock.monotonic()

        with pytest.raises(WowError, match=str(error)) as raised:
            await passing(fleet, up(fleet))

        assert "Release r1 runs on as before" in raised.value.message
        assert (desk.clock.monotonic() - began < 10) is soon
        assert fleet.actors == before
        assert await fleet.site.plans.present() == plan
        await paid(fleet)
        await desk.clock.advance(1)
        assert all(desk.versions(each) == [1] for each in IDS)


async def test_trouble_that_passes_is_waited_for_and_told_once() -> None:
    """The database is away from the new processes for a while; then the release takes over."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await passing(fleet, up(fleet, 1))
        site = program(fleet, "r2")
        site.broken = OSError("mail is not reachable")
        said: list[str] = []
        rolling = asyncio.ensure_future(up(fleet, 1, said))
        await desk.clock.advance(10)
        site.broken = None
        await passing(fleet, asyncio.wait_for(rolling, 30))

        assert [line for line in said if "not reachable" in line] == [
            "shop-1 is not ready yet: mail is not reachable",
        ]
        assert await owners(fleet) == {"shop-1"}


async def test_down_while_a_release_gets_ready_ends_both() -> None:
    """The `up` says so, and nothing is left."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await passing(fleet, up(fleet))
        program(fleet, "r2").broken = OSError("not yet")
        rolling = asyncio.ensure_future(up(fleet))
        await desk.clock.advance(2)
        await passing(fleet, down(fleet))

        with pytest.raises(ConflictError, match="brought down") as raised:
            await passing(fleet, asyncio.wait_for(rolling, 30))

        assert raised.value.code == REPLACED
        assert await fleet.names() == frozenset()
        assert await owners(fleet) == {None}


async def test_down_while_slots_move_ends_both() -> None:
    """As above, after the new plan was stored; everything that was done is committed."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await passing(fleet, up(fleet))
        program(fleet, "r2")
        rolling = asyncio.ensure_future(up(fleet))
        while (plan := await fleet.site.plans.present()) is None or plan.release == "r1":
            await desk.clock.advance(0.05)
        await passing(fleet, down(fleet))

        with pytest.raises(ConflictError, match="nobody owns anything"):
            await passing(fleet, asyncio.wait_for(rolling, 30))
        assert await fleet.names() == frozenset()
        assert await owners(fleet) == {None}


async def test_of_two_releases_brought_up_at_once_the_last_plan_counts() -> None:
    """H18: both run their rehearsals; one is told that the other has replaced it, and only one program is left."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await passing(fleet, up(fleet))
        sites = [program(fleet, "r2"), program(fleet, "r3")]
        fleets = [FleetOf(fleet, site) for site in sites]
        tasks = []
        for each in fleets:
            async with each.site.control() as control:
                tasks.append(asyncio.ensure_future(Deployment(each.site, each, print, 30.0).up(control, 2)))
        answers = await passing(fleet, asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 60), 60)
        await paid(fleet)
        await desk.clock.advance(5)

        plan = await fleet.site.plans.present()
        assert plan is not None
        assert sorted(type(each).__name__ for each in answers) == ["ConflictError", "Plan"]
        assert plan in answers
        assert await owners(fleet) == set(plan.partitions)
        assert set((await releases(fleet)).values()) == {plan.release}
        assert all(desk.versions(each) == [1] for each in IDS)


async def test_the_same_release_brought_up_twice_at_once_is_brought_up_once() -> None:
    """Both answer the same plan; no actor is started twice."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        for release in ("r1", "r2"):
            program(fleet, release)
            one, other = await passing(fleet, asyncio.wait_for(asyncio.gather(up(fleet), up(fleet)), 60), 60)

            assert one == other
            assert await fleet.names() == {SUPERVISOR, LEDGER, *one.partitions}
            assert await owners(fleet) == set(one.partitions)


async def test_a_supervisor_that_dies_while_slots_move_is_not_missed() -> None:
    """Whichever program's it is: the plan is in the store, and `up` sees that there is one again."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await passing(fleet, up(fleet))
        program(fleet, "r2")
        rolling = asyncio.ensure_future(up(fleet))
        for _ in range(8):
            await paid(fleet)
            await desk.clock.advance(0.3)
            await fleet.kill(SUPERVISOR)
        await passing(fleet, asyncio.wait_for(rolling, 60), 60)
        await desk.clock.advance(2)

        assert set((await releases(fleet)).values()) == {"r2"}
        assert all(desk.versions(each) == list(range(1, 9)) for each in IDS)


async def test_a_call_that_does_not_end_holds_up_one_slot_and_its_process_is_ended_in_the_end() -> None:
    """H25: everything else moves; the old process ends with the call, and the slot moves then (L2: it is repeated)."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await passing(fleet, up(fleet))

        over = asyncio.Event()

        async def stubborn(_: object) -> None:
            while not over.is_set():
                try:
                    await over.wait()
                except asyncio.CancelledError:
                    continue

        desk.next("o-1", stubborn)
        await paid(fleet, "o-1")
        await desk.clock.advance(1)
        program(fleet, "r2")
        try:
            await passing(fleet, up(fleet, patience=120.0), 120)
        finally:
            over.set()

        assert await owners(fleet) == {"shop-2", "shop-3"}


async def test_a_dead_partition_of_the_old_release_leaves_its_slots_to_the_new_one() -> None:
    """L3, H19: killed after the plan has changed; started anew by Ray it takes nothing back."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await passing(fleet, up(fleet))
        old = fleet.site
        new = program(fleet, "r2")
        rolling = asyncio.ensure_future(up(fleet))
        while (plan := await new.plans.present()) is None or plan.release == "r1":
            await desk.clock.advance(0.05)
        await fleet.kill("shop-0")
        fleet.site = old
        await fleet.start("shop-0")
        fleet.site = new
        await paid(fleet)
        await passing(fleet, asyncio.wait_for(rolling, 60), 60)
        await desk.clock.advance(5)

        assert await owners(fleet) == {"shop-2", "shop-3"}
        assert all(desk.versions(each) == [1] for each in IDS)


class FleetOf:
    """A fleet as one of several programs at once sees it: what it starts is of its own."""

    def __init__(self, fleet: LocalFleet, site: LocalSite) -> None:
        self._fleet = fleet
        self.site = site

    async def start(self, actor: str) -> None:
        """Start an actor of this program."""
        present, self._fleet.site = self._fleet.site, self.site
        try:
            await self._fleet.start(actor)
        finally:
            self._fleet.site = present

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever it is
        """Everything else is the fleet's."""
        return getattr(self._fleet, name)


@pytest.mark.parametrize("partition", [None, "shop-1"])
async def test_a_pause_outlives_a_release_or_is_in_its_way(partition: str | None) -> None:
    """H44, S83: one of everywhere holds on; one of a partition would be forgotten, so another program is refused."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await passing(fleet, up(fleet))
        number = (await fleet.site.memory.overview().groups())[0].number
        asked = PauseAsked("q-1", number, partition, PauseReason.OPERATOR, "ann", "the mail is wrong")
        await fleet.site.client.pauses.set(asked)
        await desk.clock.advance(2)
        program(fleet, "r2")
        rolling = passing(fleet, up(fleet))
        if partition is None:
            await rolling
        else:
            with pytest.raises(ConflictError, match=r"paused in shop-1 \(operator, by ann: the mail is wrong\)"):
                await rolling
        await paid(fleet)
        await desk.clock.advance(5)

        assert set((await releases(fleet)).values()) == {"r2" if partition is None else "r1"}
        assert partition is not None or desk.calls == []


async def test_what_a_partition_noted_of_itself_ends_with_it() -> None:
    """It has died while its surroundings failed, and the next plan does not name it: nobody else would end the note."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await passing(fleet, up(fleet))
        number = (await fleet.site.memory.overview().groups())[0].number
        await fleet.site.scaled(1)
        await fleet.site.client.pauses.note(PauseNote(number, "shop-1", PauseReason.SYSTEMIC, "mail is down"))
        await desk.clock.advance(20)

        assert await fleet.site.client.pauses.present() == ()


narrow = App("shop")


@narrow.projection(name="Book")
class Narrow:
    """The projection `Book` of `books`, when it did not take shipped orders yet."""

    def __init__(self, desk: Desk) -> None:
        """Take the desk."""
        self.desk = desk

    @on_event
    async def on_paid(self, event: Event[Paid], ctx: Context) -> None:
        """Handle one."""
        await self.desk.handle(event, ctx)


@pytest.mark.parametrize(("new", "still"), [(narrow, False), (books, True)], ids=["the same", "more"])
async def test_a_program_that_reads_less_reads_nothing_more_once_its_successors_live(new: App, still: bool) -> None:  # noqa: FBT001 - a column of the table
    """H19: it would pass over events that the new one takes; where both read the same it goes on until slots move."""
    desk = Desk()
    async with fleet_of(narrow, desk) as fleet:
        await passing(fleet, up(fleet, 1))
        old = fleet.actors["shop-0"]._service.partitions[0]  # noqa: SLF001 - what it hosts is the point
        fleet.site = LocalSite(new, desk, release="r2", memory=fleet.site.memory)
        rolling = asyncio.ensure_future(up(fleet, 1))
        stood = False
        while not rolling.done():
            await desk.clock.advance(0.05)
            stood |= old.feed.still
            assert not old.feed.still or (await fleet.actors["shop-1"].status())["standing"] == "running"
        plan = await rolling

        assert (plan.still, stood) == (still, still)
        await fleet.site.client.events.append(order("o-1"), [Paid(), Shipped()], expected_version=None)
        await desk.clock.advance(1)
        assert {call.subscription for call in desk.calls} >= {"Book.on_paid"}
        assert ("Book.on_shipped" in {call.subscription for call in desk.calls}) is still
