"""Effectively once: what `ctx.connection` writes is there once, through crashes and unknown outcomes (L1, H4)."""

from __future__ import annotations

import pytest

from tests.unit.parking.desk import SUMS, Moved, Noted, Sums, Trouble, moves, order, shop
from tests.unit.parking.process import Process
from tests.unit.parking.world import World
from wow_ray import UnrecoverableHandlingError
from wow_ray.errors import StoreDataError, StoreUnavailableError
from wow_ray.policy.parked import State, Verb

A = order("a")
COUNT = f"{SUMS}.on_moved"
NOTE = f"{SUMS}.on_noted"


async def test_a_crash_between_the_effects_and_the_progress_doubles_nothing() -> None:
    """H4, L1: five calls are committed, the group commit is not: after the crash none of them is called again."""
    world = World(slots=1)
    async with Process(world, shop(Sums)) as process, world.memory.gate("slots.commit"):
        await moves(world.store, A, 5)
        await moves(world.store, "b", 3)
        await process.advance(1)
        assert world.tables.counted("a") == [1, 2, 3, 4, 5]
        await process.kill()
    async with Process(world, shop(Sums)) as process:
        await moves(world.store, A, 2)
        await process.advance(1)
        await process.kill()
    async with Process(world, shop(Sums)) as process:
        await process.advance(1)
    assert world.tables.counted("a") == world.desk.versions("a", COUNT) == [1, 2, 3, 4, 5, 6, 7]
    assert world.tables.counted("b") == [1, 2, 3]
    assert world.memory.open_transactions == 0


async def test_a_crash_between_the_effects_of_a_drain_and_its_mark_doubles_nothing() -> None:
    """H4: the drain's commits hang; what it did has markers, and the next owner passes over it."""
    world = World(slots=1)
    world.desk.then("a", 2, UnrecoverableHandlingError("no"), handler=COUNT)
    await moves(world.store, A, 6)
    async with Process(world, shop(Sums)) as process:
        await process.advance(1)
        gates = world.hang_commits_at_next_call()
        await world.ask(Verb.RESUME, SUMS, A)
        await process.advance(1)
        assert world.tables.counted("a") == [1, 2, 3, 4, 5, 6]
        await process.kill()
        gates[0].open()
    async with Process(world, shop(Sums)) as process:
        await moves(world.store, A)
        await process.advance(1)
    assert world.tables.counted("a") == [1, 2, 3, 4, 5, 6, 7]
    assert world.desk.versions("a", COUNT) == [1, 2, 2, 3, 4, 5, 6, 7]
    assert [row.state for row in await world.rows()] == [State.RESOLVED]


@pytest.mark.parametrize("place", ["start", "end"])
async def test_an_unknown_outcome_is_looked_up_before_any_further_call(place: str) -> None:
    """H4, L1: the connection is lost in COMMIT: the sum is right, the call is repeated only if not committed."""
    world = World(slots=1)
    async with Process(world, shop(Sums)) as process:
        await process.advance(0)
        world.memory.fail_next("effects.commit", StoreUnavailableError("lost"), at=place)  # type: ignore[arg-type]
        world.memory.fail_next("effects.settled", StoreUnavailableError("lost"), times=3)
        await moves(world.store, A, 3)
        await process.advance(10)
        assert world.memory.open_transactions == 0
    assert world.tables.counted("a") == [1, 2, 3]
    assert world.desk.versions("a", COUNT) == ([1, 1, 2, 3] if place == "start" else [1, 2, 3])
    assert await world.rows() == []


async def test_a_refused_commit_is_a_failure_of_its_attempt() -> None:
    """L1, P2: the database refuses A@1's effects each time: five attempts, parked, nothing of them is there."""
    world = World(slots=1)
    async with Process(world, shop(Sums)) as process:
        await process.advance(0)
        world.memory.fail_next("effects.commit", StoreDataError("a constraint"), times=5)
        await moves(world.store, A, 2)
        await process.advance(5)
        (row,) = await world.rows()
        assert (row.state, row.stopped, row.attempts) == (State.PARKED, (1, 0), 5)
        assert world.tables.counted("a") == []
        assert world.memory.open_transactions == 0
        await process.apply(Verb.RESUME, SUMS, A)
        await process.advance(1)
    assert world.tables.counted("a") == [1, 2]


