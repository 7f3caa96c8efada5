"""Draining: from where an aggregate stopped back into the live flow, losing and repeating nothing (P11, H2, H40)."""

from __future__ import annotations

import asyncio

import pytest

from tests.unit.parking.desk import MAILER, Courier, Mailer, Trouble, moves, order, shop
from tests.unit.parking.process import Process
from tests.unit.parking.world import World
from wow_ray import UnrecoverableHandlingError
from wow_ray.policy.parked import Reason, State, Verb

A = order("a")


async def parked_at(world: World, version: int, end: int) -> None:
    """Have A stop at a version of so many, until it is resumed."""
    world.desk.then("a", version, UnrecoverableHandlingError("no"))
    await moves(world.store, A, end)


async def test_an_event_that_arrives_while_the_last_held_one_runs_comes_next() -> None:
    """S07, P11: A@7 is being drained when A@8 is read: 8 follows 7, once, and the row ends."""
    world = World(slots=1)
    await parked_at(world, 5, 7)
    last = asyncio.Event()
    world.desk.then("a", 7, last)
    async with Process(world, shop()) as process:
        await process.advance(1)
        await process.apply(Verb.RESUME, MAILER, A)
        await process.advance(0.1)
        assert world.desk.versions("a")[-1] == 7
        await moves(world.store, A)
        await process.advance(0.1)
        last.set()
        await process.advance(0.2)
    assert world.desk.versions("a") == [1, 2, 3, 4, 5, 5, 6, 7, 8]
    assert [row.state for row in await world.rows()] == [State.RESOLVED]


@pytest.mark.parametrize("place", ["start", "end"])
async def test_an_event_whose_page_is_under_way_when_the_drain_ends_is_handled_after_it(place: str) -> None:
    """S07, P11, H2: the page that holds A@8 was asked for before the last drained event ended and comes after it."""
    world = World(slots=1)
    await parked_at(world, 5, 7)
    async with Process(world, shop()) as process:
        await process.advance(1)
        async with world.memory.gate("reader.page", place) as gate:  # type: ignore[arg-type]
            await moves(world.store, A)
            await process.advance(0)
            assert gate.held == 1
            await process.apply(Verb.RESUME, MAILER, A)
            await process.advance(0.3)
            assert [row.state for row in await world.rows()] == [State.RESOLVED]
            assert world.desk.versions("a")[-1] == 7
        await process.advance(0.2)
    assert world.desk.versions("a") == [1, 2, 3, 4, 5, 5, 6, 7, 8]


@pytest.mark.parametrize("place", ["start", "end"])
async def test_an_event_that_arrives_while_the_stream_is_read_is_handled_after_it(place: str) -> None:
    """S07, P11: A@8 is dispatched while the drain's own read is under way, in either order: once, after 7."""
    world = World(slots=1)
    await parked_at(world, 5, 7)
    async with Process(world, shop()) as process:
        await process.advance(1)
        async with world.memory.gate("drains.streams", place) as gate:  # type: ignore[arg-type]
            await process.apply(Verb.RESUME, MAILER, A)
            await process.advance(0.1)
            assert gate.held == 1
            await moves(world.store, A, 2)
            await process.advance(0.1)
        await process.advance(0.3)
    assert world.desk.versions("a") == [1, 2, 3, 4, 5, 5, 6, 7, 8, 9]
    assert [row.state for row in await world.rows()] == [State.RESOLVED]


async def test_more_events_than_a_lane_holds_arrive_during_a_drain() -> None:
    """S07, H6, P11: 200 events come while A@7 is drained; they are held, read from the stream, and handled in order."""
    world = World(slots=1)
    await parked_at(world, 5, 7)
    last = asyncio.Event()
    world.desk.then("a", 7, last)
    async with Process(world, shop()) as process:
        await process.advance(1)
        await process.apply(Verb.RESUME, MAILER, A)
        await moves(world.store, A, 200)
        await process.advance(0.1)
        last.set()
        await process.advance(1)
    assert world.desk.versions("a") == [1, 2, 3, 4, 5, *range(5, 208)]


