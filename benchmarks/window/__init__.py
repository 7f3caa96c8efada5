"""What operators' looking costs: a full ledger asked in every way, and what the partitions lose to people who watch.

One Postgres of its own with a million parked rows and as many durable calls (`--quick`: a tenth), and one in which
partitions read a log while a hundred browsers listen to the console, which has a process of its own as on Ray Serve.
"""

from benchmarks.report import Bar, Options, Report
from benchmarks.servers import fresh_server, server_version
from benchmarks.window import desk, watched
from benchmarks.window.filling import fill

CONTEXT = "window"


async def run(options: Options) -> Report:
    """Measure both."""
    rows, rounds = (100_000, 20) if options.quick else (1_000_000, 40)
    async with fresh_server(CONTEXT) as (_, database):
        postgres = await server_version(database)
        await fill(database, rows)
        figures = {"rows": float(rows), **await desk.looks(database, rounds), **await desk.claims(database, rounds)}
    figures |= await watched.run(options)
    workload = (
        f"{rows:,} parked rows and as many durable calls; each list, group and count of the API with each filter, "
        f"{rounds} times, the slowest filter's p95; {watched.LISTENERS} listeners beside a partition that reads a log"
    )
    under = {name: Bar(name, "<=", 100) for name in figures if name.endswith("_p95_ms")}
    under |= {name: Bar(name, "<=", 20) for name in ("due_rows_p95_ms", "claim_calls_p95_ms")}
    bars = {**under, "watched": Bar("watched_throughput_ratio", ">=", 0.98)}
    return Report("console", workload, options.seed, postgres, figures, bars)
