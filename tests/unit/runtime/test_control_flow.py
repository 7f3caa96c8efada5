"""What comes out of a handler and is no failure of it, and what only looks so."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.unit.runtime.desk import Desk, Paid, outline, paid, scenario
from tests.unit.runtime.shop import app
from wow_ray import App, Context, Event, on_event
from wow_ray.adapters.memory import MemoryStore
from wow_ray.testing import Running

ONCE = {"subscription": {"retry": {"max_attempts": 1}}}
"""Whatever is charged parks at once."""


class Fatal(BaseException):
    """An application's own `BaseException`."""


threads = App("shop")


@threads.reactor
class Notifier:
    """The same subscription, on a thread."""

    def __init__(self, desk: Desk) -> None:
        """Take the desk."""
        self.desk = desk

    @on_event
    def on_paid(self, event: Event[Paid], ctx: Context) -> None:
        """Raise what is written down."""
        self.desk.note(event, ctx)
        step = self.desk.step_for(event.ref.id)
        if isinstance(step, BaseException):
            raise step


def ended_by(app: App, desk: Desk, kind: type[BaseException]) -> MemoryStore:
    """Run the app on one order until `kind` has ended its host; give the store it leaves behind."""
    stores: list[MemoryStore] = []

    async def run() -> None:
        async with scenario(app, desk, settings=ONCE) as running:
            stores.append(running.memory)
            await paid(running, "A")
            host = asyncio.ensure_future(running.service.wait())
            await running.advance("1s")
            for _ in range(100):
                await running.advance("10ms")
            await asyncio.wait_for(host, 1)

    with pytest.raises(BaseException) as caught:  # noqa: PT011 - which one is the question
        asyncio.run(run())
    gc.collect()  # what asyncio says of a loop that was broken off it says here, not at the end of the session
    leaves = caught.value.exceptions if isinstance(caught.value, BaseExceptionGroup) else (caught.value,)
    assert [type(leaf) for leaf in leaves] == [kind]
    return stores[0]


async def later(desk: Desk, error: BaseException) -> None:
    """Raise after a wait, so that the call was suspended."""
    await desk.clock.sleep(0.5)
    raise error


def raising_later(desk: Desk, error: BaseException) -> Callable[[Event[Any]], Awaitable[object]]:
    """Give a step that raises after a wait."""
    return lambda _: later(desk, error)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("how", ["at once", "after a wait", "in a group", "on a thread"])
def test_what_ends_a_program_reaches_the_host_and_is_no_failure(kind: type[BaseException], how: str) -> None:
    """K5, S56, H32: the host is ended; nothing was charged or parked, and the next owner calls with attempt 1."""
    desk = Desk()
    error: BaseException = BaseExceptionGroup("g", [kind()]) if how == "in a group" else kind()
    desk.next("A", raising_later(desk, error) if how == "after a wait" else error)
    memory = ended_by(threads if how == "on a thread" else app, desk, kind)

    async def go_on() -> None:
        async with scenario(app, desk, memory=memory, settings=ONCE) as running:
            await running.advance("1s")
            assert await running.rows() == []

    asyncio.run(go_on())
    assert [call.attempt for call in desk.calls] == [1, 1]
    assert desk.done == [("A", 1)]


async def cancelled_inside(event: Event[Any]) -> None:
    """Await a future that somebody has cancelled."""
    del event
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    future.cancel()
    await future


async def cancelled_task(event: Event[Any]) -> None:
    """Await a task that is cancelled while the handler waits for it."""
    del event
    task = asyncio.ensure_future(asyncio.get_running_loop().create_future())
    asyncio.get_running_loop().call_soon(task.cancel)
    await task


def own_task() -> asyncio.Task[Any]:
    """Give the task that the handler is run by."""
    task = asyncio.current_task()
    assert task is not None
    return task


async def cancels_itself(event: Event[Any]) -> None:
    """Cancel the task it is run by, which is no task of its own, and wait."""
    del event
    own_task().cancel()
    await asyncio.get_running_loop().create_future()


async def cancelled_by_its_child(event: Event[Any]) -> None:
    """Have something that it started cancel the task it is run by."""
    del event
    asyncio.get_running_loop().call_soon(own_task().cancel)
    await asyncio.get_running_loop().create_future()


async def cancels_itself_and_raises(event: Event[Any]) -> None:
    """Cancel the task it is run by, and fail at once."""
    del event
    own_task().cancel()
    raise ValueError("no")


@pytest.mark.parametrize(
    "step",
    [
        cancelled_inside,
        cancelled_task,
        asyncio.CancelledError(),
        cancels_itself,
        cancelled_by_its_child,
        cancels_itself_and_raises,
    ],
    ids=["future", "task", "raised", "itself", "child", "itself at once"],
)
async def test_a_cancellation_from_what_the_handler_awaits_is_a_failed_attempt(
    step: Callable[[Event[Any]], Awaitable[object]] | BaseException,
) -> None:
    """K5, H32: nobody of ours asked for it, so it is charged and retried like any error."""
    desk = Desk()
    desk.always("A", step)
    async with scenario(app, desk) as running:
        await paid(running, "A", "B")
        await running.advance("1m")
        assert desk.waits("A") == [0.1, 0.2, 0.4, 0.8]
        assert await outline(running) == [("A", "parked", "budget_spent", 1)]
        assert desk.versions("B") == [1]


async def test_a_handler_that_cancels_the_task_it_is_run_by_and_goes_on_has_done_its_work() -> None:
    """K5: it ends well, and the aggregates whose turn is next feel nothing of it."""

    async def cancels_and_returns(event: Event[Any]) -> None:
        del event
        own_task().cancel()

    desk = Desk()
    desk.always("A", cancels_and_returns)
    async with scenario(app, desk) as running:
        for _ in range(3):
            await paid(running, "A", "B", "C")
        await running.advance("1m")
        assert await running.rows() == []
        assert [desk.versions(each) for each in "ABC"] == [[1, 2, 3]] * 3


@pytest.mark.parametrize("wait", [False, True])
async def test_a_custom_base_exception_is_a_failed_attempt(*, wait: bool) -> None:
    """K5: whatever is none of Python's own ways to end a program is a failure of the handler."""
    desk = Desk()
    error = Fatal("mine")
    desk.next("A", raising_later(desk, error) if wait else error)
    async with scenario(app, desk) as running:
        await paid(running, "A")
        await running.advance("1m")
    assert desk.waits("A") == [0.6 if wait else 0.1]
    assert desk.done == [("A", 1)]


async def test_a_listed_base_exception_is_judged_by_its_list() -> None:
    """K2, K5: an application's own `BaseException` may be listed."""
    made = App("shop")

    @made.reactor
    class Other:
        def __init__(self, desk: Desk) -> None:
            self.desk = desk

        @on_event
        async def on_paid(self, event: Event[Paid], ctx: Context) -> None:
            await self.desk.handle(event, ctx)

    desk = Desk()
    desk.always("A", Fatal())
    async with scenario(made, desk, settings=ONCE) as running:
        await paid(running, "A")
        await running.advance("1s")
        await _is_parked(running)


async def _is_parked(running: Running) -> None:
    assert await outline(running) == [("A", "parked", "budget_spent", 1)]
