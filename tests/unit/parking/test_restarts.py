"""Restarts: what a crash repeats, where a group begins, who joins whom (L1, L2, L5, H7, S11, S48)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.unit.parking.desk import COURIER, MAILER, SUMS, Courier, Mailer, Moved, Noted, Sums, moves, order, shop
from tests.unit.parking.process import Process
from tests.unit.parking.world import World
from wow_ray import App, ConfigurationError, UnrecoverableHandlingError
from wow_ray.errors import StoreUnavailableError
from wow_ray.handlers.specs import Start
from wow_ray.policy.parked import State, Verb

A = order("a")


async def test_five_deployments_during_a_call_charge_nothing() -> None:
    """S48, B4, P7: stopped five times in a row inside A@1, interrupted each time: no attempt, no park, one success."""
    world = World(slots=1)
    world.desk.then("a", 1, *[25.0] * 5)
    await moves(world.store, A, 2)
    for number in range(1, 6):
        async with Process(world, shop()) as process:
            await process.advance(1)
            assert len(world.desk.calls) == number
    async with Process(world, shop()) as process:
        await process.advance(1)
    assert world.desk.done("a") == [1, 2]
    assert [call.attempt for call in world.desk.calls] == [1] * 7
    assert await world.rows() == []


async def test_a_call_that_ends_while_the_process_stops_is_not_repeated() -> None:
    """B4, L2, S48: the stop waits for it, commits it and gives the slots up."""
    world = World(slots=1)
    world.desk.then("a", 1, 5.0)
    await moves(world.store, A, 2)
    async with Process(world, shop()) as process:
        await process.advance(1)
    assert world.desk.done("a") == [1]
    async with Process(world, shop()) as process:
        await process.advance(1)
    assert world.desk.versions("a") == [1, 2]


async def test_a_slow_aggregate_does_not_widen_what_a_crash_repeats() -> None:
    """L2: A takes its time while 1,000 events of others are done behind it: after the crash A alone is repeated."""
    world = World(slots=1)
    world.desk.then("a", 1, 25.0)
    await moves(world.store, A)
    for number in range(100):
        await moves(world.store, f"b{number}", 10)
    async with Process(world, shop()) as process:
        await process.advance(2)
        assert len(world.desk.calls) == 1001
        await process.kill()
    async with Process(world, shop()) as process:
        await process.advance(2)
    assert len(world.desk.calls) == 1002
    assert world.desk.versions("a") == [1, 1]
    assert world.desk.calls[-1].key == world.desk.calls[0].key == f"{MAILER}:a@1:0"


async def test_a_retrying_aggregate_does_not_widen_it_either() -> None:
    """L2, H46: killed five times while A waits between attempts; what is behind it is called once."""
    world = World(slots=1)
    world.desk.always("a", 1, ValueError("no"))
    await moves(world.store, A)
    settings = {"subscription": {"retry": {"initial_backoff": "4s", "max_backoff": "4s"}}}
    for number in range(5):
        await moves(world.store, "b", 10)
        async with Process(world, shop(), settings=settings) as process:
            await process.advance(1)
            assert world.desk.versions("b") == list(range(1, 10 * number + 11))
            await process.kill()


@pytest.mark.parametrize("reached", [False, True], ids=["before", "after"])
async def test_a_crash_repeats_what_finished_since_the_last_commit(*, reached: bool) -> None:
    """L1, L2: with the same keys, in order; nothing of it when the commit had reached the store."""
    world = World(slots=1)
    async with Process(world, shop()) as process:
        await moves(world.store, A, 3)
        await process.advance(1)
        async with world.memory.gate("slots.commit", "end" if reached else "start"):
            await moves(world.store, A, 4)
            await process.advance(1)
            assert world.desk.done("a") == [1, 2, 3, 4, 5, 6, 7]
            await process.kill()
    async with Process(world, shop()) as process:
        await process.advance(1)
        await moves(world.store, A)
        await process.advance(1)
    repeated: Sequence[int] = () if reached else (4, 5, 6, 7)
    assert world.desk.versions("a") == [1, 2, 3, 4, 5, 6, 7, *repeated, 8]
    assert len({call.key for call in world.desk.calls}) == 8


async def test_the_order_across_owners_is_without_gaps() -> None:
    """S11, S12: killed and restarted with one, two, four partitions and back: versions never jump or miss."""
    world = World(slots=8)
    names = ("a", "b", "c", "d", "e")
    for partitions in (1, 2, 4, 2, 1, 3):
        for name in names:
            await moves(world.store, name, 20)
        async with Process(world, shop(), partitions=partitions) as process:
            await process.advance(0.05)
            await process.kill()
    async with Process(world, shop()) as process:
        await process.advance(1)
    for name in names:
        reached = 0
        for version in world.desk.versions(name):
            assert version <= reached + 1
            reached = max(reached, version)
        assert reached == 120


def started(*, reactor: Start = "end", projection: Start = "beginning") -> App:
    """Make an app whose reactor and projection begin there."""
    app = App("shop")
    app.reactor(start=reactor)(Mailer)
    app.projection(start=projection)(Sums)
    return app


async def test_a_reactor_begins_at_the_end_and_a_projection_at_the_beginning() -> None:
    """L5, S91: on a log of 1,000 events the first start calls no reactor for old ones; the projection takes all."""
    world = World(slots=4)
    for name in ("a", "b", "c", "d"):
        await moves(world.store, name, 250)
    async with Process(world, started()) as process:
        await process.advance(1)
        await moves(world.store, A)
        await process.advance(1)
    assert [call.version for call in world.desk.calls if call.subscription == MAILER] == [251]
    assert world.tables.counted("a") == list(range(1, 252))
    assert world.tables.counted("d") == list(range(1, 251))


async def test_both_can_begin_elsewhere() -> None:
    """L5: overridable in either direction."""
    world = World(slots=4)
    await moves(world.store, A, 3)
    async with Process(world, started(reactor="beginning", projection="end")) as process:
        await process.advance(1)
        await moves(world.store, A)
        await process.advance(1)
    assert world.desk.versions("a") == [1, 2, 3, 4]
    assert world.tables.counted("a") == [4]


async def test_where_a_group_begins_is_fixed_by_its_first_start() -> None:
    """L5, H20: what is appended while the system is down is handled afterwards, by the reactor too."""
    world = World(slots=4)
    await moves(world.store, A, 2)
    async with Process(world, started()) as process:
        await process.advance(1)
    await moves(world.store, A, 2)
    await moves(world.store, "b", 2)
    async with Process(world, started()) as process:
        await process.advance(1)
    assert world.desk.versions("a") == [3, 4]
    assert world.desk.versions("b") == [1, 2]
    assert world.tables.counted("a") == [1, 2, 3, 4]


async def test_a_first_start_that_fails_before_it_has_done_anything_still_fixes_it() -> None:
    """L5, H20: registered, then it cannot take the slots; what comes then is the reactor's."""
    world = World(slots=4)
    await moves(world.store, A, 2)
    first = Process(world, started())
    world.memory.fail_next("slots.acquire", StoreUnavailableError("away"))
    with pytest.raises(StoreUnavailableError):
        await first.start()
    await first.kill()
    await moves(world.store, A, 2)
    async with Process(world, started()) as again:
        await again.advance(1)
    assert world.desk.versions("a") == [3, 4]


