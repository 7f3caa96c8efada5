"""Scale: another number of partitions under load, on Ray, and what more of them bring on this machine.

A log is read by one partition and, after it has been scaled, by several, for the ratio of their rates. In between a
steady load goes on while the partitions become more and fewer: how much longer an event of a slot that moves waits than
those of slots that stay, and what is lost, out of order or handled twice.
"""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import ray_scale_app
from benchmarks.checkers import Checker
from benchmarks.live import Load
from benchmarks.ray_app import DSN
from benchmarks.recovery import ACCOUNTS, HANDLED, RATE, Plain
from benchmarks.report import Bar, Options, Report, console
from benchmarks.servers import connected, fresh_database, server_version
from benchmarks.workload import CONTEXT, Bookings, account, load
from wow_ray.actors.connecting import connected as connected_to_ray
from wow_ray.actors.deployment import Deployment
from wow_ray.actors.fleet import LEDGER, SUPERVISOR
from wow_ray.adapters.clock import SystemClock
from wow_ray.adapters.postgres import Database, open_client_stores
from wow_ray.cli.run_site import AppSite
from wow_ray.cluster import open_control, open_operations
from wow_ray.ops import Operations
from wow_ray.policy.plan import Plan, spread
from wow_ray.policy.slots import slot_of
from wow_ray.ports.plans import Plans
from wow_ray.runtime.joining import LAST_LOOK

if TYPE_CHECKING:
    from wow_ray.actors.edge import RayFleet

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 180.0
CALM = 4.0
"""Seconds of load before and between changes, in which nothing moves."""
WINDOW = 0.5
"""Seconds within which events are compared."""
SEVERAL = 4
"""Partitions whose rate is compared with that of one."""
EACH = 10
"""Events of an account in the bulk, on average."""


@dataclass(frozen=True)
class Change:
    """One change, by the machine's clock: from the request until everybody had what the plan names; the moved slots."""

    began: float
    ended: float
    moved: frozenset[int]

    def meets(self, sent: float, at: float) -> bool:
        """Tell whether an event waited while it was made."""
        return self.began <= at and sent <= self.ended


