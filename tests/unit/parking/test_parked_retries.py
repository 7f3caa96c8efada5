"""Parked retries: the long-horizon calls of a parked aggregate (P6, P7, P8, H5, H10)."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest

from tests.unit.parking.desk import MAILER, Trouble, moves, order, shop
from tests.unit.parking.process import Process
from tests.unit.parking.world import World
from wow_ray import UnrecoverableHandlingError
from wow_ray.policy.parked import Reason, State

ONCE = {"subscription": {"retry": {"max_attempts": 1}}}
"""Parked after the first failure."""
A = order("a")
DAY = 86_400.0


async def parked(world: World) -> None:
    """Have A parked at its second of three events, every call of which fails."""
    world.desk.always("a", 2, Trouble("no"))
    await moves(world.store, "a", 3)


async def test_ten_retries_over_many_days_and_never_another_one() -> None:
    """S46, P6, P8: none before 180 s, exactly ten, waits doubled up to a day, one notice at the end, then silence."""
    world = World(slots=1)
    await parked(world)
    async with Process(world, shop(), settings=ONCE) as process:
        await process.advance(1)
        begun = world.clock.monotonic()
        await process.advance(178)
        assert len(world.desk.times("a", 2)) == 1
        await moves(world.store, "a", 5)  # what comes later does not begin the schedule anew
        await process.advance(30 * DAY)
        times = world.desk.times("a", 2)
        assert len(times) == 1 + 10
        assert times[1] - times[0] >= 180
        waits = [after - before for before, after in pairwise(times[1:])]
        for wait, expected in zip(waits, (360, 720, 1440, 2880, 5760, 11_520, 23_040, 46_080, DAY), strict=True):
            assert expected - 0.001 <= wait <= expected * 1.25 + 61
        (row,) = await world.rows()
        assert (row.state, row.retries, row.next_due) == (State.EXHAUSTED, 10, None)
        assert await world.notices() == ["parked", "exhausted"]
        assert world.desk.versions("a") == [1] + [2] * 11
        assert begun < times[1]


async def test_one_retry_is_one_call_and_what_follows_has_the_normal_budget() -> None:
    """P6: the retry of A@2 succeeds; A@3 fails twice and is repeated within its budget; the row ends."""
    world = World(slots=1)
    world.desk.then("a", 2, *[Trouble("no")] * 5)
    world.desk.then("a", 3, Trouble("once"), Trouble("twice"))
    await moves(world.store, "a", 4)
    async with Process(world, shop()) as process:
        await process.advance(2)
        (row,) = await world.rows()
        assert (row.state, row.stopped) == (State.PARKED, (2, 0))
        await process.advance(300)
    assert world.desk.versions("a") == [1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 4]
    assert [row.state for row in await world.rows()] == [State.RESOLVED]
    assert await world.notices() == ["parked", "resolved"]


async def test_a_failure_at_a_later_event_is_a_new_stop_with_a_fresh_count() -> None:
    """P3, P6, H29: two retries of A@2 fail, the third succeeds and A@3 is given up: stopped at 3, no retries used."""
    world = World(slots=1)
    world.desk.then("a", 2, *[Trouble("no")] * 3)
    world.desk.always("a", 3, Trouble("no either"))
    await moves(world.store, "a", 4)
    async with Process(world, shop(), settings=ONCE) as process:
        await process.advance(180 * 1.25 + 360 * 1.25 + 720 * 1.25 + 100)
        (row,) = await world.rows()
        assert (row.state, row.stopped, row.retries, row.attempts) == (State.PARKED, (3, 0), 0, 1)
        assert world.desk.versions("a") == [1, 2, 2, 2, 2, 3]
        assert row.failure is not None
        assert row.failure == row.first_cause
        assert row.next_due is not None
        assert row.next_due - row.updated_at >= timedelta(seconds=180)


async def test_a_retry_has_two_minutes_whatever_the_handler_has() -> None:
    """P6: the handler's timeout is 30 s; a parked retry of 100 s succeeds, one of 121 s is one failure."""
    world = World(slots=1)
    world.desk.then("a", 1, Trouble("no"), 121.0, 100.0)
    await moves(world.store, "a", 1)
    async with Process(world, shop(), settings=ONCE) as process:
        await process.advance(180 * 1.25 + 62 + 121)
        (row,) = await world.rows()
        assert (row.state, row.retries) == (State.PARKED, 1)
        await process.advance(360 * 1.25 + 62 + 101)
    assert [row.state for row in await world.rows()] == [State.RESOLVED]
    assert [call.ended for call in world.desk.calls] == [False, False, True]


