"""Whatever happens in whatever order: each aggregate's events are done in order, without gaps, and all of them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.runtime.desk import CarrierDown, Desk, Paid, Shipped, UnknownBuyer, crash, scenario
from tests.unit.runtime.luck import IDS, Count, Luck
from wow_ray import App, Context, Event, ProjectContext, StateEvent, on_event, retry
from wow_ray.adapters.memory import MemoryStore
from wow_ray.testing import Running
from wow_ray.testing.connection import RecordingDatabase

SEEDS = 8
"""Few enough for every run; raise it for a search."""

Place = tuple[int, int]


class Memory(Desk):
    """A desk that also remembers what its processors were given and have done."""

    def __init__(self) -> None:
        """Begin with nothing."""
        super().__init__()
        self.reacted: list[tuple[str, Place]] = []
        self.states: list[tuple[str, Place, int]] = []


writing = App("shop")
"""A projection of two handlers, one of which wants the state: rows are written exactly once."""

reacting = App("shop")
"""A reactor whose two handlers are one group: calls are repeated only after a crash."""


@writing.projection
@retry(unrecoverable=[UnknownBuyer], systemic=[CarrierDown])
class Book:
    """Writes one row for each event."""

    def __init__(self, desk: Desk) -> None:
        """Take the desk."""
        assert isinstance(desk, Memory)
        self.desk = desk

    @on_event
    async def on_paid(self, event: StateEvent[Count, Paid], ctx: ProjectContext) -> None:
        """Write, note the state, carry out."""
        self.desk.states.append((event.ref.id, (event.version, event.sequence), event.state.events))
        await self.write(event, ctx)

    @on_event
    async def on_shipped(self, event: Event[Shipped], ctx: ProjectContext) -> None:
        """Write, carry out."""
        await self.write(event, ctx)

    async def write(self, event: Event[Any], ctx: ProjectContext) -> None:
        """Do what both do."""
        await ctx.connection.execute("insert", event.ref.id, event.version, event.sequence)
        await self.desk.handle(event, ctx)


@reacting.reactor(together=True, start="beginning")
@retry(unrecoverable=[UnknownBuyer], systemic=[CarrierDown])
class Both:
    """Remembers each event that it has done."""

    def __init__(self, desk: Desk) -> None:
        """Take the desk."""
        assert isinstance(desk, Memory)
        self.desk = desk

    @on_event
    async def on_paid(self, event: Event[Paid], ctx: Context) -> None:
        """Carry out."""
        await self.do(event, ctx)

    @on_event
    async def on_shipped(self, event: Event[Shipped], ctx: Context) -> None:
        """Carry out."""
        await self.do(event, ctx)

    async def do(self, event: Event[Any], ctx: Context) -> None:
        """Do what both do."""
        await self.desk.handle(event, ctx)
        self.desk.reacted.append((event.ref.id, (event.version, event.sequence)))


def at_rest(running: Running) -> None:
    """Check that nothing is left in memory of what is done: no lane, permit, open position or held aggregate."""
    for partition in running.service.partitions:
        assert partition.drains.active == 0
        for group in partition.groups.values():
            assert (group.open, group.running, group.drains_running, len(group.lanes)) == (0, 0, 0, 0)
            assert not group.paused
            assert not group.stuck
            for slot in partition.slots.values():
                assert not slot.held[group.number]
                assert not slot.progress[group.number].unfinished


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize(("app", "group"), [(writing, "Book"), (reacting, "Both")], ids=["projection", "reactor"])
async def test_every_event_is_done_in_order_whatever_happens(seed: int, app: App, group: str) -> None:
    """P1, P5, P11, L1, L2, H2, H3, H4, H5, H21, H25, S07, S08, S09, S12: the contract's core, by luck.

    Failures of all kinds, calls that end late or not at all, store faults with and without effect, resumes, parks on
    purpose, overflows, stops and crashes, one partition or two, one permit or many. A version is only ever repeated
    after it was done, none is left out; rows are written exactly once; every state is that of its event; and at the
    end nothing is left in memory.
    """
    desk, database = Memory(), RecordingDatabase()
    luck = Luck(seed, desk, (group,))
    options: dict[str, Any] = {
        "connect": database.connect,
        "slots": 4,
        "partitions": luck.chance.choice([1, 2]),
        "settings": {"subscription": {"retry": {"timeout": "3s"}, "concurrency": luck.chance.choice([1, 2, 32])}},
    }
    memory: MemoryStore | None = None
    for _ in range(5):
        async with scenario(app, desk, memory=memory, **options) as running:
            await luck.live(running)
            if luck.chance.random() < 0.5:
                await crash(running)
        memory = await luck.after(running)
    async with scenario(app, desk, memory=memory, **options) as running:
        await luck.settle(running)
        assert await running.parked() == []
        assert running.memory.open_transactions == 0
        at_rest(running)

    written = [statement.arguments for statement in database.committed]
    for each in IDS:
        expected = luck.appended[each]
        if app is writing:
            assert [(version, sequence) for name, version, sequence in written if name == each] == expected
        else:
            check_order([place for name, place in desk.reacted if name == each], expected)
        for place, events in [(place, events) for name, place, events in desk.states if name == each]:
            assert events == expected.index(place) + 1
        assert desk.most_running.get(each, 0) <= 1


def check_order(done: list[Place], expected: list[Place]) -> None:
    """Check that all were done, each for the first time right after the one before it."""
    assert sorted(set(done)) == expected
    assert list(dict.fromkeys(done)) == expected