@dataclass
class Place:
    """The app that is scaled, and what was found of it."""

    fleet: "RayFleet"
    operations: Operations
    deployment: Deployment
    plans: Plans
    database: Database
    plain: Plain
    partitions: int = 1
    stood: float = 0.0
    took: float = 0.0
    """The longest times for which a slot stood still where it left, and which taking it over took."""
    changes: list["Change"] = field(default_factory=list)

    async def scale(self, partitions: int) -> None:
        """Have so many partitions, and wait until it is done."""
        began, before = time.monotonic(), await self.owners()
        asked = await self.operations.scaling.scale(partitions)
        looking = asyncio.ensure_future(self.look(max(partitions, self.partitions)))
        settled = await self.operations.scaling.settled(lambda _: None, PATIENCE)
        looking.cancel()
        if settled.waiting:
            raise TimeoutError(f"{settled.waiting} slots have not moved within {PATIENCE:g} s")
        ended, after = time.monotonic(), await self.owners()
        self.changes.append(Change(began, ended, frozenset(slot for slot in after if after[slot] != before[slot])))
        console.print(f"{partitions} partitions: {asked.waiting} slots moved within {ended - began:.1f} s")
        self.partitions = partitions
        async with asyncio.timeout(PATIENCE):
            while True:
                if len(await self.fleet.names() - {SUPERVISOR, LEDGER}) == partitions:
                    return
                await asyncio.sleep(0.1)

    async def look(self, partitions: int) -> None:
        """Ask all partitions, also those that are to end, how long a slot stood still there, until cancelled."""
        while True:
            plan = Plan(1, "", spread(CONTEXT, partitions, self.database.slots))
            for each in (await self.deployment.standing(plan)).values():
                if each is not None:
                    self.stood = max(self.stood, float(each["moves"]["stood"]))
                    self.took = max(self.took, float(each["moves"]["took"]))
            await asyncio.sleep(0.1)

    async def owners(self) -> dict[int, str]:
        """Give the partition that is to own each slot."""
        plan = await self.plans.present()
        return {} if plan is None else plan.owners()

    async def handled(self) -> int:
        """Count what the partitions' processes have handled since they started."""
        found = await self.deployment.standing(Plan(1, "", spread(CONTEXT, self.partitions, self.database.slots)))
        return sum(group["handled"] for each in found.values() if each is not None for group in each["groups"].values())

    async def read(self, prefix: str, seed: int, events: int) -> float:
        """Fill the log and have it read; answers the events a second, from the first that is handled to the last."""
        before = await self.handled()
        filling = asyncio.ensure_future(load(self.database, Bookings(seed, events // EACH, prefix), events - 1))
        first, began = 0, 0.0
        async with asyncio.timeout(PATIENCE):
            while (done := await self.handled() - before) < events:
                if done and not began:
                    first, began = done, time.monotonic()
                await asyncio.sleep(0.02)
            ended = time.monotonic()
            await filling
        rate = (events - first) / (ended - began)
        console.print(f"{events:,} events read: {rate:,.0f}/s")
        return rate


async def run(options: Options) -> Report:
    """Read, scale under load, read."""
    events = options.size(60_000, 200_000)
    steps = (2, SEVERAL) if options.quick else (SEVERAL, 16, 1, SEVERAL)
    async with fresh_database(CONTEXT) as database:
        async with connected(database) as plain:
            await plain.execute(ray_scale_app.TABLE)
        os.environ[DSN] = database.dsn
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        console.print("starting Ray")
        # Ray tells of processes that ended on standard output, which is for the result alone.
        with redirect_stdout(sys.stderr), connected_to_ray(ROOT, cpus=4):
            async with _place(database) as place:
                one = await place.read("b", options.seed, events)
                bookings = await _scaled(place, database, options.seed, steps)
                several = await place.read("c", options.seed + 1, events)
                figures = await _figures(place, bookings)
        postgres = await server_version(database)
    figures |= {"one_partition_per_s": one, "partitions_per_s": several, "partitions_ratio": several / one}
    return _report(options, steps, postgres, figures)


@asynccontextmanager
async def _place(database: Database) -> AsyncIterator[Place]:
    """Bring the app up with one partition."""
    from wow_ray.actors.edge import RayFleet  # noqa: PLC0415 - Ray reads the environment when it is loaded

    fleet = RayFleet(AppSite("benchmarks.ray_scale_app:app", CONTEXT, "bench"))
    async with AsyncExitStack() as stack:
        control = await stack.enter_async_context(open_control(database))
        operations = await stack.enter_async_context(open_operations(database))
        plain = await stack.enter_async_context(connected(database))
        deployment = Deployment(fleet.site, fleet, console.print)
        await deployment.up(control, 1)
        try:
            yield Place(fleet, operations, deployment, control.plans, database, plain)
        finally:
            await deployment.down(control)


async def _scaled(place: Place, database: Database, seed: int, steps: Sequence[int]) -> Bookings:
    """Change the number of partitions again and again while events come steadily, and wait until all are handled."""
    async with open_client_stores(database, SystemClock()) as client:
        steady = Load(client.events, Bookings(seed, ACCOUNTS), RATE)
        loading = asyncio.ensure_future(steady.run())
        try:
            for partitions in steps:
                await asyncio.sleep(CALM)
                await place.scale(partitions)
            await asyncio.sleep(CALM)
            steady.stop()
            await loading
        finally:
            loading.cancel()
            with suppress(asyncio.CancelledError):
                await loading
    async with asyncio.timeout(PATIENCE):
        while True:
            if await place.plain.fetchval(HANDLED) >= steady.bookings.made.total():
                return steady.bookings
            await asyncio.sleep(0.1)


async def _figures(place: Place, bookings: Bookings) -> dict[str, float]:
    """Judge the calls in the order in which they were written down."""
    checker, waits = Checker(), []
    for row in await place.plain.fetch("select account, number, sent, at from calls order by call"):
        checker.saw(row["account"], row["number"])
        waits.append((slot_of(CONTEXT, account.name, row["account"], place.database.slots), row["sent"], row["at"]))
    busy = [any(change.meets(sent, at) for change in place.changes) for _, sent, at in waits]
    return {
        "changes_count": len(place.changes),
        "events_count": bookings.made.total(),
        "change_most_s": max(change.ended - change.began for change in place.changes),
        "stood_still_most_s": place.stood,
        "taking_over_most_s": place.took,
        "stall_most_s": place.stood + LAST_LOOK + place.took,
        "wait_beyond_others_most_s": max(_beyond(change, waits) for change in place.changes),
        "wait_while_moving_most_s": max(at - sent for (_, sent, at), yes in zip(waits, busy, strict=True) if yes),
        "wait_else_most_s": max(at - sent for (_, sent, at), yes in zip(waits, busy, strict=True) if not yes),
        "lost_count": checker.lost(bookings.made),
        "out_of_order_count": checker.out_of_order,
        "repeats_count": checker.duplicates,
    }


def _beyond(change: Change, waits: Sequence[tuple[int, float, float]]) -> float:
    """Give what an event of a slot that moved waited longer, at most, than any of the slots that stayed at that time.

    Starting processes delays everybody; only what a slot that moves has of its own is its standing still.
    """
    stayed: dict[int, float] = {}
    for slot, sent, at in waits:
        if slot not in change.moved and change.meets(sent, at):
            window = int(sent / WINDOW)
            stayed[window] = max(stayed.get(window, 0.0), at - sent)
    return max(
        (
            at - sent - max(stayed.get(int(sent / WINDOW) + near, 0.0) for near in (-1, 0, 1))
            for slot, sent, at in waits
            if slot in change.moved and change.meets(sent, at)
        ),
        default=0.0,
    )


def _report(options: Options, steps: Sequence[int], postgres: str, figures: dict[str, float]) -> Report:
    """Judge."""
    bars = {
        "stall": Bar("stall_most_s", "<=", 1.0),
        "lost": Bar("lost_count", "==", 0),
        "out_of_order": Bar("out_of_order_count", "==", 0),
        "repeats": Bar("repeats_count", "==", 0),
        "throughput": Bar("partitions_ratio", ">=", 1.3),
    }
    workload = (
        f"1 → {' → '.join(map(str, steps))} partitions on Ray while {RATE} events a second come for {ACCOUNTS} "
        f"aggregates, each call one insert; one and {SEVERAL} partitions read a log that is there already"
    )
    return Report("scale", workload, options.seed, postgres, figures, bars)
