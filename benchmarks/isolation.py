"""Isolation: what healthy aggregates feel of others whose handler always raises.

Poison aggregates raise a plain error at every call, are retried under the default budget and then parked. Two kinds of
load, each with 0, 1 and 10 % of the aggregates poisoned, in turn, medians compared with the run without poison:
catching up (how long until the last healthy event is handled), and live (how late healthy events are handled, from just
before their append, at a steady rate).
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from random import Random
from statistics import median, quantiles

from benchmarks.checkers import Checker
from benchmarks.report import Bar, Options, Report, console
from benchmarks.running import happened, running
from benchmarks.servers import fresh_database, server_version
from benchmarks.workload import CONTEXT, Booked, Bookings, account, load
from wow_ray import App, Event, on_event
from wow_ray.adapters.postgres import Database
from wow_ray.handlers.specs import Start
from wow_ray.policy.parked import OPEN
from wow_ray.ports.event_log import EventStore
from wow_ray.ports.ledger import RowFilter
from wow_ray.runtime.service import Service

SHARES = (0, 1, 10)
"""Per cent of the aggregates."""
ROUNDS = 3
PATIENCE = 300.0
LIVE_ACCOUNTS = 300
LIVE_RATE = 500
APPENDERS = 8


class PoisonError(Exception):
    """What a poison aggregate raises: nothing that any classifier knows."""


class Healthy:
    """What is seen of the healthy aggregates of one run, until all `expected` events of theirs are handled."""

    def __init__(self, poison: frozenset[str], expected: int) -> None:
        """Expect so many healthy events."""
        self.poison = poison
        self.expected = expected
        self.checker = Checker()
        self.late: list[float] = []
        self.first = 0.0
        self.last = 0.0
        self.strangers = 0
        """Healthy aggregates that were held in the ledger at the end."""
        self.done = asyncio.Event()

    def handle(self, body: Booked) -> None:
        """Handle one event."""
        now = time.monotonic()
        self.first = self.first or now
        if body.account in self.poison:
            raise PoisonError(body.account)
        self.checker.saw(body.account, body.number)
        self.late.append(now - body.sent)
        if self.checker.seen == self.expected:
            self.last = now
            self.done.set()

    @property
    def seconds(self) -> float:
        """From the first call, of whatever aggregate, to the last healthy one."""
        return self.last - self.first

    @property
    def p99(self) -> float:
        """How late the slowest hundredth was at least, in milliseconds."""
        return quantiles(self.late, n=100)[-1] * 1e3


def poisoned(seed: int, names: Sequence[str], share: int) -> frozenset[str]:
    """Choose so many per cent of the accounts, by a seed."""
    return frozenset(Random(seed).sample(sorted(names), len(names) * share // 100))


def reactor(app: App, name: str, start: Start, healthy: Healthy) -> None:
    """Give the app a reactor of that name."""

    class Reader:
        @on_event
        async def on_booked(self, event: Event[Booked]) -> None:
            healthy.handle(event.body)

    app.reactor(name=name, start=start)(Reader)


async def catch_up(database: Database, name: str, poison: frozenset[str], made: Mapping[str, int]) -> Healthy:
    """Read the whole log."""
    app = App(CONTEXT)
    healthy = Healthy(poison, sum(count for each, count in made.items() if each not in poison))
    reactor(app, name, "beginning", healthy)
    async with running(app, database) as service:
        await happened(service, healthy.done.wait(), patience=PATIENCE)
        healthy.strangers = await strangers(service, poison)
    return healthy


async def live(database: Database, name: str, share: int, seed: int, seconds: float) -> Healthy:
    """Append at a steady rate, to accounts of this run alone, while the handler runs."""
    app, bookings = App(CONTEXT), Bookings(seed, LIVE_ACCOUNTS, prefix=name)
    names = [bookings.random.choice(bookings.names) for _ in range(int(seconds * LIVE_RATE))]
    poison = poisoned(seed, bookings.names, share)
    healthy = Healthy(poison, sum(each not in poison for each in names))
    reactor(app, name, "end", healthy)
    async with running(app, database) as service:
        appending = append_steadily(service.client.events, bookings, names)
        await happened(service, appending, healthy.done.wait(), patience=PATIENCE)
        healthy.strangers = await strangers(service, poison)
    return healthy


async def append_steadily(store: EventStore, bookings: Bookings, names: Sequence[str]) -> None:
    """Append one event for each name, each at its time, an account's one after the other; late ones follow at once."""
    started = time.monotonic()
    turns = {name: asyncio.Lock() for name in set(names)}

    async def appender(number: int) -> None:
        for place in range(number, len(names), APPENDERS):
            await asyncio.sleep(started + place / LIVE_RATE - time.monotonic())
            async with turns[names[place]]:
                await store.append(account(names[place]), [bookings.next_of(names[place])], expected_version=None)

    await asyncio.gather(*(appender(number) for number in range(APPENDERS)))


