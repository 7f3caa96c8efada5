"""Single slots move between running partitions: what is in them comes along, and everybody else goes on (L7, H25)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import Literal

import pytest

from tests.unit.parking.desk import COURIER, MAILER, SUMS, Courier, Mailer, Sums, Trouble, moves, order, shop
from tests.unit.parking.process import Process
from tests.unit.parking.world import World
from tests.unit.pausing import end, pause
from wow_ray import UnrecoverableHandlingError
from wow_ray.errors import StoreUnavailableError
from wow_ray.policy.parked import OPEN, State, Verb
from wow_ray.policy.pauses import PauseReason

A = order("a")


class Two:
    """One process of two partitions: the first begins with every slot, the second without."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.world = process.world
        self.first, self.second = process.service.partitions
        self.all = frozenset(range(self.world.slots))

    @property
    def moved(self) -> int:
        """The slot of A."""
        return self.world.slot(A)

    @property
    def other(self) -> str:
        """An order that lies in another slot than A."""
        return next(each for each in "bcdefgh" if self.world.slot(order(each)) != self.moved)

    def plan(self, second: Collection[int]) -> None:
        """Have the second partition own these slots and the first one all others."""
        shares = (self.all - frozenset(second), frozenset(second))
        for partition, share in zip((self.first, self.second), shares, strict=True):
            partition.joining.want(share)
            partition.leaving.want(partition.slots.keys() - share)

    async def advance(self, seconds: float = 0.0) -> None:
        """Let time pass; whoever may have to look at something does."""
        await self.process.advance(seconds)

    def owned(self) -> tuple[set[int], set[int]]:
        """Give who has what."""
        return set(self.first.slots), set(self.second.slots)


@asynccontextmanager
async def two(world: World, *processors: type) -> AsyncIterator[Two]:
    """Run an app in two partitions."""
    shares = {"shop-0": range(world.slots), "shop-1": ()}
    async with Process(world, shop(*processors), partitions=shares) as process:
        yield Two(process)


async def test_a_slot_moves_and_its_events_go_on_in_order_each_once() -> None:
    """L7: appended before, during and after; the first partition keeps the other slots."""
    world = World()
    await moves(world.store, A, 3)
    async with two(world, Mailer, Sums) as here:
        await here.advance(0.01)
        await moves(world.store, A, 3)
        here.plan({here.moved})
        await moves(world.store, A, 3)
        await here.advance(0.5)
        await moves(world.store, A, 3)
        await here.advance(0.5)

        assert here.owned() == (set(here.all - {here.moved}), {here.moved})
    assert world.desk.versions("a") == list(range(1, 13))
    assert world.tables.counted("a") == list(range(1, 13))


async def test_a_moved_slot_stands_still_for_less_than_a_second() -> None:
    """L7: measured by the events of one order, one every 50 ms, while all slots but one move and come back."""
    world = World(slots=8)
    async with two(world) as here:
        kept = world.slot(order(here.other))
        for turn in range(80):
            if turn in {20, 50}:
                here.plan(here.all - {kept} if turn == 20 else ())
            await moves(world.store, A)
            await here.advance(0.05)
        called = [call.at for call in world.desk.calls]
        late = max(at - 0.05 * place for place, at in enumerate(called)) - called[0]

        assert here.owned() == (set(here.all), set())
    assert world.desk.versions("a") == list(range(1, 81))
    assert late < 1.0


@pytest.mark.parametrize("operation", ["slots.let_go", "slots.acquire_free", "reader.at"])
async def test_while_a_slot_is_given_up_the_other_slots_of_both_go_on(
    operation: Literal["slots.let_go", "slots.acquire_free", "reader.at"],
) -> None:
    """L7: the store takes its time with the last word and with the load; neither partition waits for it."""
    world = World()
    async with two(world) as here:
        mine = here.world.slot(order(here.other))
        here.plan({mine})
        await here.advance(0.5)
        third = next(each for each in "bcdefgh" if world.slot(order(each)) not in {mine, here.moved})
        world.desk.then("a", 1, Trouble("no"))
        await moves(world.store, A)
        await here.advance(0.01)
        async with world.memory.gate(operation) as gate:
            here.plan({mine, here.moved})
            await here.advance(0.05)
            assert gate.held == 1
            for each in (here.other, third):
                await moves(world.store, each)
            await here.advance(0.1)
            assert world.desk.versions(here.other) == world.desk.versions(third) == [1]
        await here.advance(0.5)
        assert here.owned()[1] == {mine, here.moved}
    assert world.desk.done("a") == [1]


async def test_a_call_under_way_ends_first_and_is_not_repeated() -> None:
    """B4, L7: the slot stands still for as long as the call takes, and nothing else does."""
    world = World()
    world.desk.then("a", 1, 3.0)
    await moves(world.store, A, 2)
    async with two(world) as here:
        await here.advance(0.5)
        here.plan({here.moved})
        await moves(world.store, here.other)
        await here.advance(1)
        assert (here.moved in here.first.slots, world.desk.versions(here.other)) == (True, [1])
        await here.advance(3)

        assert here.owned()[1] == {here.moved}
    assert world.desk.versions("a") == [1, 2]


