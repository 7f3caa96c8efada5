"""Catching up: one partition reads a log that is there already, with one subscription and with eight.

The handler does nothing but what the checkers need. Runs alternate with the floor, and medians are compared.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from benchmarks.checkers import Checker
from benchmarks.floor import copy_payloads, run_floor
from benchmarks.report import Bar, Options, Report, console
from benchmarks.running import happened, running
from benchmarks.servers import fresh_database, server_version
from benchmarks.workload import CONTEXT, Booked, Bookings, load
from wow_ray import App, Event, on_event
from wow_ray.adapters.postgres import Database

ROUNDS = 3
PATIENCE = 300.0
SHARE_NOW, SHARE_TARGET = 0.4, 0.6
"""The share of the floor that is judged now, and the one to reach."""
EIGHT_TARGET = 3.0
"""How many times the handled events of one subscription eight are to reach."""


class Reading:
    """One subscription at work: its checker, and the times of its first and its last call."""

    def __init__(self, events: int) -> None:
        """Expect so many events."""
        self.checker = Checker()
        self.events = events
        self.first = 0.0
        self.last = 0.0
        self.done = asyncio.Event()

    def saw(self, body: Booked) -> None:
        """Note one handled event."""
        checker = self.checker
        if not checker.seen:
            self.first = time.perf_counter()
        checker.saw(body.account, body.number)
        if checker.seen == self.events:
            self.last = time.perf_counter()
            self.done.set()


def reads(app: App, name: str, reading: Reading) -> None:
    """Give the app a reactor of that name with one handler that does next to nothing."""

    class Reader:
        @on_event
        async def on_booked(self, event: Event[Booked]) -> None:
            reading.saw(event.body)

    app.reactor(name=name, start="beginning")(Reader)


@dataclass(frozen=True, slots=True)
class Measured:
    """So many handled events in so many seconds by the clock, and of this process's time on a core."""

    handled: int
    seconds: float
    core_seconds: float

    @property
    def rate(self) -> float:
        """Handled events a second."""
        return self.handled / self.seconds

    @property
    def microseconds(self) -> float:
        """Time on a core for each handled event; less than by the clock when others use the machine."""
        return self.core_seconds / self.handled * 1e6


async def run_readers(
    database: Database, turn: str, readers: int, events: int, environ: Mapping[str, str] | None = None
) -> tuple[Measured, list[Checker]]:
    """Read the whole log with so many new subscriptions, timed from the first call to the last."""
    app = App(CONTEXT)
    readings = [Reading(events) for _ in range(readers)]
    for number, reading in enumerate(readings):
        reads(app, f"Reader{turn}x{number}", reading)
    busy = time.process_time()
    async with running(app, database, environ=environ) as service:
        await happened(service, *(reading.done.wait() for reading in readings), patience=PATIENCE)
        busy = time.process_time() - busy
    seconds = max(reading.last for reading in readings) - min(reading.first for reading in readings)
    return Measured(readers * events, seconds, busy), [reading.checker for reading in readings]


async def run_floors(database: Database, events: int) -> Measured:
    """Do the same without any of ours."""
    busy = time.process_time()
    seconds = await run_floor(database, Checker(), events)
    return Measured(events, seconds, time.process_time() - busy)


async def run(options: Options) -> Report:
    """Measure a log of many short aggregates, of ten events each on average."""
    events = options.size(100_000, 500_000)
    return await compare("catch_up", options, events, events // 10)


async def run_deep(options: Options) -> Report:
    """Measure a log of few long aggregates, of 250 events each on average: more than a lane holds in memory."""
    events = options.size(50_000, 200_000)
    return await compare("catch_up_deep", options, events, events // 250)


async def compare(bench: str, options: Options, events: int, accounts: int) -> Report:
    """Run floor, one and eight subscriptions in turn, and compare medians."""
    bookings = Bookings(options.seed, accounts)
    turns: dict[str, list[Measured]] = {"floor": [], "one": [], "eight": []}
    checkers: list[Checker] = []
    async with fresh_database(CONTEXT) as database:
        loading = await load(database, bookings, events - 1)
        await copy_payloads(database)
        for turn in range(ROUNDS):
            turns["floor"].append(await run_floors(database, events))
            for name, readers in (("one", 1), ("eight", 8)):
                measured, seen = await run_readers(database, f"{turn}{name}", readers, events)
                turns[name].append(measured)
                checkers += seen
            console.print(
                f"round {turn + 1}: " + ", ".join(f"{name} {each[-1].rate:,.0f}/s" for name, each in turns.items())
            )
        postgres = await server_version(database)
    figures = {"events_count": events, "aggregates_count": accounts, "load_events_per_s": events / loading}
    figures |= _figures(turns)
    wrong = {
        "out_of_order_count": sum(checker.out_of_order for checker in checkers),
        "duplicates_count": sum(checker.duplicates for checker in checkers),
        "lost_count": sum(checker.lost(bookings.made) for checker in checkers),
    }
    bars = {name.removesuffix("_count"): Bar(name, "==", 0) for name in wrong}
    if bench == "catch_up":
        bars["share_of_floor"] = Bar("share_of_floor_ratio", ">=", SHARE_NOW)
    workload = f"one partition, {events:,} events over {accounts:,} aggregates, handlers that only check the order"
    return Report(bench, workload, options.seed, postgres, {**figures, **wrong}, bars)


def _figures(turns: dict[str, list[Measured]]) -> dict[str, float]:
    """Compare; the shares by time of this process's core say less about a busy machine than those by the clock."""
    rates = {name: median(each.rate for each in measured) for name, measured in turns.items()}
    cores = {name: median(each.microseconds for each in measured) for name, measured in turns.items()}
    return {
        "floor_events_per_s": rates["floor"],
        "one_subscription_events_per_s": rates["one"],
        "eight_subscriptions_handled_per_s": rates["eight"],
        "floor_core_us_per_event": cores["floor"],
        "one_subscription_core_us_per_event": cores["one"],
        "eight_subscriptions_core_us_per_handled": cores["eight"],
        "share_of_floor_ratio": rates["one"] / rates["floor"],
        "share_of_floor_by_core_ratio": cores["floor"] / cores["one"],
        "share_of_floor_target_ratio": SHARE_TARGET,
        "eight_to_one_ratio": rates["eight"] / rates["one"],
        "eight_to_one_target_ratio": EIGHT_TARGET,
    }
