"""Handlers that are renamed or gone, events that cannot be read: rows are kept, no retries burn (P14, S20, H28, L5)."""

from __future__ import annotations

import pytest

from tests.unit.parking.desk import MAILER, Desk, Moved, Noted, Sums, Trouble, moves, order, shop
from tests.unit.parking.process import Process
from tests.unit.parking.world import World
from wow_ray import App, ConflictError, Event, ProjectContext, ReactContext, on_event
from wow_ray.policy.parked import Reason, State, Verb

A = order("a")
ONCE = {"subscription": {"retry": {"max_attempts": 1}}}


class Renamed:
    """The mailer, with its function renamed and the old name given as an alias."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    @on_event(aliases=["on_moved"])
    async def on_it_moved(self, event: Event[Moved], ctx: ReactContext) -> None:
        """Send a mail."""
        await self.desk.work("Mailer.on_it_moved", event, ctx)


class Forgotten:
    """The mailer, with its function renamed and no alias."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    @on_event
    async def on_it_moved(self, event: Event[Moved], ctx: ReactContext) -> None:
        """Send a mail."""
        await self.desk.work("Mailer.on_it_moved", event, ctx)


def renamed(cls: type) -> App:
    """Make the app of the next release."""
    app = App("shop")
    app.reactor(name="Mailer")(cls)
    return app


async def parked(world: World) -> None:
    """Have A parked at its second event by the old release."""
    world.desk.always("a", 2, Trouble("no"))
    await moves(world.store, A, 3)
    async with Process(world, shop(), settings=ONCE) as process:
        await process.advance(1)
    world.desk.forgive()


async def test_a_renamed_handler_takes_over_progress_and_rows_once() -> None:
    """L5, S20, P14: with an alias it goes on where the old one was, takes the parked row, and begins at no end."""
    world = World(slots=1)
    await parked(world)
    await moves(world.store, "b")
    async with Process(world, renamed(Renamed), settings=ONCE) as process:
        await process.advance(1)
        (row,) = await world.rows()
        assert (row.group, row.subscription) == ("Mailer.on_it_moved", "Mailer.on_it_moved")
        await process.apply(Verb.RESUME, "Mailer.on_it_moved", A)
        await process.advance(1)
    assert world.desk.versions("a", "Mailer.on_it_moved") == [2, 3]
    assert world.desk.versions("b", "Mailer.on_it_moved") == [1]


async def test_the_key_of_a_call_stays_when_its_handler_is_renamed() -> None:
    """H28, L1: what is retried under the new name carries the key of the first attempt."""
    world = World(slots=1)
    await parked(world)
    async with Process(world, renamed(Renamed), settings=ONCE) as process:
        await process.advance(290)
        await moves(world.store, "b")
        await process.advance(1)
    keys = {call.key for call in world.desk.calls if (call.id, call.version) == ("a", 2)}
    assert keys == {f"{MAILER}:a@2:0"}
    assert world.desk.calls[-1].key == f"{MAILER}:b@1:0"


async def test_a_row_whose_handler_is_gone_is_kept_and_burns_nothing() -> None:
    """S20, P14: no alias: the row stays, days of due retries cost none of the ten, a resume is refused and says why."""
    world = World(slots=1)
    await parked(world)
    (before,) = await world.rows()
    async with Process(world, renamed(Forgotten), settings=ONCE) as process:
        await process.advance(3 * 86_400)
        assert await world.rows() == [before]
        with pytest.raises(ConflictError, match=r"no_handler: this program has no group 'Mailer\.on_moved'"):
            await process.apply(Verb.RESUME, MAILER, A)
        assert await world.rows() == [before]
    assert world.desk.versions("a", "Mailer.on_it_moved") == []


