# ruff: noqa: S101, PLR2004 - assert is how a contract speaks, and its numbers are examples
"""What every log promises to those who append without a transaction of their own."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta

import pytest

from wow_ray.errors import AppendError, ConcurrencyError
from wow_ray.events import AggregateRef, NewCommit, Scope
from wow_ray.testing.contract.harness import Harness, Paid, Placed, Sent, order, parcel, ref_in_slot
from wow_ray.testing.contract.suite import Suite, append, places, rows_of


class Producing(Suite):
    """Appending: positions, versions, conflicts, repeats, several aggregates at once."""

    async def test_positions_of_a_slot_are_gapless_and_in_order_of_append(self, harness: Harness) -> None:
        """L4: whatever aggregates share a slot, its positions are 1, 2, 3 … in the order of the appends."""
        one, other = ref_in_slot(harness, 3), ref_in_slot(harness, 3, skip=1)

        commits = [
            await append(harness, one, Placed(), Paid()),
            await append(harness, other),
            await append(harness, one, Paid()),
        ]

        assert [commit.slot for commit in commits] == [3, 3, 3]
        assert [commit.positions for commit in commits] == [(1, 2), (3,), (4,)]
        rows = await rows_of(harness.partition.reader, 3)
        assert places(rows) == [(3, 1), (3, 2), (3, 3), (3, 4)]
        assert [row.aggregate_id for row in rows] == [one.id, one.id, other.id, one.id]

    async def test_each_slot_counts_by_itself(self, harness: Harness) -> None:
        """L4: between slots there is no order; every one begins at 1."""
        commits = [await append(harness, ref_in_slot(harness, slot)) for slot in (0, 5, 7)]

        assert [(commit.slot, commit.positions) for commit in commits] == [(0, (1,)), (5, (1,)), (7, (1,))]

    async def test_events_of_one_append_share_a_version_and_count_their_sequence_from_0(self, harness: Harness) -> None:
        """Contract, words: the events appended together are one version; the sequence is zero-based in it."""
        ref = order("o-1")

        first = await append(harness, ref, Placed(), Paid(), Placed(), expected=0)
        second = await append(harness, ref, Paid(), expected=1)

        rows = await rows_of(harness.partition.reader, first.slot)
        assert (first.version, second.version) == (1, 2)
        assert [(row.version, row.sequence, row.type) for row in rows] == [
            (1, 0, "order_placed"),
            (1, 1, "order_paid"),
            (1, 2, "order_placed"),
            (2, 0, "order_paid"),
        ]

    async def test_a_stored_event_is_what_was_appended(self, harness: Harness) -> None:
        """Type, revision, scope, headers and body as they were given; the time is the store's, aware, in UTC."""
        body = Paid(amount=12.5)

        commit = await harness.client.events.append(
            order("o-7"),
            [body],
            expected_version=0,
            scope=Scope("acme", "b-7"),
            headers={"trace": "t-1", "note": "naïve ✓"},
        )

        (row,) = await rows_of(harness.partition.reader, commit.slot)
        assert commit.ref == AggregateRef(harness.context, "order", "o-7")
        assert (row.aggregate, row.aggregate_id, row.type, row.revision) == ("order", "o-7", "order_paid", 2)
        assert (row.tenant_id, row.owner_id) == ("acme", "b-7")
        assert Paid.model_validate_json(row.payload) == body
        assert row.headers is not None
        assert json.loads(row.headers) == {"trace": "t-1", "note": "naïve ✓"}
        assert row.occurred_at.utcoffset() == timedelta(0)

    async def test_without_scope_and_headers_there_are_none(self, harness: Harness) -> None:
        """What was not given is absent, not empty."""
        commit = await append(harness, order("o-1"))

        (row,) = await rows_of(harness.partition.reader, commit.slot)
        assert (row.tenant_id, row.owner_id, row.headers) == (None, None, None)

    @pytest.mark.parametrize("expected", [0, 1, 3, 7])
    async def test_another_version_than_expected_is_refused_with_both(self, harness: Harness, expected: int) -> None:
        """H36: too low, too high and "must not exist" (0) alike; the error says both versions and nothing is stored."""
        ref = order("o-1")
        await append(harness, ref, expected=0)
        commit = await append(harness, ref, expected=1)

        with pytest.raises(ConcurrencyError) as refused:
            await append(harness, ref, Paid(), expected=expected)

        assert (refused.value.expected, refused.value.actual) == (expected, 2)
        assert await harness.partition.reader.heads([commit.slot]) == {commit.slot: 2}

    async def test_a_stream_that_does_not_exist_is_at_version_0(self, harness: Harness) -> None:
        """H36: a version above 0 is refused for an aggregate without events."""
        with pytest.raises(ConcurrencyError) as refused:
            await append(harness, order("o-1"), expected=4)

        assert (refused.value.expected, refused.value.actual) == (4, 0)

    async def test_an_unchecked_append_never_conflicts(self, harness: Harness) -> None:
        """`None` is not checked: many at once on one aggregate all get in, each with a version of its own."""
        ref = order("o-1")

        commits = await asyncio.gather(*(append(harness, ref, Placed(), Paid()) for _ in range(20)))

        assert sorted(commit.version for commit in commits) == list(range(1, 21))
        assert sorted(position for commit in commits for position in commit.positions) == list(range(1, 41))

    async def test_of_many_with_one_expectation_exactly_one_wins(self, harness: Harness) -> None:
        """The check and the append are one step."""
        ref = order("o-1")

        answers = await asyncio.gather(*(append(harness, ref, expected=0) for _ in range(10)), return_exceptions=True)

        assert sum(not isinstance(answer, ConcurrencyError) for answer in answers) == 1
        assert sum(isinstance(answer, ConcurrencyError) for answer in answers) == 9

    async def test_a_repeated_commit_id_answers_the_first_commit_and_appends_nothing(self, harness: Harness) -> None:
        """H36: after an unknown outcome it is repeated as it was, also when the version has moved on meanwhile."""
        events, ref = harness.client.events, order("o-1")
        first = await events.append(ref, [Placed(), Paid()], expected_version=0, commit_id="c-1")
        await append(harness, ref, expected=1)

        again = await events.append(ref, [Placed(), Paid()], expected_version=0, commit_id="c-1")

        assert again == first
        assert await harness.partition.reader.heads([first.slot]) == {first.slot: 3}

    async def test_one_commit_id_repeated_at_once_is_one_commit(self, harness: Harness) -> None:
        """H36: a repeat that overtakes its first try finds it all the same."""
        events = harness.client.events

        answers = await asyncio.gather(
            *(events.append(order("o-1"), [Placed()], expected_version=0, commit_id="c-1") for _ in range(8))
        )

        assert len(set(answers)) == 1

    async def test_several_aggregates_are_answered_in_the_order_asked(self, harness: Harness) -> None:
        """L4: slots are ordered inside; the answers are not."""
        refs = [
            ref_in_slot(harness, 6),
            ref_in_slot(harness, 2, parcel),
            ref_in_slot(harness, 4),
            ref_in_slot(harness, 2),
        ]
        bodies = [(Placed(),), (Sent(), Sent()), (Paid(),), (Paid(),)]

        done = await harness.client.events.append_many(
            [NewCommit(ref, body, 0) for ref, body in zip(refs, bodies, strict=True)]
        )

        assert [(commit.ref.aggregate, commit.ref.id) for commit in done] == [(ref.aggregate, ref.id) for ref in refs]
        assert [(commit.slot, commit.positions) for commit in done] == [(6, (1,)), (2, (1, 2)), (4, (1,)), (2, (3,))]

    async def test_several_aggregates_are_appended_all_or_none(self, harness: Harness) -> None:
        """One conflict among them, and nothing of the others is stored."""
        taken, free = ref_in_slot(harness, 5), ref_in_slot(harness, 1)
        await append(harness, taken)

        with pytest.raises(ConcurrencyError) as refused:
            await harness.client.events.append_many(
                [NewCommit(free, (Placed(),), 0), NewCommit(taken, (Placed(),), 0), NewCommit(free, (Placed(),), 1)]
            )

        assert (refused.value.expected, refused.value.actual) == (0, 1)
        assert await harness.partition.reader.heads([1, 5]) == {1: 0, 5: 1}

    async def test_two_commits_of_one_aggregate_in_one_call_are_two_versions(self, harness: Harness) -> None:
        """They follow each other in the order given, and the second may expect the first."""
        ref = order("o-1")

        done = await harness.client.events.append_many(
            [NewCommit(ref, (Placed(),), 0), NewCommit(ref, (Paid(), Paid()), 1)]
        )

        assert [(commit.version, commit.positions) for commit in done] == [(1, (1,)), (2, (2, 3))]

    async def test_many_commits_with_one_commit_id_are_repeated_as_a_whole(self, harness: Harness) -> None:
        """H36: `append_many` with unknown outcome may be sent again, and answers what was done the first time."""
        commits = [NewCommit(ref_in_slot(harness, slot), (Placed(),), 0, commit_id="c-1") for slot in (4, 1, 6)]
        first = await harness.client.events.append_many(commits)

        again = await harness.client.events.append_many(commits)

        assert again == first
        assert await harness.partition.reader.heads([1, 4, 6]) == {1: 1, 4: 1, 6: 1}

    async def test_a_commit_id_never_answers_for_another_aggregate(self, harness: Harness) -> None:
        """H36: for another one of the slot it is refused, or makes a commit of its own; nothing gets lost."""
        one, other = ref_in_slot(harness, 3), ref_in_slot(harness, 3, skip=1)
        events = harness.client.events
        await events.append(one, [Placed()], expected_version=0, commit_id="c-1")

        try:
            commit = await events.append(other, [Placed()], expected_version=0, commit_id="c-1")
        except AppendError:
            return

        assert (commit.ref.id, commit.positions) == (other.id, (2,))

    async def test_calls_over_the_same_slots_in_opposite_order_do_not_block_each_other(self, harness: Harness) -> None:
        """H36: the call orders its slots, so writers of the same aggregates cannot wait for each other in a circle."""
        there = [ref_in_slot(harness, 1), ref_in_slot(harness, 6)]
        events = harness.client.events

        done = await asyncio.gather(
            *(
                events.append_many([NewCommit(ref, (Placed(),)) for ref in refs])
                for _ in range(8)
                for refs in (there, there[::-1])
            )
        )

        assert len(done) == 16
        assert await harness.partition.reader.heads([1, 6]) == {1: 16, 6: 16}
