"""Events that kill their process are parked, and nobody else is (P15, H10, S34, S49)."""

from __future__ import annotations

import random

import pytest

from tests.unit.parking.desk import COURIER, MAILER, Call, Courier, Mailer, Trouble, moves, order, shop
from tests.unit.parking.process import HASTY, Process, present
from tests.unit.parking.world import World
from tests.unit.pausing import end, pause
from wow_ray import App
from wow_ray.policy.parked import Reason, State, Verb
from wow_ray.runtime.pace import Pace

ONCE = {"subscription": {"retry": {"max_attempts": 1}, "systemic": {"mass_parks": 0}}}
FAR = 500.0
LONG = 60.0
"""Lives longer than this are lived in longer steps."""


class Killers:
    """Events during whose call the process dies at once: nothing of it goes on, nothing is written."""

    def __init__(self, world: World, *killers: tuple[str, int], handler: str = MAILER) -> None:
        self.world = world
        self.killers = set(killers)
        self.handler = handler
        self.deaths = 0
        world.desk.met = self._met
        for id_, version in killers:
            world.desk.always(id_, version, FAR, handler=handler)

    def _met(self, call: Call) -> None:
        life = present()
        if call.subscription == self.handler and (call.id, call.version) in self.killers and life is not None:
            self.deaths += 1
            life.end()

    async def lives(self, app: App, seconds: float = 5.0, *, partitions: int = 1) -> Process | None:
        """Start the app once and let it run for so long; `None` = it died."""
        pace, step = (HASTY, 0.1) if seconds < LONG else (Pace(idle_poll=30.0, intent_poll=30.0), 5.0)
        process = Process(self.world, app, pace=pace, settings=ONCE, partitions=partitions)
        try:
            await process.start()
            for _ in range(int(seconds / step)):
                if not process.life.alive:
                    break
                await self.world.clock.advance(step)
        finally:
            if not process.life.alive:
                await process.kill()
        return process if process.life.alive else None

    async def survive(self, app: App, *, partitions: int = 1) -> None:
        """Start the app again after each death until it lives."""
        for _ in range(20):
            process = await self.lives(app, partitions=partitions)
            if process is not None:
                assert not any(partition.caution.active for partition in process.service.partitions)
                await process.stop()
                return
        raise AssertionError(f"still dying after {self.deaths} deaths")


def others_done(world: World, ids: list[str], versions: int, handler: str = MAILER) -> bool:
    """Tell whether these orders were handled to the end, each in order but for repeats of what no commit held."""
    for id_ in ids:
        done = world.desk.done(id_, handler)
        if set(done) != set(range(1, versions + 1)):
            return False
        highest = 0
        for version in done:
            assert version <= highest + 1, f"{id_}: {done}"
            highest = max(highest, version)
    return True


@pytest.mark.parametrize("partitions", [1, 2])
async def test_a_live_event_that_kills_is_parked_after_three_charges(partitions: int) -> None:
    """P15, S49, H10 (a): read and deadly before any commit notes it; two deaths unmarked, three under its mark."""
    world = World(slots=4)
    others = [f"o{number}" for number in range(40)]
    for id_ in others[:20]:
        await moves(world.store, id_, 3)
    await moves(world.store, "k", 3)
    for id_ in others[20:]:
        await moves(world.store, id_, 3)
    killers = Killers(world, ("k", 2))

    await killers.survive(shop(), partitions=partitions)

    assert killers.deaths == 2 + 3
    (row,) = await world.rows()
    assert (row.aggregate_id, row.stopped, row.state) == ("k", (2, 0), State.EXHAUSTED)
    assert row.reason is Reason.CRASHED_WORKER
    assert row.failure is not None
    assert "died 3 times" in row.failure.message
    assert world.desk.done("k")[-1:] == [1]
    assert others_done(world, others, 3)
    assert await world.notices() == ["parked"]


async def test_another_group_of_the_killed_aggregate_goes_on() -> None:
    """P3, P15: it is the mailer that dies at K@2; the courier handles all of K."""
    world = World(slots=1)
    await moves(world.store, "k", 3)
    killers = Killers(world, ("k", 2))

    await killers.survive(shop(Mailer, Courier))

    assert [(row.group, row.reason) for row in await world.rows()] == [(MAILER, Reason.CRASHED_WORKER)]
    assert others_done(world, ["k"], 3, COURIER)


