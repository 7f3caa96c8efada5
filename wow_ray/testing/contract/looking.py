# ruff: noqa: S101 - assert is how a contract speaks, and its numbers are examples
"""What every failure ledger promises to operators who look: filters, counts, groups of errors, the audit (P12)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from wow_ray.failure import Category
from wow_ray.policy.parked import OPEN, Reason, State, Verb
from wow_ray.ports.ledger import ActionFilter, Counted, RowFilter
from wow_ray.testing.contract.harness import Harness
from wow_ray.testing.contract.rows import Owning, a_failure, owning
from wow_ray.testing.contract.suite import Suite

EVERY = frozenset(State)


class Looking(Suite):
    """Rows by what went wrong, and who asked for what."""

    @pytest.mark.parametrize(
        ("wanted", "found"),
        [
            (RowFilter(EVERY), ["r-1", "r-2", "r-3"]),
            (RowFilter(EVERY, newest_first=True), ["r-3", "r-2", "r-1"]),
            (RowFilter(EVERY, newest_first=True, after="r-3", limit=1), ["r-2"]),
            (RowFilter(EVERY, reason=Reason.OPERATOR), ["r-3"]),
            (RowFilter(EVERY, category=Category.SYSTEMIC), ["r-2"]),
            (RowFilter(EVERY, error_type="shop.CarrierBusy"), ["r-2"]),
            (RowFilter(EVERY, error_type="CarrierBusy"), []),
            (RowFilter(EVERY, text="NO SUCH"), ["r-1"]),
            (RowFilter(EVERY, text="carrierbusy"), ["r-2"]),
            (RowFilter(EVERY, text="100%_of"), ["r-2"]),
            (RowFilter(EVERY, text="%"), ["r-2"]),
            (RowFilter(EVERY, stopped_version=9), ["r-3"]),
            (RowFilter(frozenset(), text="no such"), []),
        ],
    )
    async def test_rows_are_found_by_what_went_wrong(
        self, harness: Harness, wanted: RowFilter, found: list[str]
    ) -> None:
        """P12: a text is taken as it is written, not as a pattern; counting agrees with listing."""
        await _three(await owning(harness))
        ledger = harness.client.ledger

        assert [row.id for row in await ledger.rows(wanted)] == found
        if wanted.after is None:
            assert await ledger.count(wanted, 10) == Counted(len(found), exact=True)

    @pytest.mark.parametrize(
        ("wanted", "found"),
        [
            (RowFilter(OPEN), 3),
            (RowFilter(OPEN, category=Category.SYSTEMIC), 1),
            (RowFilter(OPEN, fingerprint="f-1", group="Mailer"), 0),
            (RowFilter(frozenset({State.WAITING}), fingerprint="f-1"), 0),
        ],
    )
    async def test_open_rows_are_counted_as_they_change(self, harness: Harness, wanted: RowFilter, found: int) -> None:
        """P12: by what people group them by, and however often they were written; what has ended is not open."""
        partition = await owning(harness)
        await _three(partition)
        await _three(partition)
        await partition.put(partition.row("r-9", State.RESOLVED, aggregate_id="o-9"))

        assert await harness.client.ledger.count(wanted, 10) == Counted(found, exact=True)

    async def test_looking_goes_on_behind_the_last_row_and_ends_at_the_end(self, harness: Harness) -> None:
        """P12: also with a text, and the other way round; where it ends nothing more is promised."""
        await _three(await owning(harness))
        ledger = harness.client.ledger

        for wanted in (RowFilter(EVERY, limit=2), RowFilter(EVERY, text="shop.", limit=1)):
            for newest_first in (False, True):
                one = replace(wanted, newest_first=newest_first)
                first = await ledger.look(one)
                second = await ledger.look(replace(one, after=first.through))
                assert first.through == first.rows[-1].id
                assert (len(second.rows), second.through is None or len(second.rows) == one.limit) == (1, True)
                assert not {row.id for row in first.rows} & {row.id for row in second.rows}
        assert (await ledger.look(RowFilter(EVERY, text="nowhere"))).through is None

    async def test_counting_stops_where_it_is_told_to(self, harness: Harness) -> None:
        """A million rows are not counted for a page that says "many"."""
        await _three(await owning(harness))

        counted = await harness.client.ledger.count(RowFilter(EVERY, after="r-2", limit=1), 2)
        assert counted == Counted(2, exact=False)

    async def test_errors_that_are_alike_are_one_group_with_its_first_and_last(self, harness: Harness) -> None:
        """Most rows first; the words are those of the newest; rows without an error are a group of their own."""
        partition = await owning(harness)
        later = partition.now + timedelta(hours=2)
        await _three(partition)
        await partition.put(
            partition.row("r-4", aggregate_id="o-4", failure=a_failure("the newest"), parked_at=later),
            partition.row("r-5", State.RESOLVED, aggregate_id="o-5", failure=a_failure("over")),
        )
        wanted = RowFilter(frozenset({State.PARKED, State.EXHAUSTED}), after="r-9", limit=1)

        first, *others = await harness.client.ledger.alike(wanted, 10)

        assert (first.fingerprint, first.rows, first.first, first.last) == ("f-1", 2, partition.now, later)
        assert (first.type, first.message, first.category) == ("shop.UnknownBuyer", "the newest", Category.RECOVERABLE)
        assert [(each.fingerprint, each.rows) for each in others] == [("f-2", 1), (None, 1)]
        assert (others[1].category, others[1].type, others[1].message) == (None, "", "")
        assert len(await harness.client.ledger.alike(wanted, 1)) == 1
        assert await harness.client.ledger.alike(replace(wanted, states=frozenset()), 10) in ([], ())

    async def test_rows_are_counted_by_category(self, harness: Harness) -> None:
        """What people are shown first: what is down, what is broken, what somebody parked."""
        await _three(await owning(harness))

        assert dict(await harness.client.ledger.categories(EVERY)) == {
            Category.RECOVERABLE: 1,
            Category.SYSTEMIC: 1,
            None: 1,
        }
        assert dict(await harness.client.ledger.categories(frozenset())) == {}

    async def test_actions_are_listed_newest_first_in_pages(self, harness: Harness) -> None:
        """P10: what was asked is the audit, whatever became of it."""
        partition = await owning(harness)
        ledger = harness.client.ledger
        for number in range(1, 5):
            await ledger.ask(
                partition.intent(f"q-{number}", actor="ann" if number % 2 else "bob", aggregate_id=f"o-{number}")
            )
        await ledger.ask(partition.intent("q-5", verb=Verb.RESET, aggregate="", aggregate_id="", row_id=None))

        async def listed(wanted: ActionFilter) -> list[str]:
            return [each.request.request_id for each in await ledger.actions(wanted)]

        assert await listed(ActionFilter()) == ["q-5", "q-4", "q-3", "q-2", "q-1"]
        first = await ledger.actions(ActionFilter(limit=2))
        assert await listed(ActionFilter(before=first[-1].id, limit=2)) == ["q-3", "q-2"]
        assert await listed(ActionFilter(actor="bob")) == ["q-4", "q-2"]
        assert await listed(ActionFilter(group="Sales", aggregate="order", aggregate_id="o-3")) == ["q-3"]
        assert await listed(ActionFilter(group="Nobody")) == []


async def _three(partition: Owning) -> None:
    """Park three aggregates: for an unknown buyer, for a busy carrier, on purpose."""
    busy = replace(a_failure("100%_of it", type_="shop.CarrierBusy", fingerprint="f-2"), category=Category.SYSTEMIC)
    await partition.put(
        partition.row("r-1", failure=a_failure("No such buyer")),
        partition.row("r-2", aggregate_id="o-2", failure=busy),
        partition.row(
            "r-3", State.EXHAUSTED, aggregate_id="o-3", failure=None, reason=Reason.OPERATOR, stopped_version=9
        ),
    )
