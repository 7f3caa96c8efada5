"""A slot moves between two processes, and either of them is killed inside any operation of the store (L7, H1, H25)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Literal

import pytest

from tests.chaos.network import WatchedStore
from tests.chaos.play import SETTINGS, STOPPED_AT_REST
from tests.chaos.watch import Watch
from tests.unit.parking.desk import COURIER, MAILER, SUMS, Courier, Mailer, Sums, Trouble, moves, shop
from tests.unit.parking.process import HASTY, Process
from tests.unit.parking.world import World
from wow_ray import UnrecoverableHandlingError
from wow_ray.events import AggregateRef
from wow_ray.policy.parked import State, Verb

Side = Literal["giver", "taker"]
NAMES: Mapping[Side, str] = {"giver": "shop-0", "taker": "shop-1"}
MOVED = 1
"""The slot that moves from the giver to the taker; the other one stays."""
ORDERS = ("a", "b", "c", "d")


class Pair:
    """Two processes of one partition each, who follow a plan as their actors do."""

    def __init__(self) -> None:
        self.world = World(slots=2, store=WatchedStore)
        store = self.world.memory
        assert isinstance(store, WatchedStore)
        self.store = store
        self.store.network.jumpy = False
        self.watch = self.store.watch = Watch(self.world)
        self.app = shop(Mailer, Courier, Sums)
        self.there: dict[Side, Process] = {}
        self.plan: dict[Side, frozenset[int]] = {"giver": frozenset({0, 1}), "taker": frozenset()}

    async def start(self, side: Side) -> None:
        """Start one, with what of its share nobody else has."""
        others = {slot for each in self.there.values() for slot in each.partition.slots}
        share = {NAMES[side]: sorted(self.plan[side] - others)}
        process = Process(self.world, self.app, partitions=share, pace=HASTY, settings=SETTINGS)
        self.watch.begins(process.life)
        await process.start()
        self.there[side] = process

    async def follow(self, seconds: float) -> None:
        """Let time pass, while slots move as the plan says and whoever died is started anew after half a second."""
        for _ in range(int(seconds / 0.05)):
            for side, process in list(self.there.items()):
                if process.life.alive:
                    partition = process.partition
                    partition.joining.want(self.plan[side])
                    partition.leaving.want(partition.slots.keys() - self.plan[side])
                    process.service.wake()
                else:
                    del self.there[side]
                    await process.kill()
                    await self.world.clock.advance(0.5)
                    await self.start(side)
            await self.world.clock.advance(0.05)

    async def rest(self) -> None:
        """Let everything come to rest: whoever is parked is resumed."""
        self.world.desk.forgive()
        for _ in range(4):
            await self.follow(1.0)
            await self.world.clock.advance(10.0)
            for row in await self.world.rows(*STOPPED_AT_REST):
                await self.world.ask(Verb.RESUME, row.group, AggregateRef("", row.aggregate, row.aggregate_id))
        await self.follow(2.0)
        self.watch.finish()

    async def end(self) -> None:
        """End both."""
        for process in self.there.values():
            await process.kill()


async def moved(side: Side, operations: int) -> Pair:
    """Move a slot with all kinds of work in it; `side` dies inside its so many-th operation from then on (0 = none)."""
    pair = Pair()
    desk = pair.world.desk
    desk.then("a", 2, UnrecoverableHandlingError("no"))
    desk.always("b", 2, Trouble("no"), handler=COURIER)
    desk.then("c", 5, 0.3)
    desk.then("a", 6, 0.2, handler=COURIER)
    desk.then("d", 2, Trouble("no"), 0.2, handler=f"{SUMS}.on_moved")
    try:
        await pair.start("giver")
        await pair.start("taker")
        for each in ORDERS:
            await moves(pair.world.store, each, 4)
        await pair.follow(0.5)
        for row in await pair.world.rows(State.PARKED, State.EXHAUSTED):
            await pair.world.ask(Verb.RESUME, row.group, AggregateRef("", row.aggregate, row.aggregate_id))
        for each in ORDERS:
            await moves(pair.world.store, each, 2)
        pair.plan = {"giver": frozenset({0}), "taker": frozenset({MOVED})}
        if operations:
            pair.store.network.fuse = (pair.there[side].life, operations)
        await pair.follow(1.0)
        for each in ORDERS:
            await moves(pair.world.store, each, 2)
        await pair.follow(1.0)
        pair.store.network.fuse = None
        await pair.rest()
    finally:
        await pair.end()
    return pair


@pytest.mark.parametrize("side", ["giver", "taker"])
@pytest.mark.parametrize("first", range(1, 41, 10))
def test_a_death_inside_any_operation_of_a_move_loses_and_reorders_nothing(side: Side, first: int) -> None:
    """L7, L2, P11, H1, H4, H5: parked, draining, waiting and called aggregates in it; whoever is left goes on."""
    for operations in range(first, first + 10):
        pair = asyncio.run(moved(side, operations))
        assert pair.watch.faults == [], f"{side} dies in operation {operations}"


def test_a_planned_move_repeats_nothing_and_everybody_has_what_the_plan_says() -> None:
    """L7: without a death no event is handled twice by anybody."""
    pair = asyncio.run(moved("giver", 0))

    assert pair.watch.faults == []
    assert pair.watch.repeats == 0
    assert {side: set(process.partition.slots) for side, process in pair.there.items()} == {
        "giver": {0},
        "taker": {MOVED},
    }
    assert MAILER in {call.subscription for call in pair.world.desk.calls}
