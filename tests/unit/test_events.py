"""`GET /api/v1/events`: told once for each change, again for nobody who has seen it, and one look for all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from tests.unit.ops_window import GROUP, Window, a_window, operations_of
from wow_ray.errors import StoreUnavailableError
from wow_ray.ops import Operations, StatusView
from wow_ray.ops.http import events
from wow_ray.ops.http.door import Door
from wow_ray.ops.http.events import Pulse, told
from wow_ray.testing.clock import at_rest


@pytest.fixture
async def window() -> AsyncIterator[Window]:
    """The app, running, and its window."""
    async with a_window() as opened:
        yield opened


def door_to(operations: Operations) -> Door:
    """Give a door to these operations."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Operations]:
        yield operations

    return Door(opened)


class Listener:
    """Somebody who listens; keeps what was told."""

    def __init__(self, door: Door, pulse: Pulse, row: str | None = None, last: str | None = None) -> None:
        self.told: list[str] = []
        self._task = asyncio.ensure_future(self._listen(told(door, pulse, row, last)))

    async def _listen(self, heard: AsyncIterator[str]) -> None:
        async for each in heard:
            self.told.append(each)

    @property
    def names(self) -> list[str]:
        """Give the events by name."""
        return [line.removeprefix("event: ") for each in self.told for line in each.split("\n") if "event: " in line]

    @property
    def last(self) -> str:
        """Give the id of the last one."""
        return self.told[-1].split("\n")[0].removeprefix("id: ")

    async def leave(self) -> None:
        """Listen no more."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def test_a_change_is_told_once_and_a_beat_in_between(window: Window) -> None:
    """A page knows that it is fresh although nothing happens."""
    listener = Listener(door_to(operations_of(window.running)), Pulse())
    await window.running.advance("12s")
    assert listener.names == ["changed", "beat", "beat"]
    await window.ask(f"/api/v1/subscriptions/{GROUP}/pause", {"reason": "x"})
    assert listener.names.count("changed") == 2
    await listener.leave()


async def test_who_comes_back_is_told_what_has_changed_since_and_nothing_else(window: Window) -> None:
    """The id names what was seen: it holds in another process, too."""
    operations = operations_of(window.running)
    first = Listener(door_to(operations), Pulse())
    await window.running.advance("2s")
    await first.leave()
    again = Listener(door_to(operations), Pulse(), last=first.last)
    await window.running.advance("3s")
    assert again.names == ["beat"]
    await again.leave()
    await window.park("o-1")
    late = Listener(door_to(operations), Pulse(), last=first.last)
    await window.running.advance("1s")
    assert late.names[0] == "changed"
    await late.leave()


async def test_a_row_is_watched_too(window: Window) -> None:
    """Its etag changes although no count does."""
    (row,) = await window.park("o-1")
    listener = Listener(door_to(operations_of(window.running)), Pulse(), row=row["id"])
    await window.running.advance("3s")
    assert listener.names.count("changed") == 1
    await window.ask(f"/api/v1/parked/{row['id']}/retry-now", {"etag": row["etag"], "reason": "x"})
    assert listener.names.count("changed") > 1
    await listener.leave()


async def test_a_hundred_listeners_are_one_look(window: Window) -> None:
    """The store does not notice how many pages are open."""
    looks = 0

    class Counted(Operations):
        async def status(self) -> StatusView:
            nonlocal looks
            looks += 1
            return await super().status()

    door, pulse = door_to(operations_of(window.running, Counted)), Pulse()
    listeners = [Listener(door, pulse) for _ in range(100)]
    await window.running.advance("10s")
    assert all(listener.names[0] == "changed" for listener in listeners)
    assert looks <= 12
    for listener in listeners:
        await listener.leave()


async def test_while_the_store_is_away_nothing_is_told(window: Window) -> None:
    """So a page grows stale and freezes what it could ask; it is told when the store is back."""
    away = False

    class Away(Operations):
        async def status(self) -> StatusView:
            if away:
                raise StoreUnavailableError("the store cannot be reached")
            return await super().status()

    listener = Listener(door_to(operations_of(window.running, Away)), Pulse())
    await window.running.advance("2s")
    before = len(listener.told)
    away = True
    await window.running.advance("30s")
    assert len(listener.told) == before
    away = False
    await window.running.advance("6s")
    assert len(listener.told) > before
    await listener.leave()


async def test_it_ends_by_itself_and_when_there_is_no_store(window: Window, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that stops waits long for a page; the browser comes again."""
    monkeypatch.setattr(events, "LONGEST", 3)
    found = Listener(door_to(operations_of(window.running)), Pulse())
    await window.running.advance("5s")
    assert found._task.done()  # noqa: SLF001 - that is what is told

    def closed() -> AbstractAsyncContextManager[Operations]:
        raise StoreUnavailableError("away")

    nobody = Listener(Door(closed), Pulse())
    await at_rest()
    assert nobody._task.done()  # noqa: SLF001 - as above
    assert nobody.names == []
