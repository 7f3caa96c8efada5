"""What one aggregate, one group or one call must never notice of another."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, cast

from pydantic import BaseModel, ConfigDict

from tests.unit.runtime.desk import (
    Desk,
    Door,
    Paid,
    Shipped,
    UnknownBuyer,
    Unlisted,
    order,
    outline,
    paid,
    scenario,
    sent,
)
from tests.unit.runtime.shop import app, books, two
from wow_ray import Aggregate, App, Context, Event, on_event
from wow_ray.testing import Scenario

crate = Aggregate("crate")
boxes = App("shop")
tenant: ContextVar[str] = ContextVar("tenant", default="nobody")


@crate.event("packed")
class Packed(BaseModel):
    """A crate was packed; the model is frozen, the list in it is not."""

    model_config = ConfigDict(frozen=True)
    items: list[str]


class Reading(Desk):
    """A desk that also remembers what it read."""

    def __init__(self) -> None:
        """Have read nothing."""
        super().__init__()
        self.seen: list[tuple[str, list[str], dict[str, str]]] = []

    def note(self, event: Event[Any], ctx: Context) -> None:
        """Remember the call, with tags and headers."""
        super().note(event, ctx)
        self.seen.append((ctx.subscription, list(event.body.tags), dict(event.headers)))


class Notes:
    """What was seen of the crates."""

    def __init__(self) -> None:
        """Have seen nothing."""
        self.seen: list[list[str]] = []


@boxes.reactor
class Scribblers:
    """Two groups of one event, each of which changes what it is given."""

    def __init__(self, notes: Notes) -> None:
        """Take the notes."""
        self.notes = notes

    @on_event
    async def one(self, event: Packed) -> None:
        """Look, then scribble."""
        self.notes.seen.append(list(event.items))
        event.items.append("one")

    @on_event
    async def other(self, event: Packed) -> None:
        """Look, then scribble."""
        self.notes.seen.append(list(event.items))
        event.items.append("other")


async def test_context_variables_of_one_call_are_not_seen_by_another() -> None:
    """H31, S99: neither by the next event, nor by another aggregate on the same worker, nor by a retry."""
    desk = Desk()
    seen: list[tuple[str, str]] = []

    async def sign_in(event: Event[Any]) -> None:
        seen.append((event.ref.id, tenant.get()))
        tenant.set(event.ref.id)
        if event.version == 2:
            await desk.clock.sleep(0.01)
            seen.append((event.ref.id, tenant.get()))
        if event.version == 3:
            tenant.set("failed")
            raise Unlisted

    for each in "ABC":
        desk.always(each, sign_in)
    async with scenario(app, desk, settings={"subscription": {"concurrency": 1}}) as running:
        await paid(running, "A", "B", "C", times=3)
        await running.advance("1m")
    assert {value for _, value in seen if value not in {"nobody", "A", "B", "C"}} == set()
    assert all(value in {"nobody", each} for each, value in seen)
    assert sum(value != "nobody" for _, value in seen) == 3


async def test_what_a_handler_does_to_its_event_is_not_seen_by_its_retry_or_by_another_group() -> None:
    """H31: body and headers are changed before the failure; the retry and `Second` read what was stored."""
    desk = Reading()

    async def scribble(event: Event[Any]) -> None:
        event.body.tags.append("scribbled")
        cast("dict[str, str]", event.headers)["scribbled"] = "yes"
        raise Unlisted

    desk.next("A", scribble, scribble)
    async with scenario(two, desk) as running:
        await running.store.append(order("A"), [Paid(tags=["new"])], expected_version=0, headers={"trace": "1"})
        await running.advance("1s")
    assert [name for name, _, _ in desk.seen] == ["First.on_paid", "Second.on_paid", "First.on_paid", "First.on_paid"]
    assert {(tuple(tags), tuple(headers.items())) for _, tags, headers in desk.seen} == {(("new",), (("trace", "1"),))}


async def test_headers_that_are_not_there_cannot_be_written_into_other_events() -> None:
    """H31: an event without headers has an empty mapping of its own, or one that refuses."""
    desk = Desk()
    seen: list[dict[str, str]] = []

    async def scribble(event: Event[Any]) -> None:
        headers = cast("dict[str, str]", event.headers)
        try:
            headers["scribbled"] = "yes"
        except TypeError:
            return

    async def look(event: Event[Any]) -> None:
        seen.append(dict(event.headers))

    desk.next("A", scribble)
    desk.next("B", look)
    async with scenario(app, desk, slots=1) as running:
        await paid(running, "A", "B")
        await running.advance("1s")
    assert seen == [{}]


async def test_a_frozen_event_may_be_shared_but_what_is_in_it_is_not_changed_for_others() -> None:
    """H31: a frozen model may hold a list; what one group appends to it the other must not see."""
    notes = Notes()
    async with Scenario(boxes, {Notes: notes}) as running:
        await running.store.append(crate("c"), [Packed(items=["pen"])], expected_version=0)
        await running.advance("1s")
    assert notes.seen == [["pen"], ["pen"]]


async def test_a_hung_group_leaves_workers_to_the_others() -> None:
    """H30: a hundred calls of one group that wait for ever take half of the partition's permits and no more."""
    desk, door = Desk(), Door()
    hung = [f"hung-{number}" for number in range(100)]
    for each in hung:
        desk.always(each, door)
    async with scenario(two, desk) as running:
        await paid(running, *hung)
        await running.advance("100ms")
        assert door.waiting == 32
        await paid(running, "A")
        await sent(running, "P")
        await running.advance("100ms")
        others = {(call.subscription, call.id) for call in desk.calls if call.id in {"A", "P"}}
        assert others == {("Second.on_paid", "A"), ("Second.on_sent", "P")}
        door.open()
        await running.advance("1s")