async def test_a_killed_call_leaves_nothing_behind() -> None:
    """L1: dead inside the handler: its transaction is rolled back, and the call is made once more."""
    world = World(slots=1)
    world.desk.then("a", 1, 20.0, handler=COUNT)
    await moves(world.store, A, 2)
    async with Process(world, shop(Sums)) as process:
        await process.advance(1)
        await process.kill()
    assert world.tables.counted("a") == []
    async with Process(world, shop(Sums)) as process:
        await process.advance(1)
    assert world.tables.counted("a") == [1, 2]


async def mixed(world: World) -> None:
    """Append a note, three moves, a note, three moves, each a version of its own."""
    for kind in (Noted, Moved, Moved, Moved, Noted, Moved, Moved, Moved):
        await world.store.append(A, [kind()], expected_version=None)


async def test_a_drain_passes_over_settled_events_behind_one_that_has_no_marker() -> None:
    """H4, H3: notes have no marker, moves have one; the drain did all of them and died before its commit."""
    world = World(slots=1)
    world.desk.then("a", 1, UnrecoverableHandlingError("no"), handler=NOTE)
    await mixed(world)
    async with Process(world, shop(Sums)) as process:
        await process.advance(1)
        gates = world.hang_commits_at_next_call()
        await world.ask(Verb.RESUME, SUMS, A)
        await process.advance(1)
        assert world.tables.counted("a") == [2, 3, 4, 6, 7, 8]
        await process.kill()
        gates[0].open()
    async with Process(world, shop(Sums)) as process:
        await process.advance(10)
    assert world.tables.counted("a") == [2, 3, 4, 6, 7, 8]
    assert world.desk.versions("a", COUNT) == [2, 3, 4, 6, 7, 8]
    assert [row.state for row in await world.rows()] == [State.RESOLVED]


@pytest.mark.parametrize("how", ["parked", "spilled"])
@pytest.mark.parametrize("killed", [False, True], ids=["resumed at once", "resumed after another crash"])
async def test_markers_above_a_stop_outlive_the_park(how: str, *, killed: bool) -> None:
    """H4: moves are settled by markers, the note before them is not; at the note the aggregate is parked or spills."""
    world = World(slots=1)
    async with Process(world, shop(Sums)) as process, world.memory.gate("slots.commit"):
        await mixed(world)
        await process.advance(1)
        assert world.tables.counted("a") == [2, 3, 4, 6, 7, 8]
        await process.kill()
    if how == "parked":
        world.desk.then("a", 1, UnrecoverableHandlingError("no"), handler=NOTE)
    else:
        world.desk.then("a", 1, 20.0, handler=NOTE)
        await moves(world.store, A, 100)
    async with Process(world, shop(Sums)) as process:
        await process.advance(2)
        assert len(await world.rows()) == 1
        if killed:
            await process.kill()
        elif how == "parked":
            await process.apply(Verb.RESUME, SUMS, A)
        await process.advance(0 if killed else 60)
    if killed:
        async with Process(world, shop(Sums)) as process:
            await process.advance(1)
            if how == "parked":
                await process.apply(Verb.RESUME, SUMS, A)
            await process.advance(60)
    counted = world.tables.counted("a")
    assert counted == sorted(set(counted))
    assert counted[:6] == [2, 3, 4, 6, 7, 8]
    assert len(counted) == (6 if how == "parked" else 106)
    assert [row.state for row in await world.rows()] == [State.RESOLVED]


async def test_a_failed_attempt_leaves_no_effect() -> None:
    """L1, D2: three attempts, one effect."""
    world = World(slots=1)
    world.desk.then("a", 1, Trouble("1"), Trouble("2"), handler=COUNT)
    await moves(world.store, A, 2)
    async with Process(world, shop(Sums)) as process:
        await process.advance(2)
    assert world.desk.versions("a", COUNT) == [1, 1, 1, 2]
    assert world.tables.counted("a") == [1, 2]
