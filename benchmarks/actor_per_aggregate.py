"""One actor per aggregate: the design that suggests itself on Ray, measured for the ratio to lanes.

Each aggregate is a Ray actor that is sent its events one by one; Ray keeps their order for an actor that is not async,
so all calls are under way at once, which is the best it can do. Nothing is stored: no progress, no parking. The lanes
beside it read the same number of events from Postgres and commit their progress.
"""

import os
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from benchmarks.catch_up import run_readers
from benchmarks.checkers import Checker
from benchmarks.recovery import ROOT
from benchmarks.report import Bar, Options, Report, console
from benchmarks.servers import fresh_database, server_version
from benchmarks.workload import CONTEXT, Booked, Bookings, load
from wow_ray.actors.connecting import connected

EVERY = 100
"""Events of each aggregate."""
LANES = 50_000
"""Events that the lanes handle, over as many aggregates each as there are events of one actor."""
MANY = 10_000
"""Aggregates for which memory and time are extrapolated."""


class Account:
    """One aggregate as an actor: it reads its events and checks their order."""

    def __init__(self) -> None:
        """Have seen nothing."""
        self.checker = Checker()

    def handle(self, payload: str) -> None:
        """Handle one event."""
        body = Booked.model_validate_json(payload)
        self.checker.saw(body.account, body.number)

    def seen(self) -> tuple[int, int, int]:
        """Tell its process, how many events came, and how many out of order."""
        return os.getpid(), self.checker.seen, self.checker.out_of_order


async def run(options: Options) -> Report:
    """Compare."""
    actors = options.size(12, 40)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with redirect_stdout(sys.stderr), connected(ROOT, cpus=4):  # Ray's own messages are no result
        figures = _actors(actors, options.seed)
    async with fresh_database(CONTEXT) as database:
        bookings = Bookings(options.seed, LANES // EVERY)
        await load(database, bookings, LANES - 1)
        lanes, checkers = await run_readers(database, "lanes", 1, LANES)
        postgres = await server_version(database)
    checker = checkers[0]
    figures |= {
        "lanes_events_per_s": lanes.rate,
        "lanes_to_actors_ratio": lanes.rate / figures["actors_events_per_s"],
        "lanes_out_of_order_count": checker.out_of_order,
        "lanes_lost_count": checker.lost(bookings.made),
    }
    workload = (
        f"{actors} aggregates as actors, {EVERY} events each; {LANES:,} events through the lanes of one partition"
    )
    bars = {
        "actors_out_of_order": Bar("actors_out_of_order_count", "==", 0),
        "lanes_out_of_order": Bar("lanes_out_of_order_count", "==", 0),
        "lanes_lost": Bar("lanes_lost_count", "==", 0),
        "lanes_to_actors": Bar("lanes_to_actors_ratio", ">=", 10.0),
    }
    return Report("actor_per_aggregate", workload, options.seed, postgres, figures, bars)


def _actors(count: int, seed: int) -> dict[str, float]:
    """Create so many, send them their events, look at their processes."""
    import ray  # noqa: PLC0415 - it reads the environment when it is loaded

    bookings = Bookings(seed, count)
    began = time.perf_counter()
    options: dict[str, Any] = {"num_cpus": 0, "enable_task_events": False}
    remote: Any = ray.remote(**options)(Account)
    made = [remote.remote() for _ in range(count)]
    ray.get([actor.seen.remote() for actor in made])
    creating = time.perf_counter() - began
    console.print(f"{count} actors in {creating:.1f} s")
    events = [bookings.next_of(name) for _ in range(EVERY) for name in bookings.names]
    payloads = [(bookings.names.index(event.account), event.model_dump_json()) for event in events]
    began = time.perf_counter()
    ray.get([made[place].handle.remote(payload) for place, payload in payloads])
    handling = time.perf_counter() - began
    seen = ray.get([actor.seen.remote() for actor in made])
    memory = sum(_private_mb(pid) for pid, _, _ in seen) / count
    return {
        "actors_count": count,
        "actors_created_per_s": count / creating,
        "actors_events_per_s": len(events) / handling,
        "actors_out_of_order_count": sum(wrong for _, _, wrong in seen),
        "actors_memory_mb": memory,
        "ten_thousand_actors_memory_gb": memory * MANY / 1_000,
        "ten_thousand_actors_creation_h": creating / count * MANY / 3_600,
    }


def _private_mb(pid: int) -> float:
    """Give the memory that a process has for itself, in MB; 0 where the system does not tell."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1_024
