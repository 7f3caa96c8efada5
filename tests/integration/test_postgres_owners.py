# ruff: noqa: S608 - the only thing put into a statement's text is the name of the test's own schema
"""Taking slots over on a real Postgres: old commits under way, hung ones, processes that are gone, leases (H1, H8)."""

from __future__ import annotations

import asyncio
import math
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import asyncpg
import pytest

from tests.postgres_harness import PostgresHarness, postgres_harness
from tests.waiting import until
from wow_ray.adapters.clock import monotonic
from wow_ray.adapters.postgres import owner_here
from wow_ray.adapters.postgres.commits import write_all
from wow_ray.adapters.postgres.connect import Sessions
from wow_ray.adapters.postgres.lease import PostgresLease
from wow_ray.adapters.postgres.processes import is_dead, process_started
from wow_ray.errors import FencedError
from wow_ray.policy.progress import Mark
from wow_ray.ports.slots import Acquired, SlotWrite
from wow_ray.testing.contract.rows import Owning, owning, reloaded


@pytest.fixture
async def harness(postgres_dsn: str) -> AsyncIterator[PostgresHarness]:
    """Give an empty store on Postgres."""
    async with postgres_harness(postgres_dsn) as harness:
        yield harness


@asynccontextmanager
async def a_commit_under_way(harness: PostgresHarness, write: SlotWrite) -> AsyncIterator[None]:
    """Do everything of a commit but COMMIT, which comes at the end of the block."""
    sessions = Sessions(harness.database, "slots")
    try:
        async with sessions.use() as session, session.connection.transaction():
            await write_all(session, [write])
            yield
    finally:
        await sessions.close()


def a_process() -> subprocess.Popen[bytes]:
    """Start a process that lives until it is killed."""
    return subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)


async def waits_for_a_lock(harness: PostgresHarness) -> bool:
    """Tell whether a session of the store waits for another one's transaction."""
    sql = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name LIKE 'wow-ray/%'"
    return bool(await harness.admin.fetchval(sql))


async def test_a_takeover_sees_what_a_commit_under_way_writes(harness: PostgresHarness) -> None:
    """H1: checkpoint 180 and a park are written and not committed.

    The successor waits and finds both, not 100 and nothing.
    """
    old = await owning(harness)
    await old.commit(old.write(marks={old.group(): Mark(100)}))
    write = old.write(marks={old.group(): Mark(180)}, rows=(old.row(),))

    async with a_commit_under_way(harness, write):
        taking = asyncio.ensure_future(reloaded(harness))
        await until(lambda: waits_for_a_lock(harness), "the successor to wait for the old owner's commit")
        assert not taking.done()

    loaded = await asyncio.wait_for(taking, 10)
    assert loaded.marks[old.group()] == Mark(180)
    assert loaded.held == (("Sales", "order", "o-1"),)


async def test_a_commit_that_waits_behind_a_takeover_is_fenced(harness: PostgresHarness) -> None:
    """H1 (A2): the old owner's commit started waiting before the takeover was committed.

    It writes nothing all the same.
    """
    old = await owning(harness)
    table = harness.database.schema
    async with harness.admin.transaction():
        await harness.admin.execute(f"UPDATE {table}.slots SET epoch = epoch + 1, owner = 'new' WHERE slot = 3")
        late = asyncio.ensure_future(old.commit(old.write(marks={old.group(): Mark(180)}, rows=(old.row(),))))
        await until(lambda: waits_for_a_lock(harness), "the old owner's commit to wait for the takeover")

    with pytest.raises(FencedError) as fenced:
        await asyncio.wait_for(late, 10)
    assert fenced.value.slots == (3,)
    assert await harness.client.ledger.row("r-1") is None
    assert (await reloaded(harness)).marks[old.group()] == Mark(0)


async def test_a_commit_that_hangs_is_ended_after_two_seconds(harness: PostgresHarness) -> None:
    """H8: the old owner is stopped between guard and COMMIT (its session sits in a transaction).

    The successor passes in 2 to 5 s.
    """
    old = await owning(harness)
    hung = await asyncpg.connect(harness.database.dsn, server_settings={"idle_in_transaction_session_timeout": "0"})
    try:
        await hung.execute("BEGIN")
        await hung.execute(f"SELECT FROM {harness.database.schema}.slots WHERE slot = 3 FOR NO KEY UPDATE")
        before = monotonic()

        loaded = await asyncio.wait_for(reloaded(harness), 10)

        assert 1.9 < monotonic() - before < 5
        assert loaded.epoch == old.loaded[3].epoch + 1
        with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, OSError)):
            await hung.execute("COMMIT")
    finally:
        hung.terminate()


async def test_our_sessions_do_not_sit_in_a_transaction(harness: PostgresHarness) -> None:
    """H8: what a frozen owner holds, the server itself takes back after 5 s."""
    async with Sessions(harness.database, "slots").use() as session:
        assert await session.connection.fetchval("SHOW idle_in_transaction_session_timeout") == "5s"
        await session.connection.close()


async def test_a_process_known_dead_is_not_waited_for(harness: PostgresHarness) -> None:
    """H8: a lease of 10 s was renewed a moment ago, the process is killed: the successor passes at once.

    Not before.
    """
    child = a_process()
    try:
        owner = replace(owner_here("old"), pid=child.pid, process_started=process_started(child.pid))
        old = await owning(harness, owner=owner)
        lease = harness.partition.lease
        await lease.start(owner)
        taking = asyncio.ensure_future(reloaded(harness))
        done, _ = await asyncio.wait({taking}, timeout=0.5)
        assert not done
        assert not is_dead(child.pid, owner.process_started)

        child.kill()

        loaded = await asyncio.wait_for(taking, 2)
        assert loaded.epoch == old.loaded[3].epoch + 1
        await until(lambda: lease.valid_until == -math.inf, "the old lease to find that it was taken over", seconds=5)
    finally:
        child.kill()
        child.communicate()


