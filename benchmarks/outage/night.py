"""Many parked by a bad deploy, whose retries come due at night when nothing else happens (H11).

Retries that fail together with nobody succeeding look like an outage and are none: they are charged, nobody is paused
for them, they are exhausted in the end, and the live flow begins at once in their midst.
"""

import time
from collections import Counter
from statistics import median

from benchmarks.live import Load
from benchmarks.outage.desk import Desk, desk_at
from benchmarks.outage.downstream import Downstream
from benchmarks.outage.found import Found
from benchmarks.report import Options
from benchmarks.running import happened, running, until
from benchmarks.servers import fresh_database
from benchmarks.watching import Watch, rows_of
from benchmarks.workload import CONTEXT, Bookings, account
from wow_ray import App
from wow_ray.runtime.service import Service

PARTITIONS = 4
ACCOUNTS = 500
BROKEN = 50
RATE = 300.0
CALLS, RETRIES = 5, 3
"""Calls of the live budget, and parked retries."""
DELAY = 3.0
"""Seconds before each parked retry."""
MORNING = 50
"""Events of healthy accounts appended while the retries fail."""
PATIENCE = 120.0


async def run(options: Options, server: Downstream) -> Found:
    """Park them by day, let the night pass, and begin the day in its midst."""
    parked = {"max_retries": RETRIES, "initial_delay": f"{DELAY}s", "multiplier": 1.0}
    found, app = Found("night"), App(CONTEXT, settings={"subscription": {"parked": parked}})
    bookings = Bookings(options.seed, ACCOUNTS)
    async with fresh_database(CONTEXT) as database, desk_at(server.url, database, PARTITIONS) as desk:
        desk.broken = frozenset(bookings.names[:: ACCOUNTS // BROKEN])
        desk.reactor(app, "end")
        async with running(app, database, PARTITIONS) as service:
            watch = Watch(service)
            load = Load(service.client.events, bookings, RATE)
            await happened(service, load.run(), _by_day(desk, load), patience=PATIENCE)
            night = time.monotonic()
            await happened(service, _night(service, desk, bookings, found, night), patience=PATIENCE)
        rows = await rows_of(database)
    found.add("broken_count", BROKEN)
    found.add("retries_count", _calls(desk) - BROKEN * CALLS, "==", BROKEN * RETRIES)
    found.add("exhausted_count", rows.exhausted, "==", BROKEN)
    found.add("pauses_count", len(watch.pauses), "==", 0)
    found.checked(desk.checker, bookings.made, rows.held)
    found.tell()
    return found


async def _by_day(desk: Desk, load: Load) -> None:
    """Append until every broken account has used up its budget."""

    def spent() -> bool:
        calls = Counter(call.account for call in desk.calls if call.account in desk.broken)
        return len(calls) == BROKEN and min(calls.values()) >= CALLS

    await until(spent, "all broken accounts are parked", PATIENCE)
    load.stop()


async def _night(service: Service, desk: Desk, bookings: Bookings, found: Found, night: float) -> None:
    """Wait for a retry, append for healthy accounts, and wait until nothing is retried any more."""
    await until(lambda: desk.latest > night + 1.0, "a retry", PATIENCE)
    healthy = [name for name in bookings.names if name not in desk.broken][:MORNING]
    late: list[float] = []
    for name in healthy:
        event = bookings.next_of(name)
        await service.client.events.append(account(name), [event], expected_version=event.number - 1)
        late.append(await desk.handled(desk.checker.seen + 1) - event.sent)
    found.add("live_flow_median_ms", median(late) * 1e3)
    found.add("live_flow_most_ms", max(late) * 1e3, "<=", 1_000.0)
    await until(lambda: _calls(desk) >= BROKEN * (CALLS + RETRIES) and desk.quiet(DELAY + 1.0), "the end", PATIENCE)


def _calls(desk: Desk) -> int:
    """Count the calls of broken accounts."""
    return sum(call.account in desk.broken for call in desk.calls)
