# ruff: noqa: S101, PLR2004 - assert is how a contract speaks, and its numbers are examples
"""What every failure ledger promises: to operators (`asking`), and here to those who read it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Literal

import pytest

from wow_ray.policy.parked import OPEN, Row, State
from wow_ray.ports.ledger import RowFilter
from wow_ray.ports.slots import AttemptNote, Notice
from wow_ray.testing.contract.asking import Asking
from wow_ray.testing.contract.harness import Harness
from wow_ray.testing.contract.looking import Looking
from wow_ray.testing.contract.rows import SUBSCRIPTIONS, Owning, a_failure, owning
from wow_ray.testing.contract.suite import Suite

EVERY = frozenset(State)


class Reading(Suite):
    """Rows, counts, what is due, history, notices."""

    async def test_what_there_never_was_is_none(self, harness: Harness) -> None:
        """And an empty ledger is empty."""
        ledger = harness.client.ledger

        assert await ledger.row("r-1") is None
        assert await ledger.open_row("Sales", "order", "o-1") is None
        assert list(await ledger.rows(RowFilter(EVERY))) == []
        assert dict(await ledger.counts()) == {}
        assert list(await ledger.attempts("r-1")) == []
        assert list(await ledger.notices(0, 10)) == []

    @pytest.mark.parametrize("state", sorted(State))
    async def test_an_ended_row_is_history_and_holds_nothing(self, harness: Harness, state: State) -> None:
        """P0: found by its id for ever, by its aggregate only while it is open."""
        partition = await owning(harness)
        row = partition.row(state=state)
        await partition.put(row)

        assert await harness.client.ledger.row("r-1") == row
        assert await harness.client.ledger.open_row("Sales", "order", "o-1") == (row if state in OPEN else None)

    async def test_no_states_are_no_rows(self, harness: Harness) -> None:
        """S30, P12: an empty selection selects nothing."""
        partition = await owning(harness)
        await partition.put(partition.row())

        assert list(await harness.client.ledger.rows(RowFilter(frozenset()))) == []

    @pytest.mark.parametrize(
        ("wanted", "found"),
        [
            (RowFilter(EVERY), ["r-1", "r-2", "r-3", "r-4"]),
            (RowFilter(frozenset({State.PARKED, State.RESOLVED})), ["r-1", "r-2", "r-4"]),
            (RowFilter(EVERY, group="Mails.on_paid"), ["r-2"]),
            (RowFilter(EVERY, subscription="Sales.on_placed"), ["r-3"]),
            (RowFilter(EVERY, aggregate="parcel"), ["r-4"]),
            (RowFilter(EVERY, aggregate_id="o-1"), ["r-1", "r-2"]),
            (RowFilter(EVERY, fingerprint="f-2"), ["r-3"]),
            (RowFilter(frozenset({State.PARKED}), group="Sales", aggregate="order"), ["r-1"]),
            (RowFilter(EVERY, group="Nobody"), []),
            (RowFilter(EVERY, after="r-2"), ["r-3", "r-4"]),
            (RowFilter(EVERY, limit=2), ["r-1", "r-2"]),
            (RowFilter(frozenset({State.PARKED}), after="r-1", limit=1), ["r-2"]),
            (RowFilter(EVERY, after="r-4"), []),
        ],
    )
    async def test_rows_are_listed_by_id_as_the_filter_wants(
        self, harness: Harness, wanted: RowFilter, found: list[str]
    ) -> None:
        """P12: every condition that is given must hold."""
        partition = await owning(harness)
        await partition.put(
            partition.row(
                "r-3",
                State.EXHAUSTED,
                aggregate_id="o-3",
                subscription="Sales.on_placed",
                failure=a_failure(fingerprint="f-2"),
            ),
            partition.row("r-1"),
            partition.row("r-4", State.RESOLVED, aggregate="parcel", aggregate_id="p-1"),
            partition.row("r-2", group="Mails.on_paid", subscription="Mails.on_paid"),
        )

        assert [row.id for row in await harness.client.ledger.rows(wanted)] == found

    async def test_pages_of_rows_are_complete_and_without_repeats(self, harness: Harness) -> None:
        """P12: by keyset, so rows that change or come while one reads disturb nothing already read."""
        partition = await owning(harness)
        rows = [partition.row(f"r-{n:03}", aggregate_id=f"o-{n}") for n in range(0, 50, 2)]
        await partition.put(*rows)

        found: list[Row] = []
        while page := await harness.client.ledger.rows(
            RowFilter(EVERY, after=found[-1].id if found else None, limit=7)
        ):
            found += page
            n = len(found)
            await partition.put(
                replace(page[0], retries=n, etag=2), partition.row(f"r-000-{n}", aggregate_id=f"new-{n}")
            )

        assert [row.id for row in found] == [row.id for row in rows]

    async def test_open_rows_are_counted_by_group_and_state(self, harness: Harness) -> None:
        """Ended ones are history, and would be counted for ever."""
        partition = await owning(harness, 3, 4)
        await partition.put(
            partition.row("r-1"),
            partition.row("r-2", aggregate_id="o-2", slot=4),
            partition.row("r-3", State.EXHAUSTED, aggregate_id="o-3"),
            partition.row("r-4", State.RESOLVED, aggregate_id="o-4"),
            partition.row("r-5", group="Mails.on_paid", subscription="Mails.on_paid"),
        )

        assert dict(await harness.client.ledger.counts()) == {
            ("Sales", State.PARKED): 2,
            ("Sales", State.EXHAUSTED): 1,
            ("Mails.on_paid", State.PARKED): 1,
        }

    async def test_parked_rows_are_due_by_the_stores_time_the_longest_due_first(self, harness: Harness) -> None:
        """P6: whatever any process's clock says."""
        partition = await owning(harness)
        for n, minutes in enumerate([-1, 5, -3, -2, 60]):
            await partition.put(_due(partition, f"r-{n}", minutes))

        ledger = harness.partition.ledger
        assert [row.id for row in await ledger.due([3], SUBSCRIPTIONS, 10)] == ["r-2", "r-3", "r-0"]
        assert [row.id for row in await ledger.due([3], SUBSCRIPTIONS, 2)] == ["r-2", "r-3"]

    async def test_only_parked_rows_are_due(self, harness: Harness) -> None:
        """P8, P0: exhausted ones wait for a person, running and waiting ones go on by themselves."""
        partition = await owning(harness)
        for state in State:
            await partition.put(replace(_due(partition, f"r-{state}", -5), state=state))

        assert [row.id for row in await harness.partition.ledger.due([3], SUBSCRIPTIONS, 100)] == ["r-parked"]

    async def test_rows_are_due_in_the_slots_asked_for(self, harness: Harness) -> None:
        """S30: no slots, no rows."""
        partition = await owning(harness, 2, 3, 4)
        for slot in (2, 3, 4):
            await partition.put(_due(partition, f"r-{slot}", -slot, slot=slot))

        ledger = harness.partition.ledger
        assert [row.id for row in await ledger.due([2, 4, 7], SUBSCRIPTIONS, 10)] == ["r-4", "r-2"]
        assert list(await ledger.due([], SUBSCRIPTIONS, 10)) == []

    async def test_due_rows_of_handlers_that_are_gone_take_nobodys_place(self, harness: Harness) -> None:
        """S92, P14: a program gets rows of the subscriptions it has, however many others are due."""
        partition = await owning(harness)
        gone = [replace(_due(partition, f"r-{n}", -n - 10), subscription="Sales.on_gone") for n in range(3)]
        await partition.put(*gone, _due(partition, "r-here", -1))

        ledger = harness.partition.ledger
        assert [row.id for row in await ledger.due([3], SUBSCRIPTIONS, 1)] == ["r-here"]
        assert list(await ledger.due([3], (), 10)) == []

    async def test_the_history_of_a_row_is_kept_oldest_first(self, harness: Harness) -> None:
        """P4: across commits and kinds, with failures and without."""
        partition = await owning(harness)
        await partition.put(partition.row(), partition.row("r-2", aggregate_id="o-2"))
        kinds: list[Literal["live", "retry", "drain", "operator"]] = ["live", "retry", "drain", "operator"]
        notes = [
            AttemptNote("r-1", kind, partition.now + timedelta(seconds=n), a_failure(f"no {n}") if n % 2 else None)
            for n, kind in enumerate(kinds)
        ]

        await partition.commit(partition.write(attempts=(*notes[:2], replace(notes[0], row_id="r-2"))))
        await partition.commit(partition.write(attempts=tuple(notes[2:])))

        assert list(await harness.client.ledger.attempts("r-1")) == notes
        assert len(await harness.client.ledger.attempts("r-2")) == 1

    async def test_the_history_of_a_row_is_bounded_and_keeps_the_newest(self, harness: Harness) -> None:
        """P4, H53: years of retries do not fill the disk."""
        partition = await owning(harness)
        await partition.put(partition.row())
        notes = [AttemptNote("r-1", "retry", partition.now + timedelta(seconds=n), a_failure()) for n in range(1_000)]

        for first in range(0, 1_000, 100):
            await partition.commit(partition.write(attempts=tuple(notes[first : first + 100])))

        kept = list(await harness.client.ledger.attempts("r-1"))
        assert 10 <= len(kept) < 1_000
        assert kept == notes[-len(kept) :]

    async def test_notices_are_numbered_in_the_order_of_their_commits(self, harness: Harness) -> None:
        """P13: who sends them goes on after the last number sent."""
        partition = await owning(harness)
        rows = [partition.row(f"r-{n}", aggregate_id=f"o-{n}") for n in range(3)]
        for row in rows:
            await partition.commit(partition.write(rows=(row,), notices=(Notice("parked", row),)))
        gone = replace(rows[1], state=State.EXHAUSTED, next_due=None, etag=2)
        await partition.commit(partition.write(rows=(gone,), notices=(Notice("exhausted", gone),)))

        told = await harness.client.ledger.notices(0, 10)

        assert [(kind, row_id) for _, kind, row_id in told] == [
            ("parked", "r-0"),
            ("parked", "r-1"),
            ("parked", "r-2"),
            ("exhausted", "r-1"),
        ]
        numbers = [number for number, _, _ in told]
        assert numbers == sorted(set(numbers))
        assert list(await harness.client.ledger.notices(numbers[0], 2)) == list(told[1:3])
        assert list(await harness.client.ledger.notices(numbers[-1], 10)) == []


class LedgerContract(Reading, Looking, Asking):
    """The whole contract of `Ledger`; rows are written through `SlotStore.commit`, as only a slot's owner may (H5)."""


def _due(partition: Owning, id_: str, minutes: float, slot: int = 3) -> Row:
    """Make a parked row due so many minutes from the store's time, of an aggregate of its own."""
    return partition.row(id_, slot=slot, aggregate_id=f"o-{id_}", next_due=partition.now + timedelta(minutes=minutes))
