"""Skips: what is passed over is what was seen, what is said, and nothing else (P9, S86, S89, H41)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from tests.unit.parking.desk import MAILER, Trouble, moves, order, shop
from tests.unit.parking.process import Process
from tests.unit.parking.world import World
from wow_ray import UnrecoverableHandlingError
from wow_ray.errors import StoreUnavailableError
from wow_ray.policy.parked import State, Verb

A = order("a")
ONCE = {"subscription": {"retry": {"max_attempts": 1}}}


async def parked_at(world: World, version: int, end: int) -> None:
    """Have A stop at a version of so many, until it is resumed or skipped."""
    world.desk.then("a", version, UnrecoverableHandlingError("no"))
    await moves(world.store, A, end)


async def test_a_skip_covers_what_the_operator_saw_and_nothing_later() -> None:
    """S86, P9: shown were versions 4 to 6; A@7 comes before the click; 4 to 6 are passed over, 7 is handled."""
    world = World(slots=1)
    await parked_at(world, 4, 6)
    async with Process(world, shop()) as process:
        await process.advance(1)
        (row,) = await world.rows()
        await moves(world.store, A)
        done = await process.apply(Verb.SKIP, MAILER, A, row=row, etag=row.etag, through_version=6)
        await process.advance(1)
    assert world.desk.versions("a") == [1, 2, 3, 4, 7]
    assert done.outcome == {"row": row.id, "skipped": 3, "from_version": 4, "through_version": 6}
    assert [row.state for row in await world.rows()] == [State.SKIPPED]
    assert await world.notices() == ["parked", "skipped", "skipped"]


async def test_a_skip_without_a_version_covers_what_is_held_when_it_runs() -> None:
    """P9: the last one held when the command runs; what comes while it is carried out is handled."""
    world = World(slots=1)
    await parked_at(world, 4, 6)
    async with Process(world, shop()) as process:
        await process.advance(1)
        done = await process.apply(Verb.SKIP, MAILER, A)
        await moves(world.store, A, 2)
        await process.advance(1)
    assert world.desk.versions("a") == [1, 2, 3, 4, 7, 8]
    assert (done.outcome["skipped"], done.outcome["through_version"]) == (3, 6)


async def test_a_skip_of_one_event_drains_the_rest() -> None:
    """P9: only A@4 is passed over."""
    world = World(slots=1)
    await parked_at(world, 4, 6)
    async with Process(world, shop()) as process:
        await process.advance(1)
        done = await process.apply(Verb.SKIP_ONE, MAILER, A)
        await process.advance(1)
    assert world.desk.versions("a") == [1, 2, 3, 4, 5, 6]
    assert (done.outcome["skipped"], done.outcome["from_version"]) == (1, 4)


async def test_a_skip_survives_a_crash_right_after_it() -> None:
    """P9, P11, H5: the answer is out when the process dies; the next one passes over the same events and no others."""
    world = World(slots=1)
    await parked_at(world, 2, 4)
    async with Process(world, shop()) as process:
        await process.advance(1)
        gates = [world.memory.gate("drains.streams", "end")]
        request = await process.ask_and_advance(Verb.SKIP, MAILER, A, through_version=3)
        gates[0].open()
        gates = [world.memory.gate("drains.streams")]
        await process.advance(0.05)
        assert (await world.answer(request)).state == "done"
        await process.kill()
        gates[0].open()
    async with Process(world, shop()) as process:
        await process.advance(1)
    assert world.desk.versions("a") == [1, 2, 4]
    assert [row.state for row in await world.rows()] == [State.SKIPPED]


@pytest.mark.parametrize("succeeds", [True, False])
async def test_a_skip_that_meets_a_running_retry_is_applied_after_it(*, succeeds: bool) -> None:
    """S89, P10, H41: the retry of A@3 takes 60 s; the skip through 6 waits for its end; A@7 is handled once."""
    world = World(slots=1)
    world.desk.then("a", 3, Trouble("no"), 60.0 if succeeds else slowly_failing(world))
    await moves(world.store, A, 6)
    async with Process(world, shop(), settings=ONCE) as process:
        await process.advance(1)
        while len(world.desk.times("a", 3)) < 2:
            await process.advance(10)
        request = await process.ask_and_advance(Verb.SKIP, MAILER, A, through_version=6)
        assert (await world.answer(request)).state == "asked"
        await moves(world.store, A)
        await process.advance(30)
        assert (await world.answer(request)).state == "asked"
        await process.advance(40)
        await process.advance(1)
        answer = await world.answer(request)
        assert not process.partition.ended.done()
    assert answer.state == "done"
    assert world.desk.versions("a") == [1, 2, 3, 3, 7]
    assert answer.outcome["skipped"] == (3 if succeeds else 4)
    assert answer.outcome["from_version"] == (4 if succeeds else 3)


def slowly_failing(world: World) -> Callable[[], Awaitable[None]]:
    """Give a call that fails after a minute."""

    async def fail() -> None:
        await world.clock.sleep(60)
        raise Trouble("again")

    return fail


async def test_a_running_retry_that_ends_makes_a_skip_of_what_was_seen_stale() -> None:
    """S89, P10: the operator saw the row before the retry began; it succeeded; the skip is refused, nothing is lost."""
    world = World(slots=1)
    world.desk.then("a", 3, Trouble("no"), 60.0)
    await moves(world.store, A, 6)
    async with Process(world, shop(), settings=ONCE) as process:
        await process.advance(1)
        (row,) = await world.rows()
        while len(world.desk.times("a", 3)) < 2:
            await process.advance(10)
        request = await process.ask_and_advance(Verb.SKIP, MAILER, A, row=row, etag=row.etag)
        await process.advance(70)
        await process.advance(1)
        assert (await world.answer(request)).code in {"conflict", "ended"}
    assert world.desk.done("a") == [1, 2, 3, 4, 5, 6]


async def test_the_answer_of_a_skip_names_nothing_that_was_handled_while_it_was_decided() -> None:
    """S86, P9, H41: the drain goes on while the owner counts; what it handled meanwhile was not skipped."""
    world = World(slots=1)
    await parked_at(world, 2, 10)
    for version in range(2, 11):
        world.desk.then("a", version, Trouble("once"))
    async with Process(world, shop()) as process:
        await process.advance(1)
        await process.apply(Verb.RESUME, MAILER, A)
        await process.advance(0.01)
        async with world.memory.gate("drains.streams", "end"):
            request = await process.ask_and_advance(Verb.SKIP, MAILER, A, through_version=9)
            await process.advance(0.45)
        handled = list(world.desk.done("a"))
        await process.advance(5)
        answer = await world.answer(request)
    if answer.state == "done":
        skipped = list(range(answer.outcome["from_version"], answer.outcome["through_version"] + 1))
        assert len(skipped) == answer.outcome["skipped"]
        assert not set(skipped) & set(world.desk.done("a"))
        assert sorted({*skipped, *world.desk.done("a")}) == list(range(1, 11))
    assert len(handled) == len(set(handled))


async def test_a_skip_of_one_event_behind_a_mark_skips_that_event() -> None:
    """P9, S86: parked on purpose behind A@2; what is skipped is A@3, and the answer says so."""
    world = World(slots=1)
    await moves(world.store, A, 2)
    async with Process(world, shop()) as process:
        await process.advance(1)
        await process.apply(Verb.PARK, MAILER, A)
        await moves(world.store, A, 2)
        await process.advance(1)
        done = await process.apply(Verb.SKIP_ONE, MAILER, A)
        await process.advance(1)
    assert (done.outcome["skipped"], done.outcome["from_version"]) == (1, 3)
    assert world.desk.versions("a") == [1, 2, 4]


async def test_a_skip_through_more_than_was_read_yet_is_what_it_says() -> None:
    """S86, P9: the owner has not read A@5 to A@8 yet when it applies a skip through 7: what it says is skipped."""
    world = World(slots=1)
    await parked_at(world, 3, 4)
    async with Process(world, shop()) as process:
        await process.advance(1)
        async with world.memory.gate("reader.page"):
            await moves(world.store, A, 4)
            done = await process.apply(Verb.SKIP, MAILER, A, through_version=7)
            await process.advance(0.1)
        await process.advance(1)
    skipped = list(range(done.outcome["from_version"], done.outcome["through_version"] + 1))
    assert len(skipped) == done.outcome["skipped"]
    assert world.desk.done("a") == [version for version in range(1, 9) if version not in skipped]


async def test_a_version_that_comes_with_a_park_stops_nothing_there() -> None:
    """P10, P11: `through_version` belongs to skips; a park on purpose stops behind what is handled."""
    world = World(slots=1)
    await moves(world.store, A, 5)
    async with Process(world, shop()) as process:
        await process.advance(1)
        await process.apply(Verb.PARK, MAILER, A, through_version=3)
        await process.apply(Verb.RESUME, MAILER, A)
        await process.advance(1)
    assert world.desk.versions("a") == [1, 2, 3, 4, 5]


async def test_a_skip_that_was_answered_stays_one_through_a_park_and_a_resume() -> None:
    """S86, P9, H41: parked on purpose before the drain has read; resumed, it passes over what was said."""
    world = World(slots=1)
    await parked_at(world, 2, 4)
    async with Process(world, shop()) as process:
        await process.advance(1)
        async with world.memory.gate("slots.commit", "end"):
            request = await process.ask_and_advance(Verb.SKIP, MAILER, A, through_version=3)
            await process.advance(0.2)
            assert (await world.answer(request)).state == "done"
            world.memory.fail_next("drains.streams", StoreUnavailableError("away"))
        await process.apply(Verb.PARK, MAILER, A)
        assert (await world.row(A, MAILER)).state is State.EXHAUSTED
        await process.apply(Verb.RESUME, MAILER, A)
        await process.advance(1)
    assert world.desk.versions("a") == [1, 2, 4]
