# ruff: noqa: S101 - assert is how a contract speaks, and its numbers are examples
"""What every store of slots promises: about groups and owners (`registering`, `leases`), and here about commits."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from wow_ray.errors import StoreDataError
from wow_ray.failure import Category, Failure, minimal
from wow_ray.policy.parked import State
from wow_ray.policy.progress import Mark
from wow_ray.ports.slots import AttemptNote, EffectMark, IntentDone, Notice
from wow_ray.testing.contract.harness import Harness
from wow_ray.testing.contract.leases import Leasing
from wow_ray.testing.contract.refusing import NOT_STORABLE, ODD
from wow_ray.testing.contract.registering import Registering
from wow_ray.testing.contract.resetting import Resetting
from wow_ray.testing.contract.rows import Owning, a_failure, owning, reloaded
from wow_ray.testing.contract.suite import Suite
from wow_ray.testing.contract.suspecting import Suspecting


class Committing(Suite):
    """`SlotStore.commit`: progress and ledger of an owner in one transaction."""

    async def test_progress_comes_back_as_it_was_written(self, harness: Harness) -> None:
        """H45: every group's mark, also one with many unfinished positions below what was read (H46)."""
        partition = await owning(harness)
        gaps = Mark(9_000, tuple(range(10, 8_000, 4)), 2)
        marks = {partition.group(): gaps, partition.group("Mails.on_paid"): Mark(2**40)}

        await partition.commit(partition.write(marks=marks))

        assert (await reloaded(harness)).marks == marks

    async def test_a_mark_that_is_none_is_refused(self, harness: Harness) -> None:
        """H27, H46: unfinished positions ascend and lie within what was read; nothing of the batch is written."""
        partition = await owning(harness)
        for mark in (Mark(8, (3, 2)), Mark(8, (9,)), Mark(-1)):
            with pytest.raises(StoreDataError):
                await partition.commit(partition.write(marks={partition.group(): mark}, rows=(partition.row(),)))

        assert await harness.client.ledger.row("r-1") is None

    async def test_a_slot_keeps_the_marks_of_groups_the_writer_does_not_run(self, harness: Harness) -> None:
        """A group without progress of its own stands at its start, also after commits that did not know it."""
        partition = await owning(harness)
        await partition.commit(partition.write(marks={partition.group(): Mark(8)}))

        marks = (await reloaded(harness)).marks

        assert marks == {partition.group(): Mark(8), partition.group("Mails.on_paid"): Mark(0)}

    async def test_a_row_comes_back_as_it_was_written(self, harness: Harness) -> None:
        """P4: with every field at its most peculiar, and with every field that may be absent left out."""
        partition = await owning(harness)
        full = partition.row(
            "r-full",
            State.RETRYING,
            first_cause=a_failure("first"),
            attempts=3,
            backpressure=2,
            retries=9,
            next_due=partition.now + timedelta(microseconds=1),
            begun=True,
            skip_through=(12, 2**31 - 1),
            etag=41,
            stopped_position=2**40,
        )
        bare = partition.row("r-bare", State.EXHAUSTED, aggregate_id="o-2", failure=None)

        await partition.put(full, bare)

        ledger = harness.client.ledger
        assert await ledger.row("r-full") == full
        assert await ledger.row("r-bare") == bare

    async def test_a_new_owner_finds_who_is_held_and_what_goes_on_by_itself(self, harness: Harness) -> None:
        """H5: every open row holds its aggregate; `waiting` and `retrying` ones go on without being asked."""
        partition = await owning(harness, 3, 4)
        rows = {state: partition.row(f"r-{state}", state, aggregate_id=f"o-{state}") for state in State}
        elsewhere = partition.row("r-4", slot=4, aggregate_id="o-4")
        await partition.put(*rows.values(), elsewhere)

        loaded = await reloaded(harness)

        held = [State.WAITING, State.PARKED, State.RETRYING, State.EXHAUSTED]
        assert sorted(loaded.held) == sorted(("Sales", "order", f"o-{state}") for state in held)
        assert sorted(loaded.live, key=lambda row: row.id) == [rows[State.RETRYING], rows[State.WAITING]]

    async def test_rows_are_absolute_and_the_last_state_wins(self, harness: Harness) -> None:
        """H9, H26: a row that changed twice within one batch is written as it ended."""
        partition = await owning(harness)
        first = partition.row()

        await partition.commit(
            partition.write(rows=(first, replace(first, state=State.EXHAUSTED, next_due=None, etag=2)))
        )
        await partition.put(replace(first, state=State.RETRYING, next_due=None, etag=3))

        row = await harness.client.ledger.row("r-1")
        assert row is not None
        assert (row.state, row.etag) == (State.RETRYING, 3)

    async def test_a_batch_may_be_sent_again_unchanged(self, harness: Harness) -> None:
        """H26: after an unknown outcome; rows, history, notices and intents are there once."""
        partition = await owning(harness)
        intent = await harness.client.ledger.ask(partition.intent())
        row = partition.row()
        write = partition.write(
            rows=(row,),
            attempts=(
                AttemptNote("r-1", "live", partition.now, a_failure()),
                AttemptNote("r-1", "retry", partition.now, None),
            ),
            intents=(IntentDone(intent.id, applied=True, code="resumed", text="", outcome={"events": 3}),),
            notices=(Notice("parked", row),),
        )
        await partition.commit(write)
        ended = await harness.client.ledger.intent("q-1")

        await partition.commit(write)

        ledger = harness.client.ledger
        assert await ledger.row("r-1") == row
        assert tuple(await ledger.attempts("r-1")) == write.attempts
        assert [(kind, row_id) for _, kind, row_id in await ledger.notices(0, 10)] == [("parked", "r-1")]
        assert await ledger.intent("q-1") == ended

    @pytest.mark.parametrize("first", ["ended", "anew"])
    async def test_an_ended_rows_aggregate_may_stop_again_in_the_same_commit(
        self, harness: Harness, first: str
    ) -> None:
        """P11, H9: handed over and parked anew within one interval; both are kept, whichever is named first."""
        partition = await owning(harness)
        row = partition.row(state=State.RETRYING)
        await partition.put(row)
        ended, anew = replace(row, state=State.RESOLVED, etag=2), partition.row("r-2", stopped_version=9)

        await partition.commit(partition.write(rows=(ended, anew) if first == "ended" else (anew, ended)))

        ledger = harness.client.ledger
        assert await ledger.open_row("Sales", "order", "o-1") == anew
        assert await ledger.row("r-1") == ended

    async def test_a_group_has_one_open_row_of_an_aggregate(self, harness: Harness) -> None:
        """P3: the key is (group, aggregate); a second one is refused, and nothing of the batch is written."""
        partition = await owning(harness, 3, 4)
        await partition.put(partition.row())

        with pytest.raises(StoreDataError):
            await partition.put(partition.row("r-4", slot=4, aggregate_id="o-4"), partition.row("r-2"))

        assert await harness.client.ledger.row("r-4") is None
        assert (await harness.client.ledger.row("r-2")) is None

    async def test_groups_hold_the_same_aggregate_independently(self, harness: Harness) -> None:
        """P3: another group's row of the aggregate is another row."""
        partition = await owning(harness)
        sales, mails = partition.row(), partition.row("r-2", group="Mails.on_paid", subscription="Mails.on_paid")

        await partition.put(sales, mails)
        await partition.put(replace(sales, state=State.RESOLVED, next_due=None, etag=2))

        assert await harness.client.ledger.open_row("Mails.on_paid", "order", "o-1") == mails
        assert (await reloaded(harness)).held == (("Mails.on_paid", "order", "o-1"),)

    @pytest.mark.parametrize("text", NOT_STORABLE)
    async def test_a_text_the_database_does_not_take_is_refused_and_nothing_written(
        self, harness: Harness, text: str
    ) -> None:
        """H27, S15: the data are at fault, not the store; sent in minimal form the row is taken."""
        partition = await owning(harness, 3, 4)
        bad = partition.row(failure=a_failure(text))
        good = partition.row("r-4", slot=4, aggregate_id="o-4")

        with pytest.raises(StoreDataError):
            await partition.put(good, bad)

        assert await harness.client.ledger.row("r-4") is None
        await partition.put(good, replace(bad, failure=minimal(a_failure(text))))
        assert await harness.client.ledger.row("r-1") is not None

    @pytest.mark.parametrize("text", [*NOT_STORABLE, *ODD])
    async def test_a_captured_failure_is_always_taken(self, harness: Harness, text: str) -> None:
        """S71: parking never fails because of the error's text, and the text comes back as it was captured."""
        partition = await owning(harness)
        failure = Failure.capture(ValueError(text, {text: text}), Category.RECOVERABLE, "default")

        await partition.put(partition.row(failure=failure, first_cause=failure))
        await partition.commit(partition.write(attempts=(AttemptNote("r-1", "live", partition.now, failure),)))

        row = await harness.client.ledger.row("r-1")
        assert row is not None
        assert (row.failure, row.first_cause) == (failure, failure)
        assert [note.failure for note in await harness.client.ledger.attempts("r-1")] == [failure]

    async def test_a_failure_of_any_length_is_taken(self, harness: Harness) -> None:
        """S70: captured, 30 MB of message are bounded; the column is not."""
        partition = await owning(harness)
        failure = Failure.capture(ValueError("x" * 30_000_000), Category.RECOVERABLE, "default")

        await partition.put(partition.row(failure=failure))

        row = await harness.client.ledger.row("r-1")
        assert row is not None
        assert row.failure == failure

    @pytest.mark.parametrize("text", ODD)
    async def test_odd_ids_are_ids(self, harness: Harness, text: str) -> None:
        """S71: what the log took as an aggregate's id, the ledger takes as well."""
        partition = await owning(harness)
        row = partition.row(aggregate_id=text)

        await partition.put(row)

        assert await harness.client.ledger.open_row("Sales", "order", text) == row
        assert (await reloaded(harness)).held == (("Sales", "order", text),)

    async def test_exactly_the_folded_markers_are_deleted(self, harness: Harness) -> None:
        """H4: a call committed meanwhile, whose answer the owner does not have yet, stays marked."""
        partition = await owning(harness)
        for position in (11, 12, 13):
            await _settle(partition, position)

        await partition.commit(
            partition.write(
                marks={partition.group(): Mark(12)}, folded=((partition.group(), 11), (partition.group(), 12))
            )
        )

        loaded = await reloaded(harness)
        assert loaded.marks[partition.group()] == Mark(12)
        assert loaded.settled == {partition.group(): frozenset({13})}


class SlotsContract(Registering, Leasing, Committing, Resetting, Suspecting):
    """The whole contract of `SlotStore` and `Lease`."""


async def _settle(partition: Owning, position: int) -> None:
    """Settle a call in a transaction of effects."""
    mark = EffectMark(partition.group(), 3, partition.loaded[3].epoch, position)
    transaction = await partition.harness.partition.effects.begin(mark)
    await transaction.commit()
