"""Processors declared `isolation="actor"`: called elsewhere, one call at a time each, and nobody else is charged."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from pydantic import BaseModel

from tests.unit.actors.local import LocalFleet, LocalSite, fleet_of
from tests.unit.pausing import end, pause
from tests.unit.runtime.desk import Desk, Door, Paid, StubbornDoor, TooBusy, order
from tests.waiting import until
from wow_ray import App, Category, Event, ReactContext, StateEvent, on_event, retry
from wow_ray.actors.calling import ENDED_BY_HANDLER, CallActor
from wow_ray.actors.isolation import Reply, Told, WorkerGoneError, processor_of
from wow_ray.handlers.specs import GroupSpec
from wow_ray.policy.parked import Reason, Row, State
from wow_ray.ports.ledger import RowFilter
from wow_ray.testing.clock import START

heavy = App("shop")
"""One processor that is called elsewhere, by two handlers."""


class Refused(Exception):  # noqa: N818 - named as an author would
    """An error that the processor lists as unrecoverable, and that cannot be made anew from its arguments."""

    def __init__(self, *, why: str) -> None:
        """Take what pickle does not give back, and hold what it cannot take."""
        super().__init__()
        self.why = why
        self.lock = threading.Lock()

    def __str__(self) -> str:
        """Read as the reason."""
        return f"refused: {self.why}"


@order.state
class Bill(BaseModel):
    """What an order has cost so far."""

    cents: int = 0

    def apply(self, event: Paid) -> Bill:
        """Add."""
        return Bill(cents=self.cents + event.cents)


@heavy.reactor(isolation="actor", start="beginning")
@retry(unrecoverable=[Refused], timeout="2s", initial_backoff="100ms")
class Scorer:
    """Hands every paid order to the desk."""

    def __init__(self, desk: Desk) -> None:
        """Take the desk."""
        self.desk = desk

    @on_event
    async def on_paid(self, event: StateEvent[Bill, Paid], ctx: ReactContext) -> None:
        """Handle one; the state is that of the event."""
        assert event.state.cents >= event.body.cents
        await self.desk.handle(event, ctx)


@dataclass
class Hired:
    """Workers in this loop, as a pool hires them: who was hired, in order."""

    site: LocalSite
    workers: list[LocalWorker] = field(default_factory=list)
    wrong: str = ""

    def __call__(self, group: GroupSpec) -> LocalWorker:
        """Hire one."""
        worker = LocalWorker(self, group)
        self.workers.append(worker)
        return worker


class LocalWorker:
    """A `Worker` around the plain class; a process that ends takes the calls it was making with it."""

    def __init__(self, hired: Hired, group: GroupSpec) -> None:
        """Start it."""
        self._hired = hired
        self.ended: int | None = None
        self.aggregates: set[str] = set()
        self._gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._actor = CallActor(hired.site, processor_of(group), self._end)

    async def ready(self) -> str:
        """See the port."""
        return self._hired.wrong or await self._actor.ready()

    async def call(self, number: int, told: Told) -> Reply | None:
        """See the port."""
        self.aggregates.add(told.row[3])
        over = asyncio.Event()
        calling = asyncio.ensure_future(self._actor.call(number, told))
        calling.add_done_callback(lambda _: over.set())
        self._gone.add_done_callback(lambda _: over.set())
        await over.wait()
        if self._gone.done():
            calling.cancel()
            raise WorkerGoneError(f"exit code {self.ended}")
        return await calling

    async def cancel(self, number: int) -> None:
        """See the port."""
        await self._actor.cancel(number)

    async def close(self) -> None:
        """See the port."""
        await self._actor.close()

    def end(self) -> None:
        """See the port."""
        self._end(-9)

    def _end(self, code: int) -> None:
        if not self._gone.done():
            self.ended = code
            self._gone.set_result(None)


async def running(fleet: LocalFleet) -> Hired:
    """Start one partition; answers who its pool hires."""
    await fleet.site.planned(1)
    await fleet.start("shop-0")
    await fleet.site.desk.clock.advance(2)
    assert isinstance(fleet.hire, Hired)
    return fleet.hire


async def paid(fleet: LocalFleet, *ids: str) -> None:
    """Append one event to each order, and let two seconds pass."""
    for each in ids:
        await fleet.site.client.events.append(order(each), [Paid(cents=5)], expected_version=None)
    await fleet.site.desk.clock.advance(2)


async def rows(fleet: LocalFleet) -> list[Row]:
    """Give what is parked."""
    return list(await fleet.site.client.ledger.rows(RowFilter(frozenset({State.PARKED, State.EXHAUSTED}))))


async def test_an_aggregate_is_always_called_in_the_same_process() -> None:
    """12 orders, 3 events each, two processes: none is seen in both, and the calls keep their order and their keys."""
    desk = Desk()
    async with fleet_of(heavy, desk, hire=Hired) as fleet:
        hired = await running(fleet)
        ids = [f"o-{number}" for number in range(12)]
        for _ in range(3):
            await paid(fleet, *ids)

        first, second = hired.workers
        assert first.aggregates | second.aggregates == set(ids)
        assert not first.aggregates & second.aggregates
        assert all(desk.versions(each) == [1, 2, 3] for each in ids)
        assert desk.calls[0].key == f"Scorer.on_paid:{desk.calls[0].id}@1:0"


async def test_a_process_makes_one_call_at_a_time() -> None:
    """20 orders with calls of 0.5 s on two processes: two calls at once at most; waiting for a turn is no timeout."""
    desk = Desk()
    busy, most = [0], [0]

    async def slow(event: object) -> None:
        del event
        busy[0] += 1
        most[0] = max(most[0], busy[0])
        await desk.clock.sleep(0.5)
        busy[0] -= 1

    async with fleet_of(heavy, desk, hire=Hired) as fleet:
        await running(fleet)
        ids = [f"o-{number}" for number in range(20)]
        for each in ids:
            desk.next(each, slow)
        await paid(fleet, *ids)
        await desk.clock.advance(10)

        assert most == [2]
        assert [call.attempt for call in desk.calls] == [1] * 20


@pytest.mark.parametrize("make", [lambda: Refused(why="its label"), lambda: type("Local", (Refused,), {})(why="it")])
async def test_an_error_that_does_not_survive_a_trip_arrives_as_what_it_was(make: Callable[[], Refused]) -> None:
    """S76: keyword-only, holding a lock, of a class made in a function; the row names it, and its list counts."""
    desk = Desk()
    async with fleet_of(heavy, desk, hire=Hired) as fleet:
        await running(fleet)
        error = make()
        desk.next("o-1", error)
        await paid(fleet, "o-1")

        (row,) = await rows(fleet)
        assert (row.reason, row.attempts) == (Reason.UNRECOVERABLE, 1)
        assert row.failure is not None
        assert row.failure.type.endswith(type(error).__qualname__)
        assert row.failure.message == str(error)
        assert "carry_out" in row.failure.traceback


async def test_what_the_other_side_asked_for_survives_the_trip() -> None:
    """S76, D4: an error that carries `Retry-After: 4` is backpressure there, and the next call comes 4 s later."""
    desk = Desk()
    async with fleet_of(heavy, desk, hire=Hired) as fleet:
        await running(fleet)
        desk.next("o-1", TooBusy("4"))
        await paid(fleet, "o-1")
        await desk.clock.advance(5)

        (wait,) = desk.waits("o-1")
        assert 4 <= wait <= 5.2
        assert await rows(fleet) == []


async def test_who_takes_the_process_along_is_charged_and_nobody_else() -> None:
    """P15: `SystemExit` ends the process; the third time in a row parks the one aggregate, the others are handled."""
    desk = Desk()
    async with fleet_of(heavy, desk, hire=Hired) as fleet:
        hired = await running(fleet)
        ids = [f"o-{number}" for number in range(12)]
        desk.always("o-3", SystemExit(1))
        await paid(fleet, *ids)
        await desk.clock.advance(5)

        (row,) = await rows(fleet)
        assert (row.aggregate_id, row.reason, row.state) == ("o-3", Reason.CRASHED_WORKER, State.EXHAUSTED)
        assert row.attempts == 3
        assert row.failure is not None
        assert "crashed worker process" in row.failure.message
        assert [worker.ended for worker in hired.workers].count(ENDED_BY_HANDLER) == 3
        assert sorted(desk.done) == [(each, 1) for each in sorted(ids) if each != "o-3"]
        assert {call.attempt for call in desk.calls if call.id != "o-3"} == {1}
        assert (fleet.ended, (await fleet.actors["shop-0"].status())["standing"]) == ([], "running")


async def test_a_process_that_died_twice_over_an_event_and_then_did_it_is_forgiven() -> None:
    """D6: the count is of deaths in a row; the fifth event dies twice again and is done."""
    desk = Desk()
    async with fleet_of(heavy, desk, hire=Hired) as fleet:
        await running(fleet)
        for _ in range(2):
            desk.next("o-1", SystemExit(1), SystemExit(1), None)
            await paid(fleet, "o-1")
            await desk.clock.advance(5)

        assert desk.versions("o-1") == [1, 1, 1, 2, 2, 2]
        assert await rows(fleet) == []


async def test_a_late_call_is_cancelled_and_counts_as_late() -> None:
    """B4: a call of 2 s at most is cancelled; the process lives, the next attempt succeeds."""
    desk = Desk()
    door = Door()
    async with fleet_of(heavy, desk, hire=Hired) as fleet:
        hired = await running(fleet)
        desk.next("o-1", door)
        await paid(fleet, "o-1")
        await desk.clock.advance(5)

        assert door.cancelled == 1
        assert [worker.ended for worker in hired.workers] == [None]
        assert ([call.attempt for call in desk.calls], desk.done) == ([1, 2], [("o-1", 1)])


async def test_a_call_that_does_not_end_loses_its_process_and_only_that() -> None:
    """B4, B5: cancelled, it goes on; its process is ended within a second, so the next attempt may begin."""
    desk = Desk()
    async with fleet_of(heavy, desk, hire=Hired) as fleet:
        hired = await running(fleet)
        desk.next("o-1", StubbornDoor())
        await paid(fleet, "o-1")
        await desk.clock.advance(1)
        # The mercy of less than a second is real time: it is about another process.
        await until(lambda: hired.workers[0].ended == -9, "the process to be ended")
        await desk.clock.advance(5)

        assert [call.attempt for call in desk.calls] == [1, 2]
        assert desk.done == [("o-1", 1)]
        assert len(hired.workers) == 2


async def test_as_long_as_no_process_can_begin_nobody_is_charged() -> None:
    """What the processor takes cannot be opened for a minute; then everything is handled at its first attempt."""
    desk = Desk()
    async with fleet_of(heavy, desk, hire=Hired) as fleet:
        hired = await running(fleet)
        hired.wrong = "the model is not there"
        await paid(fleet, "o-1", "o-2")
        await desk.clock.advance(60)
        assert desk.calls == []

        hired.wrong = ""
        await desk.clock.advance(2)

        assert [call.attempt for call in desk.calls] == [1, 1]
        assert await rows(fleet) == []


async def test_without_processes_it_is_called_in_the_partitions_own() -> None:
    """What `wow-ray dev` and the test kit do: the same handlers, the same order, no isolation."""
    desk = Desk()
    async with fleet_of(heavy, desk) as fleet:
        await fleet.site.planned(1)
        await fleet.start("shop-0")
        await desk.clock.advance(2)
        await paid(fleet, "o-1", "o-1")

        assert desk.versions("o-1") == [1, 2]


async def test_the_processor_waits_for_classifiers_where_the_error_is() -> None:
    """K8, S76: an `async def` of the application is awaited in the process that made the call; one that raises is not.

    The partition takes the verdict as it comes, and the loop there goes on.
    """
    waiting = App("shop")

    @waiting.classifier
    def raises(error: BaseException, subscription: str) -> Category | None:
        raise RuntimeError(subscription) from error

    @waiting.classifier
    async def looked_up(error: BaseException, subscription: str) -> Category | None:
        await asyncio.to_thread(lambda: None)
        return Category.UNRECOVERABLE if isinstance(error, Refused) and subscription == "Caller.on_paid" else None

    @waiting.reactor(isolation="actor", start="beginning")
    class Caller:
        def __init__(self, desk: Desk) -> None:
            self.desk = desk

        @on_event
        async def on_paid(self, event: Event[Paid], ctx: ReactContext) -> None:
            raise Refused(why=f"{event.ref.id} {ctx.attempt}")

    site = LocalSite(waiting, Desk())
    actor = CallActor(site, "Caller")
    assert await actor.ready() == ""
    row = (0, 1, "order", "A", 1, 1, "order_paid", 1, None, None, '{"cents": 1}', None, START)
    reply = await actor.call(1, Told("Caller.on_paid", row, None, "key", 1))
    await actor.close()
    assert reply is not None
    assert (reply.failure.category, reply.failure.source) == (Category.UNRECOVERABLE, "classifier:looked_up")


async def test_a_call_that_waits_for_its_process_does_not_begin_once_its_group_is_paused() -> None:
    """H44: two are in their calls, others wait for a turn; after the pause those end, and no other is begun."""
    desk = Desk()
    async with fleet_of(heavy, desk, hire=Hired) as fleet:
        await running(fleet)
        ids = [f"o-{number}" for number in range(8)]
        for each in ids:
            desk.next(each, desk.sleeping(1.5))
        for each in ids:
            await fleet.site.client.events.append(order(each), [Paid(cents=5)], expected_version=None)
        await desk.clock.advance(1)
        assert len(desk.calls) == 2
        await pause(fleet.site.memory, "Scorer.on_paid")
        await fleet.actors["shop-0"].wake()
        await desk.clock.advance(1.1)
        begun = len(desk.calls)
        await desk.clock.advance(600)
        assert len(desk.calls) == begun < 8
        assert len(desk.done) == begun

        await end(fleet.site.memory, "Scorer.on_paid")
        await fleet.actors["shop-0"].wake()
        await desk.clock.advance(20)
        assert sorted(desk.done) == [(each, 1) for each in ids]


async def test_a_blocking_handler_that_raises_stop_iteration_has_failed_and_ended() -> None:
    """K5, B4: no future can carry `StopIteration`; the call would hang until its process is ended."""
    plain = App("shop")

    @plain.reactor(isolation="actor", start="beginning")
    class Plain:
        def __init__(self, desk: Desk) -> None:
            self.desk = desk

        @on_event
        def on_paid(self, event: Event[Paid], ctx: ReactContext) -> None:
            next(iter((event, ctx)[2:]))

    actor = CallActor(LocalSite(plain, Desk()), "Plain")
    assert await actor.ready() == ""
    row = (0, 1, "order", "A", 1, 1, "order_paid", 1, None, None, '{"cents": 1}', None, START)
    calling = asyncio.ensure_future(actor.call(1, Told("Plain.on_paid", row, None, "key", 1)))
    await until(calling.done, "the end of the call", seconds=5)
    await actor.close()
    reply = calling.result()
    assert reply is not None
    assert (reply.failure.type, "StopIteration" in reply.failure.message) == ("RuntimeError", True)
