"""The other side is busy for a while: it answers 429 and asks for patience (D4, H35).

The load on it halves at once, nothing is parked, and the limit is back soon after it is not busy any more.
"""

import asyncio

from benchmarks.outage.desk import Desk, desk_at
from benchmarks.outage.downstream import Downstream
from benchmarks.outage.found import Found
from benchmarks.report import Options
from benchmarks.running import happened, running, until
from benchmarks.servers import fresh_database
from benchmarks.watching import Watch, rows_of
from benchmarks.workload import CONTEXT, Bookings, load
from wow_ray import App
from wow_ray.policy.limiter import QUIET

ACCOUNTS = 300
SECONDS = 3.0
RETRY_AFTER = 1
HALVES = 0.05
"""Seconds within which the load has halved: the answers of the calls under way have come."""
PATIENCE = 120.0


async def run(options: Options, server: Downstream) -> Found:
    """Let it be busy in the midst of a log being read."""
    found, app, events = Found("busy"), App(CONTEXT), options.size(12_000, 40_000)
    bookings = Bookings(options.seed, ACCOUNTS)
    async with fresh_database(CONTEXT) as database, desk_at(server.url, database) as desk:
        await load(database, bookings, events - 1)
        desk.reactor(app, "beginning")
        async with running(app, database) as service:
            watch = Watch(service)
            async with watch.looking():
                await happened(service, desk.handled(events // 4), patience=PATIENCE)
                busy = await server.answers(429, RETRY_AFTER)
                await asyncio.sleep(SECONDS)
                back = await server.answers(200)
                full = await until(lambda: not watch.limited(), "the full limit", PATIENCE)
            await happened(service, desk.handled(events), patience=PATIENCE)
        rows = await rows_of(database)
    found.add("events_count", events)
    _judge(found, desk, watch, busy)
    found.add("full_limit_after_busy_s", full - back, "<=", QUIET + 2.0)
    found.add("pauses_count", len(watch.pauses), "==", 0)
    found.add("parked_count", rows.parked, "==", 0)
    found.add("spilled_count", rows.ever)
    found.checked(desk.checker, bookings.made, rows.held)
    found.tell()
    return found


def _judge(found: Found, desk: Desk, watch: Watch, busy: float) -> None:
    """Compare the limits before the first busy answer and just after it."""
    refused = [call for call in desk.calls if call.error == "ClientResponseError"]
    first = min(call.ended for call in refused)
    before = max(each.running for each in watch.looks if busy - 0.5 <= each.at <= first)
    after = next(each.limit for each in watch.looks if each.at >= first + HALVES)
    found.add("running_before_count", before)
    found.add("limit_after_first_answer_count", after, "<=", max(1, before // 2))
    found.add("limit_least_count", min(each.limit for each in watch.looks))
    found.add("busy_answers_count", len(refused))
