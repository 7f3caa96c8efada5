"""Recovery: a partition's process is killed under load, on Ray, again and again.

How long until the next process handles its first event, and what that cost: events lost, out of order, handled twice.
The load comes from this process; every call is written down in the store by the handler.
"""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, redirect_stdout
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, TypeAlias

import asyncpg

from benchmarks import ray_app
from benchmarks.checkers import Checker
from benchmarks.live import Load
from benchmarks.report import Bar, Options, Report, console
from benchmarks.servers import connected, fresh_database, server_version
from benchmarks.workload import CONTEXT, Bookings
from wow_ray.actors.connecting import connected as connected_to_ray
from wow_ray.actors.deployment import Deployment
from wow_ray.adapters.clock import SystemClock
from wow_ray.adapters.postgres import Database, open_client_stores
from wow_ray.cli.run_site import AppSite
from wow_ray.cluster import open_control
from wow_ray.runtime.pace import Pace

if TYPE_CHECKING:
    from wow_ray.actors.edge import RayFleet

ROOT = Path(__file__).resolve().parent.parent
PARTITIONS = 2
RATE = 300
"""Events a second."""
ACCOUNTS = 200
PATIENCE = 60.0
REST = 1.0
"""Seconds between a recovery and the next kill, once what had piled up is handled."""

Plain: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


HANDLED = "select count(distinct (account, number)) from calls"


async def run(options: Options) -> Report:
    """Kill a partition's process so many times."""
    from wow_ray.actors.edge import RayFleet  # noqa: PLC0415 - Ray reads the environment when it is loaded

    kills = options.size(5, 20)
    async with fresh_database(CONTEXT) as database:
        async with connected(database) as plain:
            await plain.execute(ray_app.TABLE)
        os.environ[ray_app.DSN] = database.dsn
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        console.print("starting Ray")
        # Ray tells of processes that died on standard output, which is for the result alone.
        with redirect_stdout(sys.stderr), connected_to_ray(ROOT, cpus=4):
            fleet = RayFleet(AppSite("benchmarks.ray_app:app", CONTEXT, "bench"))
            async with _running(fleet, database) as load, connected(database) as plain:
                began = [await _killed(fleet, plain, f"{CONTEXT}-0", number + 1) for number in range(kills)]
                load.stop()
                await _handled(plain, load)
                figures = await _figures(plain, load, began)
        postgres = await server_version(database)
    return _report(options, kills, postgres, figures)


@asynccontextmanager
async def _running(fleet: "RayFleet", database: Database) -> AsyncIterator[Load]:
    """Bring the app up and let the load come in."""
    async with open_control(database) as control, open_client_stores(database, SystemClock()) as client:
        deployment = Deployment(fleet.site, fleet, console.print)
        await deployment.up(control, PARTITIONS)
        load = Load(client.events, Bookings(1, ACCOUNTS), RATE)
        loading = asyncio.ensure_future(load.run())
        try:
            yield load
            await loading
        finally:
            loading.cancel()
            await asyncio.gather(loading, return_exceptions=True)
            await deployment.down(control)


async def _killed(fleet: "RayFleet", plain: Plain, partition: str, number: int) -> tuple[float, float]:
    """Kill once; answers the seconds until the next process ran, and until it had handled an event."""
    before = await _pid(fleet, partition)
    await _caught_up(plain)
    at = await plain.fetchval("select clock_timestamp()")
    killed = time.monotonic()
    os.kill(before, signal.SIGKILL)
    pid = before
    async with asyncio.timeout(PATIENCE):
        while pid in {before, 0}:
            await asyncio.sleep(0.02)
            pid = await _pid(fleet, partition)
        ran = time.monotonic() - killed
        first: datetime | None = None
        while first is None:
            await asyncio.sleep(0.02)
            first = await plain.fetchval("select min(at) from calls where pid = $1 and at > $2", pid, at)
    handled = (first - at).total_seconds()
    console.print(f"kill {number}: handles again after {handled:.2f} s")
    return ran, handled


async def _pid(fleet: "RayFleet", partition: str) -> int:
    """Give the process that runs a partition; 0 = none does now."""
    try:
        found = await fleet.status(partition, 2.0)
    except TimeoutError:
        return 0
    return int(found["pid"]) if found is not None and found["standing"] == "running" else 0


async def _caught_up(plain: Plain) -> None:
    """Wait a moment, and until nothing has waited for long: a kill then meets a steady load."""
    await asyncio.sleep(REST)
    async with asyncio.timeout(PATIENCE):
        while True:
            appended = await plain.fetchval("select sum(head) from wow.slot_heads")
            await asyncio.sleep(0.1)
            if await plain.fetchval(HANDLED) >= appended:
                return


async def _handled(plain: Plain, load: Load) -> None:
    """Wait until everything that was appended is handled."""
    async with asyncio.timeout(PATIENCE):
        while True:
            if await plain.fetchval(HANDLED) >= load.bookings.made.total():
                return
            await asyncio.sleep(0.1)


async def _figures(plain: Plain, load: Load, began: list[tuple[float, float]]) -> dict[str, float]:
    """Judge the calls in the order in which they were written down."""
    checker = Checker()
    for row in await plain.fetch("select account, number from calls order by call"):
        checker.saw(row["account"], row["number"])
    handled = [handled for _, handled in began]
    return {
        "kills_count": len(began),
        "events_count": load.bookings.made.total(),
        "process_runs_again_median_s": median(ran for ran, _ in began),
        "handles_again_median_s": median(handled),
        "handles_again_most_s": max(handled),
        "lost_count": checker.lost(load.bookings.made),
        "out_of_order_count": checker.out_of_order,
        "repeats_count": checker.duplicates,
        "repeats_per_kill_count": checker.duplicates / len(began),
        "allowed_repeats_per_kill_count": RATE / PARTITIONS * Pace().commit_interval + Pace().concurrency,
    }


def _report(options: Options, kills: int, postgres: str, figures: dict[str, float]) -> Report:
    """Judge: repeated may be what finished since the last commit, at its interval, and the calls under way (L2)."""
    bars = {
        "handles_again": Bar("handles_again_median_s", "<=", 3.0),
        "lost": Bar("lost_count", "==", 0),
        "out_of_order": Bar("out_of_order_count", "==", 0),
        "repeats": Bar("repeats_per_kill_count", "<=", figures["allowed_repeats_per_kill_count"]),
    }
    workload = (
        f"{PARTITIONS} partitions on Ray, {RATE} events a second over {ACCOUNTS} aggregates, each call one insert; "
        f"one partition's process is killed {kills} times"
    )
    return Report("recovery", workload, options.seed, postgres, figures, bars)