async def test_a_group_that_was_away_asks_where_it_goes_on() -> None:
    """L5, H20: gone in one version and back in the next: the start refuses and says what to say."""
    world = World(slots=4)
    async with Process(world, shop(Mailer, Courier)) as process:
        await process.advance(1)
    await moves(world.store, A, 2)
    async with Process(world, shop(Mailer)) as process:
        await process.advance(1)
    back = Process(world, shop(Mailer, Courier))
    with pytest.raises(ConfigurationError, match=r"Courier\.on_moved was retired and returns"):
        await back.start()
    await back.kill()
    assert world.desk.versions("a", COURIER) == []


@pytest.mark.parametrize("place", ["start", "end"])
async def test_a_page_under_way_when_a_group_joins_takes_nothing_from_it(place: str) -> None:
    """H7: the sums catch up while a page of the mailer, without notes, is under way: none is lost."""
    world = World(slots=1)
    for _ in range(30):
        await world.store.append(A, [Moved(), Noted()], expected_version=None)
    async with Process(world, shop(Mailer)) as process:
        await process.advance(1)
    async with Process(world, shop(Mailer, Sums)) as process:
        for _ in range(12):
            async with world.memory.gate("reader.page", place) as gate:  # type: ignore[arg-type]
                await world.store.append(A, [Noted(), Moved()], expected_version=None)
                await process.advance(0.05)
                assert gate.held == 1
                await world.store.append(A, [Noted()], expected_version=None)
                await process.advance(0.05)
            await process.advance(0.05)
        await process.advance(1)
    notes = [(call.version, call.sequence) for call in world.desk.calls if call.subscription == f"{SUMS}.on_noted"]
    assert len(notes) == len(set(notes)) == 30 + 12 * 2
    assert notes == sorted(notes)
    assert len(world.desk.done("a")) == 30 + 12
    assert world.desk.done("a") == world.tables.counted("a")


async def test_a_paused_group_leaves_its_cohort_and_comes_back_to_it() -> None:
    """H7, D3: the courier's downstream is away; the mailer reads on; both handle everything once, in order."""
    world = World(slots=1)
    for name in ("a", "b"):
        world.desk.then(name, 1, *[ConnectionRefusedError("down")] * 10, handler=COURIER)
    async with Process(world, shop(Mailer, Courier)) as process:
        for _ in range(10):
            await moves(world.store, A, 5)
            await moves(world.store, "b", 5)
            await process.advance(0.2)
        assert world.desk.done("b") == list(range(1, 51))
        assert len(world.desk.done("b", COURIER)) < 50
        await process.advance(60)
    for name in ("a", "b"):
        assert world.desk.done(name) == world.desk.done(name, COURIER) == list(range(1, 51))
    assert await world.rows() == []


async def test_what_is_parked_stays_parked_through_restarts() -> None:
    """P0, P5, P8: three restarts; held events stay held, nobody is called, a resume then handles all of them."""
    world = World(slots=1)
    world.desk.then("a", 1, UnrecoverableHandlingError("no"))
    for _ in range(3):
        await moves(world.store, A, 2)
        async with Process(world, shop()) as process:
            await process.advance(1)
            await process.kill()
    assert world.desk.versions("a") == [1]
    async with Process(world, shop()) as process:
        await process.apply(Verb.RESUME, MAILER, A)
        await process.advance(1)
    assert world.desk.done("a") == [1, 2, 3, 4, 5, 6]
    assert [row.state for row in await world.rows()] == [State.RESOLVED]


async def test_no_more_than_the_window_is_called_beyond_the_last_commit() -> None:
    """L2, H9, P5: the store takes no commit any more while 20,000 events come: W, 8,000, are called."""
    world = World(slots=4)
    async with Process(world, shop()) as process:
        await process.advance(1)
        gate = world.memory.gate("slots.commit")
        for number in range(200):
            await moves(world.store, f"a{number}", 100)
        await process.advance(5)
        called = len(world.desk.calls)
        assert 0 < called <= 8_000
        await process.kill()
        gate.open()
    async with Process(world, shop()) as process:
        await process.advance(10)
    assert len(world.desk.calls) == 20_000 + called
