"""Take-over: who has lost its slots changes nothing any more; commits may be sent twice (L3, L4, H1, H26)."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from tests.unit.parking.desk import MAILER, Mailer, Moved, Sums, moves, order, shop
from tests.unit.parking.process import Process
from tests.unit.parking.world import World
from wow_ray import UnrecoverableHandlingError
from wow_ray.errors import FencedError, StoreUnavailableError
from wow_ray.policy.parked import State, Verb

A = order("a")


async def test_a_commit_that_comes_after_the_take_over_changes_nothing() -> None:
    """L3, H1, S25: the old owner's park is on its way when the new owner takes over and handles A: no row appears."""
    world = World(slots=1)
    world.desk.then("a", 1, UnrecoverableHandlingError("no"))
    await moves(world.store, A, 2)
    old = Process(world, shop())
    gate = world.memory.gate("slots.commit")
    await old.start()
    await world.clock.advance(1)
    assert gate.held == 1
    old.lose_leases()
    async with Process(world, shop()) as new:
        await world.clock.advance(1)
        gate.open()
        await new.advance(1)
        assert world.desk.versions("a") == [1, 1, 2]
        assert await world.rows() == []
        assert isinstance(old.partition.ended.exception(), FencedError)
    await old.kill()


async def test_a_commit_that_was_there_before_the_take_over_is_what_the_new_owner_finds() -> None:
    """H1: the other order: the park is in the store, its owner does not know yet; the new one holds A."""
    world = World(slots=1)
    world.desk.then("a", 1, UnrecoverableHandlingError("no"))
    await moves(world.store, A, 2)
    old = Process(world, shop())
    gate = world.memory.gate("slots.commit", "end")
    await old.start()
    await world.clock.advance(1)
    old.lose_leases()
    gate.open()
    async with Process(world, shop()) as new:
        await new.advance(1)
        assert world.desk.versions("a") == [1]
        await new.apply(Verb.RESUME, MAILER, A)
        await new.advance(1)
    assert world.desk.versions("a") == [1, 1, 2]
    await old.kill()


async def test_an_owner_without_a_lease_begins_no_call() -> None:
    """L3, S33, H8: its lease is over and nobody has taken its slots yet: the call under way ends, no other begins."""
    world = World(slots=1)
    world.desk.then("a", 1, 5.0)
    await moves(world.store, A, 3)
    async with Process(world, shop()) as process:
        await process.advance(1)
        process.lose_leases()
        await moves(world.store, "b")
        await process.advance(60)
        assert world.desk.versions("a") == [1]
        assert world.desk.versions("b") == []
        await process.kill()
    async with Process(world, shop()) as process:
        await process.advance(1)
    assert world.desk.versions("a")[-2:] == [2, 3]


async def test_effects_of_an_owner_that_has_lost_its_slot_are_rolled_back() -> None:
    """L1, L3, H4: the zombie's handler ends after the take-over: its transaction is refused, the sum is right."""
    world = World(slots=1)
    world.desk.then("a", 1, 5.0, handler="Sums.on_moved")
    await moves(world.store, A, 2)
    old = Process(world, shop(Sums))
    await old.start()
    await world.clock.advance(1)
    old.lose_leases()
    async with Process(world, shop(Sums)) as new:
        await new.advance(10)
    assert world.tables.counted("a") == [1, 2]
    assert world.memory.open_transactions == 0
    await old.kill()


async def test_every_commit_may_be_sent_again_unchanged() -> None:
    """H26: each commit has an unknown outcome once: a park, a drain, an unpark, an intent are all right."""
    world = World(slots=1)
    world.desk.then("a", 2, UnrecoverableHandlingError("no"))
    await moves(world.store, A, 4)
    async with Process(world, shop()) as process:
        for _ in range(6):
            world.memory.fail_next("slots.commit", StoreUnavailableError("lost"), at="end")
            await process.advance(1)
        world.memory.fail_next("slots.commit", StoreUnavailableError("lost"), at="end")
        request = await process.ask_and_advance(Verb.RESUME, MAILER, A)
        await moves(world.store, A)
        for _ in range(4):
            await process.advance(1)
            world.memory.fail_next("slots.commit", StoreUnavailableError("lost"), at="end")
        await process.advance(1)
    assert (await world.answer(request)).state == "done"
    assert world.desk.versions("a") == [1, 2, 2, 3, 4, 5]
    assert [row.state for row in await world.rows()] == [State.RESOLVED]
    assert await world.notices() == ["parked", "resumed", "resolved"]


@pytest.mark.parametrize("rolled_back", [False, True])
async def test_an_event_of_a_transaction_that_ends_late_is_not_passed_over(*, rolled_back: bool) -> None:
    """S16, L4: a producer's transaction holds the slot; what others append to it comes after, and nothing is missed."""
    world = World(slots=1)
    async with Process(world, shop(Mailer)) as process:
        await moves(world.store, "b", 8)
        await process.advance(1)
        others: list[asyncio.Task[None]] = []
        with contextlib.suppress(ConnectionAbortedError):
            async with world.memory.transaction() as connection:
                await world.store.append(A, [Moved()], expected_version=None, connection=connection)
                others = [process_task(world, "c"), process_task(world, "d")]
                for _ in range(5):
                    await process.advance(1)
                    assert world.cursor(A, MAILER) == 8
                if rolled_back:
                    lose_connection()
        await process.advance(1)
        for other in others:
            await other
        await process.advance(1)
        assert world.cursor(A, MAILER) == (10 if rolled_back else 11)
    assert world.desk.versions("a") == ([] if rolled_back else [1])
    assert world.desk.versions("c") == world.desk.versions("d") == [1]


def lose_connection() -> None:
    """End a producer's transaction."""
    raise ConnectionAbortedError


def process_task(world: World, name: str) -> asyncio.Task[None]:
    """Append to an order from another producer."""
    return asyncio.get_running_loop().create_task(moves(world.store, name))


async def test_an_owner_whose_lease_is_gone_ends_though_it_has_nothing_to_say() -> None:
    """L3, H18: its slots have a newer owner and nothing happens in them: it finds out all the same, and ends."""
    world = World(slots=4)
    await moves(world.store, A, 2)
    old = Process(world, shop())
    await old.start()
    await world.clock.advance(1)
    old.lose_leases()
    async with Process(world, shop()) as new:
        await new.advance(30)
        assert old.partition.ended.done()
    await old.kill()
