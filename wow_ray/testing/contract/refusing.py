# ruff: noqa: S101 - assert is how a contract speaks, and its numbers are examples
"""What every log refuses, what it takes although it looks odd, and what an open transaction means for others."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping

import pytest
from pydantic import BaseModel

from wow_ray.errors import AppendError, EventTooLargeError, InvalidEventError
from wow_ray.events import AggregateRef, NewCommit, Scope
from wow_ray.testing.contract.harness import Harness, Paid, Placed, Sent, Undeclared, Weighed, order, ref_in_slot
from wow_ray.testing.contract.suite import Suite, append, places, rows_of

ODD = [
    "'); drop table events; --",
    "%s {} $1 :x",
    "back\\slash \\u0000 \\",
    "line\nbreak\ttab",
    "\u202eright\u200b\ufeff",
    "📦 订单",
    "e\u0301",
]
NOT_STORABLE = ["a\x00b", "x\ud83d", b"\xff".decode("utf8", "surrogateescape")]
BEYOND_PATIENCE = 0.2
"""Seconds of real time after which something that waits is believed to wait."""


class Refusing(Suite):
    """What cannot be stored is refused in the appender's own call, whole and with nothing stored (H27, H48, S71)."""

    @pytest.mark.parametrize("text", NOT_STORABLE)
    @pytest.mark.parametrize("where", ["tenant", "owner", "commit id", "header", "header name"])
    async def test_a_text_the_database_does_not_take_is_refused(self, harness: Harness, where: str, text: str) -> None:
        """S71: NUL and lone surrogates around the body."""
        scope = Scope(text if where == "tenant" else None, text if where == "owner" else None)
        headers: Mapping[str, str] = {"a": text} if where == "header" else {text: "b"} if where == "header name" else {}

        with pytest.raises(InvalidEventError):
            await harness.client.events.append(
                order("o-1"),
                [Placed()],
                expected_version=0,
                scope=scope,
                commit_id=text if where == "commit id" else None,
                headers=headers,
            )

        assert await _stored(harness) == 0

    @pytest.mark.parametrize("text", NOT_STORABLE)
    async def test_an_aggregate_id_the_database_does_not_take_is_refused(self, harness: Harness, text: str) -> None:
        """H27: also for a reference that was not made by its aggregate; in the partition it could only do harm."""
        with pytest.raises(InvalidEventError):
            await harness.client.events.append(AggregateRef("", "order", text), [Placed()], expected_version=0)

    @pytest.mark.parametrize("text", NOT_STORABLE[1:])
    async def test_a_body_with_a_lone_surrogate_is_refused(self, harness: Harness, text: str) -> None:
        """S71: it cannot be written as UTF-8."""
        with pytest.raises(InvalidEventError):
            await append(harness, order("o-1"), Placed.model_construct(text=text))

        assert await _stored(harness) == 0

    async def test_a_body_with_a_nul_is_refused(self, harness: Harness) -> None:
        """S71: JSON could carry it, but no query of the database could take it out again."""
        with pytest.raises(InvalidEventError):
            await append(harness, order("o-1"), Placed(text="a\x00b"))

        assert await _stored(harness) == 0

    @pytest.mark.parametrize(
        "body",
        [
            Paid(amount=float("nan")),
            Paid(amount=float("inf")),
            Weighed(grams=float("nan")),
            Weighed(grams=float("-inf")),
        ],
    )
    async def test_a_number_that_json_does_not_know_is_refused(self, harness: Harness, body: BaseModel) -> None:
        """S73: it would become `null`, or a word that no reader of JSON takes."""
        with pytest.raises(InvalidEventError):
            await append(harness, order("o-1"), body)

        assert await _stored(harness) == 0

    @pytest.mark.parametrize("text", ODD)
    async def test_odd_texts_come_back_as_they_were(self, harness: Harness, text: str) -> None:
        """S71: in id, scope, headers and body; what looks like an escape stays the characters it is."""
        commit = await harness.client.events.append(
            order(text),
            [Placed(text=text)],
            expected_version=0,
            scope=Scope(text, text),
            commit_id=text,
            headers={text: text},
        )

        (row,) = await rows_of(harness.partition.reader, commit.slot)
        assert (row.aggregate_id, row.tenant_id, row.owner_id) == (text, text, text)
        assert Placed.model_validate_json(row.payload) == Placed(text=text)
        assert row.headers is not None
        assert json.loads(row.headers) == {text: text}

    @pytest.mark.parametrize("body", [Undeclared(), Sent()])
    async def test_a_body_that_is_no_event_of_the_aggregate_is_refused(self, harness: Harness, body: BaseModel) -> None:
        """A type is stored by the name its aggregate gave it; without one, nobody could read it."""
        with pytest.raises(InvalidEventError):
            await append(harness, order("o-1"), body)

        assert await _stored(harness) == 0

    async def test_a_commit_without_events_is_refused(self, harness: Harness) -> None:
        """A version is made of events."""
        with pytest.raises(InvalidEventError):
            await harness.client.events.append(order("o-1"), [], expected_version=0)

    async def test_an_event_over_a_megabyte_is_refused_with_all_that_came_with_it(self, harness: Harness) -> None:
        """H48: one page of large events must not fill a partition's memory."""
        with pytest.raises(EventTooLargeError):
            await harness.client.events.append_many(
                [
                    NewCommit(order("o-1"), (Placed(),)),
                    NewCommit(order("o-2"), (Placed(), Placed(text="x" * 2_000_000))),
                ]
            )

        assert await _stored(harness) == 0

    async def test_an_event_just_below_a_megabyte_is_taken(self, harness: Harness) -> None:
        """H48: the limit is the event's, not the commit's."""
        commit = await append(harness, order("o-1"), Placed(text="x" * 900_000), Placed(text="y" * 900_000))

        assert commit.positions == (1, 2)

    async def test_nothing_of_an_open_transaction_is_seen(self, harness: Harness) -> None:
        """L4, S16: its positions become visible with its commit, all at once."""
        ref = ref_in_slot(harness, 3)
        async with harness.transaction() as connection:
            commit = await harness.client.events.append(
                ref, [Placed(), Paid()], expected_version=0, connection=connection
            )
            before = await harness.partition.reader.heads([3])

        assert before == {3: 0}
        assert commit.positions == (1, 2)
        assert places(await rows_of(harness.partition.reader, 3)) == [(3, 1), (3, 2)]

    async def test_a_rolled_back_append_leaves_no_hole(self, harness: Harness) -> None:
        """L4, S18: the next append takes the position; a reader never waits for one that does not come."""
        ref = ref_in_slot(harness, 3)
        with pytest.raises(_ChangedMindError):
            await _append_and_roll_back(harness, ref)

        commit = await append(harness, ref, expected=0)

        assert (commit.version, commit.positions) == (1, (1,))

    async def test_an_append_waits_for_the_transaction_that_holds_its_slot(self, harness: Harness) -> None:
        """L4, S16: what commits later has the higher position, so no reader passes over it; other slots go on."""
        one, other = ref_in_slot(harness, 3), ref_in_slot(harness, 3, skip=1)
        async with harness.transaction() as connection:
            await harness.client.events.append(one, [Placed()], expected_version=0, connection=connection)
            waiting = asyncio.ensure_future(append(harness, other))
            elsewhere = await append(harness, ref_in_slot(harness, 4))
            done, _ = await asyncio.wait({waiting}, timeout=BEYOND_PATIENCE)

        assert not done
        assert elsewhere.positions == (1,)
        assert (await waiting).positions == (2,)

    async def test_a_second_append_in_one_transaction_is_refused(self, harness: Harness) -> None:
        """H36: it would take slots out of order; the error names `append_many`."""
        with pytest.raises(AppendError, match="append_many"):
            await _append_to_each(harness, ref_in_slot(harness, 6), ref_in_slot(harness, 1))

        assert await harness.partition.reader.heads([1, 6]) == {1: 0, 6: 0}

    async def test_several_aggregates_in_one_transaction_are_one_call(self, harness: Harness) -> None:
        """L4: `append_many` joins the caller's transaction as `append` does."""
        commits = [NewCommit(ref_in_slot(harness, slot), (Placed(),), 0) for slot in (6, 1)]
        async with harness.transaction() as connection:
            done = await harness.client.events.append_many(commits, connection=connection)

        assert [commit.slot for commit in done] == [6, 1]
        assert await harness.partition.reader.heads([1, 6]) == {1: 1, 6: 1}


class _ChangedMindError(Exception):
    """Rolls a transaction back."""


async def _append_and_roll_back(harness: Harness, ref: AggregateRef) -> None:
    """Append in a transaction, and change one's mind."""
    async with harness.transaction() as connection:
        await harness.client.events.append(ref, [Placed()], expected_version=0, connection=connection)
        raise _ChangedMindError


async def _append_to_each(harness: Harness, *refs: AggregateRef) -> None:
    """Append to one aggregate after the other in one transaction."""
    async with harness.transaction() as connection:
        for ref in refs:
            await harness.client.events.append(ref, [Placed()], expected_version=0, connection=connection)


async def _stored(harness: Harness) -> int:
    """Count all events of the store."""
    return sum((await harness.partition.reader.heads(range(harness.slots))).values())