async def test_the_handlers_of_a_projection_see_one_aggregate_in_the_order_of_the_log() -> None:
    """H3, P1: shipped waits for paid although another handler takes it; the retry comes before both."""
    desk = Desk()
    desk.next("A", Unlisted(), desk.sleeping(1))
    async with scenario(books, desk) as running:
        for _ in range(2):
            await running.store.append(order("A"), [Paid(), Shipped()], expected_version=None)
        await running.advance("1m")
    calls = [(call.subscription, call.version) for call in desk.calls if call.subscription.startswith("Book")]
    assert calls == [
        ("Book.on_paid", 1),
        ("Book.on_paid", 1),
        ("Book.on_shipped", 1),
        ("Book.on_paid", 2),
        ("Book.on_shipped", 2),
    ]
    assert desk.most_running == {"A": 1}


async def test_a_park_by_one_handler_holds_the_aggregate_for_its_group_and_for_no_other() -> None:
    """H3, P1, P3: paid is parked; shipped is held with it; `Beside` and the other orders go on."""
    desk = Desk()
    desk.next("A", UnknownBuyer())
    async with scenario(books, desk) as running:
        await running.store.append(order("A"), [Paid(), Shipped()], expected_version=0)
        await running.store.append(order("A"), [Paid()], expected_version=1)
        await paid(running, "B")
        await running.advance("1m")
        assert [(call.subscription, call.version) for call in desk.calls if call.id == "A"] == [
            ("Book.on_paid", 1),
            ("Beside.on_paid", 1),
            ("Beside.on_paid", 2),
        ]
        assert await outline(running) == [("A", "exhausted", "unrecoverable", 1)]
        (row,) = await running.parked()
        assert (row.group, row.subscription) == ("Book", "Book.on_paid")
        await running.resume(row, reason="fixed")
        await running.advance("1s")
        held = [(call.subscription, call.version) for call in desk.calls if call.subscription.startswith("Book")]
        assert [call for call in held if call[1] < 3][-3:] == [
            ("Book.on_paid", 1),
            ("Book.on_shipped", 1),
            ("Book.on_paid", 2),
        ]
        assert await running.parked() == []
