"""Isolation: what healthy aggregates feel of others whose handler always raises.

Poison aggregates raise at every call, are retried under the default budget and then parked: a plain error, or in other
runs `ConnectionRefusedError`, as of an endpoint of their own that is gone. Two kinds of load, each with 0, 1 and 10 %
of the aggregates poisoned, in turn, medians compared with the run without poison: catching up (how long until the last
healthy event is handled), and live (how late healthy events are handled, from just before their append, at a steady
rate). No pause may be taken for them: every one is counted.

What the bars can mean depends on the load: `_price` says what a failed call costs, what it may cost for the bar to be
reached, and what the bound of open events (W) allows while poison aggregates wait for their retries.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import median, quantiles

from benchmarks.checkers import Checker
from benchmarks.report import Bar, Options, Report, console
from benchmarks.running import happened, running
from benchmarks.servers import fresh_database, server_version
from benchmarks.watching import Watch
from benchmarks.workload import CONTEXT, Booked, Bookings, account, load
from wow_ray import App, Event, on_event
from wow_ray.adapters.postgres import Database
from wow_ray.handlers.specs import Start
from wow_ray.policy.budget import DEFAULT_RETRY, wait
from wow_ray.policy.parked import OPEN
from wow_ray.ports.event_log import EventStore
from wow_ray.ports.ledger import RowFilter
from wow_ray.runtime.group import WINDOW
from wow_ray.runtime.ranges import PAGE
from wow_ray.runtime.service import Service

SHARES = (1, 10)
"""Per cent of the aggregates."""
QUICK_ROUNDS, ROUNDS = 3, 5
THROUGHPUT = 0.95
"""The bar."""
PATIENCE = 300.0
LIVE_ACCOUNTS = 300
LIVE_RATE = 500
APPENDERS = 8


class PoisonError(Exception):
    """What a poison aggregate raises: nothing that any classifier knows."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of run: so many per cent of the aggregates raise `error`."""

    name: str
    share: int
    error: type[Exception]

    def poisoned(self, seed: int, names: Sequence[str]) -> "Poison":
        """Choose them among the accounts, by a seed, and not by the chance that chooses whose events come first."""
        chance = Random(f"poison {seed}")
        return Poison(frozenset(chance.sample(sorted(names), len(names) * self.share // 100)), self.error)


@dataclass(frozen=True, slots=True)
class Poison:
    """The accounts at which the handler fails, and what it raises there."""

    accounts: frozenset[str]
    error: type[Exception]


NO_POISON = Kind("no_poison", 0, PoisonError)
POISONED = [
    Kind(f"{name}_{share}_percent", share, error)
    for name, error in (("plain", PoisonError), ("refused", ConnectionRefusedError))
    for share in SHARES
]


class Healthy:
    """What is seen of the healthy aggregates of one run, until all `expected` events of theirs are handled."""

    def __init__(self, poison: Poison, expected: int) -> None:
        """Expect so many healthy events."""
        self.poison = poison.accounts
        self.error = poison.error
        self.expected = expected
        self.checker = Checker()
        self.late: list[float] = []
        self.first = 0.0
        self.last = 0.0
        self.failed = 0
        """Calls that raised, until then."""
        self.strangers = 0
        """Healthy aggregates that were held in the ledger at the end."""
        self.pauses: list[float] = []
        """Seconds that each pause lasted, were there any."""
        self.core_seconds = 0.0
        """Of this process, until then."""
        self.done = asyncio.Event()

    def handle(self, body: Booked) -> None:
        """Handle one event."""
        now = time.monotonic()
        self.first = self.first or now
        if body.account in self.poison:
            self.failed += not self.last
            raise self.error(body.account)
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


def reactor(app: App, name: str, start: Start, healthy: Healthy) -> None:
    """Give the app a reactor of that name."""

    class Reader:
        @on_event
        async def on_booked(self, event: Event[Booked]) -> None:
            healthy.handle(event.body)

    app.reactor(name=name, start=start)(Reader)


async def catch_up(database: Database, name: str, poison: Poison, made: Mapping[str, int]) -> Healthy:
    """Read the whole log."""
    app = App(CONTEXT)
    healthy = Healthy(poison, sum(count for each, count in made.items() if each not in poison.accounts))
    reactor(app, name, "beginning", healthy)
    busy = time.process_time()
    async with running(app, database) as service:
        watch = Watch(service)
        await happened(service, healthy.done.wait(), patience=PATIENCE)
        healthy.core_seconds = time.process_time() - busy
        healthy.strangers = await strangers(service, healthy.poison)
    healthy.pauses = [pause.seconds for pause in watch.pauses]
    return healthy


async def live(database: Database, name: str, kind: Kind, seed: int, seconds: float) -> Healthy:
    """Append at a steady rate, to accounts of this run alone, while the handler runs."""
    app, bookings = App(CONTEXT), Bookings(seed, LIVE_ACCOUNTS, prefix=name)
    names = [bookings.random.choice(bookings.names) for _ in range(int(seconds * LIVE_RATE))]
    poison = kind.poisoned(seed, bookings.names)
    healthy = Healthy(poison, sum(each not in poison.accounts for each in names))
    reactor(app, name, "end", healthy)
    async with running(app, database) as service:
        watch = Watch(service)
        appending = append_steadily(service.client.events, bookings, names)
        await happened(service, appending, healthy.done.wait(), patience=PATIENCE)
        healthy.strangers = await strangers(service, healthy.poison)
    healthy.pauses = [pause.seconds for pause in watch.pauses]
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
    kinds = [NO_POISON, *POISONED]
    bookings = Bookings(options.seed, events // 10)
    reading: dict[Kind, list[Healthy]] = {kind: [] for kind in kinds}
    living: dict[Kind, list[Healthy]] = {kind: [] for kind in kinds}
    async with fresh_database(CONTEXT) as database:
        await load(database, bookings, events - 1)
        for turn in range(QUICK_ROUNDS if options.quick else ROUNDS):
            for kind in kinds[turn:] + kinds[:turn]:
                poison = kind.poisoned(options.seed, list(bookings.made))
                reading[kind].append(await catch_up(database, f"Read{turn}{kind.name}", poison, bookings.made))
                living[kind].append(await live(database, f"Live{turn}{kind.name}", kind, options.seed + turn, seconds))
                last, now = reading[kind][-1], living[kind][-1]
                console.print(
                    f"round {turn + 1}, {kind.name}: healthy in {last.seconds:.2f} s, p99 {now.p99:.1f} ms, "
                    f"{len(last.pauses + now.pauses)} pauses"
                )
        postgres = await server_version(database)
    workload = (
        f"{events:,} events over {events // 10:,} aggregates to catch up with, then {LIVE_RATE}/s for {seconds:.0f} s "
        f"over {LIVE_ACCOUNTS}; 0, 1 and 10 % of the aggregates always raise, a plain error or ConnectionRefusedError"
    )
    figures, bars = _compared(reading, living)
    return Report("isolation", workload, options.seed, postgres, {"events_count": events, **figures}, bars)


def _compared(
    reading: Mapping[Kind, Sequence[Healthy]], living: Mapping[Kind, Sequence[Healthy]]
) -> tuple[dict[str, float], dict[str, Bar]]:
    """Compare with the run without poison."""
    took = {kind: median(each.seconds for each in runs) for kind, runs in reading.items()}
    core = {kind: median(each.core_seconds for each in runs) for kind, runs in reading.items()}
    p99 = {kind: median(each.p99 for each in runs) for kind, runs in living.items()}
    figures: dict[str, float] = {}
    bars: dict[str, Bar] = {}
    for kind in reading:
        figures[f"healthy_done_{kind.name}_s"] = took[kind]
        figures[f"healthy_p99_{kind.name}_ms"] = p99[kind]
    for kind in POISONED:
        throughput, late = f"healthy_throughput_{kind.name}_ratio", f"healthy_p99_{kind.name}_ratio"
        figures[throughput] = took[NO_POISON] / took[kind]
        figures[f"healthy_throughput_by_core_{kind.name}_ratio"] = core[NO_POISON] / core[kind]
        figures[late] = p99[kind] / p99[NO_POISON]
        figures |= _price(kind, reading, took[NO_POISON])
        bars[f"throughput_{kind.name}"] = Bar(throughput, ">=", THROUGHPUT)
        bars[f"p99_{kind.name}"] = Bar(late, "<=", 1.5)
    for name, error in (("plain", PoisonError), ("refused", ConnectionRefusedError)):
        pauses = [
            pause
            for all_of in (reading, living)
            for kind, some in all_of.items()
            if kind.error is error
            for each in some
            for pause in each.pauses
        ]
        figures[f"{name}_pauses_count"] = len(pauses)
        figures[f"{name}_longest_pause_ms"] = max(pauses, default=0.0) * 1e3
        bars[f"{name}_pauses"] = Bar(f"{name}_pauses_count", "==", 0)
    runs = [each for all_of in (reading, living) for some in all_of.values() for each in some]
    figures["out_of_order_count"] = sum(each.checker.out_of_order for each in runs)
    figures["duplicates_count"] = sum(each.checker.duplicates for each in runs)
    figures["healthy_but_held_count"] = sum(each.strangers for each in runs)
    bars |= {name: Bar(f"{name}_count", "==", 0) for name in ("out_of_order", "duplicates", "healthy_but_held")}
    return figures, bars


def _price(kind: Kind, reading: Mapping[Kind, Sequence[Healthy]], free_seconds: float) -> dict[str, float]:
    """Say what a failed call costs beside a handled event, and what it may cost; parking is part of it.

    Poison aggregates cost what the run took on its core beyond its share of handled events. The bar leaves for them
    what the poison run has less to handle, and a twentieth. `window_allows`: they hold their events, up to W, while
    they wait between calls; a handler that itself waits for nothing reads the log faster than that lets it.
    """
    free, runs = reading[NO_POISON], reading[kind]
    events = free[0].expected
    handled = median(each.core_seconds for each in free) / events
    failed = median(each.failed for each in runs)
    extra = median(each.core_seconds for each in runs) - handled * runs[0].expected
    budget = DEFAULT_RETRY
    waits = sum(
        wait(budget.initial_backoff, budget.multiplier, budget.max_backoff, number)
        for number in range(1, budget.max_attempts)
    )
    held = kind.share / 100 * waits * events / free_seconds
    return {
        f"failed_calls_{kind.name}_count": failed,
        f"failed_call_costs_{kind.name}_core_us": extra / failed * 1e6,
        f"failed_call_costs_{kind.name}_handled_events": extra / failed / handled,
        f"failed_call_may_cost_{kind.name}_handled_events": (events / THROUGHPUT - runs[0].expected) / failed,
        f"window_allows_{kind.name}_ratio": min(1.0, (WINDOW - PAGE) / held),
    }
