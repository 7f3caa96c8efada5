# ruff: noqa: S608 - the only thing put into a statement's text is the name of the test's own schema
"""One app on the session's Ray, in a schema of its own: brought up, fed, killed in part, and looked at."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import asyncpg

from tests.cluster.shop import Paid, make, order
from tests.waiting import until
from wow_ray.actors.deployment import Deployment
from wow_ray.actors.edge import RayFleet
from wow_ray.actors.site import Control
from wow_ray.cli.run_site import AppSite
from wow_ray.cluster import Database, migrated, open_control, open_operations, settings_of
from wow_ray.ops import Operations
from wow_ray.policy.plan import Plan
from wow_ray.ports.event_log import EventStore

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60.0

TABLES = """
create table {s}.calls (number bigserial primary key, subscription text, id text, version bigint, attempt int, key text,
    pid int, said text, began float8, at timestamptz default clock_timestamp());
create table {s}.done (number bigserial primary key, subscription text, id text, version bigint);
create table {s}.broken (id text primary key);
"""


@dataclass(frozen=True)
class Figures:
    """What the calls of one subscription came to."""

    handled: int
    lost: int
    out_of_order: int
    repeats: int

    def __str__(self) -> str:
        """Read as one line."""
        return f"handled {self.handled}, lost {self.lost}, out of order {self.out_of_order}, repeats {self.repeats}"


@dataclass
class Lab:
    """The app and its surroundings."""

    site: AppSite
    fleet: RayFleet
    deployment: Deployment
    control: Control
    operations: Operations
    store: EventStore
    admin: asyncpg.Connection[asyncpg.Record]
    schema: str
    plan: Plan | None = None
    written: list[Path] = field(default_factory=list)
    """The modules of its releases."""
    appended: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    async def up(self, partitions: int = 2) -> Plan:
        """Bring it up, or change the number of partitions."""
        self.plan = await self.deployment.up(self.control, partitions)
        return self.plan

    def release(self, modules: Path, name: str, text: str) -> Deployment:
        """Give the deployment of another release, whose module holds this text."""
        module = modules / f"{self.site.target.partition(':')[0]}_{name}.py"
        module.write_text(text)
        self.written.append(module)
        site = replace(self.site, target=f"{module.stem}:app", release=name)
        return Deployment(site, RayFleet(site), _tell)

    async def paid(self, *ids: str, times: int = 1) -> None:
        """Append so many events to each order, in turn."""
        for _ in range(times):
            for each in ids:
                await self.store.append(order(each), [Paid()], expected_version=None)
                self.appended[each] += 1

    async def pid(self, actor: str) -> int:
        """Give the process of an actor."""
        found = await self.fleet.status(actor, 10)
        assert found is not None, f"{actor} is away"
        return int(found["pid"])

    async def standing(self, actor: str) -> Mapping[str, Any]:
        """Ask an actor how it stands; empty = it is away or does not answer."""
        try:
            return await self.fleet.status(actor, 2) or {}
        except TimeoutError:
            return {}

    async def kill(self, actor: str, number: int = signal.SIGKILL) -> int:
        """Send a signal to an actor's process; answers its id."""
        pid = await self.pid(actor)
        os.kill(pid, number)
        return pid

    async def anew(self, actor: str, before: int) -> Mapping[str, Any]:
        """Wait until an actor runs in another process than before."""
        found: Mapping[str, Any] = {}

        async def runs() -> bool:
            nonlocal found
            found = await self.standing(actor)
            return bool(found) and found["pid"] != before and found.get("standing", "running") == "running"

        await until(runs, f"{actor} to run in a new process", seconds=PATIENCE)
        return found

    async def calls(self, subscription: str = "Notifier.on_paid") -> list[asyncpg.Record]:
        """Give every call of a subscription in the order they began."""
        sql = f"select * from {self.schema}.calls where subscription = $1 order by number"
        return list(await self.admin.fetch(sql, subscription))

    async def done(self, subscription: str = "Notifier.on_paid") -> int:
        """Count the events that were handled."""
        sql = f"select count(distinct (id, version)) from {self.schema}.done where subscription = $1"
        return int(await self.admin.fetchval(sql, subscription))

    async def all_done(self, subscription: str = "Notifier.on_paid", *, but: Sequence[str] = ()) -> None:
        """Wait until everything that was appended is handled, but for some orders."""
        wanted = sum(count for name, count in self.appended.items() if name not in but)

        async def handled() -> bool:
            return await self.done(subscription) >= wanted

        try:
            await until(handled, f"{wanted} events to be handled by {subscription}", seconds=PATIENCE)
        except AssertionError as error:
            raise AssertionError(f"{error}; {await self.done(subscription)} were") from error

    async def figures(self, subscription: str = "Notifier.on_paid", *, but: Sequence[str] = ()) -> Figures:
        """Judge the calls: every version once at least, and first seen in order; a repeat is each further call."""
        last: dict[str, int] = defaultdict(int)
        last_of: dict[tuple[str, int], int] = defaultdict(int)
        out_of_order = repeats = 0
        for row in await self.calls(subscription):
            name, version, process = row["id"], row["version"], (row["id"], row["pid"])
            if version > last[name]:
                out_of_order += version != last[name] + 1
                last[name] = version
            else:
                repeats += 1
            # Within one process versions never go back.
            out_of_order += version < last_of[process]
            last_of[process] = version
        lost = sum(count - last[name] for name, count in self.appended.items() if name not in but)
        return Figures(sum(last.values()), lost, out_of_order, repeats)

    async def broken(self, *ids: str) -> None:
        """Have calls of these orders fail from now on; none = mend all."""
        await self.admin.execute(f"delete from {self.schema}.broken")
        for each in ids:
            await self.admin.execute(f"insert into {self.schema}.broken values ($1)", each)

    async def rows(self) -> list[asyncpg.Record]:
        """Give the ledger's rows, ended ones too."""
        return list(await self.admin.fetch(f"select * from {self.schema}.parked order by id"))

    async def owners(self) -> dict[int, tuple[str | None, int]]:
        """Give each slot's partition and epoch; a slot without an owner has no partition."""
        rows = await self.admin.fetch(f"select slot, owner, partition, epoch from {self.schema}.slots order by slot")
        return {row["slot"]: (row["partition"] if row["owner"] else None, row["epoch"]) for row in rows}

    @asynccontextmanager
    async def host(self, partition: str) -> AsyncIterator[asyncio.subprocess.Process]:
        """Host a partition in a process of its own, without Ray: a second incarnation, which nobody can call off."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.cluster.host", partition, self.site.target, self.site.context),
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def gone(pid: int) -> bool:
    """Tell whether a process has ended, whether or not its parent has noticed."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] in {"Z", "X"}


