"""One day of the shop: deliveries, orders, a blow, trouble, repairs, closing; and what is known of it in the end."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import asyncpg

from examples.shop.demo.blow import Blow, recovered, strike
from examples.shop.demo.crew import Crew, working
from examples.shop.demo.customers import Plan
from examples.shop.demo.desk import Desk
from examples.shop.demo.postgres import Place
from examples.shop.demo.proof import Evidence, Skipped, place_of
from examples.shop.demo.screen import Screen, Standing
from examples.shop.demo.witness import Witness
from examples.shop.shop import app, order
from examples.shop.world import World
from wow_ray.cluster import SystemClock
from wow_ray.ops import ParkedView
from wow_ray.ports.event_log import EventStore

AT_ONCE = 20
"""Orders appended together."""
PAUSE = 0.05
"""Seconds between two such appends."""
PATIENCE = 150.0
"""Seconds within which everything that can be handled is handled, on any machine."""
LOOK = 0.2
"""Seconds between two looks at how far it is."""
MIDDLE = 0.4
"""The share of all that is to be handled after which a process is killed."""


class Day:
    """The day and its people."""

    def __init__(self, plan: Plan, place: Place, world: World, witness: Witness, screen: Screen) -> None:
        """Prepare; nothing has begun."""
        self.plan = plan
        self.place = place
        self.world = world
        self.witness = witness
        self.screen = screen
        self.clock = SystemClock()
        self.seconds = 0.0
        """How long it was open."""
        self.parked: Counter[str] = Counter()
        self.resumed: Counter[str] = Counter()
        """Aggregates that were parked and resumed, by subscription."""
        self.skipped: Skipped = frozenset()
        self._appended = 0
        self._opened = 0.0

    async def live(self) -> Evidence:
        """Live through it, from the first delivery to the closing; answers what the checker is to look at."""
        async with app.connect(self.place.database.dsn) as client:
            await client.store.append_many(self.plan.deliveries)
        self._appended = len(self.plan.deliveries)
        self.screen.say(f"{self._appended} deliveries lie in the log already. The processes of the shop start.")
        async with working(self.place) as crew:
            self._opened = self.clock.monotonic()
            self.screen.say(f"{len(crew.plan.partitions)} partitions run, a process each. The orders come in.")
            with self.screen.following():
                blow = await self._trade(crew)
            await self._repair(crew)
            with self.screen.following():
                await self._follow(crew.desk, 0)
            self.seconds = self.clock.monotonic() - self._opened
            evidence = await self._evidence(crew, blow)
        return await self._reopened(evidence)

    async def _reopened(self, evidence: Evidence) -> Evidence:
        """Open once more, with new processes and nothing new to do."""
        self.screen.say("The shop is closed: everything is drained, every process ended. It opens once more.")
        self.witness.look()
        calls = self.witness.calls.total()
        async with working(self.place) as crew:
            await self.clock.sleep(1.0)
            status = await crew.desk.operations.status()
        self.witness.look()
        restarted = self.witness.calls.total() - calls
        left = status.lag + sum(status.open_rows.values())
        return replace(evidence, left=left, calls_after_restart=restarted)

    async def _trade(self, crew: Crew) -> Blow:
        """Take the orders, and follow until everything is handled that can be without help."""
        taking = asyncio.ensure_future(self._take(crew.store))
        hitting = asyncio.ensure_future(self._hit(crew))
        try:
            await self._follow(crew.desk, self.plan.blocked())
            await taking
            return await hitting
        finally:
            for task in (taking, hitting):
                task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(taking, hitting)

    async def _hit(self, crew: Crew) -> Blow:
        """Kill a process in the middle of it all, and tell when another one goes on."""
        middle = MIDDLE * sum(self.plan.wanted().values())
        while self.witness.handled.total() < middle:
            await self.clock.sleep(LOOK)
        blow = await strike(crew, self.clock)
        self.screen.alarm(
            f"Process {blow.pid} of {blow.partition}, owner of {len(blow.slots)} slots, is killed: SIGKILL."
        )
        blow = await recovered(blow, crew, self.witness, self.clock)
        if blow.successor:
            self.screen.alarm(
                f"Process {blow.successor} of {blow.partition} handles again {blow.seconds:.1f} s after that; "
                f"meanwhile the other partition handled {blow.meanwhile} events."
            )
        return blow

    async def _take(self, store: EventStore) -> None:
        for first in range(0, len(self.plan.orders), AT_ONCE):
            commits = [commit for each in self.plan.orders[first : first + AT_ONCE] for commit in each]
            await store.append_many(commits)
            self._appended += len(commits)
            await self.clock.sleep(PAUSE)

    async def _repair(self, crew: Crew) -> None:
        """Set right what no retry can and resume it; pass over what stays wrong for good."""
        desk = crew.desk
        rows = await desk.look()
        self.parked.update(row.subscription for row in rows)
        self.screen.say(f"{len(rows)} aggregates are parked and hold their later events; everything else is handled:")
        self.screen.parked(rows)
        self.world.repair(except_buyers=self.plan.gone)
        buyers = self.plan.buyers()
        gone = [row for row in rows if row.aggregate == order.name and buyers[row.aggregate_id] in self.plan.gone]
        curable = [row for row in rows if row not in gone]
        self.screen.say(f"Labels and addresses are repaired: {len(curable)} are resumed, {len(gone)} are skipped.")
        await desk.resume(curable, "labels printed anew, addresses found")
        self.resumed.update(row.subscription for row in curable)
        for row, through in await desk.skip(gone, "this buyer is gone for good"):
            self.skipped |= await _passed_over(crew.store, row, through)

    async def _follow(self, desk: Desk, left: int) -> None:
        """Show how it goes on until only so many events are left; after `PATIENCE` the checker says what is wrong."""
        until = self.clock.monotonic() + PATIENCE
        while self.clock.monotonic() < until:
            rows = await desk.look()
            standing = self._standing(rows)
            self.screen.show(standing)
            waiting = sum(standing.wanted.values()) - sum(standing.handled.values()) - len(self.skipped)
            if waiting <= left and (left or not rows):
                return
            await self.clock.sleep(LOOK)

    def _standing(self, rows: Sequence[ParkedView]) -> Standing:
        self.witness.look()
        return Standing(
            wanted=self.plan.wanted(),
            handled=self.witness.handled,
            calls=self.witness.calls,
            failed=self.witness.failed,
            parked=Counter(row.subscription for row in rows),
            appended=self._appended,
            seconds=self.clock.monotonic() - self._opened,
        )

    async def _evidence(self, crew: Crew, blow: Blow) -> Evidence:
        log = [event for ref in self.plan.refs() async for event in crew.store.stream(ref)]
        connection = await asyncpg.connect(self.place.database.dsn)
        try:
            sales = await connection.fetch("select order_id, cents, parcels, shipped from sales")
            stock = await connection.fetch("select article, level from stock")
        finally:
            await connection.close()
        return Evidence(
            plan=self.plan,
            spec=crew.spec,
            log=log,
            witness=self.witness,
            world=self.world,
            blow=blow,
            skipped=self.skipped,
            sales={row["order_id"]: (row["cents"], row["parcels"], row["shipped"]) for row in sales},
            stock={row["article"]: row["level"] for row in stock},
        )


async def _passed_over(store: EventStore, row: ParkedView, through: int) -> Skipped:
    """Give the events that a skip passed over: from where the row stopped through a version."""
    first = int(row.stopped_at.partition(":")[0])
    return frozenset(
        [
            (row.subscription, place_of(event))
            async for event in store.stream(order(row.aggregate_id), from_version=first)
            if event.type == "order_shipped" and event.version <= through
        ]
    )