async def test_two_killers_are_both_parked() -> None:
    """P15: each after its own three charges, whichever of them is met first."""
    world = World(slots=2)
    for id_ in ("a", "k", "b", "l", "c"):
        await moves(world.store, id_, 2)
    killers = Killers(world, ("k", 1), ("l", 2))

    await killers.survive(shop())

    assert {(row.aggregate_id, row.stopped, row.reason) for row in await world.rows()} == {
        ("k", (1, 0), Reason.CRASHED_WORKER),
        ("l", (2, 0), Reason.CRASHED_WORKER),
    }
    assert others_done(world, ["a", "b", "c"], 2)


async def test_a_killer_that_an_operator_resumes_is_parked_again() -> None:
    """P9, P15, H10 (b): resumed it is a drain, whose three deaths are three."""
    world = World(slots=1)
    await moves(world.store, "k", 3)
    killers = Killers(world, ("k", 2))
    await killers.survive(shop())
    before = killers.deaths

    await world.ask(Verb.RESUME, MAILER, order("k"))
    await killers.survive(shop())

    assert killers.deaths == before + 3
    (row,) = await world.rows()
    assert (row.stopped, row.reason, row.state) == ((2, 0), Reason.CRASHED_WORKER, State.EXHAUSTED)
    killers.killers.clear()
    world.desk.forgive()
    await world.ask(Verb.RESUME, MAILER, order("k"))
    await killers.survive(shop())
    assert await world.rows(State.EXHAUSTED) == []
    assert world.desk.done("k")[-2:] == [2, 3]


async def test_a_drain_that_kills_in_its_middle_is_parked_at_the_event_that_does() -> None:
    """P6, P15, H10 (b): below the checkpoint, after events that are well; three deaths, and the row stands at it."""
    world = World(slots=1)
    world.desk.then("k", 1, Trouble("no"))
    await moves(world.store, "k", 9)
    await moves(world.store, "b", 3)
    killers = Killers(world, ("k", 6))
    await killers.survive(shop())
    assert killers.deaths == 0

    await world.ask(Verb.RESUME, MAILER, order("k"))
    await killers.survive(shop())

    assert killers.deaths == 3
    (row,) = await world.rows()
    assert (row.stopped, row.reason, row.state) == ((6, 0), Reason.CRASHED_WORKER, State.EXHAUSTED)
    assert set(world.desk.done("k")) == {1, 2, 3, 4, 5}


async def test_a_parked_retry_that_kills_three_times_waits_for_a_person() -> None:
    """S34, P6, P15, H10 (b): each death is one of the ten and one suspicion; it does not come due for ever."""
    world = World(slots=1)
    world.desk.then("k", 2, Trouble("no"))
    await moves(world.store, "k", 3)
    killers = Killers(world)
    await killers.survive(shop())
    killers.killers.add(("k", 2))
    world.desk.always("k", 2, FAR)

    for _ in range(6):
        process = await killers.lives(shop(), 3_000)
        if process is not None:
            await process.stop()

    assert killers.deaths == 3
    (row,) = await world.rows()
    assert (row.state, row.reason, row.retries) == (State.EXHAUSTED, Reason.CRASHED_WORKER, 3)


async def test_retries_that_were_under_way_beside_a_killer_are_not_parked_for_it() -> None:
    """P15, H10: ten come due at once, one of them kills; the others are done, each when it comes alone."""
    world = World(slots=1)
    ids = [f"r{number}" for number in range(10)]
    for id_ in ids:
        world.desk.then(id_, 1, Trouble("no"), 0.05, 0.05, 0.05)
        await moves(world.store, id_)
    killers = Killers(world)
    await killers.survive(shop())
    killers.killers.add(("r4", 1))

    for _ in range(8):
        process = await killers.lives(shop(), 4_000)
        if process is not None:
            await process.stop()

    assert [(row.aggregate_id, row.reason) for row in await world.rows(State.EXHAUSTED)] == [
        ("r4", Reason.CRASHED_WORKER)
    ]
    assert others_done(world, [id_ for id_ in ids if id_ != "r4"], 1)


