"""A rising lag adds a partition and, where there is no room for it, a node; nobody asks for either (architecture 6)."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import asyncpg
import pytest

from tests.cluster.conftest import LOOPBACK_ONLY
from tests.cluster.lab import ROOT
from tests.cluster.test_commands import a_cluster
from tests.waiting import until
from wow_ray.actors.autoscaling import ACTOR
from wow_ray.cluster import Database, open_operations
from wow_ray.ops import Operations

CONTEXT = "growing"
ORDERS, EVENTS = 16, 12
ADDRESS = "127.0.0.1:6379"
"""Where nodes that Ray fakes look for their head, whatever they are told."""

MODULE = """
import asyncio, os
from collections.abc import AsyncIterator

import asyncpg
from pydantic import BaseModel

from wow_ray import Aggregate, App, Event, on_event, retry

app = App("growing", settings={
    "postgres_schema": "growing", "slots": 16, "partitions": 1, "concurrency": 2, "partition_cpus": 1.5,
    "autoscale": {"max": 2, "target_lag": 20, "cool_down": "3s"},
})
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
        await asyncio.sleep(0.15)
        sql = "insert into growing.seen (id, version) values ($1, $2)"
        await self.pool.execute(sql, event.ref.id, event.version)
"""

NODES = {
    "cluster_name": "fake_multinode",
    "max_workers": 1,
    # Nodes are processes of this machine, so they are told apart by their ids.
    "provider": {
        "type": "fake_multinode",
        "use_node_id_as_ip": True,
        "disable_node_updaters": True,
        "disable_launch_config_check": True,
    },
    "available_node_types": {
        "ray.head.default": {"resources": {"CPU": 2}, "node_config": {}, "max_workers": 0},
        "worker": {"resources": {"CPU": 2}, "node_config": {}, "min_workers": 0, "max_workers": 1},
    },
    "head_node_type": "ray.head.default",
    "upscaling_speed": 1.0,
    "idle_timeout_minutes": 0.1,
    "auth": {},
    "docker": {},
    "file_mounts": {},
    "cluster_synced_files": [],
    "file_mounts_sync_continuously": False,
    "rsync_exclude": [],
    "rsync_filter": [],
    **{
        f"{name}_commands": []
        for name in (
            *("initialization", "setup", "head_setup", "worker_setup"),
            *("head_start_ray", "worker_start_ray"),
        )
    },
}
"""What Ray's autoscaler may do: one more node of two CPUs, given back after six idle seconds."""


def node_of(pid: int) -> int:
    """Give the process of the node that a worker's process belongs to."""
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])


async def test_a_rising_lag_adds_a_partition_and_a_node_without_a_command(
    postgres_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """192 events are behind, 20 are fine; a partition takes 1.5 of the head's 2 CPUs, so the second one needs a node.

    What waits is told. Every event is handled once and in order, and with nothing left to do there is one again.
    """
    if not LOOPBACK_ONLY:
        pytest.skip("a head listens on every interface; run it through tests/netns.sh")
    monkeypatch.setenv("WOW_RAY_POSTGRES_DSN", postgres_dsn)
    for name in ("PYTHONDONTWRITEBYTECODE", "RAY_ADDRESS"):
        monkeypatch.delenv(name, raising=False)
    config = tmp_path / "nodes.json"
    config.write_text(json.dumps(NODES), encoding="utf-8")
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / "growing.py").write_text(MODULE, encoding="utf-8")
    fake = {"AUTOSCALER_UPDATE_INTERVAL_S": "1", "RAY_FAKE_CLUSTER": "1"}
    told = {**os.environ, **fake, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    admin = await asyncpg.connect(postgres_dsn)
    try:
        with a_cluster(told, f"--autoscaling-config={config}", cpus=2, address=ADDRESS):
            await asyncio.to_thread(
                subprocess.run,
                [sys.executable, "-m", "wow_ray.cli", "up", "growing:app"],
                cwd=folder,
                env={**told, "RAY_ADDRESS": ADDRESS},
                check=True,
                timeout=120,
            )
            async with open_operations(Database(postgres_dsn, CONTEXT, CONTEXT)) as operations:
                await _grown(operations, admin)
        found: dict[str, list[int]] = {}
        for row in await admin.fetch("select id, version from growing.seen order by number"):
            found.setdefault(row["id"], []).append(row["version"])
        assert found == {f"o-{number}": list(range(1, EVENTS + 1)) for number in range(ORDERS)}
    finally:
        await admin.execute("drop schema if exists growing cascade")
        await admin.close()


async def _grown(operations: Operations, admin: asyncpg.Connection) -> None:
    """Append, and see one partition become two on two nodes, and one again."""
    await admin.execute("create table growing.seen (number bigserial, id text, version bigint)")
    assert [each.partition for each in (await operations.status()).partitions] == ["growing-0"]
    waited = False
    for _ in range(EVENTS):
        for number in range(ORDERS):
            sql = "select * from growing.append('order', $1, array['paid'], array['{}'::json])"
            await admin.fetch(sql, f"o-{number}")

    async def two() -> bool:
        nonlocal waited
        status = await operations.status()
        waited |= status.absent == ("growing-1",)
        return len(status.partitions) == 2 and not status.moves

    await until(two, "a second partition with its slots", seconds=60)
    status = await operations.status()
    assert waited
    assert len({node_of(each.pid) for each in status.partitions}) == 2

    async def one() -> bool:
        status = await operations.status()
        return len(status.partitions) == 1 and not status.lag

    await until(one, "one partition again", seconds=60)
    view = await operations.scaling.settled(lambda _: None, 10)
    assert (view.actor, "events behind" in view.reason) == (ACTOR, True)
