"""Projections that write through their connection: what they wrote and how far they are is one transaction."""

from __future__ import annotations

import random

import pytest

from tests.unit.runtime.desk import Desk, UnknownBuyer, Unlisted, crash, notices, outline, paid, scenario
from tests.unit.runtime.shop import sales
from wow_ray import StoreUnavailableError
from wow_ray.errors import StoreDataError
from wow_ray.testing.connection import RecordingDatabase

GONE = StoreUnavailableError("no answer")


def rows(database: RecordingDatabase) -> list[tuple[str, int]]:
    """Give what the projection has written for good: aggregate id and version."""
    return [(statement.arguments[0], statement.arguments[1]) for statement in database.committed]


async def test_a_failed_call_leaves_nothing_behind() -> None:
    """L1: two failures after the write are rolled back; the third call's row stands alone."""
    desk, database = Desk(), RecordingDatabase()
    desk.next("A", Unlisted(), Unlisted())
    async with scenario(sales, desk, connect=database.connect) as running:
        await paid(running, "A")
        await running.advance("1m")
        assert rows(database) == [("A", 1)]
        assert len(database.rolled_back) == 2
        assert running.memory.open_transactions == 0


async def test_a_park_leaves_nothing_behind_and_the_resume_writes_once() -> None:
    """L1, P2, P9: what the unrecoverable call wrote is undone; the resumed one is kept, with the held events."""
    desk, database = Desk(), RecordingDatabase()
    desk.next("A", UnknownBuyer())
    async with scenario(sales, desk, connect=database.connect) as running:
        await paid(running, "A", "A")
        await running.advance("1s")
        assert rows(database) == []
        (row,) = await running.parked()
        await running.resume(row, reason="fixed")
        await running.advance("1s")
        assert rows(database) == [("A", 1), ("A", 2)]


async def test_a_timed_out_call_leaves_nothing_behind() -> None:
    """L1, B4: the cancelled attempt's transaction is rolled back before the next one begins."""
    desk, database = Desk(), RecordingDatabase()
    desk.next("A", desk.sleeping(60))
    async with scenario(sales, desk, connect=database.connect) as running:
        await paid(running, "A")
        await running.advance("2m")
        assert rows(database) == [("A", 1)]
        assert running.memory.open_transactions == 0


async def test_a_commit_that_the_database_refuses_is_a_failure_of_that_attempt() -> None:
    """L1, H4: a deferred constraint, say: charged, retried in B1's time, and parked when it stays so."""
    desk, database = Desk(), RecordingDatabase()
    async with scenario(sales, desk, connect=database.connect) as running:
        running.memory.fail_next("effects.commit", StoreDataError("violates a deferred constraint"), times=2)
        await paid(running, "A")
        await running.advance("1m")
        assert desk.waits("A") == [0.1, 0.2]
        assert rows(database) == [("A", 1)]
        running.memory.fail_next("effects.commit", StoreDataError("violates a deferred constraint"), times=5)
        await paid(running, "B")
        await running.advance("1m")
        assert await outline(running) == [("B", "parked", "budget_spent", 1)]
        assert rows(database) == [("A", 1)]
        assert running.memory.open_transactions == 0


async def test_a_commit_whose_answer_is_lost_is_looked_up_and_not_repeated() -> None:
    """L1, H4: it has happened: the handler is not called again and nothing is charged."""
    desk, database = Desk(), RecordingDatabase()
    async with scenario(sales, desk, connect=database.connect) as running:
        running.memory.fail_next("effects.commit", GONE, at="end")
        await paid(running, "A", "A")
        await running.advance("1m")
        assert desk.versions("A") == [1, 2]
        assert rows(database) == [("A", 1), ("A", 2)]
        assert await running.rows() == []


async def test_a_commit_that_was_lost_is_looked_up_and_repeated_without_charge() -> None:
    """L1, H4, K7: it has not happened: systemic, so the same attempt is made again."""
    desk, database = Desk(), RecordingDatabase()
    async with scenario(sales, desk, connect=database.connect) as running:
        running.memory.fail_next("effects.commit", GONE, times=8)
        await paid(running, "A")
        await running.advance("1m")
        assert rows(database) == [("A", 1)]
        assert {call.attempt for call in desk.calls} == {1}
        assert len(desk.calls) == 9
        assert await notices(running) == []
        assert running.memory.open_transactions == 0


