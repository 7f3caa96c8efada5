# ruff: noqa: S608 - the only thing put into a statement's text is the name of the test's own schema
"""How a successor tells on a real Postgres whether the owner before it died (P15, H8, H10)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

import asyncpg
import pytest

from tests.postgres_harness import PostgresHarness, postgres_harness
from wow_ray.adapters.postgres import owner_here
from wow_ray.adapters.postgres.processes import process_started
from wow_ray.policy.suspicion import Ending
from wow_ray.ports.slots import Owner


@pytest.fixture
async def harness(postgres_dsn: str) -> AsyncIterator[PostgresHarness]:
    """Give an empty store on Postgres."""
    async with postgres_harness(postgres_dsn) as harness:
        yield harness


@contextmanager
def another_process() -> Iterator[tuple[subprocess.Popen[bytes], Owner]]:
    """Have another process of this host, with an incarnation of the partition in it; killed in the end."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with process:
        yield process, replace(owner_here("shop-0"), pid=process.pid, process_started=process_started(process.pid))
        process.kill()


async def leased(harness: PostgresHarness, owner: Owner, session: tuple[int, datetime], left: str) -> None:
    """Have the owner hold slot 3, with a lease that ends so far from now, renewed by that session 2 s ago."""
    await harness.partition.slots.acquire(owner, [3])
    await harness.admin.execute(
        f"INSERT INTO {harness.database.schema}.owners VALUES ($1, $2, $3, $4, $5, $6, $7, "
        "clock_timestamp() - interval '2 s', clock_timestamp() + $8::text::interval)",
        *(owner.id, owner.partition, owner.host, owner.pid, owner.process_started, *session, left),
    )


async def session_of(connection: asyncpg.Connection[asyncpg.Record]) -> tuple[int, datetime]:
    """Give what names a session in the server."""
    rows = await connection.fetch("SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()")
    return rows[0]["pid"], rows[0]["backend_start"]


async def ending(harness: PostgresHarness) -> tuple[Ending, bool]:
    """Take the slot over in this process; answers how the owner before is said to have ended, and whether it died."""
    acquired = await harness.partition.slots.acquire(owner_here("shop-0"), [3])
    return acquired.starts[-1].ending, acquired.slots[0].crashed


async def test_a_process_of_this_host_that_is_gone_died(harness: PostgresHarness) -> None:
    """H10: killed, whether or not its lease has run out meanwhile."""
    for left in ("8 s", "-5 s"):
        with another_process() as (process, owner):
            await leased(harness, owner, await session_of(harness.admin), left)
            process.kill()

        assert await ending(harness) == (Ending.UNCLEAN, True)


async def test_a_process_of_this_host_that_lives_and_lost_its_lease_did_not_die(harness: PostgresHarness) -> None:
    """H10: frozen, or cut off from the store: what it had under way killed nobody."""
    with another_process() as (_, owner):
        await leased(harness, owner, await session_of(harness.admin), "-5 s")

        assert await ending(harness) == (Ending.EXCUSED, False)


async def test_elsewhere_a_process_died_when_its_session_has_left_the_server(harness: PostgresHarness) -> None:
    """H10: its kernel closed the connection."""
    connection = await asyncpg.connect(harness.database.dsn)
    session = await session_of(connection)
    await connection.close()
    await leased(harness, replace(owner_here("shop-0"), host="elsewhere"), session, "8 s")

    assert await ending(harness) == (Ending.UNCLEAN, True)


async def test_a_node_that_is_lost_leaves_its_session_behind_and_counts_for_nothing(harness: PostgresHarness) -> None:
    """H10: nobody closed the connection, and the lease ran out."""
    owner = replace(owner_here("shop-0"), host="elsewhere")
    await leased(harness, owner, await session_of(harness.admin), "-5 s")

    assert await ending(harness) == (Ending.EXCUSED, False)
