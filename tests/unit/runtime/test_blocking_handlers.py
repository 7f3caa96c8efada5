"""Handlers on threads: they cannot be interrupted, and nobody else waits for them.

The threads are real; each stands at an event that the test sets, and the test then waits for what follows.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from tests.unit.runtime.desk import Desk, Paid, order, outline, paid, scenario
from tests.waiting import until
from wow_ray import App, Context, Event, blocking, on_event
from wow_ray.ports.slots import Owner
from wow_ray.testing import Running

ONE_SECOND = {"subscription": {"retry": {"timeout": "1s"}}}


class Hatch:
    """Where threads stand until it is opened, and which of them have passed."""

    def __init__(self) -> None:
        """Begin shut for aggregates whose id begins with `slow`."""
        self._open = threading.Event()
        self.passed: list[str] = []
        self.raising: BaseException | None = None

    def open(self) -> None:
        """Let everybody through."""
        self._open.set()

    def stand(self, aggregate_id: str) -> None:
        """Stand here, on a thread."""
        if aggregate_id.startswith("slow") and not self._open.wait(30):
            raise AssertionError("nobody opened the hatch")
        self.passed.append(aggregate_id)
        if self.raising is not None:
            raise self.raising


app = App("shop")


@app.reactor
class Blocking:
    """A plain function that blocks."""

    def __init__(self, desk: Desk, hatch: Hatch) -> None:
        """Take both."""
        self.desk = desk
        self.hatch = hatch

    @on_event
    def on_paid(self, event: Event[Paid], ctx: Context) -> None:
        """Block."""
        self.desk.note(event, ctx)
        self.hatch.stand(event.ref.id)


@app.reactor
class Marked:
    """A function that says that it blocks."""

    def __init__(self, hatch: Hatch) -> None:
        """Take the hatch."""
        self.hatch = hatch
        self.thread = ""

    @on_event
    @blocking
    def on_paid(self, event: Event[Paid]) -> None:
        """Remember which thread it runs on."""
        del event
        self.hatch.passed.append(f"marked on the loop: {threading.current_thread() is threading.main_thread()}")


@pytest.fixture
def hatch() -> Iterator[Hatch]:
    """Give a hatch that is open at the latest when the test is over."""
    hatch = Hatch()
    yield hatch
    hatch.open()


async def quiet(running: Running) -> None:
    """Wait until no worker has anything left to do."""
    await until(lambda: not running.service.busy, "the threads' ends to be seen")


async def test_a_plain_function_runs_on_a_thread(hatch: Hatch) -> None:
    """B5: a plain `def`, and one marked `@blocking`, is not called on the loop's thread."""
    desk = Desk()
    async with scenario(app, desk, more={Hatch: hatch}) as running:
        await paid(running, "A")
        await running.advance("1s")
        await quiet(running)
    assert sorted(hatch.passed) == ["A", "marked on the loop: False"]


async def test_a_blocking_call_counts_as_failed_when_it_returns_late_not_when_its_time_is_up(hatch: Hatch) -> None:
    """B5, S66, S26: timeout 1 s, returns well at 6 s: one attempt, failed at 6 s, the next one at 6.1 s."""
    desk = Desk()
    async with scenario(app, desk, more={Hatch: hatch}, settings=ONE_SECOND) as running:
        await paid(running, "slow")
        await running.advance("6s")
        assert desk.times("slow") == [0.0]
        hatch.open()
        await quiet(running)
        await running.advance("1s")
        await quiet(running)
        assert desk.times("slow") == [0.0, 6.1]
        assert await running.rows() == []


async def test_other_aggregates_go_on_while_twenty_calls_block_and_the_threads_are_free_afterwards(
    hatch: Hatch,
) -> None:
    """B5, S66: twenty calls that block take nothing from the others, and as many further ones run afterwards."""
    desk = Desk()
    slow = [f"slow-{number}" for number in range(20)]
    async with scenario(app, desk, more={Hatch: hatch}, settings=ONE_SECOND) as running:
        await paid(running, *slow)
        await running.advance("10ms")
        await paid(running, "B")
        await running.advance("10ms")
        assert "B" in hatch.passed
        hatch.open()
        await quiet(running)
        await paid(running, *(f"later-{number}" for number in range(20)))
        await running.advance("1s")
        await quiet(running)
        assert {each for each in hatch.passed if each.startswith("later")} == {f"later-{n}" for n in range(20)}


async def test_a_blocking_call_that_does_not_end_is_parked_and_not_called_again_until_it_has(hatch: Hatch) -> None:
    """B5, H25, S26: parked as not ending 30 s after its timeout; no attempt runs beside the old call."""
    desk = Desk()
    async with scenario(app, desk, more={Hatch: hatch}, settings=ONE_SECOND) as running:
        await paid(running, "slow", "B")
        await running.advance("32s")
        assert await outline(running) == [("slow", "parked", "not_ending", 1)]
        await running.advance("30m")
        assert desk.versions("slow") == [1]
        hatch.open()
        await quiet(running)
        await running.advance("10m")
        await quiet(running)
        await running.advance("1s")
        assert desk.versions("slow") == [1, 1]
        assert await running.parked() == []


async def test_the_slot_of_a_blocking_call_moves_only_when_the_process_has_ended(hatch: Hatch) -> None:
    """B5, H25: a stop gives up all slots but the one whose call still runs."""
    desk = Desk()
    async with scenario(app, desk, more={Hatch: hatch}) as running:
        commit = await running.store.append(order("slow"), [Paid()], expected_version=0)
        await running.advance("1s")
    slots = running.memory.partition_stores().slots
    successor = Owner("successor", "shop-0", "elsewhere", 2, None)
    others = [slot for slot in range(16) if slot != commit.slot]
    await asyncio.wait_for(slots.acquire(successor, others), 1)
    waiting = asyncio.ensure_future(slots.acquire(successor, [commit.slot]))
    done, _ = await asyncio.wait([waiting], timeout=0.05)
    assert not done
    waiting.cancel()


async def test_a_stop_iteration_out_of_a_blocking_handler_is_an_ordinary_failure(hatch: Hatch) -> None:
    """B5, K5, D2: no exception of a handler on a thread is lost on its way back."""
    desk = Desk()
    hatch.raising = StopIteration("of a generator")
    async with scenario(app, desk, more={Hatch: hatch}) as running:
        await paid(running, "A")
        for _ in range(8):
            await running.advance("500ms")
            await asyncio.wait_for(quiet(running), 1)
        assert len(desk.calls) == 5
        assert await outline(running) == [("A", "parked", "budget_spent", 1)]