@pytest.mark.parametrize("happened", [True, False])
async def test_no_call_is_made_while_it_is_not_known_whether_the_last_one_was_committed(*, happened: bool) -> None:
    """L1, H4: the look-up fails for 20 s; in that time the handler of that aggregate is not called."""
    desk, database = Desk(), RecordingDatabase()
    async with scenario(sales, desk, connect=database.connect) as running:
        running.memory.fail_next("effects.commit", GONE, at="end" if happened else "start")
        running.memory.fail_next("effects.settled", GONE, times=1_000)
        await paid(running, "A", "A")
        await running.advance("20s")
        assert desk.versions("A") == [1]
        running.memory.fail_next("effects.settled", GONE, times=0)
        await running.advance("10s")
        assert desk.versions("A") == ([1, 2] if happened else [1, 1, 2])
        assert rows(database) == [("A", 1), ("A", 2)]


async def test_getting_a_connection_is_not_part_of_the_attempt() -> None:
    """H30: while the pool gives none, no time of the attempt passes and nothing is charged."""
    desk, database = Desk(), RecordingDatabase()
    once = {"subscription": {"retry": {"max_attempts": 1, "timeout": "1s"}}}
    async with scenario(sales, desk, connect=database.connect, settings=once) as running:
        async with running.memory.gate("effects.begin"):
            await paid(running, "A")
            await running.advance("1m")
            assert desk.calls == []
        running.memory.fail_next("effects.begin", GONE, times=5)
        await running.advance("1m")
        await paid(running, "A")
        await running.advance("1m")
        assert rows(database) == [("A", 1), ("A", 2)]
        assert await running.rows() == []


async def test_a_call_that_waited_for_its_connection_does_not_begin_without_the_lease() -> None:
    """L3, H8: the lease was lost in the meantime; the call is made when it is renewed, and nothing is charged."""
    desk, database = Desk(), RecordingDatabase()
    async with scenario(sales, desk, connect=database.connect) as running:
        (partition,) = running.service.partitions
        async with running.memory.gate("effects.begin"):
            await paid(running, "A")
            await running.advance("1s")
            running.memory.lose_lease(partition.owner.id)
        await running.advance("1m")
        assert desk.calls == []
        assert running.memory.open_transactions == 0
        await partition.stores.lease.start(partition.owner)
        await running.advance("1s")
        assert rows(database) == [("A", 1)]
        assert [call.attempt for call in desk.calls] == [1]


async def test_a_call_that_waited_for_its_connection_does_not_begin_while_the_store_is_away() -> None:
    """H9: a commit has failed in the meantime; the call is made when it is taken."""
    desk, database = Desk(), RecordingDatabase()
    async with scenario(sales, desk, connect=database.connect) as running:
        async with running.memory.gate("effects.begin"):
            running.memory.fail_next("slots.commit", GONE, times=1_000)
            await paid(running, "A")
            await running.advance("1s")
        await running.advance("1m")
        assert desk.calls == []
        running.memory.fail_next("slots.commit", GONE, times=0)
        await running.advance("10s")
        assert rows(database) == [("A", 1)]


async def test_what_is_committed_is_not_repeated_after_a_crash_although_the_progress_was_not_written() -> None:
    """L1, H4: the group commit never came; the marker tells the successor that the call is done."""
    desk, database = Desk(), RecordingDatabase()
    async with scenario(sales, desk, connect=database.connect) as running:
        running.memory.fail_next("slots.commit", GONE, times=1_000)
        await paid(running, "A", "B", "A")
        await running.advance("50ms")
        assert sorted(rows(database)) == [("A", 1), ("A", 2), ("B", 1)]
        await crash(running)
        running.memory.fail_next("slots.commit", GONE, times=0)
    async with scenario(sales, desk, memory=running.memory) as running:
        await running.advance("1m")
        await paid(running, "A")
        await running.advance("1s")
        assert sorted(rows(database)) == [("A", 1), ("A", 2), ("A", 3), ("B", 1)]
        assert len(desk.calls) == 4