async def test_a_call_that_takes_longer_than_the_bound_is_interrupted_and_charged_nothing() -> None:
    """B4, S48: after 10 s; the next owner makes its first attempt."""
    world = World()
    world.desk.then("a", 1, 25.0)
    await moves(world.store, A, 2)
    async with two(world) as here:
        await here.advance(0.5)
        here.plan({here.moved})
        await here.advance(12)

        assert here.owned()[1] == {here.moved}
    assert world.desk.done("a") == [1, 2]
    assert {call.attempt for call in world.desk.calls} == {1}


async def test_a_slot_whose_call_does_not_end_is_kept_and_goes_on_where_it_is() -> None:
    """H25: the other slots leave; an order of the slot is handled meanwhile; it leaves once the call has ended."""
    world = World()
    ended = asyncio.Event()

    async def never() -> None:
        while not ended.is_set():
            try:
                await ended.wait()
            except asyncio.CancelledError:
                continue

    world.desk.then("a", 1, never)
    await moves(world.store, A)
    async with two(world) as here:
        same = next(each for each in (f"s{n}" for n in range(99)) if world.slot(order(each)) == here.moved)
        await here.advance(0.5)
        here.plan(here.all)
        await here.advance(12)
        assert here.owned()[0] == here.first.leaving.kept == {here.moved}
        await moves(world.store, same)
        await here.advance(1)
        assert world.desk.versions(same) == [1]

        ended.set()
        await here.advance(3)
        assert here.owned() == (set(), set(here.all))
    assert world.desk.versions("a") == [1]


async def test_who_is_parked_waits_or_drains_comes_along_as_it_is() -> None:
    """L7, P0, P7: nothing is charged for the move; the retry is made where the slot is, the hold holds there."""
    world = World(slots=1)
    world.desk.then("a", 1, UnrecoverableHandlingError("no"))
    world.desk.then("b", 1, *[Trouble("no")] * 5)
    world.desk.then("c", 1, *[Trouble("no")] * 5, 5.0)
    for each in "abc":
        await moves(world.store, each, 3)
    async with two(world) as here:
        await here.advance(10)
        before = {row.aggregate_id: row for row in await world.rows(*OPEN)}
        assert {each: row.state for each, row in before.items()} == {
            "a": State.EXHAUSTED,
            "b": State.PARKED,
            "c": State.PARKED,
        }
        await here.process.apply(Verb.RESUME, MAILER, order("c"))
        await here.advance(0.1)
        here.plan({0})
        await here.advance(0.5)
        assert 0 in here.first.slots  # the drain's call is under way
        await here.advance(6)

        assert here.owned() == (set(), {0})
        after = {row.aggregate_id: row for row in await world.rows(*OPEN)}
        assert after == {each: before[each] for each in "ab"}
        assert world.desk.done("c") == [1, 2, 3]
        await moves(world.store, "a")
        await here.advance(260)
        assert world.desk.done("b") == [1, 2, 3]
        assert world.desk.versions("a") == [1]
        request = await world.ask(Verb.RESUME, MAILER, A, row=after["a"])
        await here.advance(1)
        assert (await world.answer(request)).state == "done"
    assert world.desk.done("a") == [1, 2, 3, 4]


async def test_a_drain_that_has_many_events_left_goes_on_where_it_was() -> None:
    """P11, H41: half of it is done by the one partition and half by the other; nobody is called twice."""
    world = World(slots=1)
    world.desk.then("a", 1, UnrecoverableHandlingError("no"))
    for version in range(1, 61):
        world.desk.then("a", version, 0.05)
    await moves(world.store, A, 60)
    async with two(world) as here:
        await here.advance(1)
        await here.process.apply(Verb.RESUME, MAILER, A)
        await here.advance(1)
        here.plan({0})
        await here.advance(5)

        assert here.owned() == (set(), {0})
        assert await world.rows(*OPEN) == []
    assert world.desk.done("a") == list(range(1, 61))


async def test_a_command_that_is_asked_for_during_a_move_is_applied_by_whoever_has_the_slot_then() -> None:
    """P10, H41: it is a row; while the slot stands still nobody applies it."""
    world = World(slots=1)
    world.desk.then("a", 1, UnrecoverableHandlingError("no"))
    await moves(world.store, A, 2)
    async with two(world) as here:
        await here.advance(1)
        async with world.memory.gate("slots.let_go"):
            here.plan({0})
            await here.advance(0.1)
            request = await world.ask(Verb.RESUME, MAILER, A)
            await here.advance(1)
            assert (await world.answer(request)).state == "asked"
        await here.advance(1)
        assert (await world.answer(request)).state == "done"
    assert world.desk.done("a") == [1, 2]


async def test_a_pause_holds_where_the_slot_comes_to() -> None:
    """H44: the group stands still in both; resumed, what came meanwhile is handled by the new owner."""
    world = World(slots=1)
    async with two(world) as here:
        await here.advance(0.1)
        await pause(world.memory, MAILER, PauseReason.OPERATOR)
        await here.advance(2)
        await moves(world.store, A, 2)
        here.plan({0})
        await here.advance(2)
        assert (here.owned(), world.desk.calls) == ((set(), {0}), [])

        await end(world.memory, MAILER, PauseReason.OPERATOR)
        await here.advance(2)
    assert world.desk.versions("a") == [1, 2]


