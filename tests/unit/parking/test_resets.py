"""A projection that begins anew while rows of it are worked on: what crosses must not come back (L6, H13, S91)."""

from __future__ import annotations

import pytest

from tests.unit.parking.desk import MAILER, SUMS, Mailer, Sums, Trouble, moves, order, shop
from tests.unit.parking.process import Process
from tests.unit.parking.world import World
from wow_ray import UnrecoverableHandlingError
from wow_ray.policy.parked import OPEN, State, Verb

A = order("a")
COUNT = f"{SUMS}.on_moved"


async def test_a_reset_calls_the_projection_and_nobody_else() -> None:
    """S91, L6: the reactor is not called again, and its parked aggregate stays parked."""
    world = World(slots=2)
    world.desk.then("b", 1, UnrecoverableHandlingError("no"))
    await moves(world.store, A, 3)
    await moves(world.store, "b", 2)
    async with Process(world, shop(Mailer, Sums)) as process:
        await process.advance(1)
        mails = [call for call in world.desk.calls if call.subscription == MAILER]
        await process.apply(Verb.RESET, SUMS, A)
        await process.advance(1)
        assert [call for call in world.desk.calls if call.subscription == MAILER] == mails
        assert world.desk.versions("a", COUNT) == [1, 2, 3, 1, 2, 3]
        assert [row.aggregate_id for row in await world.rows(*OPEN)] == ["b"]


@pytest.mark.parametrize("verb", [Verb.RESUME, Verb.SKIP, Verb.PARK, Verb.RETRY_NOW])
@pytest.mark.parametrize("first", [True, False], ids=["before", "after"])
async def test_a_command_that_crosses_a_reset_leaves_nobody_behind(verb: Verb, *, first: bool) -> None:
    """L6, H13, P11: asked together with the reset, in either order: what comes later is handled, in order."""
    world = World(slots=1)
    world.desk.then("a", 2, *[Trouble("no")] * 5, handler=COUNT)
    await moves(world.store, A, 4)
    async with Process(world, shop(Sums)) as process:
        await process.advance(5)
        calls = len(world.desk.calls)
        for asked in (verb, Verb.RESET) if first else (Verb.RESET, verb):
            await world.ask(asked, SUMS, A)
        await process.advance(1)
        await process.advance(1)
        await moves(world.store, A)
        await process.advance(1)
        for row in await world.rows(State.EXHAUSTED, State.PARKED):
            await process.apply(Verb.RESUME, SUMS, A, row=row)
            await process.advance(1)
        after = [call.version for call in world.desk.calls[calls:] if call.subscription == COUNT]
        assert await world.rows(*OPEN) == []
    assert after[-5:] == [1, 2, 3, 4, 5] or (verb is Verb.SKIP and after[-1] == 5)


async def test_a_parked_retry_that_comes_due_during_a_reset_is_not_made() -> None:
    """L6, H13: its begin is on its way to the store when the reset closes the row: no call of the old run follows."""
    world = World(slots=1)
    world.desk.then("a", 2, *[Trouble("no")] * 5, handler=COUNT)
    await moves(world.store, A, 4)
    async with Process(world, shop(Sums)) as process:
        await process.advance(5)
        (row,) = await world.rows()
        assert row.next_due is not None
        await world.clock.advance((row.next_due - world.memory.now()).total_seconds() - 0.01)
        calls = len(world.desk.calls)
        async with world.memory.gate("slots.commit") as gate:
            await moves(world.store, "b")
            await process.advance(70)
            request = await process.ask_and_advance(Verb.RESET, SUMS, A)
            await process.advance(1)
            assert gate.held == 1
        await process.advance(5)
        assert (await world.answer(request)).state == "done"
        after = [call.version for call in world.desk.calls[calls:] if (call.id, call.subscription) == ("a", COUNT)]
        assert await world.rows(*OPEN) == []
    assert after[-4:] == [1, 2, 3, 4]


async def test_two_resets_at_once_are_one_after_the_other() -> None:
    """L6, H13: asked twice while events come: no call begins inside either transaction, the sums are right."""
    world = World(slots=2)
    async with Process(world, shop(Sums)) as process:
        await process.advance(1)
        requests = [await world.ask(Verb.RESET, SUMS, A) for _ in range(2)]
        process.service.wake()
        for _ in range(60):
            await moves(world.store, A)
            process.service.wake()
        await process.advance(2)
        await process.advance(2)
        assert {(await world.answer(request)).state for request in requests} <= {"done", "refused"}
    assert world.tables.counted("a") == list(range(1, 61))


async def test_a_stop_during_a_reset_loses_no_park() -> None:
    """P2, P11, S48: the reset's first commit, which holds a park, is under way when the process is stopped."""
    world = World(slots=1)
    async with Process(world, shop(Mailer, Sums)) as process:
        await process.advance(1)
        world.desk.then("b", 1, UnrecoverableHandlingError("no"))
        gate = world.memory.gate("slots.commit")
        await moves(world.store, "b", 3)
        await process.advance(0.01)
        await process.ask_and_advance(Verb.RESET, SUMS, A)
        await world.clock.advance(0.03)
        assert gate.held == 1
        stopping = process.begin_to_stop()
        await world.clock.advance(0.5)
        gate.open()
        await process.stopped(stopping)
    assert [row.aggregate_id for row in await world.rows(*OPEN)] == ["b"]
    async with Process(world, shop(Mailer, Sums)) as process:
        await process.apply(Verb.RESUME, MAILER, order("b"))
        await process.advance(1)
    assert world.desk.done("b") == [1, 2, 3]