async def test_an_alias_that_comes_one_release_late_takes_over_nothing_and_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """S20, P14, L5: the new name has progress of its own by then; the row is kept for a release with the old name."""
    world = World(slots=1)
    await parked(world)
    (before,) = await world.rows()
    async with Process(world, renamed(Forgotten), settings=ONCE) as process:
        await process.advance(86_400)
    async with Process(world, renamed(Renamed), settings=ONCE) as process:
        await process.advance(1)
        assert "comes too late" in caplog.text
        assert await world.rows() == [before]


async def test_a_row_found_running_whose_handler_is_gone_burns_nothing() -> None:
    """P14, H5: killed inside the parked retry, then a release without the handler: none of the ten is gone for that."""
    world = World(slots=1)
    world.desk.then("a", 2, Trouble("no"), 100.0)
    await moves(world.store, A, 3)
    async with Process(world, shop(), settings=ONCE) as process:
        while len(world.desk.times("a", 2)) < 2:
            await process.advance(30)
        await process.kill()
    async with Process(world, renamed(Forgotten), settings=ONCE) as process:
        await process.advance(86_400)
    (row,) = await world.rows()
    assert row.state in {State.RETRYING, State.PARKED}
    assert row.retries <= 1


class Shorter:
    """The sums, without the handler of notes."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    @on_event
    async def on_moved(self, event: Event[Moved], ctx: ProjectContext) -> None:
        """Count the move."""
        await self.desk.work("Sums.on_moved", event, ctx)


async def test_a_handler_gone_from_its_projection_burns_nothing_either() -> None:
    """P14, H5, H10: killed in the retry of a note; the next release has the projection without that handler."""
    world = World(slots=1)
    world.desk.then("a", 1, Trouble("no"), 100.0, handler="Sums.on_noted")
    await world.store.append(A, [Noted()], expected_version=None)
    async with Process(world, shop(Sums), settings=ONCE) as process:
        while len(world.desk.times("a", 1, "Sums.on_noted")) < 2:
            await process.advance(30)
        await process.kill()
    app = App("shop")
    app.projection(name="Sums")(Shorter)
    async with Process(world, app, settings=ONCE) as process:
        await process.advance(86_400)
    (row,) = await world.rows()
    assert row.state is not State.EXHAUSTED
    assert row.retries <= 1
    async with Process(world, shop(Sums), settings=ONCE) as process:
        await process.advance(86_400)
    assert [row.state for row in await world.rows()] == [State.RESOLVED]


async def test_an_event_that_cannot_be_read_parks_its_aggregate_without_a_call() -> None:
    """S21, P14: B is handled; A stops at the unreadable event, without a call; a deploy and a resume help."""
    world = World(slots=1)
    await moves(world.store, A, 3)
    await moves(world.store, "b", 1)
    log = world.memory._server.log  # noqa: SLF001 - no producer of ours appends this
    broken = log.streams["order", "a"][1]
    damaged = broken._replace(payload='{"weigh')
    log.streams["order", "a"][1] = damaged
    log.events[0][broken.position - 1] = damaged
    async with Process(world, shop()) as process:
        await process.advance(86_400)
        assert world.desk.versions("a") == [1]
        assert world.desk.versions("b") == [1]
        (row,) = await world.rows()
        assert (row.state, row.reason, row.stopped, row.attempts) == (State.EXHAUSTED, Reason.UNDECODABLE, (2, 0), 0)
        log.streams["order", "a"][1] = broken
        log.events[0][broken.position - 1] = broken
        await process.apply(Verb.RESUME, MAILER, A)
        await process.advance(1)
    assert world.desk.versions("a") == [1, 2, 3]


async def test_the_same_release_again_renames_nothing() -> None:
    """L5: an alias that was taken over once stays taken over; a restart changes no row."""
    world = World(slots=1)
    await parked(world)
    for _ in range(3):
        async with Process(world, renamed(Renamed), settings=ONCE) as process:
            await process.advance(0.5)
    (row,) = await world.rows()
    assert row.group == "Mailer.on_it_moved"
    assert row.etag == 1
