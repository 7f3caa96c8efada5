# ruff: noqa: S101, PLR2004 - assert is how a contract speaks, and its numbers are examples
"""What is old goes, in small pieces; what waits stays, however old it is (H53)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import count

from wow_ray.policy.parked import State
from wow_ray.policy.pauses import PauseReason
from wow_ray.ports.ledger import ActionFilter
from wow_ray.ports.notices import Attempted, DeliveryFilter
from wow_ray.ports.pauses import PauseNote
from wow_ray.ports.retention import Forgotten, Old
from wow_ray.ports.slots import AttemptNote, IntentDone, Notice
from wow_ray.testing.contract.harness import Harness
from wow_ray.testing.contract.notices import new
from wow_ray.testing.contract.pauses import asked, sales
from wow_ray.testing.contract.rows import Owning, a_failure, owning
from wow_ray.testing.contract.suite import Suite

HOUR = 3_600.0
_AGES = count(1)
NOTHING = Forgotten(0, more=False, after=None)


class RemainsContract(Suite):
    """The whole contract of `Remains`."""

    async def test_what_is_not_old_enough_stays(self, harness: Harness) -> None:
        """H53: an hour is the least that anything is kept, here everything is younger."""
        partition = await owning(harness)
        await ended(partition, 2)

        for old in Old:
            assert await harness.client.remains.forget(old, HOUR, 100) == NOTHING

        assert await harness.client.ledger.row("r-0") is not None

    async def test_ended_rows_go_with_their_history_and_open_ones_stay(self, harness: Harness) -> None:
        """H53: never a row that waits, retries or needs a person, however old."""
        partition = await owning(harness)
        await ended(partition, 2)
        for state in (State.WAITING, State.PARKED, State.RETRYING, State.EXHAUSTED):
            await noted(partition, state.value, state)

        forgotten = await harness.client.remains.forget(Old.ROWS, 0.0, 100)

        ledger = harness.client.ledger
        assert (forgotten.deleted, forgotten.more) == (2, False)
        assert await ledger.row("r-0") is None
        assert list(await ledger.attempts("r-0")) == []
        for left in ("waiting", "parked", "retrying", "exhausted"):
            assert await ledger.row(left) is not None
            assert len(await ledger.attempts(left)) == 1

    async def test_the_history_of_rows_that_have_ended_goes_before_them(self, harness: Harness) -> None:
        """H53: texts of errors are most of what a ledger takes; that of a row that waits is what people need."""
        partition = await owning(harness)
        await ended(partition, 2)
        await noted(partition, "open", State.PARKED)

        forgotten = await harness.client.remains.forget(Old.ATTEMPTS, 0.0, 100)

        ledger = harness.client.ledger
        assert forgotten.deleted == 2
        assert await ledger.row("r-0") is not None
        assert [len(await ledger.attempts(each)) for each in ("r-0", "r-1", "open")] == [0, 0, 1]

    async def test_it_goes_piece_by_piece_and_past_what_stays(self, harness: Harness) -> None:
        """H53: bounded, and it ends, also where much that is old may not go."""
        partition = await owning(harness)
        for n in range(5):
            await noted(partition, f"open-{n}", State.PARKED)
        await ended(partition, 3)
        deleted, pieces, after, more = 0, 0, None, True

        while more:
            piece = await harness.client.remains.forget(Old.ATTEMPTS, 0.0, 2, after)
            deleted, after, more, pieces = deleted + piece.deleted, piece.after, piece.more, pieces + 1
            assert pieces < 20

        assert deleted == 3
        assert len(await harness.client.ledger.attempts("open-4")) == 1

    async def test_what_people_asked_goes_once_it_is_done_and_not_before(self, harness: Harness) -> None:
        """H53, P10: a command that waits for its owner is not forgotten; nor is a pause that lasts."""
        number, partition = await sales(harness), await owning(harness)
        done = await harness.client.ledger.ask(partition.intent("q-1"))
        await partition.commit(partition.write(intents=(IntentDone(done.id, applied=True, code="done", text=""),)))
        await harness.client.ledger.ask(partition.intent("q-2"))
        pauses = harness.partition.pauses
        await harness.client.pauses.set(asked(number, "q-3"))
        await pauses.note(PauseNote(number, "shop-0", PauseReason.SYSTEMIC, "away"))
        await pauses.over("shop-0", "back")

        await harness.client.remains.forget(Old.AUDIT, 0.0, 100)

        left = {each.request.request_id for each in await harness.client.ledger.actions(ActionFilter())}
        assert left == {"q-2"}
        assert [pause.reason for pause in await pauses.history(number, 10)] == [PauseReason.OPERATOR]

    async def test_a_pause_whose_end_is_to_be_told_stays(self, harness: Harness) -> None:
        """P13: people were told that it lasts."""
        number, pauses = await sales(harness), harness.partition.pauses
        await pauses.note(PauseNote(number, "shop-0", PauseReason.SYSTEMIC, "away"))
        await harness.client.outbox.note_pauses(0.0)
        await pauses.over("shop-0", "back")

        await harness.client.remains.forget(Old.AUDIT, 0.0, 100)
        assert len(await pauses.history(number, 10)) == 1

        await harness.client.outbox.note_pauses(0.0)
        await harness.client.remains.forget(Old.AUDIT, 0.0, 100)
        assert len(await pauses.history(number, 10)) == 0

    async def test_notices_go_once_they_are_told_or_given_up(self, harness: Harness) -> None:
        """H53, P13: a fact that is not routed and a delivery that waits stay, however old."""
        partition, outbox = await owning(harness), harness.client.outbox
        row = partition.row()
        await partition.commit(partition.write(rows=(row,), notices=(Notice("parked", row), Notice("resolved", row))))
        first, second = await outbox.facts(10)
        await outbox.route([first.number], [new("d-1"), new("d-2")])
        await outbox.claim("oncall", 60.0)
        await outbox.attempted(Attempted("d-1", 1, taken=True, status=200, error=""))

        forgotten = await harness.client.remains.forget(Old.NOTICES, 0.0, 100)

        assert forgotten.deleted == 2
        assert [one.id for one in await outbox.deliveries(DeliveryFilter())] == ["d-2"]
        assert [fact.number for fact in await outbox.facts(10)] == [second.number]


async def noted(partition: Owning, row_id: str, state: State) -> None:
    """Put a row of an aggregate of its own, with one attempt."""
    row = partition.row(row_id, state, aggregate_id=f"o-{row_id}")
    at = partition.now - timedelta(seconds=next(_AGES))
    await partition.commit(partition.write(rows=(row,), attempts=(AttemptNote(row_id, "live", at, a_failure()),)))


async def ended(partition: Owning, rows: int) -> None:
    """Park so many aggregates, and let them be resolved."""
    for n in range(rows):
        await noted(partition, f"r-{n}", State.PARKED)
        row = partition.row(f"r-{n}", aggregate_id=f"o-r-{n}")
        await partition.put(replace(row, state=State.RESOLVED, next_due=None, etag=2))