def test_a_process_is_dead_when_it_is_gone_or_another_has_its_number() -> None:
    """H8: a number that is free, a start that differs, a process that ended and was not collected.

    This one is alive.
    """
    child = a_process()
    me = owner_here("p")
    started = process_started(child.pid)

    assert not is_dead(me.pid, me.process_started)
    assert not is_dead(me.pid, None)
    assert not is_dead(child.pid, started)
    if started is not None:
        assert is_dead(child.pid, started - 1)
    child.kill()
    child.communicate()
    assert is_dead(child.pid, started)


async def a_lease_row(harness: PostgresHarness, owner_id: str, left: float, **columns: object) -> None:
    """Put the lease of an owner on another host, with seconds left."""
    values = {"backend_pid": None, "backend_started": None, "renewed": 0.0, **columns}
    await harness.admin.execute(
        f"""
        INSERT INTO {harness.database.schema}.owners (
            id, partition, host, pid, process_started, backend_pid, backend_started, renewed_at, lease_until
        )
        SELECT $1, 'p', 'another-host', 1, 1, $3, $4, now - make_interval(secs => $5), now + make_interval(secs => $2)
        FROM clock_timestamp() now
        """,
        owner_id,
        left,
        values["backend_pid"],
        values["backend_started"],
        values["renewed"],
    )


async def taken_after(harness: PostgresHarness) -> tuple[float, Acquired]:
    """Take slot 3 over, and tell how long that took."""
    before = monotonic()
    acquired = await asyncio.wait_for(harness.partition.slots.acquire(harness.another_owner(), [3]), 12)
    return monotonic() - before, acquired


async def test_a_lease_on_another_host_is_waited_out(harness: PostgresHarness) -> None:
    """H8: nothing tells whether that process lives, so the remaining 1.5 s pass; by the database's clock."""
    old = await owning(harness)
    await a_lease_row(harness, old.owner.id, 1.5)

    seconds, _ = await taken_after(harness)

    assert 1.3 < seconds < 4


async def test_an_owner_whose_session_has_left_is_not_waited_for(harness: PostgresHarness) -> None:
    """H8: the session that renewed the lease is gone from a server that was not restarted.

    No renewal came for 1.5 s.
    """
    old = await owning(harness)
    gone = await asyncpg.connect(harness.database.dsn)
    pid = gone.get_server_pid()
    started = await harness.admin.fetchval("SELECT backend_start FROM pg_stat_activity WHERE pid = $1", pid)
    await gone.close()
    await a_lease_row(harness, old.owner.id, 8.0, backend_pid=pid, backend_started=started, renewed=2.0)

    seconds, _ = await taken_after(harness)

    assert seconds < 2


async def test_a_server_that_was_restarted_says_nothing_of_its_clients(harness: PostgresHarness) -> None:
    """H8: all sessions are gone with the old server, the owner is alive and will be back: its lease is waited out."""
    old = await owning(harness)
    started = await harness.admin.fetchval("SELECT pg_postmaster_start_time() - interval '1 h'")
    await a_lease_row(harness, old.owner.id, 1.5, backend_pid=1, backend_started=started, renewed=2.0)

    seconds, _ = await taken_after(harness)

    assert 1.3 < seconds < 4


async def test_a_lease_is_renewed_while_the_loop_is_blocked(harness: PostgresHarness) -> None:
    """H8, S25: a handler blocks the loop for 2.5 s.

    The lease has been renewed meanwhile and lasts 7 s from its last renewal.
    """
    lease = PostgresLease(harness.database)
    await lease.start(owner_here("busy"))
    try:
        before = lease.valid_until

        threading.Event().wait(2.5)

        assert lease.valid_until >= before + 1
        assert 5 < lease.valid_until - monotonic() <= 7
    finally:
        await lease.stop()
    assert lease.valid_until == -math.inf


async def test_a_lease_outlives_its_connection(harness: PostgresHarness) -> None:
    """H8: the session is ended under it; it connects anew and renews, and never says more than 7 s ahead."""
    lease = PostgresLease(harness.database)
    await lease.start(owner_here("cut off"))
    try:
        ended = await harness.admin.fetchval(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = $1",
            "wow-ray/shop/lease",
        )
        before = lease.valid_until
        await until(lambda: lease.valid_until > before + 1.5, "the lease to be renewed by another session")
        assert ended == 1
        assert lease.valid_until <= monotonic() + 7
    finally:
        await lease.stop()


async def test_a_commit_of_many_slots_names_all_that_were_lost(harness: PostgresHarness) -> None:
    """L3: two of eight slots have a newer owner.

    Both are named, nothing is written, the other six may be sent again.
    """
    old = await owning(harness, *range(8))
    await harness.partition.slots.acquire(harness.another_owner(), [2, 5])
    writes = [old.write(slot, marks={old.group(): Mark(9)}) for slot in range(8)]

    with pytest.raises(FencedError) as fenced:
        await old.commit(*writes)

    assert fenced.value.slots == (2, 5)
    await old.commit(*(write for write in writes if write.slot not in {2, 5}))
    assert await marks_of(harness, old) == [9, 9, 0, 9, 9, 0, 9, 9]


async def marks_of(harness: PostgresHarness, old: Owning) -> list[int]:
    """Give the cursors of the group in all slots."""
    acquired = await harness.partition.slots.acquire(harness.another_owner(), range(8))
    return [loaded.marks[old.group()].cursor for loaded in acquired.slots]
