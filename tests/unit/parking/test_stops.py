"""What stands in the ledger stands still with its group: parked retries, resumes, spills, drains (H44, H41, D3)."""

from __future__ import annotations

from asyncpg import UndefinedTableError

from tests.unit.parking.desk import COURIER, MAILER, Busy, Courier, Mailer, Trouble, moves, order, shop
from tests.unit.parking.process import HASTY, Process
from tests.unit.parking.world import World
from tests.unit.pausing import end, pause
from wow_ray.policy.parked import State, Verb
from wow_ray.runtime.intents import ROOM

ONCE = {"subscription": {"retry": {"max_attempts": 1}, "systemic": {"mass_parks": 0}}}
HOUR = 3_600.0


async def test_a_retry_that_comes_due_meanwhile_waits_and_costs_nothing() -> None:
    """H44, P6: due at three minutes, paused for two hours: not called, none of the ten used; then it is, once."""
    world = World(slots=1)
    world.desk.then("a", 1, Trouble("no"))
    await moves(world.store, "a", 2)
    async with Process(world, shop(), settings=ONCE) as process:
        await process.advance(1)
        await pause(world.memory, MAILER)
        await process.advance(2 * HOUR)
        assert world.desk.versions("a") == [1]
        (row,) = await world.rows()
        assert (row.state, row.retries, row.begun) == (State.PARKED, 0, False)

        await end(world.memory, MAILER)
        await process.advance(5)
        assert world.desk.done("a") == [1, 2]


async def test_a_retry_asked_for_now_waits_too() -> None:
    """H44: whoever hurries a row of a paused group has it called when the pause is over."""
    world = World(slots=1)
    world.desk.then("a", 1, Trouble("no"))
    await moves(world.store, "a")
    async with Process(world, shop(), settings=ONCE) as process:
        await process.advance(1)
        await pause(world.memory, MAILER)
        await process.advance(1)
        await process.apply(Verb.RETRY_NOW, MAILER, order("a"))
        await process.advance(HOUR)
        assert world.desk.versions("a") == [1]
        await end(world.memory, MAILER)
        await process.advance(5)
        assert world.desk.done("a") == [1]


async def test_a_resume_is_applied_and_the_drain_waits_for_the_pause_to_end() -> None:
    """H44, P9: the operator is answered at once, the row is retrying; no call before the group goes on."""
    world = World(slots=1)
    world.desk.then("a", 1, Trouble("no"))
    await moves(world.store, "a", 3)
    async with Process(world, shop(), settings=ONCE) as process:
        await process.advance(1)
        await pause(world.memory, MAILER)
        await process.advance(1)
        await process.apply(Verb.RESUME, MAILER, order("a"))
        await process.advance(HOUR)
        assert world.desk.versions("a") == [1]
        assert [row.state for row in await world.rows()] == [State.RETRYING]
        assert process.group(MAILER).lanes == {}

        await end(world.memory, MAILER)
        await process.advance(2)
        assert world.desk.done("a") == [1, 2, 3]
        assert [row.state for row in await world.rows()] == [State.RESOLVED]


async def test_a_row_found_retrying_is_not_called_by_a_program_that_starts_paused() -> None:
    """H44, H5: resumed while it was paused, killed, started anew: it goes on by itself once the pause is over."""
    world = World(slots=1)
    world.desk.then("a", 1, Trouble("no"))
    await moves(world.store, "a", 3)
    async with Process(world, shop(), settings=ONCE) as process:
        await process.advance(1)
        await pause(world.memory, MAILER)
        await process.advance(1)
        await process.apply(Verb.RESUME, MAILER, order("a"))
        await process.advance(1)
        await process.kill()
    async with Process(world, shop(), settings=ONCE) as process:
        await process.advance(HOUR)
        assert world.desk.versions("a") == [1]
        (row,) = await world.rows()
        assert (row.state, row.retries) == (State.RETRYING, 0)
        await end(world.memory, MAILER)
        await process.advance(2)
    assert world.desk.done("a") == [1, 2, 3]


async def test_a_row_that_waits_for_the_pause_can_be_commanded() -> None:
    """H41, H44: a skip and a park on purpose are applied meanwhile, and are what counts afterwards."""
    world = World(slots=1)
    for name in ("a", "b"):
        world.desk.then(name, 1, Trouble("no"))
        await moves(world.store, name, 3)
    async with Process(world, shop(), settings=ONCE) as process:
        await process.advance(1)
        await pause(world.memory, MAILER)
        await process.advance(1)
        for name in ("a", "b"):
            await process.apply(Verb.RESUME, MAILER, order(name))
            await process.advance(1)
        await process.apply(Verb.SKIP, MAILER, order("a"), through_version=2)
        await process.apply(Verb.PARK, MAILER, order("b"))
        await process.advance(HOUR)
        await end(world.memory, MAILER)
        await process.advance(HOUR)
        assert world.desk.done("a") == [3]
        assert world.desk.done("b") == []
        assert (await world.row(order("b"), MAILER)).state is State.EXHAUSTED


