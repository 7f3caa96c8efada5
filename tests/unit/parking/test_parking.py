"""Parking: what a failure that is given up does to its aggregate, and what it leaves alone (P0 to P5)."""

from __future__ import annotations

import asyncio

import pytest

from tests.unit.parking.desk import COURIER, MAILER, SUMS, Mailer, Noted, Sums, Trouble, moves, order, shop
from tests.unit.parking.desk import Courier as CourierReactor
from tests.unit.parking.process import Process
from tests.unit.parking.world import World
from wow_ray import UnrecoverableHandlingError
from wow_ray.errors import StoreDataError, StoreUnavailableError
from wow_ray.policy.parked import Reason, State


async def test_a_failed_event_is_repeated_before_its_successors() -> None:
    """S01, P1: two failures of the first of five events, and they are handled 1, 2, 3, 4, 5 with 7 calls in all."""
    world = World()
    world.desk.then("a", 1, Trouble("1"), Trouble("2"))
    await moves(world.store, "a", 5)
    async with Process(world, shop()) as process:
        await process.advance(2)
    assert world.desk.versions("a") == [1, 1, 1, 2, 3, 4, 5]


async def test_what_was_read_already_is_not_called_after_a_park() -> None:
    """S03, P1, D1: A@1 can never be handled; A@2 and A@3 of the same page wait, B@1 does not, there is one row."""
    world = World(slots=1)
    world.desk.then("a", 1, UnrecoverableHandlingError("no such buyer"))
    for name in ("a", "b", "a", "a"):
        await moves(world.store, name)
    async with Process(world, shop()) as process:
        await process.advance(1)
    assert world.desk.versions("a") == [1]
    assert world.desk.versions("b") == [1]
    (row,) = await world.rows()
    assert (row.state, row.reason, row.stopped, row.attempts) == (State.EXHAUSTED, Reason.UNRECOVERABLE, (1, 0), 1)


async def test_a_parked_aggregate_stops_neither_its_slot_nor_the_log() -> None:
    """S04, P1, P5: behind 1,000 held events of A comes B, which is handled; A keeps one row and nothing in memory."""
    world = World(slots=1)
    world.desk.then("a", 1, UnrecoverableHandlingError("never"))
    await moves(world.store, "a", 1001)
    await moves(world.store, "b")
    async with Process(world, shop()) as process:
        await process.advance(1)
        assert world.desk.versions("b") == [1]
        assert len(await world.rows()) == 1
        assert process.group(MAILER).lanes == {}
        assert process.partition.slots[0].progress[process.group(MAILER).number].unfinished == {}
    assert world.cursor(order("b"), MAILER) == 1002


async def test_a_park_holds_the_aggregate_for_its_own_group_alone() -> None:
    """P1, P3: the mailer gives up on A; the courier and the sums go on with A, and the mailer with B."""
    world = World(slots=1)
    world.desk.then("a", 2, UnrecoverableHandlingError("never"))
    await moves(world.store, "a", 3)
    await moves(world.store, "b", 1)
    async with Process(world, shop(Mailer, CourierReactor, Sums)) as process:
        await process.advance(1)
    assert world.desk.versions("a") == [1, 2]
    assert world.desk.versions("b") == [1]
    assert world.desk.versions("a", COURIER) == [1, 2, 3]
    assert world.tables.counted("a") == [1, 2, 3]


async def test_a_park_by_one_handler_holds_the_aggregate_for_all_handlers_of_its_group() -> None:
    """H3, P1: A stops at a note of its second version; its moves, another handler's of the same projection, wait."""
    world = World(slots=1)
    world.desk.then("a", 2, UnrecoverableHandlingError("never"), handler=f"{SUMS}.on_noted")
    await moves(world.store, "a")
    await world.store.append(order("a"), [Noted()], expected_version=None)
    await moves(world.store, "a", 2)
    async with Process(world, shop(Sums)) as process:
        await process.advance(1)
    assert world.tables.counted("a") == [1]
    (row,) = await world.rows()
    assert (row.group, row.subscription, row.stopped) == (SUMS, f"{SUMS}.on_noted", (2, 0))