@pytest.mark.parametrize("seed", range(6))
async def test_kills_from_outside_park_nobody(seed: int) -> None:
    """H10 (c): fourteen kills within a minute of each start, calls under way each time; then at full speed at once."""
    world = World(slots=4)
    chance = random.Random(seed)  # noqa: S311 - seeded chance
    ids = [f"o{number}" for number in range(60)]
    for number, id_ in enumerate(ids):
        await moves(world.store, id_, 10)
        if number < 10:
            for version in range(1, 11):
                world.desk.always(id_, version, 0.02)
    for _ in range(14):
        process = Process(world, shop(Mailer, Courier), pace=HASTY, settings=ONCE)
        await process.start()
        await world.clock.advance(chance.uniform(0.0, 0.4))
        await process.kill()
        await moves(world.store, chance.choice(ids), 1)

    async with Process(world, shop(Mailer, Courier), pace=HASTY, settings=ONCE) as process:
        await world.clock.advance(3)
        assert not process.partition.caution.active
        assert process.partition.slots[0].trying == {}
        await world.clock.advance(10)

    assert await world.rows() == []
    for handler in (MAILER, COURIER):
        assert all(set(range(1, 11)) <= set(world.desk.done(id_, handler)) for id_ in ids)


async def test_kills_soon_after_each_start_convict_nobody() -> None:
    """H10 (c): the same calls come first after each start, and whatever kills comes just then, twenty times."""
    world = World(slots=2)
    ids = [f"o{number}" for number in range(12)]
    for id_ in ids:
        await moves(world.store, id_, 3)
        world.desk.always(id_, 1, 0.2)
    for _ in range(20):
        process = Process(world, shop(), pace=HASTY, settings=ONCE)
        await process.start()
        await world.clock.advance(0.1)
        assert world.desk.done(ids[0]) == []
        await process.kill()

    async with Process(world, shop(), pace=HASTY, settings=ONCE) as process:
        await world.clock.advance(20)
        assert not process.partition.caution.active

    assert await world.rows() == []
    assert others_done(world, ids, 3)


async def test_kills_on_purpose_never_make_a_start_careful() -> None:
    """H10: the supervisor says before that it ends a process; five such ends in the same call are nobody's."""
    world = World(slots=1)
    world.desk.then("k", 1, *[FAR] * 5)
    await moves(world.store, "k", 2)
    for _ in range(5):
        process = Process(world, shop(), pace=HASTY, settings=ONCE)
        await process.start()
        await world.clock.advance(1)
        assert not process.partition.caution.active
        await world.client.slots.excuse(process.partition.owner.partition)
        await process.kill()

    async with Process(world, shop(), pace=HASTY, settings=ONCE) as process:
        assert not process.partition.caution.active
        await world.clock.advance(1)
    assert world.desk.done("k") == [1, 2]


async def test_one_death_costs_nothing_and_a_deployment_begins_anew() -> None:
    """H10: after a single one, and after a clean end, a start is as any other; after two in a row it is careful."""
    world = World(slots=1)
    world.desk.then("a", 1, *[FAR] * 9)
    await moves(world.store, "a")
    careful = []
    for ends in ("kill", "stop", "kill", "kill", "kill", "stop", "stop"):
        process = Process(world, shop(), pace=HASTY, settings=ONCE)
        await process.start()
        careful.append(process.partition.caution.active)
        await world.clock.advance(1)
        await (process.kill() if ends == "kill" else process.stop())

    # kill | stop | kill | kill | kill with a mark | stop: its charge is left, so it is tried alone | the same
    assert careful == [False, False, False, False, True, True, True]
    world.desk.forgive()
    async with Process(world, shop(), pace=HASTY, settings=ONCE) as process:
        await world.clock.advance(1)
        assert not process.partition.caution.active
        assert process.partition.slots[0].trying == {}
    assert await world.rows() == []


async def test_a_suspect_of_a_group_that_stands_still_holds_nobody_up() -> None:
    """H10, H44: its charges stay until it may be called, and everything else goes on at full speed."""
    world = World(slots=1)
    await moves(world.store, "k", 1)
    killers = Killers(world, ("k", 1))
    for _ in range(4):
        assert await killers.lives(shop(Mailer, Courier)) is None
    await moves(world.store, "b", 5)
    await pause(world.memory, MAILER)
    process = Process(world, shop(Mailer, Courier), pace=HASTY, settings=ONCE)
    await process.start()
    await world.clock.advance(2)

    assert not process.partition.caution.active
    assert world.desk.done("b", COURIER) == [1, 2, 3, 4, 5]
    assert {tried.charges for tried in process.partition.slots[0].trying.values()} == {2}

    world.desk.forgive()
    killers.killers.clear()
    await end(world.memory, MAILER)
    await world.clock.advance(2)
    assert world.desk.done("k") == [1]
    assert process.partition.slots[0].trying == {}  # else no later careful start would ever end
    await process.stop()