async def test_a_spilled_wait_that_ends_meanwhile_goes_on_afterwards() -> None:
    """H44, H6: busy for a minute, paused for an hour; then its next call comes, within its budget."""
    world = World(slots=1)
    world.desk.then("a", 1, Busy(60.0))
    await moves(world.store, "a", 3)
    async with Process(world, shop()) as process:
        await process.advance(1)
        await pause(world.memory, MAILER)
        await process.advance(HOUR)
        assert world.desk.versions("a") == [1]
        assert [row.state for row in await world.rows()] == [State.WAITING]
        await end(world.memory, MAILER)
        await process.advance(2)
    assert world.desk.done("a") == [1, 2, 3]
    assert [call.attempt for call in world.desk.calls][:2] == [1, 2]
    assert await world.notices() == []


async def test_a_drain_stops_between_two_calls_and_goes_on_where_it_was() -> None:
    """H41, P11: the call under way ends, the rest waits in the store; nothing is called twice or left out."""
    world = World(slots=1)
    world.desk.then("a", 1, Trouble("no"))
    for version in range(2, 21):
        world.desk.then("a", version, 1.0)
    await moves(world.store, "a", 20)
    async with Process(world, shop(), settings=ONCE) as process:
        await process.advance(1)
        await process.apply(Verb.RESUME, MAILER, order("a"))
        await process.advance(4.5)
        await pause(world.memory, MAILER)
        await process.advance(5)
        done = list(world.desk.done("a"))
        await moves(world.store, "a")
        await process.advance(HOUR)
        assert world.desk.done("a") == done
        assert 3 < len(done) < 10

        await end(world.memory, MAILER)
        await process.advance(60)
    assert world.desk.done("a") == list(range(1, 22))
    assert world.desk.versions("a") == [1, *range(1, 22)]


async def test_drains_of_a_paused_group_take_nobodys_place() -> None:
    """D3, H44: more drains than there is room for stand still; another group's row is resumed and handled meanwhile."""
    world = World(slots=1)
    ids = [f"a-{number}" for number in range(ROOM + 40)]
    for name in ids:
        world.desk.then(name, 1, UndefinedTableError("no"))
        await moves(world.store, name)
    world.desk.then("b", 1, Trouble("no"), handler=COURIER)
    await moves(world.store, "b")
    async with Process(world, shop(Mailer, Courier), settings=ONCE, pace=HASTY) as process:
        await process.advance(2)
        for name in ids:
            world.desk.then(name, 1, 20.0)
            await world.ask(Verb.RESUME, MAILER, order(name))
        await process.advance(1)
        assert process.partition.drains.active >= ROOM
        await pause(world.memory, MAILER)
        await process.advance(2)
        await process.apply(Verb.RESUME, COURIER, order("b"))
        await process.advance(2)
        assert world.desk.done("b", COURIER) == [1]

        await process.advance(HOUR)
        assert process.partition.drains.active == 0
        await end(world.memory, MAILER)
        world.desk.forgive()
        await process.advance(60)
        assert all(world.desk.done(name) == [1] for name in ids)
    assert {row.state for row in await world.rows()} == {State.RESOLVED}


async def test_many_rows_held_up_go_on_as_there_is_room() -> None:
    """H11, H44: twice as many resumes as there is room for, all given while it was paused: all are worked off."""
    world = World(slots=1)
    ids = [f"a-{number}" for number in range(2 * ROOM)]
    for name in ids:
        world.desk.then(name, 1, UndefinedTableError("no"))
        await moves(world.store, name)
    async with Process(world, shop(), settings=ONCE, pace=HASTY) as process:
        await process.advance(2)
        await pause(world.memory, MAILER)
        await process.advance(2)
        for name in ids:
            await world.ask(Verb.RESUME, MAILER, order(name))
        await process.advance(5)
        assert {row.state for row in await world.rows()} == {State.RETRYING}
        assert process.partition.drains.active == 0
        await end(world.memory, MAILER)
        most = 0
        for _ in range(100):
            await process.advance(0.1)
            most = max(most, process.partition.drains.active)
        assert most <= ROOM
    assert all(world.desk.done(name) == [1] for name in ids)
