"""What an operator may see and do, on the store in memory: every answer comes from the owner of the slot."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Coroutine
from typing import Any, TypeVar

import pytest
from pydantic import BaseModel

from wow_ray import Aggregate, App, Event, on_event, retry
from wow_ray.adapters.memory import MemoryStore
from wow_ray.errors import ConflictError, NotFoundError, OperationError
from wow_ray.ops import Applied, Command, Known, Operations, ParkedQuery, ParkedView, Pending
from wow_ray.policy.parked import Reason, State, Verb
from wow_ray.testing import Scenario
from wow_ray.testing.clock import VirtualClock, at_rest
from wow_ray.testing.scenario import Running

T = TypeVar("T")
order = Aggregate("order")
WHY = Command("ann", "the carrier is back")


@order.event("order_placed")
class Placed(BaseModel):
    """An order was placed."""

    number: int = 1


class Carrier:
    """A downstream with a memory that can be broken, and held."""

    def __init__(self) -> None:
        self.broken: set[str] = set()
        self.told: list[tuple[str, int]] = []
        self.hold: asyncio.Event | None = None

    async def tell(self, aggregate_id: str, version: int) -> None:
        """Take a notice, or fail."""
        if self.hold is not None:
            await self.hold.wait()
        if aggregate_id in self.broken:
            raise ValueError(f"no carrier for {aggregate_id}")
        self.told.append((aggregate_id, version))


def made_app(name: str = "Notifier") -> App:
    """An app with one handler that calls the carrier twice at most."""
    app = App("shop")

    class Notifier:
        def __init__(self, carrier: Carrier) -> None:
            self.carrier = carrier

        @on_event
        async def on_placed(self, event: Event[Placed]) -> None:
            await self.carrier.tell(event.ref.id, event.version)

    retried = retry(max_attempts=2, initial_backoff="10ms", recoverable=[ValueError])(Notifier)
    app.reactor(name=name, start="beginning")(retried)
    return app


@pytest.fixture
def carrier() -> Carrier:
    """A carrier that works."""
    return Carrier()


@pytest.fixture
async def running(carrier: Carrier) -> AsyncIterator[Running]:
    """The app, running."""
    async with Scenario(made_app(), {Carrier: carrier}) as running:
        yield running


@pytest.fixture
def operations(running: Running) -> Operations:
    """What an operator of the running app works with."""
    return operations_on(running.memory, running.clock, Known.of_app(running.service.spec))


def operations_on(memory: MemoryStore, clock: VirtualClock, known: Known | None = None) -> Operations:
    """Open operations on a store in memory."""
    ids = itertools.count(1)
    return Operations(
        "shop",
        client=memory.client_stores(),
        overview=memory.overview(),
        clock=clock,
        new_id=lambda: f"r-{next(ids)}",
        known=known,
    )


async def place(running: Running, *ids: str) -> None:
    """Append one event to each aggregate and let it be handled."""
    for identity in ids:
        await running.store.append(order(identity), [Placed()], expected_version=None)
    await running.advance("1s")


async def parked(running: Running, operations: Operations, carrier: Carrier, *ids: str) -> list[ParkedView]:
    """Have aggregates parked, and give their rows in that order."""
    carrier.broken |= set(ids)
    await place(running, *ids)
    rows = {row.aggregate_id: row for row in (await operations.parked(ParkedQuery())).rows}
    return [rows[identity] for identity in ids]


async def answered(running: Running, *asked: Coroutine[Any, Any, T]) -> list[T | BaseException]:
    """Ask, let six seconds pass, and give the answers."""
    tasks = [asyncio.ensure_future(each) for each in asked]
    await at_rest()
    await running.advance("6s")
    return await asyncio.gather(*tasks, return_exceptions=True)


async def applied(running: Running, asked: Coroutine[Any, Any, Applied | Pending]) -> Applied:
    """Ask, and expect that it is done."""
    (answer,) = await answered(running, asked)
    if isinstance(answer, BaseException):
        raise answer
    assert isinstance(answer, Applied)
    return answer


# --- commands


async def test_a_resume_is_done_by_the_owner_and_reads_on_from_the_stopped_event(
    running: Running, operations: Operations, carrier: Carrier
) -> None:
    """P9, P10: the event it stopped at is called again, then what was held, and the row ends."""
    (row,) = await parked(running, operations, carrier, "o-1")
    await place(running, "o-1")
    carrier.broken.clear()

    done = await applied(running, operations.resume(row.id, WHY))

    assert done.row is not None
    assert (done.verb, done.row.id) == (Verb.RESUME, row.id)
    assert carrier.told == [("o-1", 1), ("o-1", 2)]
    assert (await operations.parked(ParkedQuery())).rows == ()
    assert (await operations.parked_row(row.id)).row.state == "resolved"


async def test_the_intent_is_the_audit(running: Running, operations: Operations, carrier: Carrier) -> None:
    """P10: who asked, why, and what came of it are stored with the effect."""
    (row,) = await parked(running, operations, carrier, "o-1")

    done = await applied(running, operations.resume(row.id, Command("  ann ", " it is back\n")))

    intent = await running.service.client.ledger.intent(done.request_id)
    assert intent is not None
    assert (intent.request.actor, intent.request.reason, intent.request.etag) == ("ann", "it is back", row.etag)
    assert intent.state == "done"


async def test_a_skip_says_exactly_what_it_passed_over(
    running: Running, operations: Operations, carrier: Carrier
) -> None:
    """P9, S86: through the version that was seen; what came after it is handled."""
    (row,) = await parked(running, operations, carrier, "o-1")
    await place(running, "o-1", "o-1")
    seen = (await operations.parked_row(row.id)).held
    assert (seen.events, seen.from_version, seen.through_version, seen.more) == (3, 1, 3, False)
    await place(running, "o-1")
    carrier.broken.clear()

    done = await applied(running, operations.skip(row.id, WHY, through_version=seen.through_version))

    assert {key: done.outcome[key] for key in ("skipped", "from_version", "through_version")} == {
        "skipped": 3,
        "from_version": 1,
        "through_version": 3,
    }
    assert carrier.told == [("o-1", 4)]


async def test_a_skip_of_one_goes_on_behind_it(running: Running, operations: Operations, carrier: Carrier) -> None:
    """P9: only the stopped event is passed over, the rest is drained."""
    (row,) = await parked(running, operations, carrier, "o-1")
    await place(running, "o-1")
    carrier.broken.clear()

    done = await applied(running, operations.skip(row.id, WHY, only=True))

    assert done.outcome["skipped"] == 1
    assert carrier.told == [("o-1", 2)]


async def test_a_retry_now_is_one_of_the_automatic_retries(
    running: Running, operations: Operations, carrier: Carrier
) -> None:
    """P6: it is due at once; when it fails too it is parked again with one retry used."""
    (row,) = await parked(running, operations, carrier, "o-1")

    await applied(running, operations.retry_now(row.id, WHY))
    await running.advance("1s")

    again = (await operations.parked_row(row.id)).row
    assert (again.state, again.retries, row.retries) == ("parked", 1, 0)


async def test_a_healthy_aggregate_can_be_parked_on_purpose(
    running: Running, operations: Operations, carrier: Carrier
) -> None:
    """P0: its later events wait until it is resumed."""
    await place(running, "o-1")

    done = await applied(running, operations.park("Notifier.on_placed", "order", "o-1", WHY))
    await place(running, "o-1")

    assert done.row is not None
    assert (done.row.state, done.row.reason) == ("exhausted", "operator")
    assert carrier.told == [("o-1", 1)]
    await applied(running, operations.resume(done.row.id, WHY))
    assert carrier.told == [("o-1", 1), ("o-1", 2)]


async def test_a_stale_etag_is_refused_with_what_is_the_case(
    running: Running, operations: Operations, carrier: Carrier
) -> None:
    """P10: compare-and-set; nothing is called."""
    (row,) = await parked(running, operations, carrier, "o-1")

    (answer,) = await answered(running, operations.resume(row.id, Command("ann", "why", etag=row.etag + 1)))

    assert isinstance(answer, ConflictError)
    assert f"it is parked at 1:0, etag {row.etag}" in answer.message
    assert (await operations.parked_row(row.id)).row == row


async def test_twenty_resumes_make_one_drain(running: Running, operations: Operations, carrier: Carrier) -> None:
    """P10, S85: one of them is done, the others learn what is the case instead, and each event is called once."""
    (row,) = await parked(running, operations, carrier, "o-1")
    carrier.broken.clear()

    answers = await answered(running, *(operations.resume(row.id, Command(f"op-{n}", "why")) for n in range(20)))

    assert sorted(type(answer).__name__ for answer in answers) == ["Applied"] + ["ConflictError"] * 19
    assert carrier.told == [("o-1", 1)]


async def test_a_repeated_request_answers_the_first(running: Running, operations: Operations, carrier: Carrier) -> None:
    """P10: also once the row has ended; under another command the id is refused."""
    (row,) = await parked(running, operations, carrier, "o-1")
    carrier.broken.clear()
    once = Command("ann", "why", request_id="click-1")
    first = await applied(running, operations.resume(row.id, once))

    again = await applied(running, operations.resume(row.id, once))

    assert (again.request_id, again.asked_at, again.outcome) == (first.request_id, first.asked_at, first.outcome)
    assert carrier.told == [("o-1", 1)]
    with pytest.raises(ConflictError, match="used for another command"):
        await operations.skip(row.id, once)


@pytest.mark.parametrize(
    "command",
    [
        Command("ann", ""),
        Command("ann", " \n"),
        Command("", "why"),
        Command("ann", "x" * 1_001),
        Command("ann", "nul\x00"),
        Command("ann", "half \ud83d"),
        Command("ann", "why", request_id=""),
    ],
)
async def test_a_command_without_a_name_and_a_reason_is_not_stored(
    running: Running, operations: Operations, carrier: Carrier, command: Command
) -> None:
    """P10: the audit is never empty, and never what a database refuses."""
    (row,) = await parked(running, operations, carrier, "o-1")

    with pytest.raises(OperationError):
        await operations.resume(row.id, command)

    assert await running.service.client.ledger.open_intents(range(16)) == []


async def test_what_is_not_there_is_not_found(running: Running, operations: Operations, carrier: Carrier) -> None:
    """Rows, and groups with the nearest name; an ended row is a conflict, since it is history."""
    with pytest.raises(NotFoundError, match="no row 'nope'"):
        await operations.resume("nope", WHY)
    with pytest.raises(NotFoundError, match=r"did you mean 'Notifier\.on_placed'"):
        await operations.park("Notifier.on_place", "order", "o-1", WHY)
    (row,) = await parked(running, operations, carrier, "o-1")
    carrier.broken.clear()
    await applied(running, operations.resume(row.id, WHY))
    with pytest.raises(ConflictError, match="ended as resolved"):
        await operations.resume(row.id, WHY)


async def test_a_skip_is_of_one_or_through_a_version(operations: Operations) -> None:
    """Both at once is a mistake, as is a version below the first."""
    with pytest.raises(OperationError, match="not both"):
        await operations.skip("r", WHY, through_version=3, only=True)
    with pytest.raises(OperationError, match="begin at 1"):
        await operations.skip("r", WHY, through_version=0)


async def test_a_command_that_meets_a_running_call_is_accepted_and_applied_afterwards(
    running: Running, operations: Operations, carrier: Carrier
) -> None:
    """P0, H41: after 5 s the caller is answered; the command waits for the call and is not lost."""
    (row,) = await parked(running, operations, carrier, "o-1")
    carrier.broken.clear()
    carrier.hold = asyncio.Event()
    await applied(running, operations.resume(row.id, WHY))
    now = (await operations.parked_row(row.id)).row

    (answer,) = await answered(running, operations.park("Notifier.on_placed", "order", "o-1", WHY))

    assert isinstance(answer, Pending)
    assert "owns slot" in answer.note
    carrier.hold.set()
    await running.advance("2s")
    assert now.state == "retrying"
    intent = await running.service.client.ledger.intent(answer.request_id)
    assert intent is not None
    assert intent.state != "asked"


async def test_a_command_that_nobody_can_apply_is_accepted_and_kept(carrier: Carrier) -> None:
    """P10, H5: it is a row; the next program applies it."""
    scenario = Scenario(made_app(), {Carrier: carrier})
    async with scenario as running:
        (row,) = await parked(running, operations_on(running.memory, running.clock), carrier, "o-1")
    memory, clock = scenario.memory, scenario.clock
    carrier.broken.clear()

    task = asyncio.ensure_future(operations_on(memory, clock).resume(row.id, WHY))
    await at_rest()
    await clock.advance(6.0)
    answer = await task

    assert isinstance(answer, Pending)
    assert "nobody owns slot" in answer.note
    async with Scenario(made_app(), {Carrier: carrier}, memory=memory, clock=clock) as again:
        await again.advance("2s")
        assert carrier.told == [("o-1", 1)]


# --- looking


async def test_an_empty_selection_selects_nothing(running: Running, operations: Operations, carrier: Carrier) -> None:
    """P12, S30: no state means no row, in the list and in the count."""
    await parked(running, operations, carrier, "o-1")

    nothing = ParkedQuery(states=frozenset())

    assert (await operations.parked(nothing)).rows == ()
    assert (await operations.count(nothing)).rows == 0
    assert (await operations.count(ParkedQuery())).rows == 1


async def test_rows_are_listed_in_pages_that_meet(running: Running, operations: Operations, carrier: Carrier) -> None:
    """Every row once, in the order of their ids, whatever the size of the page."""
    ids = [f"o-{number}" for number in range(7)]
    await parked(running, operations, carrier, *ids)
    found: list[ParkedView] = []
    after: str | None = None
    while True:
        page = await operations.parked(ParkedQuery(after=after, limit=3))
        found += page.rows
        after = page.next
        if after is None:
            break

    assert sorted(row.aggregate_id for row in found) == ids
    assert [row.id for row in found] == sorted(row.id for row in found)
    one = await operations.parked(ParkedQuery(reason=Reason.BUDGET_SPENT, limit=1))
    assert (one.rows, one.next) == ((found[0],), found[0].id)
    assert (await operations.parked(ParkedQuery(limit=7))).next is None


async def test_rows_are_filtered_by_what_they_are(running: Running, operations: Operations, carrier: Carrier) -> None:
    """By aggregate, reason, handler, fingerprint and state; the count follows the list."""
    one, _ = await parked(running, operations, carrier, "o-1", "o-2")
    await applied(running, operations.park("Notifier.on_placed", "order", "o-3", WHY))
    assert one.error is not None
    cases = [
        (ParkedQuery(), {"o-1", "o-2", "o-3"}),
        (ParkedQuery(aggregate="order", aggregate_id="o-2"), {"o-2"}),
        (ParkedQuery(reason=Reason.OPERATOR), {"o-3"}),
        (ParkedQuery(reason=Reason.BUDGET_SPENT), {"o-1", "o-2"}),
        (ParkedQuery(states=frozenset({State.EXHAUSTED})), {"o-3"}),
        (ParkedQuery(fingerprint=one.error.fingerprint), {"o-1", "o-2"}),
        (ParkedQuery(subscription="Notifier.on_placed", group="Notifier.on_placed"), {"o-1", "o-2", "o-3"}),
        (ParkedQuery(group="Other"), set()),
    ]
    for query, expected in cases:
        assert {row.aggregate_id for row in (await operations.parked(query)).rows} == expected, query
        count = await operations.count(query)
        assert count.exact
        assert count.rows == len(expected), query


async def test_a_page_has_a_size(operations: Operations) -> None:
    """Neither nothing nor everything."""
    for limit in (0, 1_001):
        with pytest.raises(OperationError, match="a page has 1 to"):
            await operations.parked(ParkedQuery(limit=limit))


async def test_a_row_whose_group_is_gone_says_so(carrier: Carrier) -> None:
    """P14: it is kept and shown, for the app that was given as for what the store knows."""
    first = Scenario(made_app(), {Carrier: carrier})
    async with first as running:
        (row,) = await parked(running, operations_on(first.memory, first.clock), carrier, "o-1")
    assert (row.missing, row.note) == (None, "")
    renamed = Scenario(made_app("Renamed"), {Carrier: carrier}, memory=first.memory, clock=first.clock)

    of_app = operations_on(first.memory, first.clock, Known.of_app(renamed.spec))
    (shown,) = (await of_app.parked(ParkedQuery())).rows
    assert shown.missing == "group"
    assert "there is no group 'Notifier.on_placed' any more; the row is kept" in shown.note

    async with renamed:
        pass
    (kept,) = (await operations_on(first.memory, first.clock).parked(ParkedQuery())).rows
    assert kept == shown


async def test_a_row_whose_handler_is_gone_says_so() -> None:
    """P14: the group lives on without it."""
    known = Known({"Sales": frozenset({"Sales.on_paid"})}, lambda *_: True)

    assert known.missing("Sales", "Sales.on_paid") is None
    assert known.missing("Sales", "Sales.on_placed") == "handler"
    assert "no handler 'Sales.on_placed' any more" in known.note("Sales", "Sales.on_placed")


async def test_lag_is_exact_in_each_slot(running: Running, operations: Operations, carrier: Carrier) -> None:
    """Head less cursor, with the oldest event that nobody has finished and how long it waits."""
    await place(running, "o-1")
    (group,) = await operations.subscriptions()
    assert (group.group, group.lag, group.unfinished, group.behind, group.oldest) == (
        "Notifier.on_placed",
        0,
        0,
        (),
        None,
    )

    carrier.hold = asyncio.Event()
    await place(running, "o-1")
    await running.advance("1s")
    commit = await running.store.append(order("o-1"), [Placed(), Placed()], expected_version=None)

    (group,) = await operations.subscriptions()
    (slot,) = group.behind
    assert (group.lag, group.unfinished) == (2, 1)
    assert (slot.slot, slot.head, slot.cursor, slot.lag, slot.oldest) == (commit.slot, 4, 2, 2, 2)
    assert group.oldest is not None
    assert (group.oldest.slot, group.oldest.position) == (commit.slot, 2)
    assert group.oldest.age == pytest.approx(2.0, abs=0.5)
    carrier.hold.set()


async def test_parked_rows_are_counted_by_group(running: Running, operations: Operations, carrier: Carrier) -> None:
    """Those that people are shown, and all open ones by state."""
    await parked(running, operations, carrier, "o-1", "o-2")

    (group,) = await operations.subscriptions()
    status = await operations.status()

    assert (group.parked, dict(group.open_rows)) == (2, {"parked": 2})
    assert (status.parked, dict(status.open_rows)) == (2, {"parked": 2})


async def test_a_retired_group_is_shown_as_such(carrier: Carrier) -> None:
    """L5: with what it has left to do, since it may return."""
    first = Scenario(made_app(), {Carrier: carrier})
    async with first:
        pass
    async with Scenario(made_app("Other"), {Carrier: carrier}, memory=first.memory, clock=first.clock) as running:
        await place(running, "o-1")
        groups = {group.group: group for group in await operations_on(running.memory, running.clock).subscriptions()}

    assert {name: (group.retired, group.missing, group.lag) for name, group in groups.items()} == {
        "Notifier.on_placed": (True, True, 1),
        "Other.on_placed": (False, False, 0),
    }


async def test_a_store_is_ready_when_every_slot_has_an_owner(running: Running, operations: Operations) -> None:
    """H60: an owner whose lease has ended is none."""
    status = await operations.status()
    assert (status.ready, status.unowned, status.slots) == (True, (), 16)
    (partition,) = status.partitions
    assert (partition.slots, partition.alive) == (16, True)

    running.memory.lose_lease(partition.owner)

    status = await operations.status()
    assert (status.ready, len(status.unowned)) == (False, 16)


async def test_what_is_shown_is_json(running: Running, operations: Operations, carrier: Carrier) -> None:
    """Every view gives plain JSON: times in ISO 8601 and UTC, what has no end as null."""
    (row,) = await parked(running, operations, carrier, "o-1")
    detail = await operations.parked_row(row.id)
    views = [row, detail, await operations.status(), *(await operations.subscriptions())]

    for view in views:
        assert json.loads(json.dumps(view.to_json(), allow_nan=False)) == view.to_json()
    assert row.to_json()["parked_at"].endswith("+00:00")
    assert (await operations.status()).to_json()["partitions"][0]["lease_left"] is None
    assert [attempt["kind"] for attempt in detail.to_json()["history"]] == ["live"]
