"""Spilling: an aggregate that is slow or hot goes on through the ledger and stops nobody (P5, H6)."""

from __future__ import annotations

import asyncio

from tests.unit.parking.desk import MAILER, Busy, Trouble, moves, order, shop
from tests.unit.parking.process import Process
from tests.unit.parking.world import World
from wow_ray.policy.parked import State, Verb
from wow_ray.runtime.lane import MAX_QUEUE

A = order("a")


async def test_a_hot_aggregate_spills_and_goes_on_in_order() -> None:
    """H6, P5: A's first event takes its time and 10,000 more come: 64 wait in memory, B is handled, then A in order."""
    world = World(slots=1)
    first = asyncio.Event()
    world.desk.then("a", 1, first)
    await moves(world.store, "a", 10_001)
    await moves(world.store, "b")
    async with Process(world, shop()) as process:
        await process.advance(2)
        assert world.desk.done("b") == [1]
        lane = process.group(MAILER).lanes["order", "a"]
        assert len(lane.queue) <= MAX_QUEUE
        assert len(lane.later) <= MAX_QUEUE
        assert world.cursor(A, MAILER) == 10_002
        assert await world.rows(State.PARKED, State.EXHAUSTED) == []
        assert len(await world.rows()) == 1
        first.set()
        await process.advance(10)
    assert world.desk.versions("a") == list(range(1, 10_002))
    assert [row.state for row in await world.rows()] == [State.RESOLVED]
    assert await world.notices() == []


async def test_a_hot_aggregate_never_stops_to_be_handled_while_it_is_fed() -> None:
    """H6: 100 more events in each of 30 seconds, each call 20 ms: everything in order, once, and the feed keeps up."""
    world = World(slots=1)
    for version in range(1, 3001):
        world.desk.then("a", version, 0.02)
    async with Process(world, shop()) as process:
        for _ in range(30):
            await moves(world.store, "a", 100)
            await moves(world.store, "b")
            await process.advance(1)
            assert world.cursor(A, MAILER) == world.memory._server.log.head(0)  # noqa: SLF001 - looks into the log
        await process.advance(60)
    assert world.desk.versions("a") == list(range(1, 3001))
    assert world.desk.versions("b") == list(range(1, 31))


async def test_a_long_wait_holds_nothing_in_memory_and_keeps_its_budget() -> None:
    """H6, P5, D4: busy for ten minutes each time: no lane meanwhile, not before 600 s, parked after the third call."""
    world = World(slots=1)
    world.desk.always("a", 1, Busy(600.0))
    await moves(world.store, "a", 3)
    await moves(world.store, "b", 1)
    async with Process(world, shop(), settings={"subscription": {"backpressure": {"max_attempts": 3}}}) as process:
        await process.advance(1)
        assert process.group(MAILER).lanes == {}
        (row,) = await world.rows()
        assert (row.state, row.backpressure) == (State.WAITING, 1)
        assert world.desk.done("b") == [1]
        await process.advance(599)
        assert len(world.desk.times("a", 1)) == 1
        await process.advance(2000)
        times = world.desk.times("a", 1)
        assert times[1] - times[0] >= 600
        assert times[2] - times[1] >= 600
        assert [call.attempt for call in world.desk.calls if call.id == "a"][:3] == [1, 2, 3]
        (row,) = await world.rows()
        assert row.state is State.PARKED
        assert await world.notices() == ["parked"]


async def test_a_spilled_aggregate_goes_on_when_its_time_comes() -> None:
    """H6, P0: a row that only waited is no news: nobody is told of it, or of its end."""
    world = World(slots=1)
    world.desk.then("a", 1, Busy(60.0))
    await moves(world.store, "a", 3)
    async with Process(world, shop()) as process:
        await process.advance(80)
    assert world.desk.versions("a") == [1, 1, 2, 3]
    assert [row.state for row in await world.rows()] == [State.RESOLVED]
    assert await world.notices() == []


async def test_a_waiting_aggregate_goes_on_after_a_crash_and_not_before_its_time() -> None:
    """H6, P0, H5: the process dies while A waits ten minutes; another one calls A when they have passed."""
    world = World(slots=1)
    world.desk.then("a", 1, Busy(600.0))
    await moves(world.store, "a", 3)
    async with Process(world, shop()) as process:
        await process.advance(100)
        await process.kill()
    async with Process(world, shop()) as process:
        await process.advance(490)
        assert world.desk.versions("a") == [1]
        await process.advance(300)
    assert world.desk.versions("a") == [1, 1, 2, 3]
    assert world.desk.times("a", 1)[1] - world.desk.times("a", 1)[0] >= 600


async def test_a_crash_in_the_middle_of_a_spilled_aggregate_loses_nothing() -> None:
    """H6, P11: killed again and again while a hot aggregate is worked off: all of it, in order, to the end."""
    world = World(slots=1)
    for version in range(1, 301):
        world.desk.then("a", version, 0.01)
    await moves(world.store, "a", 300)
    for _ in range(12):
        async with Process(world, shop()) as process:
            await process.advance(0.35)
            await process.kill()
    async with Process(world, shop()) as process:
        await process.advance(10)
    done: list[int] = []
    for version in world.desk.done("a"):
        assert version <= len(done) + 1
        done += [version] if version > len(done) else []
    assert done == list(range(1, 301))


async def test_the_budget_goes_on_counting_through_a_spill() -> None:
    """P5, H6, B1: the lane fills while A@1 is between its attempts; five calls in all, as without the spill."""
    world = World(slots=1)
    world.desk.always("a", 1, Trouble("no"))
    await moves(world.store, "a", 1)
    async with Process(world, shop()) as process:
        await process.advance(0.05)
        await moves(world.store, "a", 100)
        await process.advance(0.2)
        assert await world.rows(State.RETRYING)
        await process.advance(5)
        assert len(world.desk.times("a", 1)) == 5
        assert [row.state for row in await world.rows()] == [State.PARKED]
        world.desk.forgive()
        await process.apply(Verb.RESUME, MAILER, A)
        await process.advance(1)
    assert world.desk.done("a") == list(range(1, 102))
