"""`python -m benchmarks NAME [--quick] [--judge] [--save] [--events N] [--seed S]`.

The last line on standard output is one JSON object (for `all` one line each) and nothing else is written there; tables
and progress go to standard error. Exit 1 with `--judge` where a bar is missed.
"""

import argparse
import asyncio
import json
import logging
import sys
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from benchmarks import actor_per_aggregate, catch_up, durable_calls, isolation, outage, recovery, scale, tracing, window
from benchmarks.report import Options, Report, console

BENCHMARKS: Mapping[str, Callable[[Options], Coroutine[Any, Any, Report]]] = {
    "catch_up": catch_up.run,
    "catch_up_deep": catch_up.run_deep,
    "isolation": isolation.run,
    "outage": outage.run,
    "recovery": recovery.run,
    "durable_calls": durable_calls.run,
    "console": window.run,
    "tracing": tracing.run,
    "scale": scale.run,
    "actor_per_aggregate": actor_per_aggregate.run,
}


def main() -> int:
    """Run one benchmark, or all of them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure, and print one JSON object.")
    parser.add_argument("name", choices=[*BENCHMARKS, "all"])
    parser.add_argument("--quick", action="store_true", help="the short form")
    parser.add_argument("--judge", action="store_true", help="exit 1 where a bar is missed")
    parser.add_argument("--save", action="store_true", help="keep the result in benchmarks/results")
    parser.add_argument("--events", type=int, help="so many events, instead of the benchmark's own number")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    # Printing each parked aggregate would be measured too; what ends a service is raised to the benchmark.
    logging.getLogger("wow_ray").addHandler(logging.NullHandler())
    options = Options(quick=given.quick, events=given.events, seed=given.seed)
    missed: list[str] = []
    for name in BENCHMARKS if given.name == "all" else [given.name]:
        report = asyncio.run(BENCHMARKS[name](options))
        report.show()
        if given.save:
            console.print(f"kept in {report.save().name}")
        missed += [f"{name}: {bar}" for bar in report.missed()]
        print(json.dumps(report.as_json()), flush=True)
    if missed:
        console.print(f"missed: {', '.join(missed)}", style="red")
    return 1 if missed and given.judge else 0


if __name__ == "__main__":
    sys.exit(main())
