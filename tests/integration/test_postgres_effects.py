"""Effectively-once calls on a real Postgres.

Unknown outcomes, two lanes at once, handlers that end their transaction (H4).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.postgres_harness import PostgresHarness, postgres_harness
from tests.waiting import until
from wow_ray.adapters.postgres.effects import PostgresEffects
from wow_ray.errors import FencedError, StoreUnavailableError, WowError
from wow_ray.policy.progress import Mark, Progress
from wow_ray.ports.slots import EffectMark, EffectTransaction
from wow_ray.testing.contract.rows import Owning, owning, reloaded


@pytest.fixture
async def harness(postgres_dsn: str) -> AsyncIterator[PostgresHarness]:
    """Give an empty store on Postgres.

    A table that handlers write to, whose COMMIT takes 0.4 s for a value of 'slow'.
    """
    async with postgres_harness(postgres_dsn) as harness:
        await harness.admin.execute(
            """
            CREATE SCHEMA IF NOT EXISTS handlers;
            CREATE TABLE IF NOT EXISTS handlers.sales (value text);
            CREATE OR REPLACE FUNCTION handlers.slow() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF NEW.value = 'slow' THEN PERFORM pg_sleep(0.4); END IF;
                IF NEW.value = 'refused' THEN RAISE EXCEPTION 'refused' USING ERRCODE = '23514'; END IF;
                RETURN NULL;
            END $$;
            DROP TRIGGER IF EXISTS slow ON handlers.sales;
            CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON handlers.sales DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION handlers.slow();
            TRUNCATE handlers.sales;
            """
        )
        yield harness


def mark(partition: Owning, position: int = 101) -> EffectMark:
    """Name a call of the group Sales in slot 3."""
    return EffectMark(partition.group(), 3, partition.loaded[3].epoch, position)


async def begun(harness: PostgresHarness, of: EffectMark, value: str) -> EffectTransaction:
    """Begin a call's transaction, and write through it as a handler does."""
    transaction = await harness.partition.effects.begin(of)
    await transaction.connection.execute("INSERT INTO handlers.sales VALUES ($1)", value)
    return transaction


async def written(harness: PostgresHarness) -> list[str]:
    """Give what handlers have stored."""
    return [row[0] for row in await harness.admin.fetch("SELECT value FROM handlers.sales ORDER BY 1")]


async def commits(harness: PostgresHarness) -> bool:
    """Tell whether a session executes its COMMIT."""
    sql = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'COMMIT%'"
    return bool(await harness.admin.fetchval(sql))


async def test_a_commit_whose_session_is_ended_is_unknown_and_was_not_committed(harness: PostgresHarness) -> None:
    """H4: the server ends the session within COMMIT: `StoreUnavailableError`, and looking says no.

    What was written is gone.
    """
    partition = await owning(harness)
    transaction = await begun(harness, mark(partition), "slow")
    committing = asyncio.ensure_future(transaction.commit())
    await until(lambda: commits(harness), "COMMIT to run")

    await harness.admin.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'COMMIT%'"
    )

    with pytest.raises(StoreUnavailableError):
        await committing
    assert await harness.partition.effects.settled(mark(partition)) is False
    assert await written(harness) == []


async def test_a_commit_whose_connection_is_lost_is_waited_for(harness: PostgresHarness) -> None:
    """H4: the connection breaks while the server commits (0.4 s): looking waits until that has ended, and says yes."""
    partition = await owning(harness)
    transaction = await begun(harness, mark(partition), "slow")
    committing = asyncio.ensure_future(transaction.commit())
    await until(lambda: commits(harness), "COMMIT to run")

    transaction.connection.terminate()

    with pytest.raises(StoreUnavailableError):
        await committing
    assert await harness.partition.effects.settled(mark(partition)) is True
    assert await written(harness) == ["slow"]


async def test_two_lanes_of_one_slot_settle_at_once(harness: PostgresHarness) -> None:
    """H4: 101 and 102 are written and committed concurrently.

    A successor finds both, whatever the last commit said.
    """
    partition = await owning(harness)
    transactions = [await begun(harness, mark(partition, position), str(position)) for position in (101, 102)]

    await asyncio.gather(*(transaction.commit() for transaction in transactions))
    await partition.commit(partition.write(marks={partition.group(): Mark(102, (101, 102))}))

    loaded = await reloaded(harness)
    assert loaded.settled == {partition.group(): frozenset({101, 102})}
    found = Progress.loaded(loaded.marks[partition.group()], loaded.settled[partition.group()])
    assert (found.low_water(), await written(harness)) == (102, ["101", "102"])