async def test_a_drain_is_effectively_once_as_well() -> None:
    """L1, H4, P6: resumed, three of five held events done, then a crash before any commit: no event twice."""
    desk, database = Desk(), RecordingDatabase()
    desk.next("A", UnknownBuyer(), None, None, None, desk.sleeping(20))
    async with scenario(sales, desk, connect=database.connect) as running:
        await paid(running, "A", times=5)
        await running.advance("1s")
        (row,) = await running.parked()
        await running.resume(row, reason="fixed")
        running.memory.fail_next("slots.commit", GONE, times=1_000)
        await running.advance("5s")
        assert rows(database) == [("A", 1), ("A", 2), ("A", 3)]
        await crash(running)
        running.memory.fail_next("slots.commit", GONE, times=0)
    async with scenario(sales, desk, memory=running.memory) as running:
        await running.advance("1m")
        assert rows(database) == [("A", version) for version in range(1, 6)]
        assert await running.parked() == []


async def test_an_owner_that_has_lost_its_slot_commits_no_effects() -> None:
    """L1, L3, H1: the epoch is checked last in the transaction: the zombie's write is undone, the other stands."""
    desk, database = Desk(), RecordingDatabase()
    desk.next("A", desk.sleeping(5))
    async with scenario(sales, desk, connect=database.connect) as old:
        await paid(old, "A")
        await old.advance("1s")
        (partition,) = old.service.partitions
        old.memory.lose_lease(partition.owner.id)
        async with scenario(sales, desk, memory=old.memory) as new:
            await new.advance("1s")
            assert rows(database) == [("A", 1)]
            await new.advance("10s")
            assert rows(database) == [("A", 1)]
    assert desk.versions("A") == [1, 1]
    assert old.memory.open_transactions == 0


@pytest.mark.parametrize("seed", range(2))
async def test_calls_cancelled_at_random_points_leave_no_transaction_open_and_no_row_twice(seed: int) -> None:
    """S68, L1, B4: a hundred and sixty calls around their timeout, through commits that fail or give no answer."""
    chance = random.Random(seed)  # noqa: S311 - seeded, no secret
    desk, database = Desk(), RecordingDatabase()
    ids = [f"o-{number}" for number in range(40)]
    for each in ids:
        desk.next(each, *(desk.sleeping(chance.uniform(0, 0.02)) for _ in range(4)))
    settings = {"subscription": {"retry": {"timeout": "10ms"}, "parked": {"max_retries": 3}}}
    async with scenario(sales, desk, connect=database.connect, settings=settings) as running:
        await paid(running, *ids)
        for _ in range(20):
            fault = chance.choice(["effects.commit", "effects.begin", "effects.settled"])
            where = chance.choice(["start", "end"])
            running.memory.fail_next(fault, GONE, at=where)  # type: ignore[arg-type]  # chosen from what there is
            await running.advance(f"{chance.randrange(1, 40)}ms")
        await running.advance("30m")
        assert running.memory.open_transactions == 0
        assert sorted(rows(database)) == sorted((each, 1) for each in ids)
        assert await running.parked() == []


@pytest.mark.parametrize("seed", range(2))
async def test_stops_and_crashes_at_random_points_leave_no_transaction_open_and_no_row_twice(seed: int) -> None:
    """S68, L1, L2, B4: ten owners one after the other, every second one crashes; each event is written once."""
    chance = random.Random(seed)  # noqa: S311 - seeded, no secret
    desk, database = Desk(), RecordingDatabase()
    ids = [f"o-{number}" for number in range(40)]
    for each in ids:
        desk.next(each, *(desk.sleeping(chance.uniform(0, 0.2)) for _ in range(6)))
    memory = None
    for number in range(10):
        async with scenario(sales, desk, connect=database.connect, memory=memory) as running:
            await paid(running, *chance.sample(ids, 4))
            await running.advance(f"{chance.randrange(1, 150)}ms")
            if number % 2:
                await crash(running)
        memory = running.memory
        assert memory.open_transactions == 0
    async with scenario(sales, desk, connect=database.connect, memory=memory) as running:
        await running.advance("10m")
        assert running.memory.open_transactions == 0
    written = rows(database)
    assert len(written) == len(set(written)) == 40
    for each in ids:
        versions = [version for name, version in written if name == each]
        assert versions == sorted(versions)
