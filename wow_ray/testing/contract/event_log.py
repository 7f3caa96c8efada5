# ruff: noqa: S101, PLR2004 - assert is how a contract speaks, and its numbers are examples
"""What every log promises: to those who append (`producing`, `refusing`), and here to those who read."""

from __future__ import annotations

import pytest

from wow_ray.events import AggregateRef, Commit, StoredEvent
from wow_ray.ports.event_log import Interest, Range, StreamWant
from wow_ray.testing.contract.harness import Harness, Paid, Placed, Sent, order, parcel, ref_in_slot
from wow_ray.testing.contract.producing import Producing
from wow_ray.testing.contract.refusing import Refusing
from wow_ray.testing.contract.suite import ALL, Suite, append, places, rows_of

PAGE_BYTES = 8_000_000
ONLY_PAID = Interest(types=frozenset({("order", "order_paid")}))
NOTHING = Interest(types=frozenset())


class Reading(Suite):
    """Heads, pages, single places, streams."""

    async def test_heads_are_given_for_the_slots_asked(self, harness: Harness) -> None:
        """H47: of just these slots; an empty one is at 0."""
        await append(harness, ref_in_slot(harness, 2), Placed(), Paid())
        await append(harness, ref_in_slot(harness, 5))

        assert await harness.partition.reader.heads([2, 3]) == {2: 2, 3: 0}
        assert await harness.partition.reader.heads([]) == {}

    async def test_a_page_is_ordered_by_slot_and_position(self, harness: Harness) -> None:
        """Whatever the order of the ranges asked for."""
        for slot in (5, 2, 5, 2, 7):
            await append(harness, ref_in_slot(harness, slot))

        page = await harness.partition.reader.page([Range(slot, 0, 9, 100) for slot in (7, 5, 2)], ALL)

        assert places(page.rows) == [(2, 1), (2, 2), (5, 1), (5, 2), (7, 1)]

    async def test_a_range_begins_above_its_first_and_includes_its_last_position(self, harness: Harness) -> None:
        """H7: (after, to]; what was appended beyond `to` meanwhile is not answered."""
        ref = ref_in_slot(harness, 3)
        await append(harness, ref, *[Placed()] * 9)

        page = await harness.partition.reader.page([Range(3, 2, 5, 100)], ALL)

        assert places(page.rows) == [(3, 3), (3, 4), (3, 5)]
        assert page.reached == {3: 5}

    async def test_only_wanted_types_are_answered_and_the_range_is_reached_all_the_same(self, harness: Harness) -> None:
        """H7: with a filter the last row does not say how far was read; `reached` does."""
        await append(harness, ref_in_slot(harness, 3), Placed(), Paid(), Placed(), Placed())

        page = await harness.partition.reader.page([Range(3, 0, 4, 100)], ONLY_PAID)

        assert places(page.rows) == [(3, 2)]
        assert page.reached == {3: 4}

    async def test_whole_aggregates_and_single_types_may_be_wanted_together(self, harness: Harness) -> None:
        """H21: a group that folds states wants every type of its aggregate."""
        await append(harness, ref_in_slot(harness, 3), Placed(), Paid())
        await append(harness, ref_in_slot(harness, 3, parcel), Sent(), Sent())
        wanted = Interest(types=frozenset({("order", "order_paid")}), aggregates=frozenset({"parcel"}))

        page = await harness.partition.reader.page([Range(3, 0, 4, 100)], wanted)

        assert places(page.rows) == [(3, 2), (3, 3), (3, 4)]

    async def test_an_empty_interest_is_interest_in_nothing(self, harness: Harness) -> None:
        """S30: an empty selection selects nothing."""
        await append(harness, ref_in_slot(harness, 3), Placed(), Paid())

        page = await harness.partition.reader.page([Range(3, 0, 2, 100)], NOTHING)

        assert page.rows == []
        assert page.reached == {3: 2}

    async def test_no_ranges_are_an_empty_page(self, harness: Harness) -> None:
        """S30: nothing was asked for, nothing is answered."""
        await append(harness, ref_in_slot(harness, 3))

        page = await harness.partition.reader.page([], ALL)

        assert (page.rows, page.reached) == ([], {})

    async def test_a_full_range_says_how_far_it_came(self, harness: Harness) -> None:
        """H7: each range has its own limit of wanted rows, and ends at the last of them."""
        await append(harness, ref_in_slot(harness, 3), *[Placed(), Paid()] * 5)
        await append(harness, ref_in_slot(harness, 4), Paid(), Placed())

        page = await harness.partition.reader.page([Range(3, 0, 10, 2), Range(4, 0, 2, 2)], ONLY_PAID)

        assert places(page.rows) == [(3, 2), (3, 4), (4, 1)]
        assert page.reached == {3: 4, 4: 2}

    @pytest.mark.parametrize("limit", [1, 3, 4])
    async def test_pages_read_one_after_another_are_complete_and_without_repeats(
        self, harness: Harness, limit: int
    ) -> None:
        """H7: going on from what was reached gives every wanted row once."""
        for slot in (3, 4, 3):
            await append(harness, ref_in_slot(harness, slot), *[Paid(), Placed(), Paid()] * 3)
        heads = await harness.partition.reader.heads([3, 4])

        rows = await _read_to_the_end(harness, heads, ONLY_PAID, limit)

        wanted = [row for row in await rows_of(harness.partition.reader, 3, 4) if row.type == "order_paid"]
        assert sorted(places(rows)) == places(wanted)

    async def test_a_page_ends_at_eight_megabytes(self, harness: Harness) -> None:
        """H48: rows of any size, and a partition's memory is bounded; the rest comes with the next page."""
        for slot in (3, 4):
            await append(harness, ref_in_slot(harness, slot), *[Placed(text="x" * 900_000)] * 9)
        heads = {3: 9, 4: 9}

        page = await harness.partition.reader.page([Range(3, 0, 9, 2000), Range(4, 0, 9, 2000)], ALL)

        assert sum(len(row.payload) for row in page.rows) <= PAGE_BYTES + 2 * 1_000_000
        assert {row.slot for row in page.rows} == {3, 4}
        rows = await _read_to_the_end(harness, heads, ALL, 2000)
        assert sorted(places(rows)) == [(slot, position) for slot in (3, 4) for position in range(1, 10)]

    async def test_single_places_are_answered_in_order_and_missing_ones_left_out(self, harness: Harness) -> None:
        """What drains and operators look up, by slot and position."""
        await append(harness, ref_in_slot(harness, 3), Placed(), Paid(), Placed())
        await append(harness, ref_in_slot(harness, 2))

        rows = await harness.partition.reader.at([(3, 3), (2, 1), (3, 1), (3, 99), (2, 0)])

        assert places(rows) == [(2, 1), (3, 1), (3, 3)]
        assert await harness.partition.reader.at([]) == []

    async def test_parts_of_streams_are_answered_in_the_order_asked(self, harness: Harness) -> None:
        """H50: many aggregates in one statement, each from its own place, an unknown one with nothing."""
        one = await append(harness, ref_in_slot(harness, 3), Placed(), Paid(), Placed())
        await append(harness, one.ref, Paid(), Paid())
        other = await append(harness, ref_in_slot(harness, 3, skip=1), Placed(), Paid())
        wants = [_want(other, 1, 1), _want(one, 1, 2), StreamWant(3, "order", "nobody", 1, 0, 99)]

        answers = await harness.partition.drains.streams(wants, 100)

        assert [[(row.aggregate_id, row.version, row.sequence) for row in rows] for rows in answers] == [
            [(other.ref.id, 1, 1)],
            [(one.ref.id, 1, 2), (one.ref.id, 2, 0), (one.ref.id, 2, 1)],
            [],
        ]

    async def test_a_part_of_a_stream_ends_at_its_limit_and_at_its_last_position(self, harness: Harness) -> None:
        """H2, H50: a drain reads up to the high mark and not beyond, a bounded piece at a time."""
        commit = await append(harness, ref_in_slot(harness, 3), *[Placed()] * 6)
        wants = [_want(commit, 1, 0, to=4), _want(commit, 1, 2, to=6)]

        answers = await harness.partition.drains.streams(wants, 3)

        assert [places(rows) for rows in answers] == [[(3, 1), (3, 2), (3, 3)], [(3, 3), (3, 4), (3, 5)]]
        (rows,) = await harness.partition.drains.streams([_want(commit, 1, 3, to=4)], 3)
        assert places(rows) == [(3, 4)]
        assert await harness.partition.drains.streams([], 3) == []

    async def test_a_stream_is_read_in_order_from_a_version_on(self, harness: Harness) -> None:
        """The producer's own reading, across as many pages as it takes."""
        ref = order("o-1")
        for _ in range(4):
            await append(harness, ref, *[Placed(), Paid()] * 200)

        rows = [row async for row in harness.client.events.stream(ref, from_version=2)]

        assert [(row.version, row.sequence) for row in rows] == [(v, s) for v in (2, 3, 4) for s in range(400)]
        assert {row.aggregate_id for row in rows} == {"o-1"}

    async def test_a_stream_without_events_has_nothing_to_read(self, harness: Harness) -> None:
        """Neither before the first event nor beyond the last version."""
        await append(harness, order("o-1"))

        assert [row async for row in harness.client.events.stream(order("o-2"))] == []
        assert [row async for row in harness.client.events.stream(order("o-1"), from_version=2)] == []

    async def test_a_stream_may_be_left_early(self, harness: Harness) -> None:
        """H47: nothing is held for a reader that has gone."""
        ref = order("o-1")
        await append(harness, ref, Placed(), Paid())

        async for row in harness.client.events.stream(ref):
            assert row.version == 1
            break

        assert (await append(harness, ref)).version == 2

    async def test_all_readers_read_the_same_log(self, harness: Harness) -> None:
        """H52: the parts have connections of their own, and one log."""
        commit = await append(harness, ref_in_slot(harness, 3), Placed(), Paid())
        readers = [harness.partition.reader, harness.partition.drains, harness.client.reader]
        readers.append(harness.another_partition().reader)

        assert [places(await rows_of(reader, 3)) for reader in readers] == [[(3, 1), (3, 2)]] * 4
        assert len({await reader.identity() for reader in readers}) == 1
        assert commit.slot == 3


class EventLogContract(Producing, Refusing, Reading):
    """The whole contract of `EventStore` and `LogReader`."""


def _want(commit: Commit, version: int, sequence: int, to: int = 1_000) -> StreamWant:
    """Ask for a part of the stream that the commit belongs to."""
    ref: AggregateRef = commit.ref
    return StreamWant(commit.slot, ref.aggregate, ref.id, version, sequence, to)


async def _read_to_the_end(
    harness: Harness, heads: dict[int, int], interest: Interest, limit: int
) -> list[StoredEvent]:
    """Read page after page from what each has reached."""
    rows: list[StoredEvent] = []
    reached = dict.fromkeys(heads, 0)
    while ranges := [Range(slot, reached[slot], heads[slot], limit) for slot in heads if reached[slot] < heads[slot]]:
        page = await harness.partition.reader.page(ranges, interest)
        assert all(page.reached[part.slot] > part.after for part in ranges)
        assert len(page.rows) <= limit * len(ranges)
        rows += page.rows
        reached |= page.reached
    return rows
