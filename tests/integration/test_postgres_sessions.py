# ruff: noqa: S608 - the only thing put into a statement's text is the name of the test's own schema
"""What becomes of single sessions and of the lease on a real Postgres that is silent, refuses, or is another one."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.postgres_harness import PostgresHarness, postgres_harness
from tests.silent_way import between
from tests.waiting import until
from wow_ray.adapters.clock import SystemClock, monotonic
from wow_ray.adapters.postgres import connect, owner_here
from wow_ray.adapters.postgres.connect import PATIENT, Sessions
from wow_ray.adapters.postgres.effects import PostgresEffects
from wow_ray.adapters.postgres.lease import PostgresLease
from wow_ray.adapters.postgres.reader import PostgresLogReader
from wow_ray.errors import StoreUnavailableError
from wow_ray.policy.progress import Mark
from wow_ray.ports.slots import EffectMark
from wow_ray.testing.contract.rows import owning

ENDED = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'wow-ray/shop/slots'"


@pytest.fixture
async def harness(postgres_dsn: str) -> AsyncIterator[PostgresHarness]:
    """Give an empty store on Postgres."""
    async with postgres_harness(postgres_dsn) as harness:
        yield harness


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the hearts of sessions beat ten times a second."""
    monkeypatch.setattr(connect, "BEAT", 0.1)


@pytest.mark.usefixtures("quick")
async def test_a_silent_session_is_given_up_after_five_beats_and_another_one_is_used(harness: PostgresHarness) -> None:
    """S112: the driver would wait for a minute; it is an outage, not a hang, and the next call connects anew."""
    async with between(harness.database.dsn) as (way, dsn):
        reader = PostgresLogReader(replace(harness.database, dsn=dsn))
        try:
            await reader.heads([1])
            assert way.deafen() == 1
            began = monotonic()
            with pytest.raises(StoreUnavailableError):
                await reader.heads([1])
            assert 0.4 < monotonic() - began < 5
            assert await reader.heads([1]) == {1: 0}
            assert reader.connections == 2
        finally:
            await reader.close()


@pytest.mark.usefixtures("quick")
async def test_a_slow_server_gets_more_time_with_each_try(harness: PostgresHarness) -> None:
    """A statement of 1.2 s is given up after 0.5 s and 1 s, and answered within 2 s; quick ones bring patience back."""
    sessions = Sessions(harness.database, "slow")

    async def slept(seconds: float) -> bool:
        try:
            async with sessions.use() as session:
                await session.connection.fetchval("SELECT pg_sleep($1)", seconds)
        except StoreUnavailableError:
            return False
        return True

    try:
        assert [await slept(1.2) for _ in range(3)] == [False, False, True]
        for _ in range(3):
            assert await slept(0)
        assert not await slept(1.2)
        async with sessions.use(PATIENT) as session:
            await session.connection.fetchval("SELECT pg_sleep(0.8)")
    finally:
        await sessions.close()


async def test_a_session_on_a_server_that_takes_no_writes_is_not_used_again(harness: PostgresHarness) -> None:
    """K7, S112: after a failover the address leads to another server; only a new connection finds it."""
    sessions = Sessions(harness.database, "tried")
    try:
        async with sessions.use() as session:
            first = session.connection.get_server_pid()
            await session.connection.execute("SET default_transaction_read_only = on")
        with pytest.raises(StoreUnavailableError, match="25006"):
            async with sessions.use() as session:
                await session.connection.execute(f"DELETE FROM {harness.database.schema}.owners")
        async with sessions.use() as session:
            assert session.connection.get_server_pid() != first
    finally:
        await sessions.close()


async def test_a_call_gets_no_connection_that_takes_no_writes_twice(harness: PostgresHarness) -> None:
    """K7: what a handler met on such a connection was lost with it; the next call gets another one."""
    old = await owning(harness)
    effects = PostgresEffects(harness.database, 1)
    mark = EffectMark(old.group(), 3, old.loaded[3].epoch, 1)
    try:
        transaction = await effects.begin(mark)
        first = await transaction.connection.fetchval("SELECT pg_backend_pid()")
        await transaction.connection.execute("SET default_transaction_read_only = on")
        await transaction.commit()
        transaction = await effects.begin(replace(mark, position=2))
        assert transaction.lost is False
        assert await transaction.connection.fetchval("SELECT pg_backend_pid()") != first
        await transaction.rollback()
    finally:
        await effects.close()


async def test_nothing_is_committed_to_another_database_than_the_slots_were_acquired_of(
    harness: PostgresHarness,
) -> None:
    """H14: a standby was promoted, or a backup restored, and the session is made anew before the feed looks."""
    old = await owning(harness)
    schema = harness.database.schema
    before = await harness.admin.fetchval(f"SELECT identity FROM {schema}.meta")
    await old.commit(old.write(marks={old.group(): Mark(1)}))
    await harness.admin.execute(f"UPDATE {schema}.meta SET identity = gen_random_uuid()")
    try:
        assert await harness.admin.fetchval(ENDED) == 1
        for _ in range(3):
            with pytest.raises(StoreUnavailableError):
                await old.commit(old.write(marks={old.group(): Mark(2)}))
    finally:
        await harness.admin.execute(f"UPDATE {schema}.meta SET identity = $1", before)
    await old.commit(old.write(marks={old.group(): Mark(2)}))


async def test_a_lease_that_is_refused_is_asked_for_on_and_on(harness: PostgresHarness) -> None:
    """L3, H8: renewals end in an error that is no outage (the table is away); it runs out, and is back with the table.

    A thread that ended of it would leave a partition that never calls anything again and does not say why.
    """
    schema = harness.database.schema
    lease = PostgresLease(harness.database)
    await lease.start(owner_here("refused"))
    try:
        await harness.admin.execute(f"ALTER TABLE {schema}.owners RENAME TO hidden")
        try:
            await SystemClock().sleep(1.5)
            stale = lease.valid_until
            await SystemClock().sleep(0.5)
            assert lease.valid_until == stale > -math.inf
        finally:
            await harness.admin.execute(f"ALTER TABLE {schema}.hidden RENAME TO owners")
        await until(lambda: lease.valid_until > stale, "the lease to be renewed again")
    finally:
        await lease.stop()
