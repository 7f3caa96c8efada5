"""One aggregate's own endpoint is dead in a busy group (H12): others hardly notice, and it is parked.

Runs with and without it take turns in being first, reading the same log, and the others' throughput is compared by
medians; the machine's other work is felt less in the ratio of time on a core.
"""

import time
from dataclasses import dataclass
from statistics import median

from benchmarks.outage.desk import desk_at
from benchmarks.outage.downstream import Downstream
from benchmarks.outage.found import Found
from benchmarks.report import Options
from benchmarks.running import happened, running, until
from benchmarks.servers import free_port, fresh_database
from benchmarks.watching import Rows, Watch, rows_of
from benchmarks.workload import CONTEXT, Bookings, load
from wow_ray import App
from wow_ray.adapters.postgres import Database

ACCOUNTS = 300
ROUNDS = 5
PROBE = 0.5
"""Seconds that nobody may be paused longer than: the wait before a first probe (0.1), its call, a busy machine."""
PATIENCE = 120.0


@dataclass(frozen=True, slots=True)
class Read:
    """One reading of the log up to the last event of the others, by the clock and on a core, and its pauses."""

    seconds: float
    core_seconds: float
    pauses: tuple[float, ...]
    rows: Rows


async def run(options: Options, server: Downstream) -> Found:
    """Compare."""
    found, events = Found("tenant"), options.size(6_000, 20_000)
    bookings = Bookings(options.seed, ACCOUNTS)
    reads: dict[bool, list[Read]] = {False: [], True: []}
    async with fresh_database(CONTEXT) as database:
        await load(database, bookings, events - 1)
        for turn in range(2 * ROUNDS):
            dead = turn % 4 in {1, 2}
            reads[dead].append(await _read(found, database, server, bookings, f"Read{turn}", dead=dead))
    took = {dead: median(each.seconds for each in runs) for dead, runs in reads.items()}
    core = {dead: median(each.core_seconds for each in runs) for dead, runs in reads.items()}
    pauses = [pause for each in reads[True] for pause in each.pauses]
    found.add("events_count", events)
    found.add("others_done_s", took[True])
    found.add("others_throughput_ratio", took[False] / took[True], ">=", 0.95)
    found.add("others_throughput_by_core_ratio", core[False] / core[True])
    found.add("pauses_count", len(pauses))
    found.add("longest_pause_s", max(pauses, default=0.0), "<=", PROBE)
    found.add("parked_count", max(each.rows.parked for each in reads[True]), "==", ROUNDS)
    found.tell()
    return found


async def _read(
    found: Found, database: Database, server: Downstream, bookings: Bookings, name: str, *, dead: bool
) -> Read:
    """Read the whole log once; `dead` = the first account's address is one where nobody listens."""
    app, tenant = App(CONTEXT), bookings.names[0]
    async with desk_at(server.url, database) as desk:
        if dead:
            desk.elsewhere[tenant] = f"http://127.0.0.1:{free_port()}"
        desk.reactor(app, "beginning", name)
        async with running(app, database) as service:
            watch = Watch(service)
            busy = time.process_time()
            wanted = bookings.made.total() - (bookings.made[tenant] if dead else 0)
            await happened(service, desk.handled(wanted), patience=PATIENCE)
            seconds, busy = time.monotonic() - desk.calls[0].began, time.process_time() - busy
            await happened(service, until(desk.quiet, "nothing is retried any more"), patience=PATIENCE)
        rows = await rows_of(database)
    found.checked(desk.checker, bookings.made, rows.held)
    return Read(seconds, busy, tuple(pause.seconds for pause in watch.pauses), rows)