async def said(process: asyncio.subprocess.Process, text: str) -> None:
    """Wait until a hosted partition has said something."""
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE):
        while line := (await process.stdout.readline()).decode():
            if text in line:
                return
    raise AssertionError(f"{text!r} was not said")


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")


@asynccontextmanager
async def lab_of(
    dsn: str, modules: Path, *, scores: bool = False, release: int = 0, callers: int = 0
) -> AsyncIterator[Lab]:
    """Give an app of its own on the session's Ray; its actors and its schema are gone afterwards."""
    name = f"t{uuid.uuid4().hex[:10]}"
    module = modules / f"shop_{name}.py"
    module.write_text(
        f"from tests.cluster.shop import make\n\napp = make({name!r}, {name!r}, scores={scores}, release={release})\n"
    )
    app = make(name, name, scores=scores, release=release)
    written = [module]
    site = AppSite(f"{module.stem}:app", name, "r1", callers=callers)
    database = Database(dsn, name, name)
    await migrated(database, settings_of(app, environ={}))
    admin = await asyncpg.connect(dsn)
    fleet = RayFleet(site)
    try:
        await admin.execute(TABLES.format(s=name))
        async with (
            open_control(database) as control,
            open_operations(database) as operations,
            app.connect(dsn) as client,
        ):
            deployment = Deployment(site, fleet, _tell)
            yield Lab(site, fleet, deployment, control, operations, client.store, admin, name, written=written)
    finally:
        for actor in sorted(await fleet.names(), reverse=True):  # the supervisor first, it would start others again
            await fleet.end(actor)
        for each in written:
            each.unlink()
        await admin.execute(f'drop schema "{name}" cascade')
        await admin.close()
