"""Our own store is gone for a while, killed as by a crash, while the other side lives (H9, P2).

Nothing that is done meanwhile can be written down, so no handler may be called: the waiting commit is the probe. The
second time the partitions are given up meanwhile, as a crash would do; who starts afterwards repeats what had not been
committed, and no more.
"""

import asyncio
import os
import signal
import time
from dataclasses import dataclass

from benchmarks.outage.desk import Desk, desk_at
from benchmarks.outage.downstream import Downstream
from benchmarks.outage.found import Found
from benchmarks.report import Options
from benchmarks.running import happened, running, until
from benchmarks.servers import free_port, fresh_server
from benchmarks.watching import Watch, rows_of
from benchmarks.workload import CONTEXT, Bookings, load
from wow_ray import App
from wow_ray.adapters.embedded import EmbeddedPostgres
from wow_ray.runtime.group import WINDOW
from wow_ray.runtime.service import Service

PARTITIONS = 4
GRACE = 1.0
"""Seconds after the kill from which on every call is one too many: by then a commit has failed in every partition."""
PATIENCE = 120.0


async def run(options: Options, server: Downstream) -> Found:
    """Kill the store twice while a log is read."""
    found, app, events = Found("store_down"), App(CONTEXT), options.size(12_000, 40_000)
    bookings = Bookings(options.seed, events // 10)
    away = 4.0 if options.quick else 15.0
    async with (
        fresh_server(CONTEXT, port=free_port()) as (store, database),
        desk_at(server.url, database, PARTITIONS) as desk,
    ):
        await load(database, bookings, events - 1)
        desk.reactor(app, "beginning")
        async with running(app, database, PARTITIONS) as service:
            watch = Watch(service)
            async with watch.looking():
                await happened(service, desk.handled(events // 4), patience=PATIENCE)
                first = await _outage(store, away)
                await happened(service, until(lambda: first.seen(desk), "events are handled again"), patience=PATIENCE)
                _judge(found, desk, first)
                found.add("repeats_while_running_count", desk.checker.duplicates, "==", 0)
                await happened(service, desk.handled(events // 2), patience=PATIENCE)
                await _outage(store, away, service)
            uncommitted = sum(call.ended >= watch.surely_committed(call.partition) for call in desk.calls)
            found.add("pauses_count", len(watch.pauses), "==", 0)
        async with running(app, database, PARTITIONS) as service:
            done = until(lambda: not desk.checker.lost(bookings.made) and desk.quiet(), "everything is handled")
            await happened(service, done, patience=PATIENCE)
        rows = await rows_of(database)
    found.add("events_count", events)
    found.add("parked_count", rows.parked, "==", 0)
    found.add("uncommitted_at_the_crash_count", uncommitted)
    found.checked(desk.checker, bookings.made, rows.held, allowed_repeats=min(uncommitted, WINDOW * PARTITIONS))
    found.tell()
    return found


@dataclass(frozen=True, slots=True)
class Away:
    """An outage of our store: when it was killed, when it was there again."""

    killed: float
    back: float

    def seen(self, desk: Desk) -> bool:
        """Tell whether events were handled since it was back."""
        return desk.latest > self.back


async def _outage(store: EmbeddedPostgres, seconds: float, crashing: Service | None = None) -> Away:
    """Kill the server and start it anew; with `crashing`, end that service's partitions meanwhile, as a crash would."""
    os.kill(store.pid, signal.SIGQUIT)
    killed = time.monotonic()
    await asyncio.to_thread(store.stop)
    await asyncio.sleep(seconds / 2)
    if crashing is not None:
        await asyncio.gather(*(partition.abandon() for partition in crashing.partitions))
    await asyncio.sleep(max(0.0, killed + seconds - time.monotonic()))
    await asyncio.to_thread(store.start)
    return Away(killed, time.monotonic())


def _judge(found: Found, desk: Desk, away: Away) -> None:
    """Take the figures of the first time; what began after the kill and before a commit failed is inside W."""
    found.add("away_s", away.back - away.killed)
    found.add("begun_after_the_kill_count", len(desk.begun(away.killed, away.back)), "<=", WINDOW * PARTITIONS)
    found.add("begun_while_away_count", len(desk.begun(away.killed + GRACE, away.back)), "==", 0)
    found.add(
        "handled_again_after_back_s", min(call.began for call in desk.calls if call.began > away.back) - away.back
    )