async def strangers(service: Service, poison: frozenset[str]) -> int:
    """Count healthy aggregates that are held in the ledger, for the groups that run."""
    groups = [group.name for group in service.spec.groups]
    rows = [
        row for group in groups for row in await service.client.ledger.rows(RowFilter(OPEN, group=group, limit=100_000))
    ]
    return sum(row.aggregate_id not in poison for row in rows)


async def run(options: Options) -> Report:
    """Measure."""
    events = options.size(100_000, 400_000)
    seconds = 5.0 if options.quick else 15.0
    bookings = Bookings(options.seed, events // 10)
    reading: dict[int, list[Healthy]] = {share: [] for share in SHARES}
    living: dict[int, list[Healthy]] = {share: [] for share in SHARES}
    async with fresh_database(CONTEXT) as database:
        await load(database, bookings, events - 1)
        for turn in range(ROUNDS):
            for share in SHARES:
                poison = poisoned(options.seed, list(bookings.made), share)
                reading[share].append(await catch_up(database, f"Read{turn}x{share}", poison, bookings.made))
                living[share].append(await live(database, f"Live{turn}x{share}", share, options.seed + turn, seconds))
                last, now = reading[share][-1], living[share][-1]
                console.print(f"round {turn + 1}, {share:>2} %: healthy in {last.seconds:.2f} s, p99 {now.p99:.1f} ms")
        postgres = await server_version(database)
    workload = (
        f"{events:,} events over {events // 10:,} aggregates to catch up with, then {LIVE_RATE}/s for {seconds:.0f} s "
        f"over {LIVE_ACCOUNTS}; 0, 1 and 10 % of the aggregates always raise"
    )
    figures, bars = _compared(reading, living)
    return Report("isolation", workload, options.seed, postgres, {"events_count": events, **figures}, bars)


def _compared(
    reading: Mapping[int, Sequence[Healthy]], living: Mapping[int, Sequence[Healthy]]
) -> tuple[dict[str, float], dict[str, Bar]]:
    """Compare with the run without poison."""
    took = {share: median(each.seconds for each in runs) for share, runs in reading.items()}
    p99 = {share: median(each.p99 for each in runs) for share, runs in living.items()}
    figures: dict[str, float] = {}
    bars: dict[str, Bar] = {}
    for share in SHARES:
        figures[f"healthy_done_{share}_percent_s"] = took[share]
        figures[f"healthy_p99_{share}_percent_ms"] = p99[share]
    for share in SHARES[1:]:
        figures[f"healthy_throughput_{share}_percent_ratio"] = took[0] / took[share]
        figures[f"healthy_p99_{share}_percent_ratio"] = p99[share] / p99[0]
        bars[f"throughput_{share}_percent"] = Bar(f"healthy_throughput_{share}_percent_ratio", ">=", 0.95)
        bars[f"p99_{share}_percent"] = Bar(f"healthy_p99_{share}_percent_ratio", "<=", 1.5)
    runs = [each for all_of in (reading, living) for share in SHARES for each in all_of[share]]
    figures["out_of_order_count"] = sum(each.checker.out_of_order for each in runs)
    figures["duplicates_count"] = sum(each.checker.duplicates for each in runs)
    figures["healthy_but_held_count"] = sum(each.strangers for each in runs)
    bars |= {name: Bar(f"{name}_count", "==", 0) for name in ("out_of_order", "duplicates", "healthy_but_held")}
    return figures, bars
