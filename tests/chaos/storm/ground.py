"""What stands in the storm: a Ray of three nodes, a Postgres behind a way that can be cut, a Redis for wake-ups.

The tables of Ray's head lie in a Redis of their own, so that the head's process can be lost and come back. The
producer speaks with Postgres directly: what is in the log is known whatever becomes of the cluster.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import signal
import tempfile
import uuid
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import asyncpg

from tests.chaos.storm.app import CONTEXT, COURIER, FOLDER, Paid, app, order
from tests.integration.own_store import Server
from tests.redis_server import RedisServer, running_redis
from tests.silent_way import Way, between
from tests.waiting import until
from wow_ray.actors.connecting import prepare_local
from wow_ray.actors.deployment import Deployment
from wow_ray.actors.fleet import LEDGER, SUPERVISOR
from wow_ray.actors.site import Control
from wow_ray.adapters.clock import SystemClock, monotonic
from wow_ray.adapters.postgres import Database
from wow_ray.adapters.postgres.stores import client_stores
from wow_ray.cli.run_site import AppSite
from wow_ray.cluster import checked, migrated, open_control, open_operations, settings_of
from wow_ray.errors import StoreUnavailableError, WowError
from wow_ray.ops import Command, Operations
from wow_ray.ops.finding import ParkedQuery
from wow_ray.policy.parked import State
from wow_ray.ports.event_log import EventStore
from wow_ray.settings import Settings

ROOT = Path(__file__).resolve().parents[3]
NODES = 2
"""Nodes beside the head, which may be lost."""
TUNED: Mapping[str, str] = {
    # A node that says nothing is given up after 2 s instead of 15: what is tested is what follows.
    "RAY_health_check_initial_delay_ms": "500",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_timeout_ms": "1000",
    "RAY_health_check_failure_threshold": "3",
    "RAY_gcs_rpc_server_reconnect_timeout_s": "60",
}
ORDERS = [f"o-{number}" for number in range(48)]
SCHEMA = Settings().postgres_schema
BAD = [f"bad-{number}" for number in range(6)]
# What is not over, for whoever looks for the reason.
OPEN_ROWS = f"""
    SELECT group_name, slot, aggregate_id, state, reason, stopped_position, retries, begun, suspicions, type, message,
        next_due, updated_at
    FROM {SCHEMA}.parked WHERE open LIMIT 40
"""  # noqa: S608 - the name of a schema
TRYING = f"SELECT * FROM {SCHEMA}.trying LIMIT 40"  # noqa: S608
PAUSES = f"SELECT * FROM {SCHEMA}.pauses WHERE ended_at IS NULL"  # noqa: S608
REPORTS = f"SELECT partition, at, report FROM {SCHEMA}.partition_reports"  # noqa: S608
lasting = SystemClock().sleep
"""How long a fault lasts, and the producer's pace: nothing else is waited for by time."""