async def test_a_retry_is_counted_before_its_call() -> None:
    """H10, H5: when the call of a parked retry begins, the store has it as begun, and as one of the ten if it dies."""
    world = World(slots=1)
    await parked(world)
    async with Process(world, shop(), settings=ONCE) as process:
        await process.advance(1)
        stored: list[tuple[State, bool, int]] = []
        server = world.memory._server  # noqa: SLF001 - looks at what is stored
        world.desk.met = lambda _: stored.extend(
            (row.state, row.begun, row.retries) for row in server.rows.by_id.values()
        )
        world.desk.then("a", 2, 60.0)
        await process.advance(290)
        assert stored == [(State.RETRYING, True, 0)]
        await process.kill()
    async with Process(world, shop(), settings=ONCE) as process:
        await process.advance(0.5)
        (row,) = await world.rows()
        assert (row.state, row.retries) == (State.PARKED, 1)
        assert row.next_due is not None
        assert row.next_due - row.updated_at >= timedelta(seconds=360)


@pytest.mark.parametrize("place", ["start", "end"])
async def test_no_call_begins_while_its_begin_is_not_in_the_store(place: str) -> None:
    """H10: the commit that says so hangs; nobody is called before it is acknowledged."""
    world = World(slots=1)
    await parked(world)
    async with Process(world, shop(), settings=ONCE) as process:
        await process.advance(1)
        async with world.memory.gate("slots.commit", place):  # type: ignore[arg-type]
            await process.advance(290)
            assert len(world.desk.times("a", 2)) == 1
        await process.advance(0.1)
        assert len(world.desk.times("a", 2)) == 2


async def test_ten_kills_in_ten_retries_are_ten_retries() -> None:
    """S34, H5, H10, P8: each retry is cut off by a kill on purpose, no suspicion; after ten nobody is called."""
    world = World(slots=1)
    await parked(world)
    world.desk.then("a", 2, Trouble("no"), *[500.0] * 20)
    async with Process(world, shop(), settings=ONCE) as process:
        await process.advance(1)
    for _ in range(10):
        calls = len(world.desk.calls)
        async with Process(world, shop(), settings=ONCE) as process:
            for _ in range(2000):
                if len(world.desk.calls) > calls:
                    break
                await process.advance(60)
            await world.client.slots.excuse(process.partition.owner.partition)
            await process.kill()
    async with Process(world, shop(), settings=ONCE) as process:
        await process.advance(3 * DAY)
    assert len(world.desk.times("a", 2)) == 1 + 10
    (row,) = await world.rows()
    assert (row.state, row.retries) == (State.EXHAUSTED, 10)
    assert await world.notices() == ["parked", "exhausted"]


async def test_stopping_during_a_parked_retry_costs_none_of_the_ten() -> None:
    """P7, S48: five deployments during the call; then the call is made once more and succeeds, no retry was used."""
    world = World(slots=1)
    world.desk.then("a", 2, Trouble("no"), *[100.0] * 5)
    await moves(world.store, "a", 3)
    async with Process(world, shop(), settings=ONCE) as process:
        await process.advance(1)
    for _ in range(5):
        calls = len(world.desk.calls)
        async with Process(world, shop(), settings=ONCE) as process:
            for _ in range(6):
                await process.advance(60)
                if len(world.desk.calls) > calls:
                    break
            assert len(world.desk.calls) == calls + 1
        (row,) = await world.rows()
        assert (row.state, row.retries) == (State.PARKED, 0)
    async with Process(world, shop(), settings=ONCE) as process:
        await process.advance(60)
    assert world.desk.done("a") == [1, 2, 3]


async def test_an_outage_during_a_parked_retry_costs_none_of_the_ten() -> None:
    """P7: the other side is away (systemic by class); the row stays parked, moved by three minutes, no retry used."""
    world = World(slots=1)
    world.desk.then("a", 2, Trouble("no"), ConnectionRefusedError("down"))
    await moves(world.store, "a", 3)
    async with Process(world, shop(), settings=ONCE) as process:
        await process.advance(290)
        (row,) = await world.rows()
        assert (row.state, row.retries, row.begun) == (State.PARKED, 0, False)
        assert not process.group(MAILER).paused
        await process.advance(290)
    assert world.desk.done("a") == [1, 2, 3]


async def test_an_unrecoverable_parked_retry_goes_straight_to_exhausted() -> None:
    """P7, D1: no third call, though eight retries were left."""
    world = World(slots=1)
    world.desk.then("a", 2, Trouble("no"), UnrecoverableHandlingError("never"))
    await moves(world.store, "a", 3)
    async with Process(world, shop(), settings=ONCE) as process:
        await process.advance(2 * DAY)
    assert world.desk.versions("a") == [1, 2, 2]
    (row,) = await world.rows()
    assert (row.state, row.reason) == (State.EXHAUSTED, Reason.UNRECOVERABLE)
    assert await world.notices() == ["parked", "exhausted"]


async def test_a_deployment_does_not_begin_the_schedule_anew() -> None:
    """P6, P8, A: restarts between the retries; the due times stand in the store."""
    world = World(slots=1)
    await parked(world)
    for _ in range(40):
        async with Process(world, shop(), settings=ONCE) as process:
            await process.advance(3600)
    times = world.desk.times("a", 2)
    assert times[1] - times[0] >= 180
    assert 8 <= len(times) - 1 <= 10
