"""The other side is gone for a while, under a live load: every partition pauses, probes, and goes on.

It is gone in one of two ways: `refused`, its port is closed (systemic by its class), or `failing`, it answers 500 to
everything, which no class tells from a fault of the aggregate's own: three aggregates do (W1). `early` is the share of
the events that are handled without the other side, and so succeed all the time (H16).
"""

import asyncio
from typing import Literal

from benchmarks.live import Load
from benchmarks.outage.desk import Desk, at_once, desk_at, rate_back, third_failure
from benchmarks.outage.downstream import Downstream
from benchmarks.outage.found import Found
from benchmarks.report import Options
from benchmarks.running import happened, running, until
from benchmarks.servers import fresh_database
from benchmarks.watching import Watch, rows_of
from benchmarks.workload import CONTEXT, Bookings
from wow_ray import App

PARTITIONS = 4
RATE = 300.0
"""Events a second, over all partitions."""
ACCOUNTS = 400
PROBE_CAP = 0.5
"""Seconds: `systemic.max_probe` in these runs (H17)."""
BEFORE = 2.0
"""Seconds under load before the outage, in which the rate is taken."""
PATIENCE = 120.0

Way = Literal["refused", "failing"]


class Outage:
    """One run: the times of its outage, and who saw what."""

    def __init__(self, server: Downstream, desk: Desk, watch: Watch, load: Load, seconds: float) -> None:
        """Have the other side away for so many seconds."""
        self.server = server
        self.desk = desk
        self.watch = watch
        self.load = load
        self.seconds = seconds
        self.gone = self.back = 0.0
        self.full = self.spent = 0.0
        """When no limit was left, and how many attempts were charged just before the other side came back."""

    async def run(self, way: Way) -> None:
        """Let it happen, from a steady load to a steady load, and have everything handled."""
        await asyncio.sleep(BEFORE)
        self.gone = await (self.server.down() if way == "refused" else self.server.answers(500))
        await asyncio.sleep(self.seconds)
        self.spent = self.watch.spent()
        self.back = await (self.server.up() if way == "refused" else self.server.answers(200))
        self.full = await until(lambda: not self.watch.limited(), "all limits are gone", PATIENCE)
        await asyncio.sleep(1.0)
        self.load.stop()

    def judge(self, found: Found) -> None:
        """Take the figures of the partitions, the worst of each; without bars where others succeed meanwhile (H16)."""
        paused: list[float] = []
        rates: list[float] = []
        at_a_time: list[int] = []
        calls_paused = 0
        strict = not self.desk.early
        for partition in sorted(self.desk.by_partition):
            calls = self.desk.of(partition)
            third = third_failure(calls, self.gone)
            began = [pause.began for pause in self.watch.of(partition) if pause.began >= self.gone]
            if began or strict:
                paused.append(max(0.0, min(began, default=self.back) - (self.gone if third is None else third)))
            rate = sum(self.gone - BEFORE / 2 <= call.ended < self.gone for call in calls) / (BEFORE / 2)
            rates.append(rate_back(calls, rate, self.back))
            inside = [call for call in calls if self.watch.paused(partition, call.began)]
            calls_paused += len(inside)
            at_a_time.append(at_once(inside))
        found.add("paused_partitions_count", len(paused), "==" if strict else "", PARTITIONS)
        found.add("paused_after_third_failure_most_s", max(paused, default=0.0), "<=" if strict else "", 1.0)
        found.add("full_rate_after_back_most_s", max(rates), "<=", PROBE_CAP + 1.0)
        everywhere = rate_back(self.desk.calls, self.load.rate, self.back)
        found.add("full_rate_after_back_cluster_s", everywhere, "<=", PROBE_CAP + 1.0)
        found.add("full_limit_after_back_s", self.full - self.back)
        found.add("pauses_count", len(self.watch.pauses))
        found.add("calls_while_paused_count", calls_paused)
        found.add("calls_while_paused_at_once_count", max(at_a_time), "<=", 1)
        failed = sum(bool(call.error) for call in self.desk.calls)
        found.add("failed_calls_count", failed)
        found.add("budget_spent_count", self.spent, "==" if strict else "", 0)


async def run(
    options: Options, server: Downstream, name: str, way: Way, *, early: float = 0.0, seconds: float | None = None
) -> Found:
    """Run one outage."""
    found, app = Found(name), App(CONTEXT, settings={"subscription": {"systemic": {"max_probe": f"{PROBE_CAP}s"}}})
    lasts = seconds or (4.0 if options.quick else 15.0)
    async with fresh_database(CONTEXT) as database, desk_at(server.url, database, PARTITIONS) as desk:
        desk.early = early
        desk.reactor(app, "end")
        async with running(app, database, PARTITIONS) as service:
            watch = Watch(service)
            load = Load(service.client.events, Bookings(options.seed, ACCOUNTS), RATE)
            outage = Outage(server, desk, watch, load, lasts)
            await happened(service, load.run(), outage.run(way), patience=PATIENCE)
            await happened(service, until(desk.quiet, "everything is handled or held"), patience=PATIENCE)
            rows = await rows_of(database)
    found.add("outage_s", outage.back - outage.gone)
    found.add("events_count", load.bookings.made.total())
    outage.judge(found)
    found.add("parked_count", rows.parked, *(("<=", ACCOUNTS // 20) if early else ("==", 0)))
    found.add("ledger_rows_count", rows.ever)
    found.checked(desk.checker, load.bookings.made, rows.held)
    found.tell()
    return found