async def test_an_aggregate_between_two_attempts_moves_at_once() -> None:
    """B7, L7: it holds no call; its budget begins anew, as after a restart."""
    world = World(slots=1)
    world.desk.then("a", 1, *[Trouble("no")] * 4)
    await moves(world.store, A)
    async with two(world) as here:
        await here.advance(0.9)
        here.plan({0})
        await here.advance(0.3)
        assert here.owned() == (set(), {0})
        await here.advance(5)
    assert world.desk.done("a") == [1]


@pytest.mark.parametrize("at", ["start", "end"])
async def test_a_last_word_whose_answer_is_lost_is_said_again_and_nothing_begins_meanwhile(
    at: Literal["start", "end"],
) -> None:
    """H26, L3: given up or not, the old owner calls nothing of the slot any more; the plan's owner gets it."""
    world = World(slots=1)
    async with two(world, Mailer, Sums) as here:
        await here.advance(0.1)
        world.memory.fail_next("slots.let_go", StoreUnavailableError("away"), 2, at=at)
        async with world.memory.gate("slots.acquire_free"):
            here.plan({0})
            await moves(world.store, A, 2)
            await here.advance(5)
            assert world.desk.calls == []
        await here.advance(1)

        assert here.owned() == (set(), {0})
        assert not here.first.ended.done()
    assert world.desk.versions("a") == world.tables.counted("a") == [1, 2]


async def test_a_plan_that_is_taken_back_lets_the_slot_go_on_where_it_is() -> None:
    """L7: it stood still for a call; as soon as it need not leave it goes on."""
    world = World(slots=1)
    world.desk.then("a", 1, 2.0)
    await moves(world.store, A)
    async with two(world) as here:
        await here.advance(0.1)
        here.plan({0})
        await moves(world.store, "b")
        await here.advance(0.5)
        assert world.desk.versions("b") == []
        here.plan(())
        await here.advance(0.5)
        assert (world.desk.versions("b"), here.owned()) == ([1], ({0}, set()))


async def test_who_has_no_lease_takes_no_slot() -> None:
    """L3: it could begin no call of it; whoever has one gets the slot."""
    world = World(slots=1)
    async with two(world) as here:
        await here.advance(0.1)
        world.memory.lose_lease(here.second.owner.id)
        here.plan({0})
        await here.advance(2)

        assert here.owned() == (set(), set())
        assert here.second.joining.missing == {0}


@pytest.mark.parametrize("wait", [0.0, 0.02, 0.2])
async def test_a_reset_and_a_move_do_not_hurt_each_other(wait: float) -> None:
    """L6, L7: a reset while a slot is between two owners is refused or carried out, never half of it."""
    world = World(slots=2)
    await moves(world.store, A, 5)
    async with two(world, Mailer, Sums) as here:
        await here.advance(1)
        here.plan({here.moved})
        await here.advance(wait)
        request = await world.ask(Verb.RESET, SUMS, A)
        await here.advance(1)
        assert (await world.answer(request)).state in {"done", "refused"}
        again = await world.ask(Verb.RESET, SUMS, A)
        await here.advance(1)
        assert (await world.answer(again)).state == "done"
        assert here.owned()[1] == {here.moved}
        await moves(world.store, A)
        await here.advance(1)
    assert world.tables.counted("a") == [1, 2, 3, 4, 5, 6]
    assert world.desk.versions("a") == [1, 2, 3, 4, 5, 6]


async def test_what_a_new_owner_cannot_read_yet_is_said_by_no_commit() -> None:
    """H46, L2: it dies between taking the slot over and reading what is unfinished in it; nothing of that is lost."""
    world = World(slots=1)
    world.desk.then("a", 1, Trouble("no"))
    await moves(world.store, A, 3)
    async with two(world, Mailer, Courier) as here:
        await here.advance(0.01)
        here.plan({0})
        async with world.memory.gate("reader.at") as gate:
            await here.advance(0.5)
            assert gate.held == 1
            await here.process.kill()
    async with Process(world, shop(Mailer, Courier)) as process:
        await process.advance(1)
    assert world.desk.done("a") == [1, 2, 3]
    assert world.desk.versions("a", COURIER) == [1, 2, 3]


async def test_stopping_while_a_slot_comes_leaves_it_to_the_next_owner() -> None:
    """S48: what was taken over and is not in memory yet is nobody's to say anything of."""
    world = World(slots=1)
    await moves(world.store, A, 3)
    world.desk.then("a", 2, Trouble("no"))
    async with two(world) as here:
        await here.advance(0.01)
        here.plan({0})
        async with world.memory.gate("reader.at") as gate:
            await here.advance(0.5)
            assert gate.held == 1
            stopping = here.process.begin_to_stop()
            await world.clock.advance(0.1)
        await here.process.stopped(stopping)
    async with Process(world, shop()) as process:
        await process.advance(1)
    assert world.desk.done("a") == [1, 2, 3]
