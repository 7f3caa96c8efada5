"""Our own store goes away under a running service and comes back, in every way a Postgres can (P2, D3, L1, L3, S112).

After each fault every aggregate of both partitions is handled again within seconds; at the end nothing was lost, out of
order, parked or charged, no call was repeated by the reactor, sums are exact, and the log has a few lines.
"""

from __future__ import annotations

import asyncio
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import asyncpg
import pytest

from tests.integration.own_store import COUNTER, SUMS, Server, Shop, a_shop, lasting
from tests.silent_way import between
from tests.waiting import until
from wow_ray.adapters.clock import monotonic
from wow_ray.adapters.postgres import lease
from wow_ray.errors import StoreUnavailableError

OURS = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE $1"
MOST_LINES = 30


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Give a server of this module's own."""
    place = Path(tempfile.mkdtemp(prefix="wow-ray-own-store-"))
    place.chmod(0o711)  # under root the server's user passes through it
    try:
        with Server(place) as server:
            yield server
    finally:
        shutil.rmtree(place, ignore_errors=True)


async def cut(server: Server, seconds: float, role: str = "%") -> None:
    """End our sessions of a role every 200 ms."""
    async with server.admin() as admin:
        for _ in range(round(seconds / 0.2)):
            await admin.fetch(OURS, f"wow-ray/shop/{role}")
            await lasting(0.2)


async def crowd(server: Server, crowd: list[asyncpg.Connection[asyncpg.Record]]) -> None:
    """Take every connection that the server has to give, those of ours too."""
    while True:
        with suppress(asyncpg.TooManyConnectionsError):
            while True:
                crowd.append(await asyncpg.connect(server.dsn))
        # Those that everybody has are taken from him; a superuser's reserve lets us in to do so.
        if not await crowd[0].fetchval(OURS, "wow-ray/shop/%"):
            return


def calls(shop: Shop) -> int:
    """Count all calls so far."""
    return len(shop.till.calls[COUNTER]) + len(shop.till.calls[SUMS])


async def test_a_server_that_is_killed_and_restarted(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """P2, L3, S112: kill -9 for 3 s with a lease of 2 s, then `-m fast`, then `-m immediate`.

    Once the lease has run out no call begins; the owner renews it when the server is back, and goes on.
    """
    monkeypatch.setattr(lease, "LEASE_SECONDS", 5.0)
    async with a_shop(server) as shop:
        shop.lines.said.clear()
        await server.end(signal.SIGKILL)
        await lasting(2.2)
        before = calls(shop)
        await lasting(0.8)
        assert calls(shop) == before
        await server.start()
        await shop.goes_on()
        for how in (signal.SIGINT, signal.SIGQUIT):
            await server.end(how)
            await lasting(0.3)
            await server.start()
            await shop.goes_on()
        await shop.settled()
        await shop.check()
        assert len(shop.lines.said) <= MOST_LINES, shop.lines.said


async def test_connections_that_are_ended_again_and_again(server: Server) -> None:
    """P2, D3, S68, S112: all of them every 200 ms, then those of each role alone: nothing is charged, few lines."""
    async with a_shop(server) as shop:
        shop.lines.said.clear()
        await cut(server, 2.0)
        await shop.goes_on()
        for role in ("listen", "lease", "slots", "reader", "effects"):
            await cut(server, 0.6, role)
        await shop.goes_on()
        await shop.settled()
        await shop.check()
        assert len(shop.lines.said) <= MOST_LINES, shop.lines.said
        assert sum("wake-ups do not come" in line for line in shop.lines.said) <= 1


async def test_a_server_that_refuses_what_it_is_asked(server: Server) -> None:
    """P2, K7, S15, S61: read-only as after a failover (25006), full (53300), a lock not given (55P03), no room (53100).

    The lock and the room are wanted by the commits and by the projection's own commits alike.
    """
    async with a_shop(server) as shop:
        shop.lines.said.clear()
        schema = shop.database.schema
        await server.set("default_transaction_read_only", "on")
        await lasting(1.0)
        await server.set("default_transaction_read_only", None)
        await shop.goes_on()

        others: list[asyncpg.Connection[asyncpg.Record]] = []
        await crowd(server, others)
        await lasting(1.0)
        for other in others:
            other.terminate()
        await shop.goes_on()

        await server.set("lock_timeout", "100ms")
        async with server.admin() as admin, admin.transaction():
            await admin.execute(f"SELECT FROM {schema}.slots FOR UPDATE")
            await lasting(1.0)
        await server.set("lock_timeout", None)
        await shop.goes_on()

        async with server.admin() as admin:
            await admin.execute(f"""
                CREATE FUNCTION {schema}.no_room() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN RAISE 'no space left on device' USING ERRCODE = '53100'; END $$;
                CREATE TRIGGER no_room BEFORE UPDATE ON {schema}.slots EXECUTE FUNCTION {schema}.no_room();
            """)
            await lasting(1.0)
            await admin.execute(f"DROP TRIGGER no_room ON {schema}.slots")
        await shop.goes_on()
        await shop.settled()
        await shop.check()
        assert len(shop.lines.said) <= MOST_LINES, shop.lines.said


async def test_a_server_that_is_full_lets_nobody_begin_and_says_so(server: Server) -> None:
    """K7: 53300 at the start is an error that says so, and leaves nothing; once there is room the start succeeds."""
    others: list[asyncpg.Connection[asyncpg.Record]] = []
    await crowd(server, others)
    for _ in range(3):  # room for the schema, not for two partitions
        await others.pop().close()
    try:
        with pytest.raises(StoreUnavailableError, match="53300"):
            async with a_shop(server):
                pass
    finally:
        for other in others:
            other.terminate()
    async with a_shop(server) as shop:
        await shop.settled()
        await shop.check()


async def test_connections_that_fall_silent(server: Server) -> None:
    """S112, L3, D3: nothing is closed, nothing arrives: first of the listener, then of the leases, then of all.

    Without the listener an event costs one poll. Everything else is given up after a few seconds and made anew; what a
    silent session holds the server lets go. The leases do not run out, since a renewal waits for 3 s alone.
    """
    async with between(server.dsn) as (way, dsn), a_shop(server, dsn) as shop:
        shop.lines.said.clear()
        assert way.deafen("listen") == 1
        await shop.goes_on()
        assert way.deafen("lease") == 2
        committed = [partition.commits.committed for partition in shop.service.partitions]

        way.blocked = True
        assert way.deafen() > 10
        await lasting(2)
        way.blocked = False
        assert all(partition.stores.lease.valid_until > monotonic() for partition in shop.service.partitions)
        await shop.goes_on()
        # A call is counted when it begins: its commit comes later, and after the silence with a new connection.
        commits = [partition.commits for partition in shop.service.partitions]
        await until(
            lambda: all(now.committed > before for before, now in zip(committed, commits, strict=True)),
            "every partition to commit again",
        )
        await shop.settled()
        await shop.check()
        assert len(shop.lines.said) <= MOST_LINES, shop.lines.said
        assert len(asyncio.all_tasks()) < 250
