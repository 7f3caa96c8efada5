"""A seeded mixture of everything that can happen to an app, for tests that look at what must hold whatever it was."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pydantic import BaseModel

from tests.unit.runtime.desk import (
    CarrierDown,
    Desk,
    Paid,
    Shipped,
    Step,
    TooBusy,
    UnknownBuyer,
    Unlisted,
    order,
)
from wow_ray import ConflictError, Event, NotFoundError, StoreUnavailableError
from wow_ray.adapters.memory import MemoryStore
from wow_ray.adapters.memory.faults import Operation
from wow_ray.policy.parked import Verb
from wow_ray.testing import Running

IDS = tuple(f"o-{number}" for number in range(6))
GONE = StoreUnavailableError("no answer")
FAILING: tuple[Operation, ...] = (
    "reader.heads",
    "reader.page",
    "reader.streams",
    "drains.streams",
    "slots.commit",
    "ledger.read",
    "effects.begin",
    "effects.commit",
    "effects.settled",
)


class Luck:
    """One seeded run: what was appended, and the dice for everything else."""

    def __init__(self, seed: int, desk: Desk, groups: tuple[str, ...]) -> None:
        """Write forty steps a time down for each order; `groups` are those that operators park in."""
        self.chance = random.Random(seed)  # noqa: S311 - seeded, no secret
        self.desk = desk
        self.groups = groups
        self.appended: dict[str, list[tuple[int, int]]] = {each: [] for each in IDS}
        for each in IDS:
            desk.next(each, *(self._step() for _ in range(40)))

    async def live(self, running: Running) -> None:
        """Let an app live through some turns."""
        for _ in range(self.chance.randrange(3, 12)):
            turn = self.chance.random()
            if turn < 0.5:
                await self._append(running)
            elif turn < 0.6:
                operation, place = self.chance.choice(FAILING), self.chance.random()
                running.memory.fail_next(
                    operation, GONE, self.chance.randrange(1, 4), at="end" if place < 0.5 else "start"
                )
            elif turn < 0.85:
                with suppress(StoreUnavailableError, ConflictError, NotFoundError, KeyError):
                    await self._operate(running)
            await running.advance(f"{self.chance.choice([1, 50, 300, 2_000, 20_000, 70_000])}ms")

    async def after(self, running: Running) -> MemoryStore:
        """See that nothing of a stopped or crashed app is in its successor's way: calls end, its processes are gone."""
        await self.desk.clock.advance(200)
        for partition in running.service.partitions:
            running.memory.lose_lease(partition.owner.id)
        for operation in FAILING:
            running.memory.fail_next(operation, GONE, 0)
            running.memory.fail_next(operation, GONE, 0, at="end")
        return running.memory

    async def settle(self, running: Running) -> None:
        """Let everything be handled: what is written down is forgotten, whoever is parked is resumed."""
        for each in IDS:
            self.desk.drop_steps(each)
        for _ in range(20):
            await running.advance("1m")
            for row in await running.parked():
                if row.state in {"parked", "exhausted"}:
                    with suppress(ConflictError):
                        await running.resume(row, reason="all is well now")
        await running.advance("1h")

    async def _append(self, running: Running) -> None:
        each = self.chance.choice(IDS)
        for _ in range(self.chance.choice([1, 1, 2, 70])):
            events = [self.chance.choice([Paid(), Shipped()]) for _ in range(self.chance.choice([1, 1, 2, 3]))]
            commit = await running.store.append(order(each), events, expected_version=None)
            self.appended[each] += [(commit.version, sequence) for sequence in range(len(events))]

    async def _operate(self, running: Running) -> None:
        rows = await running.parked()
        if rows and self.chance.random() < 0.7:
            verb = self.chance.choice([Verb.RESUME, Verb.RESUME, Verb.RETRY_NOW, Verb.PARK])
            await running.ask(verb, self.chance.choice(rows), reason="try")
        else:
            await running.park(self.chance.choice(self.groups), order(self.chance.choice(IDS)), reason="try")

    def _step(self) -> Step:
        """Throw what a call ends in; about half of them succeed."""
        kinds: list[Callable[[], Step]] = [
            lambda: Unlisted("x"),
            lambda: TooBusy(self.chance.choice([None, "1", "7", "40"])),
            lambda: UnknownBuyer("x"),
            lambda: CarrierDown("x"),
            lambda: self.desk.sleeping(self.chance.uniform(0, 4)),
            lambda: self._stubborn,
            *[lambda: None] * 5,
        ]
        return self.chance.choice(kinds)()

    async def _stubborn(self, event: Event[Any]) -> None:
        """Take a while to end after the timeout, or longer than anybody waits."""
        del event
        try:
            await self.desk.clock.sleep(100)
        except asyncio.CancelledError:
            await self.desk.clock.sleep(self.chance.choice([1, 40]))


@order.state
class Count(BaseModel):
    """How many events an order has had."""

    events: int = 0

    def apply(self, event: Paid | Shipped) -> Count:
        """Count it."""
        del event
        return Count(events=self.events + 1)