async def test_a_stale_owners_call_leaves_nothing(harness: PostgresHarness) -> None:
    """L1, L3: the slot was taken over between BEGIN and COMMIT."""
    partition = await owning(harness)
    transaction = await begun(harness, mark(partition), "late")
    await reloaded(harness)

    with pytest.raises(FencedError):
        await transaction.commit()

    assert await written(harness) == []
    assert await harness.partition.effects.settled(mark(partition)) is False


async def test_a_refused_commit_is_the_drivers_error(harness: PostgresHarness) -> None:
    """L1: a deferred constraint says no at COMMIT; nothing was written, and the call may be made again."""
    partition = await owning(harness)
    transaction = await begun(harness, mark(partition), "refused")

    with pytest.raises(asyncpg.CheckViolationError):
        await transaction.commit()

    await (await begun(harness, mark(partition), "again")).commit()
    assert await written(harness) == ["again"]


@pytest.mark.parametrize("statements", [["COMMIT"], ["COMMIT", "BEGIN"], ["ROLLBACK"], ["ROLLBACK", "BEGIN"]])
async def test_a_handler_that_ends_its_transaction_is_told_so(harness: PostgresHarness, statements: list[str]) -> None:
    """H4: with or without beginning another one, the call is not settled.

    The next call gets a connection in order.
    """
    partition = await owning(harness)
    transaction = await begun(harness, mark(partition), "early")
    for statement in statements:
        await transaction.connection.execute(statement)

    with pytest.raises(WowError, match="ended the transaction") as told:
        await transaction.commit()

    assert told.value.code == "WOW-EFFECT"
    assert await harness.partition.effects.settled(mark(partition)) is False
    await (await begun(harness, mark(partition, 102), "next")).commit()


async def test_a_handler_that_leaves_its_transaction_failed_is_told_so(harness: PostgresHarness) -> None:
    """H4: it swallowed an error of the database; COMMIT would quietly roll back."""
    partition = await owning(harness)
    transaction = await begun(harness, mark(partition), "lost")
    with pytest.raises(asyncpg.DivisionByZeroError):
        await transaction.connection.execute("SELECT 1 / 0")

    with pytest.raises(WowError, match="left the transaction"):
        await transaction.commit()

    assert await written(harness) == []


async def test_a_handlers_own_blocks_are_savepoints(harness: PostgresHarness) -> None:
    """`async with ctx.connection.transaction()` around what may fail leaves the rest in order."""
    partition = await owning(harness)
    transaction = await begun(harness, mark(partition), "kept")
    with pytest.raises(asyncpg.DivisionByZeroError):  # noqa: PT012 - the block is what is rolled back
        async with transaction.connection.transaction():
            await transaction.connection.execute("INSERT INTO handlers.sales VALUES ('undone')")
            await transaction.connection.execute("SELECT 1 / 0")

    await transaction.commit()

    assert await written(harness) == ["kept"]


async def test_cancelled_calls_leave_no_connection_behind(harness: PostgresHarness) -> None:
    """S68: 300 calls on 3 connections, cancelled within 0 to 20 ms.

    Then 3 are to be had, and the pool closes, within a second.
    """
    partition = await owning(harness)
    effects = PostgresEffects(harness.database, 3)
    chance = random.Random(68)  # noqa: S311 - a test's chance

    async def one_call(position: int) -> None:
        transaction = await effects.begin(mark(partition, position))
        try:
            await transaction.connection.execute("SELECT pg_sleep(0.002)")
            await transaction.commit()
        finally:
            await transaction.rollback()

    loop = asyncio.get_running_loop()
    for first in range(0, 300, 20):
        calls = [asyncio.ensure_future(one_call(1000 + first + n)) for n in range(20)]
        for call in calls:
            loop.call_later(chance.uniform(0, 0.02), call.cancel)
        ends = await asyncio.gather(*calls, return_exceptions=True)
        assert {type(end) for end in ends} <= {type(None), asyncio.CancelledError}

    async with asyncio.timeout(1):
        taken = [await effects.begin(mark(partition, position)) for position in (1, 2, 3)]
        for transaction in taken:
            await transaction.rollback()
        await effects.close()
    sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'wow-ray/shop/effects'"
    await until(lambda: none_left(harness, sql), "the server to have ended them all")


async def none_left(harness: PostgresHarness, sql: str) -> bool:
    """Tell whether a count is 0."""
    return bool(await harness.admin.fetchval(sql) == 0)
