"""The demo's checker finds what it is there to find: events handled too early, repeats that no kill explains."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from examples.shop.demo.blow import Blow
from examples.shop.demo.customers import plan
from examples.shop.demo.journal import Mark, Pen
from examples.shop.demo.proof import Evidence, prove
from examples.shop.demo.witness import Witness
from examples.shop.shop import OrderPaid, OrderShipped, app
from examples.shop.world import World
from wow_ray import AggregateRef, Event, Scope
from wow_ray.cluster import settings_of
from wow_ray.events import StoredEvent

ORDER = "each aggregate's events in the order of their versions"
REPEATS = "repeated was only what it had not committed"
SLOT = 3
NOW = datetime(2026, 1, 1, tzinfo=UTC)
BODIES = {1: OrderPaid(lines=(), parcels=1), 2: OrderShipped(parcel="p-1", tracking="T")}
NAMES = {1: "order_paid", 2: "order_shipped"}
LOG = [
    StoredEvent(SLOT, at, "order", "o-1", at, 0, NAMES[at], 1, None, None, body.model_dump_json(), None, NOW)
    for at, body in BODIES.items()
]


class Book:
    """A journal that is written by a pen and read by a witness."""

    def __init__(self, path: Path) -> None:
        """Begin it."""
        self.witness = Witness(path)
        self.pen = Pen(str(path))

    def call(self, version: int, at: float, *marks: Mark) -> None:
        """Write down a call of `Sales` for one of the two events."""
        event: Event[Any] = Event(
            BODIES[version], AggregateRef("shop", "order", "o-1"), Scope(), version, 0, NOW, headers={}
        )
        for mark in marks:
            self.pen.write(mark, f"Sales.on_{NAMES[version]}", event, at)

    def holds(self, claim: str, *, killed: int = SLOT) -> bool:
        """Ask the checker, with the owner of a slot killed at second 100 and replaced at 102."""
        self.witness.look()
        evidence = Evidence(
            plan=plan(1, 10),
            spec=app.resolved(settings_of(app, environ={})),
            log=LOG,
            witness=self.witness,
            world=World(1, unknown_buyers=frozenset(), damaged_parcels=frozenset()),
            blow=Blow("shop-0", frozenset({killed}), pid=1, at=100.0, successor=2, seconds=2.0),
            skipped=frozenset(),
            sales={},
            stock={},
        )
        return {finding.claim: finding.holds for finding in prove(evidence)}[claim]


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Book]:
    """An empty one."""
    book = Book(tmp_path / "journal")
    yield book
    book.witness.close()


def test_one_after_the_other_is_in_order(book: Book) -> None:
    """The second event is begun after the first was handled, a failed try of the first notwithstanding."""
    book.call(1, 90.0, "begun", "failed")
    book.call(1, 91.0, "begun", "done")
    book.call(2, 92.0, "begun", "done")
    assert book.holds(ORDER)


def test_an_event_begun_before_the_one_before_it_was_handled_is_found(book: Book) -> None:
    """It is enough that it was begun too early, across the handlers of a projection."""
    book.call(1, 90.0, "begun")
    book.call(2, 91.0, "begun")
    book.call(1, 92.0, "done")
    book.call(2, 93.0, "done")
    assert not book.holds(ORDER)


def test_the_kill_excuses_what_was_handled_shortly_before_in_its_slots(book: Book) -> None:
    """Handled 0.1 s before the kill and again after it; a call that was cut off and made again is no repeat at all."""
    book.call(1, 99.9, "begun", "done")
    book.call(2, 99.95, "begun")
    book.call(1, 102.0, "begun", "done")
    book.call(2, 102.1, "begun", "done")
    assert book.holds(REPEATS)
    assert len(book.witness.repeats) == 1


@pytest.mark.parametrize(("first", "killed"), [(90.0, SLOT), (103.0, SLOT), (99.9, SLOT + 1)])
def test_any_other_repeat_is_found(book: Book, first: float, killed: int) -> None:
    """Handled long before the kill, after it was over, or in slots of somebody who lives."""
    book.call(1, first, "begun", "done")
    book.call(1, 104.0, "begun", "done")
    assert not book.holds(REPEATS, killed=killed)


def test_half_a_line_waits_for_its_other_half(book: Book, tmp_path: Path) -> None:
    """A reader that comes in the middle of a line takes it the next time."""
    book.call(1, 90.0, "begun")
    whole = (tmp_path / "journal").read_bytes()
    with (tmp_path / "journal").open("ab") as journal:
        journal.write(whole[:20])
        journal.flush()
        book.witness.look()
        assert book.witness.calls.total() == 1
        journal.write(whole[20:])
    book.witness.look()
    assert book.witness.calls.total() == 2
