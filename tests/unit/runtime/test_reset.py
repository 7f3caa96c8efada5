"""A projection begins anew: its progress, its rows, its own hook, and nobody else's (L6, H13, S91)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from wow_ray import Aggregate, App, ConflictError, Event, ProjectContext, on_event, retry
from wow_ray.policy.parked import State, Verb
from wow_ray.ports.ledger import NewIntent
from wow_ray.testing import Scenario
from wow_ray.testing.clock import at_rest

order = Aggregate("order")


@order.event("paid")
class Paid(BaseModel, frozen=True):
    """An order was paid."""

    cents: int = 1


class World:
    """What the handlers reach: who was called, who refuses, who waits."""

    def __init__(self) -> None:
        self.totals: list[tuple[str, int]] = []
        self.mails: list[tuple[str, int]] = []
        self.emptied = 0
        self.refused: set[str] = set()
        self.hook_fails = False
        self.door: asyncio.Event | None = None


def shop() -> App:
    """Make an app of one projection with a hook, one reactor and one other projection."""
    app = App("shop")

    @app.projection
    @retry(max_attempts=1)
    class Totals:
        def __init__(self, world: World) -> None:
            self.world = world

        @on_event
        async def on_paid(self, event: Event[Paid], ctx: ProjectContext) -> None:
            if self.world.door is not None:
                await self.world.door.wait()
            assert ctx.attempt == 1
            if event.ref.id in self.world.refused:
                raise ValueError(event.ref.id)
            self.world.totals.append((event.ref.id, event.version))

        async def on_reset(self, connection: Any) -> None:  # noqa: ANN401 - the driver's own
            if self.world.hook_fails:
                raise RuntimeError("the table is locked")
            await connection.execute("truncate totals")
            self.world.totals.clear()
            self.world.emptied += 1

    @app.reactor(start="beginning")
    class Mails:
        def __init__(self, world: World) -> None:
            self.world = world

        @on_event
        async def on_paid(self, event: Event[Paid]) -> None:
            self.world.mails.append((event.ref.id, event.version))

    return app


async def pay(running: Any, *ids: str) -> None:  # noqa: ANN401 - a Running
    """Append one event for each id, in order."""
    for each in ids:
        await running.store.append(order(each), [Paid()], expected_version=None)


async def test_a_reset_calls_the_projection_again_from_the_beginning_and_nobody_else() -> None:
    """L6, S91: the hook runs once, every event is handled again in order, the reactor sees nothing of it."""
    world = World()
    async with Scenario(shop(), {World: world}) as running:
        await pay(running, "a", "b", "a")
        await running.advance("1s")
        before = list(world.mails)
        await running.reset("Totals", reason="a column was added")
        await running.advance("1s")
        assert world.emptied == 1
        assert sorted(world.totals) == [("a", 1), ("a", 2), ("b", 1)]
        assert world.mails == before
        await pay(running, "a")
        await running.advance("1s")
        assert world.totals[-1] == ("a", 3)


async def test_a_reset_closes_the_rows_whose_events_are_handled_again() -> None:
    """H13: an aggregate parked at 2 is handled from 1 again, and its row has ended as reset."""
    world = World()
    async with Scenario(shop(), {World: world}) as running:
        await pay(running, "a")
        await running.advance("1s")
        world.refused.add("a")
        await pay(running, "a", "a")
        await running.advance("1s")
        assert [row.stopped_version for row in await running.rows()] == [2]
        world.refused.clear()
        await running.reset("Totals", reason="the sums were wrong")
        await running.advance("1s")
        assert [row.state for row in await running.rows()] == [State.RESET]
        assert world.totals == [("a", 1), ("a", 2), ("a", 3)]


async def test_a_reset_waits_for_calls_under_way_and_is_not_undone_by_them() -> None:
    """L6, H13: the old run's call ends first; what it did is before the hook, never after it."""
    world = World()
    async with Scenario(shop(), {World: world}) as running:
        world.door = asyncio.Event()
        await pay(running, "a")
        await running.advance("1s")
        asked = NewIntent("q", Verb.RESET, "Totals", 0, "", "", None, None, None, "ann", "in the middle of a call")
        await running.service.client.ledger.ask(asked)
        await running.advance("1s")
        assert world.emptied == 0
        world.door.set()
        await running.advance("1s")
        assert (world.emptied, world.totals) == (1, [("a", 1)])


async def test_a_reset_whose_hook_fails_changes_nothing() -> None:
    """L6: one transaction; the operator is told why, and the projection goes on where it was."""
    world = World()
    async with Scenario(shop(), {World: world}) as running:
        await pay(running, "a")
        await running.advance("1s")
        world.hook_fails = True
        with pytest.raises(ConflictError, match="the table is locked"):
            await running.reset("Totals", reason="as before")
        await pay(running, "a")
        await running.advance("1s")
        assert world.totals == [("a", 1), ("a", 2)]


async def test_a_reactor_cannot_be_reset() -> None:
    """L6: reactors never fire for a replay."""
    async with Scenario(shop(), {World: World()}) as running:
        with pytest.raises(ConflictError, match="only a projection"):
            await running.reset("Mails.on_paid", reason="a mistake")


async def test_a_reset_outlives_a_restart() -> None:
    """H13: the new marks are what the next owner loads."""
    world = World()
    scenario = Scenario(shop(), {World: world})
    async with scenario as running:
        await pay(running, "a", "b")
        await running.advance("1s")
        await running.reset("Totals", reason="rebuilt")
        await running.advance("1s")
        world.totals.clear()
    async with Scenario(shop(), {World: world}, memory=scenario.memory, clock=scenario.clock) as running:
        await pay(running, "a")
        await running.advance("1s")
        assert world.totals == [("a", 2)]


async def test_two_resets_at_once_are_carried_out_one_after_the_other() -> None:
    """L6, H13, P10: asked twice under two ids; each stands still by itself, all is handled after the last."""
    world = World()
    async with Scenario(shop(), {World: world}) as running:
        await pay(running, *["a"] * 100)
        await running.advance("1s")
        for request in ("q-1", "q-2"):
            asked = NewIntent(request, Verb.RESET, "Totals", 0, "", "", None, None, None, "ann", "clicked twice")
            await running.service.client.ledger.ask(asked)
        await running.advance("2s")
        assert world.emptied == 2
        assert world.totals == [("a", version) for version in range(1, 101)]
        assert [row.state for row in await running.rows() if row.state not in {State.RESET, State.RESOLVED}] == []


async def test_a_commit_that_is_cancelled_says_everything_the_next_time() -> None:
    """P2, P11, H26: a park whose commit was cut off is in the store with the next one, and its events are not lost."""
    world = World()
    world.refused.add("a")
    async with Scenario(shop(), {World: world}) as running:
        (partition,) = running.service.partitions
        async with running.memory.gate("slots.commit") as gate:
            await pay(running, "a", "a")
            running.service.wake()
            while not partition.slots or not any(slot.rows for slot in partition.slots.values()):
                await at_rest()
            flushing = asyncio.ensure_future(partition.commits.flush())
            await gate.reached()
            flushing.cancel()
            await asyncio.gather(flushing, return_exceptions=True)
        await running.advance("1s")
        (row,) = await running.parked()
        world.refused.clear()
        await running.resume(row, reason="repaired")
        await running.advance("1s")
        assert world.totals == [("a", 1), ("a", 2)]