async def test_a_hand_over_that_is_not_in_the_store_is_made_again_after_a_crash() -> None:
    """P11, L2: killed while the commit that ends the row hangs: the drain begins again at its mark, nothing is lost."""
    world = World(slots=1)
    await parked_at(world, 2, 4)
    async with Process(world, shop()) as process:
        await process.advance(1)
        await process.apply(Verb.RESUME, MAILER, A)
        async with world.memory.gate("slots.commit"):
            await moves(world.store, A)
            await process.advance(0.5)
            assert world.desk.done("a") == [1, 2, 3, 4, 5]
            await process.kill()
    async with Process(world, shop()) as process:
        await process.advance(1)
    assert world.desk.done("a") == [1, 2, 3, 4, 5, 2, 3, 4, 5]
    assert len({call.key for call in world.desk.calls}) == 5
    assert [row.state for row in await world.rows()] == [State.RESOLVED]


@pytest.mark.parametrize("asked_before", [True, False], ids=["asked before the crash", "asked after it"])
async def test_a_crash_between_park_and_resume_above_a_slow_aggregate_loses_nothing(*, asked_before: bool) -> None:
    """H2: B is slow at position 41; A stops at 50, its events at 55 and 60 are held; crash; A is resumed after it."""
    world = World(slots=1)
    world.desk.always("b", 1, 20.0)
    world.desk.then("a", 1, UnrecoverableHandlingError("no"))
    for name, times in (("c", 40), ("b", 1), ("c", 8), ("a", 1), ("c", 4), ("a", 1), ("c", 4), ("a", 1), ("d", 2)):
        await moves(world.store, name, times)
    async with Process(world, shop()) as process:
        await process.advance(2)
        assert [row.stopped_position for row in await world.rows()] == [50]
        if asked_before:
            await world.ask(Verb.RESUME, MAILER, A)
        await process.kill()
    async with Process(world, shop()) as process:
        if not asked_before:
            await process.apply(Verb.RESUME, MAILER, A)
        await moves(world.store, "a", 1)
        await process.advance(60)
    assert world.desk.done("a") == [1, 2, 3, 4]
    assert world.desk.done("b") == [1]
    assert world.desk.versions("c") == list(range(1, 57))
    assert world.desk.versions("d") == [1, 2]
    assert [row.state for row in await world.rows()] == [State.RESOLVED]


async def test_positions_of_a_drain_are_never_the_checkpoint() -> None:
    """S08: A@3 to A@9 lie at 40 to 95 and are drained when the slot is read to 100; after a crash 101 comes next."""
    world = World(slots=1)
    world.desk.then("a", 3, UnrecoverableHandlingError("no"))
    await moves(world.store, "a", 2)
    await moves(world.store, "b", 37)
    for _ in range(7):
        await moves(world.store, "a", 1)
        await moves(world.store, "b", 8)
    await moves(world.store, "b", 100 - 39 - 63 + 1)
    head = world.memory._server.log.head(0)  # noqa: SLF001 - looks into the log
    async with Process(world, shop()) as process:
        await process.advance(1)
        assert world.cursor(A, MAILER) == head
        await process.apply(Verb.RESUME, MAILER, A)
        await process.advance(0.05)
        await process.kill()
        assert world.cursor(A, MAILER) == head
    await moves(world.store, "b")
    async with Process(world, shop()) as process:
        await process.advance(1)
    assert sorted(set(world.desk.done("a"))) == list(range(1, 10))
    assert world.desk.versions("b") == list(range(1, len(world.desk.versions("b")) + 1))
    assert world.cursor(A, MAILER) == head + 1


async def test_what_finishes_later_does_not_carry_what_runs_past_a_crash() -> None:
    """S09, L2: B is slow, C behind it and a drain of A finish, then the process dies: B is called again."""
    world = World(slots=1)
    world.desk.then("a", 1, UnrecoverableHandlingError("no"))
    await moves(world.store, "a", 3)
    async with Process(world, shop()) as process:
        await process.advance(1)
        world.desk.then("b", 1, 20.0)
        await moves(world.store, "b")
        await moves(world.store, "c")
        await process.apply(Verb.RESUME, MAILER, A)
        await process.advance(2)
        assert world.desk.done("c") == [1]
        await process.kill()
    async with Process(world, shop()) as process:
        await process.advance(2)
    assert world.desk.done("b") == [1]
    assert len(world.desk.versions("b")) == 2
    assert world.desk.versions("c") == [1]  # its commit was acknowledged
    assert world.desk.done("a") == [1, 2, 3]


