# ruff: noqa: S608 - the only thing put into a statement's text is the name of the test's own schema
"""`wow-ray up` from a folder, again and again: each release runs the files that it was brought up with."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import asyncpg
import pytest

from tests.cluster.conftest import LOOPBACK_ONLY
from tests.cluster.lab import ROOT
from tests.cluster.test_commands import a_cluster
from tests.integration.cli_shop import SECONDS
from tests.waiting import until
from wow_ray.actors.connecting import LOOPBACK
from wow_ray.cluster import Database, open_operations
from wow_ray.ops import Operations

MODULE = """
import os
from collections.abc import AsyncIterator

import asyncpg
from pydantic import BaseModel

from wow_ray import Aggregate, App, Event, on_event

CODE = {code!r}
app = App({context!r}, settings={{"postgres_schema": {schema!r}, "slots": 16}})
order = Aggregate("order")

@order.event("paid")
class Paid(BaseModel):
    pass

@app.provide
async def pool() -> AsyncIterator[asyncpg.Pool]:
    async with asyncpg.create_pool(os.environ["WOW_RAY_POSTGRES_DSN"], min_size=1, max_size=2) as pool:
        yield pool

@app.reactor(start="beginning")
class Notifier:
    def __init__(self, pool: asyncpg.Pool) -> None:
        self.pool = pool

    @on_event
    async def on_paid(self, event: Event[Paid]) -> None:
        sql = "insert into {schema}.seen (id, version, code) values ($1, $2, $3)"
        await self.pool.execute(sql, event.ref.id, event.version, CODE)
"""


class Place:
    """An app's folder, and its rows."""

    def __init__(self, folder: Path, context: str, told: Mapping[str, str], admin: asyncpg.Connection) -> None:
        self.folder = folder
        self.context = context
        self.told = told
        self.admin = admin
        self.versions = 0

    def write(self, code: str) -> None:
        """Have the module be this one."""
        self.folder.mkdir(exist_ok=True)
        text = MODULE.format(code=code, context=self.context, schema=self.context)
        (self.folder / "orders.py").write_text(text if code else "import a_module_that_is_not_there\n")

    async def wow(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the folder."""
        return await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-m", "wow_ray.cli", *arguments],
            cwd=self.folder,
            env=self.told,
            capture_output=True,
            text=True,
            check=False,
            timeout=3 * SECONDS,
        )

    async def up(self, release: str, *more: str) -> str:
        """Bring it up; answers what it said."""
        done = await self.wow("up", "orders:app", "--release", release, "--partitions", "2", *more)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    async def paid(self, code: str) -> None:
        """Append one more event to each of 8 orders, and wait until this code has handled all of them."""
        self.versions += 1
        for number in range(8):
            await self.admin.fetch(
                f"select * from {self.context}.append('order', $1, array['paid'], array['{{}}'::json])", f"o-{number}"
            )

        async def handled() -> bool:
            sql = f"select count(*) from {self.context}.seen where version = $1 and code = $2"
            return int(await self.admin.fetchval(sql, self.versions, code)) == 8

        await until(handled, f"version {self.versions} to be handled by {code}", seconds=SECONDS)

    async def calls(self) -> dict[str, list[int]]:
        """Give the versions of each order in the order in which they were handled."""
        found: dict[str, list[int]] = {}
        for row in await self.admin.fetch(f"select id, version from {self.context}.seen order by number"):
            found.setdefault(row["id"], []).append(row["version"])
        return found


async def placed(tmp_path: Path, context: str, told: Mapping[str, str]) -> Place:
    """Make an app's folder and bring its first release up."""
    admin = await asyncpg.connect(told["WOW_RAY_POSTGRES_DSN"])
    place = Place(tmp_path / context, context, told, admin)
    place.write("one")
    assert f"{context} is up: 2 partitions of release r1" in await place.up("r1")
    await admin.execute(f"create table {context}.seen (number bigserial, id text, version bigint, code text)")
    return place


async def killed(operations: Operations) -> None:
    """Kill a partition's process, and wait until another one has its slots."""
    one = (await operations.status()).partitions[0]
    os.kill(one.pid, signal.SIGKILL)

    async def back() -> bool:
        status = await operations.status()
        return status.ready and one.owner not in {each.owner for each in status.partitions}

    await until(back, "the slots to have owners again", seconds=SECONDS)


async def test_releases_run_their_own_files_and_two_apps_share_a_cluster_and_a_database(
    postgres_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H57, H19: two apps in one cluster and one database do not see each other, each is rolled over by itself.

    The folder of a running release is edited, broken and mended: a process that is killed meanwhile is started anew
    with the files it was brought up with; a broken one fails before it touches anything. The same again changes
    nothing, and two at once make one.
    """
    if not LOOPBACK_ONLY:
        pytest.skip("a head listens on every interface; run it through tests/netns.sh")
    monkeypatch.setenv("WOW_RAY_POSTGRES_DSN", postgres_dsn)
    for name in ("PYTHONDONTWRITEBYTECODE", "RAY_ADDRESS"):
        monkeypatch.delenv(name, raising=False)
    told = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    admin = await asyncpg.connect(postgres_dsn)
    try:
        with a_cluster(told):
            told["RAY_ADDRESS"] = f"{LOOPBACK}:6390"
            one, other = await asyncio.gather(*(placed(tmp_path, name, told) for name in ("orders_a", "orders_b")))
            async with (
                open_operations(Database(postgres_dsn, one.context, one.context)) as operations,
                open_operations(Database(postgres_dsn, other.context, other.context)) as beside,
            ):
                await one.paid("one")
                await other.paid("one")
                again = await one.up("r1", "--json")
                assert (await operations.status()).plan == 1, again

                one.write("")
                failed = await one.wow("up", "orders:app", "--release", "r2", "--partitions", "2")
                assert (failed.returncode, "a_module_that_is_not_there" in failed.stderr) == (2, True), failed
                await killed(operations)
                await one.paid("one")

                one.write("two")
                said = await asyncio.gather(one.up("r2"), one.up("r2"))
                assert all("orders_a is up: 2 partitions of release r2" in each for each in said)
                await one.paid("two")
                status = await operations.status()
                assert (status.plan, status.release, len(status.partitions)) == (2, "r2", 2)

                seen = await beside.status()
                assert (seen.plan, seen.release, seen.ready) == (1, "r1", True)
                down = await one.wow("down", "orders:app")
                assert down.returncode == 0, down.stderr
                assert len((await operations.status()).unowned) == 16
                await other.paid("one")

        for place in (one, other):
            assert await place.calls() == {f"o-{number}": list(range(1, place.versions + 1)) for number in range(8)}
            await place.admin.close()
    finally:
        for context in ("orders_a", "orders_b"):
            await admin.execute(f"drop schema if exists {context} cascade")
        await admin.close()
