# ruff: noqa: S101, PLR2004 - assert is how a contract speaks, and its numbers are examples
"""Facts become deliveries once, and a delivery is sent until it is taken or given up (P13)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from wow_ray.policy.durable_call import CallReason
from wow_ray.policy.durable_endings import Exhausted, written
from wow_ray.policy.notices import TOLD, Kind, NewDelivery, told_of
from wow_ray.policy.parked import State, Verb
from wow_ray.policy.pauses import PauseReason
from wow_ray.ports.notices import Attempted, Claimed, DeliveryFilter, DeliveryState, Outbox, Resend
from wow_ray.ports.pauses import PauseNote
from wow_ray.ports.slots import IntentDone, Notice
from wow_ray.testing.contract.calling import FAILURE, one
from wow_ray.testing.contract.harness import Harness
from wow_ray.testing.contract.pauses import asked, sales
from wow_ray.testing.contract.rows import Owning, a_failure, owning
from wow_ray.testing.contract.suite import Suite

FAILED = frozenset({DeliveryState.FAILED})


class OutboxContract(Suite):
    """The whole contract of `Outbox`."""

    async def test_a_fact_tells_of_its_row_as_it_is_now(self, harness: Harness) -> None:
        """P13: what happened, when, and the row with its error; long texts stay in the store."""
        partition = await owning(harness)
        row = partition.row(failure=a_failure("x" * 3_000), first_cause=a_failure("first"))
        await partition.commit(partition.write(rows=(row,), notices=(Notice("parked", row),)))
        later = replace(row, state=State.EXHAUSTED, next_due=None, etag=2)
        await partition.put(later)

        (fact,) = await harness.client.outbox.facts(10)

        assert (fact.kind, fact.group, fact.subscription) == (Kind.PARKED, "Sales", "Sales.on_paid")
        assert fact.row == told_of(later)
        assert fact.row is not None
        assert fact.row.failure == replace(a_failure("x" * TOLD), traceback="")
        assert fact.at.tzinfo is not None
        assert (fact.actor, fact.why, fact.pause) == ("", "", None)

    async def test_an_exhausted_durable_call_is_a_fact_of_its_function(self, harness: Harness) -> None:
        """F8, P13: told by its function and its id, whatever the ledger has."""
        calls = harness.client.calls
        call = await one(calls)
        await calls.finish([written(call, Exhausted(CallReason.BUDGET_SPENT, FAILURE))])

        (fact,) = await harness.client.outbox.facts(10)

        assert (fact.kind, fact.group, fact.call, fact.row) == (Kind.EXHAUSTED, "grant", call.id, None)

    async def test_a_fact_that_is_withheld_is_not_given(self, harness: Harness) -> None:
        """H15: nobody is told of a park that an outage may take back."""
        partition = await owning(harness)
        row = partition.row()

        await partition.commit(partition.write(rows=(row,), notices=(Notice("parked", row, 3_600.0),)))

        assert list(await harness.client.outbox.facts(10)) == []

    async def test_facts_are_given_in_order_and_at_most_so_many(self, harness: Harness) -> None:
        """P13: a burst is taken in bounded pieces."""
        partition = await owning(harness)
        await told(partition, 3)

        outbox = harness.client.outbox
        first = await outbox.facts(2)
        assert [fact.row.id for fact in first if fact.row is not None] == ["r-0", "r-1"]
        assert await outbox.route([fact.number for fact in first], [])

        (last,) = await outbox.facts(2)
        assert last.row is not None
        assert last.row.id == "r-2"

    async def test_who_resumed_a_row_and_why_is_told_with_it(self, harness: Harness) -> None:
        """P10: the notice says the operator's name and reason."""
        partition = await owning(harness)
        row = partition.row()
        await partition.put(row)
        intent = await harness.client.ledger.ask(partition.intent(row_id="r-1", verb=Verb.RESUME))
        after = replace(row, state=State.RETRYING, next_due=None, etag=2)
        done = IntentDone(intent.id, applied=True, code="done", text="")
        await partition.commit(
            partition.write(rows=(after,), intents=(done,), notices=(Notice("resumed", after),)),
        )

        (fact,) = await harness.client.outbox.facts(10)

        assert (fact.kind, fact.actor, fact.why) == (Kind.RESUMED, intent.request.actor, intent.request.reason)

    async def test_a_pause_is_a_fact_once_it_lasts_and_once_when_it_is_over(self, harness: Harness) -> None:
        """P13: one per partition's pause that lasts, and one that it is back."""
        number, outbox, pauses = await sales(harness), harness.client.outbox, harness.partition.pauses
        await pauses.note(PauseNote(number, "shop-0", PauseReason.SYSTEMIC, "the carrier is away"))

        assert await outbox.note_pauses(3_600.0) == 0
        assert await outbox.note_pauses(0.0) == 1
        assert await outbox.note_pauses(0.0) == 0
        (fact,) = await outbox.facts(10)
        assert (fact.kind, fact.group, fact.row) == (Kind.PAUSED, "Sales", None)
        assert fact.pause is not None
        assert (fact.pause.partition, fact.pause.reason) == ("shop-0", PauseReason.SYSTEMIC)
        assert (fact.pause.text, fact.pause.ended_at) == ("the carrier is away", None)

        await pauses.over("shop-0", "it is back")
        assert await outbox.note_pauses(0.0) == 1
        assert await outbox.note_pauses(0.0) == 0
        back = (await outbox.facts(10))[1]
        assert (back.kind, back.pause is not None and back.pause.ended_at is not None) == (Kind.BACK, True)

    async def test_a_pause_that_was_short_is_no_fact_at_all(self, harness: Harness) -> None:
        """P13: neither that it began nor that it is over."""
        number, outbox, pauses = await sales(harness), harness.client.outbox, harness.partition.pauses
        await pauses.note(PauseNote(number, "shop-0", PauseReason.SYSTEMIC, "away"))
        await pauses.over("shop-0", "back")

        assert await outbox.note_pauses(0.0) == 0
        assert list(await outbox.facts(10)) == []

    async def test_an_operators_pause_everywhere_is_a_fact_of_no_partition(self, harness: Harness) -> None:
        """H44: a group that stands still everywhere is told as that."""
        number, outbox = await sales(harness), harness.client.outbox
        await harness.client.pauses.set(asked(number))

        await outbox.note_pauses(0.0)

        (fact,) = await outbox.facts(10)
        assert fact.pause is not None
        assert (fact.pause.partition, fact.pause.reason) == (None, PauseReason.OPERATOR)

    # --- routing

    async def test_a_fact_is_routed_once_with_all_it_leads_to(self, harness: Harness) -> None:
        """P13: whoever comes second stores nothing, also not in part."""
        partition, outbox = await owning(harness), harness.client.outbox
        await told(partition, 2)
        first, second = await outbox.facts(10)

        assert await outbox.route([first.number], [new("d-1")])
        assert not await outbox.route([first.number, second.number], [new("d-2")])

        assert [one.id for one in await outbox.deliveries(DeliveryFilter())] == ["d-1"]
        assert [fact.number for fact in await outbox.facts(10)] == [second.number]

    async def test_two_routers_at_once_route_a_fact_once(self, harness: Harness) -> None:
        """P13: a ledger that lost its cluster and the one that replaces it."""
        partition, outbox = await owning(harness), harness.client.outbox
        await told(partition, 1)
        (fact,) = await outbox.facts(10)

        done = await asyncio.gather(*(outbox.route([fact.number], [new(f"d-{n}")]) for n in range(5)))

        assert sorted(done) == [False, False, False, False, True]
        assert len(await outbox.deliveries(DeliveryFilter())) == 1

    # --- sending

    async def test_a_delivery_is_claimed_once_with_its_attempt(self, harness: Harness) -> None:
        """P13: never two attempts at once; everything about it is as it was stored."""
        outbox = await stored(harness, new("d-1"), new("d-2", webhook="mail"))

        claimed = await claim(harness)

        told = claimed.delivery
        assert (told.id, told.webhook, told.kinds, told.facts) == ("d-1", "oncall", ("parked",), 1)
        assert (told.summary, told.body, told.state, told.attempts) == ("naïve ✓", '{"a":"\\u00e9"}', "waiting", 1)
        assert told.next_at is not None
        assert told.next_at > claimed.now
        assert await outbox.claim("oncall", 60.0) is None
        assert await outbox.claim("nobody", 60.0) is None

    async def test_an_attempt_whose_end_is_never_told_is_made_again(self, harness: Harness) -> None:
        """P13: the process died between sending and saying so; the same id goes out again."""
        outbox = await stored(harness, new("d-1"))
        first = await claim(harness, lease=0.0)

        second = await claim(harness)

        assert (first.delivery.attempts, second.delivery.attempts) == (1, 2)
        assert second.delivery.body == first.delivery.body
        assert not await outbox.attempted(Attempted("d-1", 1, taken=True, status=200, error=""))
        assert await outbox.attempted(Attempted("d-1", 2, taken=True, status=200, error=""))

    async def test_what_was_taken_is_sent_no_more(self, harness: Harness) -> None:
        """P13: the log says with which status."""
        outbox = await stored(harness, new("d-1"))
        await claim(harness)

        assert await outbox.attempted(Attempted("d-1", 1, taken=True, status=204, error=""))
        assert not await outbox.attempted(Attempted("d-1", 1, taken=True, status=204, error=""))

        (told,) = await outbox.deliveries(DeliveryFilter())
        assert (told.state, told.status, told.error, told.next_at) == ("sent", 204, "", None)
        assert await outbox.claim("oncall", 60.0) is None

    async def test_what_was_not_taken_waits_and_is_given_up_at_last(self, harness: Harness) -> None:
        """P13: bounded retries; others of the webhook are due meanwhile."""
        outbox = await stored(harness, new("d-1"), new("d-2"))
        await claim(harness)
        await outbox.attempted(Attempted("d-1", 1, taken=False, status=500, error="answers 500", again=3_600.0))

        assert (await claim(harness)).delivery.id == "d-2"
        assert await outbox.claim("oncall", 60.0) is None
        await outbox.attempted(Attempted("d-2", 1, taken=False, status=None, error="no answer"))

        (failed,) = await outbox.deliveries(DeliveryFilter(states=FAILED))
        assert (failed.id, failed.status, failed.error, failed.next_at) == ("d-2", None, "no answer", None)
        assert dict(await outbox.counts()) == {("oncall", "waiting"): 1, ("oncall", "failed"): 1}

    async def test_what_waits_for_a_webhook_that_is_gone_is_given_up(self, harness: Harness) -> None:
        """P13: it says so in the log, instead of waiting for ever."""
        outbox = await stored(harness, new("d-1"), new("d-2", webhook="mail"))

        assert await outbox.abandon(["mail"], "no such webhook") == 1
        assert await outbox.abandon(["mail"], "no such webhook") == 0

        (told,) = await outbox.deliveries(DeliveryFilter(states=FAILED))
        assert (told.id, told.error) == ("d-1", "no such webhook")

    async def test_deliveries_are_listed_by_page_newest_first(self, harness: Harness) -> None:
        """P13: the log is paged by the id of the last one seen."""
        outbox = await stored(harness, *(new(f"d-{n}", webhook="mail" if n == 2 else "oncall") for n in range(5)))

        first = await outbox.deliveries(DeliveryFilter(limit=2))
        rest = await outbox.deliveries(DeliveryFilter(before=first[-1].id))

        assert [one.id for one in (*first, *rest)] == ["d-4", "d-3", "d-2", "d-1", "d-0"]
        assert [one.id for one in await outbox.deliveries(DeliveryFilter("mail"))] == ["d-2"]
        assert await outbox.delivery("d-9") is None

    # --- what people ask

    async def test_a_delivery_is_sent_again_from_its_first_attempt(self, harness: Harness) -> None:
        """P10, P13: under its id, once for each request, and the audit says who and why."""
        outbox = await stored(harness, new("d-1"))
        await claim(harness)
        await outbox.attempted(Attempted("d-1", 1, taken=False, status=404, error="answers 404"))

        action = await outbox.resend(Resend("q-1", "d-1", "ann", "the address is right now"))
        again = await outbox.resend(Resend("q-1", "d-1", "bob", "twice"))

        assert again == action == await harness.client.ledger.intent("q-1")
        assert (action.state, action.request.verb, action.request.actor) == ("done", Verb.RESEND_NOTICE, "ann")
        assert (action.request.group, action.request.aggregate_id) == ("oncall", "d-1")
        assert (await claim(harness)).delivery.attempts == 1

    async def test_a_resend_of_what_waits_or_is_not_there_is_refused(self, harness: Harness) -> None:
        """P10: with what is the case instead, in the audit too."""
        outbox = await stored(harness, new("d-1"))

        waits = await outbox.resend(Resend("q-1", "d-1", "ann", "now"))
        gone = await outbox.resend(Resend("q-2", "d-9", "ann", "now"))

        assert [(one.state, one.code) for one in (waits, gone)] == [("refused", "waiting"), ("refused", "not_found")]

    async def test_a_test_is_stored_once_for_each_request(self, harness: Harness) -> None:
        """P13: somebody looks whether notices arrive."""
        outbox = harness.client.outbox

        action = await outbox.add(new("d-1"), "q-1", "ann", "is it right?")
        again = await outbox.add(new("d-2"), "q-1", "ann", "is it right?")

        assert again == action
        assert (action.request.verb, dict(action.outcome)) == (Verb.TEST_WEBHOOK, {"delivery": "d-1"})
        assert [one.id for one in await outbox.deliveries(DeliveryFilter())] == ["d-1"]


def new(identity: str, *, webhook: str = "oncall") -> NewDelivery:
    """Make a delivery."""
    return NewDelivery(identity, webhook, ("parked",), 1, "naïve ✓", '{"a":"\\u00e9"}')


async def stored(harness: Harness, *deliveries: NewDelivery) -> Outbox:
    """Store deliveries, one after the other, without facts; gives the outbox."""
    outbox = harness.client.outbox
    for delivery in deliveries:
        assert await outbox.route([], [delivery])
    return outbox


async def claim(harness: Harness, *, lease: float = 60.0) -> Claimed:
    """Claim what is due of `oncall`."""
    claimed = await harness.client.outbox.claim("oncall", lease)
    assert claimed is not None
    return claimed


async def told(partition: Owning, facts: int) -> None:
    """Park so many aggregates, one after the other."""
    for n in range(facts):
        row = partition.row(f"r-{n}", aggregate_id=f"o-{n}")
        await partition.commit(partition.write(rows=(row,), notices=(Notice("parked", row),)))
