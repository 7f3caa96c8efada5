"""Outages: what the surroundings fail for a while, and what the system makes of it.

A real HTTP server, in a process of its own, is stopped and started, fails and is busy; our own store is killed; many
parked retries fail at night; one tenant's endpoint is dead. Each run starts a Postgres of its own and checks order,
duplicates and loss. Partitions share one process, without a supervisor: each probes alone (W7).
"""

from benchmarks.outage import busy, carrier_down, night, store_down, tenant
from benchmarks.outage.downstream import downstream
from benchmarks.outage.found import Found
from benchmarks.report import Options, Report
from benchmarks.servers import fresh_database, server_version
from benchmarks.workload import CONTEXT

EARLY = 0.4
"""The share of events handled without the other side, in the runs that are about them (H16)."""


async def run(options: Options) -> Report:
    """Run all of them, one after the other."""
    found: list[Found] = []
    async with downstream() as server:
        found.append(await carrier_down.run(options, server, "refused", "refused"))
        found.append(await carrier_down.run(options, server, "failing", "failing"))
        found.append(await carrier_down.run(options, server, "early_refused", "refused", early=EARLY))
        found.append(await carrier_down.run(options, server, "early_failing", "failing", early=EARLY))
        found.append(await busy.run(options, server))
        found.append(await tenant.run(options, server))
        found.append(await night.run(options, server))
        found.append(await store_down.run(options, server))
    async with fresh_database(CONTEXT) as database:
        postgres = await server_version(database)
    workload = (
        f"handlers call an HTTP server: gone for a while under {carrier_down.RATE:.0f} events/s over "
        f"{carrier_down.PARTITIONS} partitions (refused; failing with 500; each also with {EARLY:.0%} of the events "
        "not calling it), busy, dead for one aggregate; retries failing at night; our own store killed"
    )
    figures = {name: value for each in found for name, value in each.figures.items()}
    bars = {name: bar for each in found for name, bar in each.bars.items()}
    return Report("outage", workload, options.seed, postgres, figures, bars)
