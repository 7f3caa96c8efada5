"""One day of the shop: deliveries, orders, trouble, repairs, closing; and what is known of it in the end."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import asyncpg

from examples.shop.demo.customers import Plan
from examples.shop.demo.desk import Desk
from examples.shop.demo.postgres import Place
from examples.shop.demo.proof import Evidence, Skipped, place_of
from examples.shop.demo.screen import Screen, Standing
from examples.shop.demo.witness import Witness
from examples.shop.shop import Buyers, Carrier, app, order
from examples.shop.world import World
from wow_ray.cluster import SystemClock, database_of, open_operations, open_service, settings_of
from wow_ray.ops import ParkedView
from wow_ray.ports.event_log import EventStore
from wow_ray.runtime.service import Service

PARTITIONS = 2
"""As many as there are cores in a small machine; both run in this process."""
AT_ONCE = 20
"""Orders appended together."""
PAUSE = 0.05
"""Seconds between two such appends."""
PATIENCE = 60.0
"""Seconds within which everything that can be handled is handled, on any machine."""
LOOK = 0.2
"""Seconds between two looks at how far it is."""


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
        async with app.connect(self.place.dsn) as client:
            await client.store.append_many(self.plan.deliveries)
        self._appended = len(self.plan.deliveries)
        self.screen.say(f"{self._appended} deliveries lie in the log already. The handlers start, the orders come in.")
        self._opened = self.clock.monotonic()
        async with self.working() as (service, desk):
            with self.screen.following():
                await self._trade(service, desk)
            await self._repair(service, desk)
            with self.screen.following():
                await self._follow(desk, 0)
            self.seconds = self.clock.monotonic() - self._opened
            evidence = await self._evidence(service)
        calls = self.witness.calls.total()
        async with self.working() as (_, desk):
            await self.clock.sleep(1.0)
            status = await desk.operations.status()
        restarted = self.witness.calls.total() - calls
        left = status.lag + sum(status.open_rows.values())
        return replace(evidence, left=left, calls_after_restart=restarted)

    @asynccontextmanager
    async def working(self) -> AsyncIterator[tuple[Service, Desk]]:
        """Run the shop during the block, with an operator; should it end by itself, so does the block."""
        settings = settings_of(app)
        outside = {Buyers: self.world.mail, Carrier: self.world.depot}
        spec = app.resolved(settings, overridden=outside)
        database = database_of(settings, app.context, dsn=self.place.dsn)
        async with (
            open_service(spec, settings, database, partitions=PARTITIONS, overrides=outside) as service,
            open_operations(database, spec) as operations,
            _until_over(service),
        ):
            yield service, Desk(operations)

    async def _trade(self, service: Service, desk: Desk) -> None:
        """Take the orders, and follow until everything is handled that can be without help."""
        taking = asyncio.ensure_future(self._take(service.client.events))
        try:
            await self._follow(desk, self.plan.blocked())
            await taking
        finally:
            taking.cancel()
            with suppress(asyncio.CancelledError):
                await taking

    async def _take(self, store: EventStore) -> None:
        for first in range(0, len(self.plan.orders), AT_ONCE):
            commits = [commit for each in self.plan.orders[first : first + AT_ONCE] for commit in each]
            await store.append_many(commits)
            self._appended += len(commits)
            await self.clock.sleep(PAUSE)

    async def _repair(self, service: Service, desk: Desk) -> None:
        """Set right what no retry can and resume it; pass over what stays wrong for good."""
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
            self.skipped |= await _passed_over(service.client.events, row, through)

    async def _follow(self, desk: Desk, left: int) -> None:
        """Show how it goes on until only so many events are left; after a minute the checker may say what is wrong."""
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
        return Standing(
            wanted=self.plan.wanted(),
            handled=self.witness.handled,
            calls=self.witness.calls,
            failed=self.witness.failed,
            parked=Counter(row.subscription for row in rows),
            appended=self._appended,
            seconds=self.clock.monotonic() - self._opened,
        )

    async def _evidence(self, service: Service) -> Evidence:
        store = service.client.events
        log = [event for ref in self.plan.refs() async for event in store.stream(ref)]
        connection = await asyncpg.connect(self.place.dsn)
        try:
            sales = await connection.fetch("select order_id, cents, parcels, shipped from sales")
            stock = await connection.fetch("select article, level from stock")
        finally:
            await connection.close()
        return Evidence(
            plan=self.plan,
            spec=service.spec,
            log=log,
            witness=self.witness,
            world=self.world,
            skipped=self.skipped,
            sales={row["order_id"]: (row["cents"], row["parcels"], row["shipped"]) for row in sales},
            stock={row["article"]: row["level"] for row in stock},
        )


@asynccontextmanager
async def _until_over(service: Service) -> AsyncIterator[None]:
    """End the block when the service ends by itself, with its reason."""
    here = asyncio.current_task()
    over = asyncio.ensure_future(service.wait())
    over.add_done_callback(lambda future: here.cancel() if here is not None and not future.cancelled() else None)
    try:
        yield
    except asyncio.CancelledError:
        if over.done():
            await over
        raise
    finally:
        over.cancel()


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