async def test_a_drain_goes_no_further_than_the_window_beyond_the_last_commit() -> None:
    """H9, L2: the store takes no commit any more while 9,000 held events are drained: W, 8,000, are called, no more."""
    world = World(slots=1)
    await parked_at(world, 1, 9_000)
    async with Process(world, shop()) as process:
        await process.advance(1)
        gates = world.hang_commits_at_next_call()
        await world.ask(Verb.RESUME, MAILER, A)
        await process.advance(5)
        called = len(world.desk.calls) - 1
        gates[0].open()
        await process.advance(5)
    assert 0 < called <= 8_000
    assert world.desk.done("a") == list(range(1, 9_001))


def forget(world: World, *versions: int) -> None:
    """Take versions of A out of its stream, as an erasure does; positions stay."""
    log = world.memory._server.log  # noqa: SLF001 - no operation of the store takes events away
    log.streams["order", "a"] = [event for event in log.streams["order", "a"] if event.version not in versions]


async def test_a_drain_that_misses_its_event_says_so_and_can_be_skipped_past() -> None:
    """H40: the event it stopped at is gone: no call, the row says which; a skip goes on with the next one."""
    world = World(slots=1)
    await parked_at(world, 3, 6)
    async with Process(world, shop()) as process:
        await process.advance(1)
        forget(world, 3, 4)
        await process.apply(Verb.RESUME, MAILER, A)
        await process.advance(1)
        row = await world.row(A, MAILER)
        assert (row.state, row.stopped) == (State.EXHAUSTED, (3, 0))
        assert row.failure is not None
        assert "3:0" in row.failure.message
        assert "5:0" in row.failure.message
        assert world.desk.versions("a") == [1, 2, 3]
        await process.apply(Verb.SKIP, MAILER, A, through_version=4)
        await process.advance(1)
    assert world.desk.versions("a") == [1, 2, 3, 5, 6]
    assert (await world.row(A, MAILER)).state is State.SKIPPED


async def test_a_row_whose_stream_is_gone_closes_without_a_call() -> None:
    """H40: an aggregate with nothing left closes as `nothing to read`; what comes later is handled."""
    world = World(slots=1)
    await parked_at(world, 3, 4)
    async with Process(world, shop()) as process:
        await process.advance(1)
        forget(world, 1, 2, 3, 4)
        await process.apply(Verb.RESUME, MAILER, A)
        await process.advance(1)
    assert (await world.row(A, MAILER)).state is State.NOTHING_TO_READ
    assert world.desk.versions("a") == [1, 2, 3]


async def test_drains_leave_half_of_the_permits_to_the_live_flow() -> None:
    """H30, H35: forty slow drains, and an event of somebody else is called at once."""
    world = World(slots=1)
    names = [f"a{number}" for number in range(40)]
    for name in names:
        world.desk.then(name, 1, UnrecoverableHandlingError("no"), 20.0)
        await moves(world.store, name)
    async with Process(world, shop()) as process:
        await process.advance(1)
        for name in names:
            await world.ask(Verb.RESUME, MAILER, order(name))
        await process.advance(1)
        running = process.group(MAILER).drains_running
        await moves(world.store, "b")
        await process.advance(0.1)
        assert world.desk.done("b") == [1]
    assert 0 < running <= 16


async def test_a_drain_stops_where_it_fails_and_holds_the_rest() -> None:
    """P6, P11, H29: A@4 fails for good during the drain; 5 waits, the other group never noticed."""
    world = World(slots=1)
    world.desk.then("a", 2, UnrecoverableHandlingError("no"))
    world.desk.always("a", 4, Trouble("no"))
    await moves(world.store, "a", 5)
    async with Process(world, shop(Mailer, Courier)) as process:
        await process.advance(1)
        await process.apply(Verb.RESUME, MAILER, A)
        await process.advance(5)
        row = await world.row(A, MAILER)
        assert (row.state, row.reason, row.stopped, row.attempts) == (State.PARKED, Reason.BUDGET_SPENT, (4, 0), 5)
        assert world.desk.done("a") == [1, 2, 3]
        assert world.desk.done("a", "Courier.on_moved") == [1, 2, 3, 4, 5]