@dataclass
class Ground:
    """Everything that is there, and what was sent."""

    folder: Path
    cluster: Any
    server: Server
    redis: RedisServer
    way: Way
    fleet: Any
    deployment: Deployment
    control: Control
    operations: Operations
    store: EventStore
    chance: Random
    appended: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """By order: when each of its versions was in the log."""
    cents: Counter[str] = field(default_factory=Counter)
    partitions: int = 0
    names: list[str] = field(default_factory=list)
    """The partitions of the plan."""
    paying: bool = True
    resumed: int = 0
    work: list[asyncio.Future[None]] = field(default_factory=list)
    """The producer and the operator."""
    _read: int = 0
    _handled: int = 0

    def any_node(self) -> Any:  # noqa: ANN401 - Ray's own
        """Choose a node that may be lost."""
        return self.chance.choice(sorted(self.cluster.worker_nodes, key=lambda each: str(each.unique_id)))

    async def up(self, partitions: int) -> None:
        """Bring the app up, or change the number of its partitions."""
        self.partitions = partitions
        await self.deployment.up(self.control, partitions)
        await self.look()

    async def look(self) -> None:
        """See who is in the plan now; where the store is away the former ones stay."""
        with contextlib.suppress(StoreUnavailableError):
            plan = await self.control.plans.present()
            self.names = [] if plan is None else list(plan.partitions)

    async def standing(self, actor: str) -> Mapping[str, Any]:
        """Ask an actor how it stands; empty = it is away or does not answer."""
        try:
            async with asyncio.timeout(4):
                return await self.fleet.status(actor, 2) or {}
        except Exception:  # noqa: BLE001 - whatever Ray says of an actor, or of a head, that is away
            return {}

    async def pid(self, actor: str) -> int:
        """Give the process of an actor, once it has one."""
        found: Mapping[str, Any] = {}

        async def there() -> bool:
            nonlocal found
            found = await self.standing(actor)
            return bool(found)

        await until(there, f"{actor} to answer", seconds=90)
        return int(found["pid"])

    async def produce(self) -> None:
        """Pay one order after the other until `paying` is over; an append is repeated until it is known to be taken."""
        number = 0
        while self.paying:
            number += 1
            name = self.chance.choice(ORDERS if number % 12 else BAD)
            commit = uuid.uuid4().hex
            while True:
                try:
                    await self.store.append(order(name), [Paid(cents=number)], expected_version=None, commit_id=commit)
                    break
                except StoreUnavailableError:
                    await lasting(0.05)
            self.appended[name].append(monotonic())
            self.cents[name] += number
            await lasting(0.004)

    async def operate(self) -> None:
        """Heal and resume whoever is parked, one after the other, as an operator would, until `paying` is over."""
        while self.paying:
            await lasting(3)
            with contextlib.suppress(WowError, OSError, asyncpg.PostgresError):
                await self._resume_one()

    async def _resume_one(self) -> None:
        page = await self.operations.parked(ParkedQuery(states=frozenset({State.PARKED, State.EXHAUSTED})))
        if page.rows:
            row = self.chance.choice(page.rows)
            (self.folder / f"healed-{row.aggregate_id}").touch()
            await self.operations.resume(row.id, Command(actor="storm", reason="the address is there"))
            self.resumed += 1
            await lasting(1)
            (self.folder / f"healed-{row.aggregate_id}").unlink(missing_ok=True)

    async def settled(self, seconds: float = 180) -> None:
        """Heal everybody, end the producers' work, and have everything handled."""
        self.paying = False
        await asyncio.gather(*self.work)
        for name in BAD:
            (self.folder / f"healed-{name}").touch()
        wanted = {(name, version + 1) for name, sent in self.appended.items() for version in range(len(sent))}

        async def handled() -> bool:
            await lasting(0.5)
            return wanted <= self.done()

        try:
            await until(handled, f"{len(wanted)} events to be handled", seconds=seconds)
        except AssertionError as error:
            missing = Counter(name for name, _ in wanted - self.done())
            standings = {name: await self.standing(name) for name in (*self.names, SUPERVISOR, LEDGER)}
            raise AssertionError(f"{error}; missing {missing}; {standings}") from error

    def done(self) -> set[tuple[str, int]]:
        """Give what the reactor has handled: order and version."""
        return {(line[3], int(line[4])) for line in self.lines() if line[0] == "E" and line[2] == COURIER}

    def handled(self) -> int:
        """Count the calls of the reactor that have ended well."""
        with (self.folder / "journal").open("rb") as journal:
            journal.seek(self._read)
            text = journal.read()
        whole = text.rfind(b"\n") + 1
        self._read += whole
        self._handled += text[:whole].count(b"\nE ") + text.startswith(b"E ")
        return self._handled

    def lines(self) -> list[list[str]]:
        """Give the journal so far; a line that a kill has torn is left out."""
        text = (self.folder / "journal").read_text(encoding="ascii", errors="replace")
        return [parts for line in text.splitlines() if len(parts := line.split(" ")) == 6]

    async def added_up(self, seconds: float = 60) -> None:
        """Wait until the projection has every event; it may be late, but has to come on within so many seconds."""
        wanted = sum(map(len, self.appended.values()))
        summed = -1
        while summed < wanted:
            before = summed

            async def more(before: int = before) -> bool:
                nonlocal summed
                summed = sum(events for _, events in (await self.sums()).values())
                await lasting(0.5)
                return summed > before

            try:
                await until(more, f"more than {before} of {wanted} events to be in the sums", seconds=seconds)
            except AssertionError as error:
                raise AssertionError(f"{error}\n{await self._what_is_open()}") from error

    async def _what_is_open(self) -> str:
        """Tell what the store says of whatever is not over, for whoever looks for the reason."""
        async with self.server.admin() as admin:
            found = {
                "open rows": await admin.fetch(OPEN_ROWS),
                "trying": await admin.fetch(TRYING),
                "pauses": await admin.fetch(PAUSES),
                "reports": await admin.fetch(REPORTS),
            }
            now = await admin.fetchval("SELECT clock_timestamp()")
        sums = await self.sums()
        late = {
            name: (len(sent), sums.get(name))
            for name, sent in self.appended.items()
            if sums.get(name, (0, 0))[1] < len(sent)
        }
        told = [f"{what}: {dict(row)}" for what, rows in found.items() for row in rows]
        return "\n".join([f"now {now}; appended and summed up: {late}", *told])

    async def parked_ever(self) -> set[str]:
        """Name the orders that anybody was told of as parked, whatever became of them."""
        async with self.server.admin() as admin:
            rows = await admin.fetch(f"SELECT DISTINCT aggregate_id FROM {SCHEMA}.parked WHERE told")  # noqa: S608
        return {row["aggregate_id"] for row in rows}

    async def sums(self) -> dict[str, tuple[int, int]]:
        """Give what the projection has: cents and events of each order."""
        async with self.server.admin() as admin:
            rows = await admin.fetch("SELECT id, cents, events FROM public.sums")
        return {row["id"]: (row["cents"], row["events"]) for row in rows}


@contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables for the processes that are started in the block."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def a_cluster(place: Path, head: RedisServer, values: Mapping[str, str]) -> Iterator[Any]:
    """Start a Ray of a head and `NODES` other nodes, and connect to its head."""
    prepare_local()
    with environment({**TUNED, **values, "RAY_REDIS_ADDRESS": f"127.0.0.1:{head.port}", "RAY_TMPDIR": str(place)}):
        import ray  # noqa: PLC0415 - it reads the environment when it is imported
        from ray.cluster_utils import Cluster  # noqa: PLC0415

        cluster = Cluster(
            initialize_head=True,
            head_node_args={"num_cpus": 4, "include_dashboard": False, "redis_password": head.password},
        )
        # Ray's hooks are for the main thread; nodes that come later end with the head's process, if by nothing else.
        cluster._shutdown_at_exit = False  # noqa: SLF001 - `add_node` has no other way to say so
        try:
            for _ in range(NODES):
                add_node(cluster, head)
            ray.init(
                address=cluster.address, log_to_driver=False, logging_level=logging.ERROR, _redis_password=head.password
            )
            yield cluster
        finally:
            ray.shutdown()
            cluster.shutdown()  # type: ignore[no-untyped-call]


def add_node(cluster: Any, head: RedisServer) -> None:  # noqa: ANN401 - Ray's own
    """Add a node."""
    cluster.add_node(num_cpus=4, redis_password=head.password)


def processes_on(raylet: int) -> list[int]:
    """Give the processes that a node's own process has started."""
    found = []
    for path in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            stat = (path / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            if int(stat[1]) == raylet:
                found.append(int(path.name))
    return found


def signalled(pids: list[int], number: signal.Signals) -> None:
    """Send a signal to those that are still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


@contextmanager
def a_place() -> Iterator[Path]:
    """Give a folder with an empty journal; its path is short, since Ray's sockets lie below it."""
    place = Path(tempfile.mkdtemp(prefix="wrs-"))
    try:
        place.chmod(0o711)  # under root the server's user passes through it
        (place / "calls").mkdir()
        (place / "calls" / "journal").touch()
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


@asynccontextmanager
async def standing_ground(seed: int, partitions: int) -> AsyncIterator[Ground]:
    """Have everything stand, under load, until the block ends; everything is gone afterwards."""
    from wow_ray.actors.edge import RayFleet  # noqa: PLC0415 - imports Ray, see `a_cluster`

    async with AsyncExitStack() as stack:
        place = stack.enter_context(a_place())
        server = stack.enter_context(Server(place / "pg", connections=300))
        head, redis = (stack.enter_context(running_redis()) for _ in range(2))
        way, dsn = await stack.enter_async_context(between(server.dsn))
        values = {
            FOLDER: str(place / "calls"),
            "WOW_RAY_POSTGRES_DSN": dsn,
            "WOW_RAY_REDIS_URL": redis.url,
            "PYTHONPATH": str(ROOT),
        }
        stack.enter_context(environment(values))
        settings = settings_of(app)
        await migrated(Database(server.dsn, CONTEXT), settings)
        direct = await checked(Database(server.dsn, CONTEXT))
        async with server.admin() as admin:
            await admin.execute("CREATE TABLE public.sums (id text PRIMARY KEY, cents bigint, events bigint)")
        # In this thread, though it blocks: Ray sets handlers of signals.
        cluster = stack.enter_context(a_cluster(place / "ray", head, values))
        cluster.head_redis = head
        client = await stack.enter_async_context(client_stores(direct, SystemClock()))
        control = await stack.enter_async_context(open_control(direct))
        operations = await stack.enter_async_context(open_operations(direct))
        site = AppSite("tests.chaos.storm.app:app", CONTEXT, "r1")
        fleet = RayFleet(site)
        ground = Ground(
            folder=place / "calls",
            cluster=cluster,
            server=server,
            redis=redis,
            way=way,
            fleet=fleet,
            deployment=Deployment(site, fleet, lambda _: None),
            control=control,
            operations=operations,
            store=client.events,
            chance=Random(seed),  # noqa: S311 - seeded, no secret
        )
        await ground.up(partitions)
        ground.work = [asyncio.ensure_future(each) for each in (ground.produce(), ground.operate())]
        try:
            yield ground
        finally:
            for each in ground.work:
                each.cancel()
            await asyncio.gather(*ground.work, return_exceptions=True)