@pytest.mark.parametrize("reached", [False, True], ids=["before", "after"])
async def test_the_row_and_the_progress_that_passes_its_event_are_one_commit(*, reached: bool) -> None:
    """P2: killed before the commit A is as if it had never been called; killed after it A is parked and not called."""
    world = World(slots=1)
    world.desk.then("a", 1, UnrecoverableHandlingError("never"))
    await moves(world.store, "a", 2)
    gate = world.memory.gate("slots.commit", "end" if reached else "start")
    async with Process(world, shop()) as process, gate:
        await process.advance(1)
        assert gate.held == 1
        await process.kill()
    assert len(await world.rows()) == reached
    assert world.cursor(order("a"), MAILER) == (2 if reached else 0)
    async with Process(world, shop()) as process:
        await process.advance(1)
    assert world.desk.versions("a") == ([1] if reached else [1, 1, 2])


async def test_a_park_that_cannot_be_written_calls_nobody_and_passes_nothing() -> None:
    """P2, S15: the store is away for four commits of the park: no call meanwhile, then there is one row."""
    world = World(slots=1)
    world.desk.then("a", 1, UnrecoverableHandlingError("never"))
    async with Process(world, shop()) as process:
        await process.advance(1)
        await moves(world.store, "a")
        world.memory.fail_next("slots.commit", StoreUnavailableError("away"), times=4)
        await process.advance(0.3)
        await moves(world.store, "b")
        await process.advance(0.1)
        assert world.cursor(order("a"), MAILER) == 0
        assert world.desk.versions("b") == []
        await process.advance(5)
        assert world.desk.versions("a") == [1]
        assert world.desk.versions("b") == [1]
        assert [row.state for row in await world.rows()] == [State.EXHAUSTED]


async def test_a_row_that_the_store_refuses_is_written_in_minimal_form() -> None:
    """P2, S15, H27: the store refuses the park for its data; the row is there all the same, and B is not held up."""
    world = World(slots=4)
    world.desk.then("a", 1, UnrecoverableHandlingError("never"))
    async with Process(world, shop()) as process:
        await process.advance(1)
        for name in ("a", "b", "c", "d"):
            await moves(world.store, name)
        world.memory.fail_next("slots.commit", StoreDataError("odd text"), times=2)
        await process.advance(1)
        assert [row.aggregate_id for row in await world.rows()] == ["a"]
        assert world.desk.done("b") == world.desk.done("c") == world.desk.done("d") == [1]
        assert not process.partition.ended.done()


async def test_parking_again_at_the_same_event_leaves_one_row() -> None:
    """S29, P3: a call that never ends is parked, and its late failure changes nothing: one row, one notice."""
    world = World(slots=1)
    let_go = asyncio.Event()

    async def stay() -> None:
        """Swallow the cancellation of the timeout, and end when it is let."""
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue
        raise Trouble("late")

    world.desk.then("a", 1, stay)
    await moves(world.store, "a", 2)
    async with Process(world, shop()) as process:
        await process.advance(70)
        (before,) = await world.rows()
        assert (before.state, before.reason) == (State.PARKED, Reason.NOT_ENDING)
        let_go.set()
        await process.advance(1)
        assert await world.rows() == [before]
        assert await world.notices() == ["parked"]


async def test_a_row_keeps_the_place_and_the_error_and_no_event() -> None:
    """P4: what is stored tells where and why, how often it was tried, and what the first error was."""
    world = World(slots=1)
    world.desk.then("a", 2, ValueError("first"), *[Trouble("last")] * 4)
    await moves(world.store, "a", 2)
    async with Process(world, shop()) as process:
        await process.advance(3)
    (row,) = await world.rows()
    assert (row.stopped, row.stopped_position, row.attempts) == ((2, 0), 2, 5)
    assert row.failure is not None
    assert row.first_cause is not None
    assert (row.failure.message, row.first_cause.message) == ("last", "first")
    assert "Trouble" in row.failure.type
    assert "desk.py" in row.failure.traceback
