# ruff: noqa: S101, PLR2004 - assert is how a contract speaks, and its numbers are examples
"""What every store of slots promises about groups: where they start, what they were called, when they return."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from wow_ray.errors import ConfigurationError
from wow_ray.events import NewCommit
from wow_ray.policy.parked import State
from wow_ray.policy.progress import Mark
from wow_ray.ports.slots import GroupDeclared
from wow_ray.testing.contract.harness import Harness, Placed, ref_in_slot
from wow_ray.testing.contract.rows import MAILS, SALES, owning, reloaded
from wow_ray.testing.contract.suite import Suite, append

RENAMED = GroupDeclared(
    "Turnover",
    "projection",
    "beginning",
    ("Sales",),
    (("Turnover.on_placed", ("Sales.on_placed",)), ("Turnover.on_paid", ("Sales.on_paid",))),
)


class Registering(Suite):
    """`SlotStore.register`."""

    async def test_a_group_starts_at_the_beginning_or_at_the_end_as_declared(self, harness: Harness) -> None:
        """L5: at 0, or at every slot's head as of its first registration."""
        await append(harness, ref_in_slot(harness, 3), Placed(), Placed())
        groups = await harness.partition.slots.register([SALES, MAILS])

        acquired = await harness.partition.slots.acquire(harness.another_owner(), [3, 4])

        marks = {loaded.slot: loaded.marks for loaded in acquired.slots}
        sales, mails = groups["Sales"].number, groups["Mails.on_paid"].number
        assert sales != mails
        assert marks == {3: {sales: Mark(0), mails: Mark(2)}, 4: {sales: Mark(0), mails: Mark(0)}}

    async def test_registering_again_changes_nothing(self, harness: Harness) -> None:
        """L5: the start is fixed by the first registration; what was appended since is handled."""
        first = await harness.partition.slots.register([SALES, MAILS])
        await append(harness, ref_in_slot(harness, 3))

        again = await harness.another_partition().slots.register([replace(SALES, start="end"), MAILS])

        assert again == first
        assert (await reloaded(harness)).marks == {group.number: Mark(0) for group in first.values()}

    async def test_registering_at_once_is_registering_once(self, harness: Harness) -> None:
        """H20: every partition of a first deployment does it."""
        stores = [harness.partition.slots, harness.another_partition().slots, harness.client.slots]

        answers = await asyncio.gather(*(store.register([SALES, MAILS]) for store in stores for _ in range(3)))

        assert all(answer == answers[0] for answer in answers)

    async def test_the_start_is_one_cut_through_the_log(self, harness: Harness) -> None:
        """L5, H20: an append over two slots lies before the start in both, or after it in both."""
        refs = [ref_in_slot(harness, 2), ref_in_slot(harness, 6)]

        async def append_both() -> None:
            for _ in range(15):
                await harness.client.events.append_many([NewCommit(ref, (Placed(),)) for ref in refs])

        _, groups, _ = await asyncio.gather(append_both(), harness.partition.slots.register([MAILS]), append_both())

        acquired = await harness.partition.slots.acquire(harness.another_owner(), [2, 6])
        one, other = (loaded.marks[groups["Mails.on_paid"].number] for loaded in acquired.slots)
        assert one == other

    async def test_subscriptions_are_known_by_the_name_they_were_first_registered_under(self, harness: Harness) -> None:
        """H28: the invocation key is made of it, so it outlives every renaming."""
        first = await harness.partition.slots.register([SALES])
        second = await harness.partition.slots.register([RENAMED])
        named_again = replace(
            RENAMED,
            name="Revenue",
            aliases=("Turnover", "Sales"),
            subscriptions=(("Revenue.on_paid", ("Turnover.on_paid",)),),
        )
        third = await harness.partition.slots.register([named_again])

        assert first["Sales"].first_names == {"Sales.on_placed": "Sales.on_placed", "Sales.on_paid": "Sales.on_paid"}
        assert second["Turnover"].first_names == {
            "Turnover.on_placed": "Sales.on_placed",
            "Turnover.on_paid": "Sales.on_paid",
        }
        assert third["Revenue"].first_names == {"Revenue.on_paid": "Sales.on_paid"}
        assert {answer.number for groups in (first, second, third) for answer in groups.values()} == {
            first["Sales"].number
        }

    async def test_a_handler_added_later_is_known_by_its_own_name(self, harness: Harness) -> None:
        """It shares its group's progress."""
        await harness.partition.slots.register([SALES])

        grown = replace(SALES, subscriptions=(*SALES.subscriptions, ("Sales.on_weighed", ("Sales.on_scaled",))))
        groups = await harness.partition.slots.register([grown])

        assert groups["Sales"].first_names["Sales.on_weighed"] == "Sales.on_weighed"
        assert len(groups["Sales"].first_names) == 3

    async def test_an_alias_takes_over_progress_and_rows(self, harness: Harness) -> None:
        """L5, P14: checkpoints and ledger rows of the old name are the new name's, ended rows too."""
        partition = await owning(harness)
        sales = partition.group()
        open_, ended = partition.row("r-1"), partition.row("r-0", State.RESOLVED, aggregate_id="o-0")
        await partition.commit(
            partition.write(marks={**partition.loaded[3].marks, sales: Mark(5)}, rows=(open_, ended))
        )

        groups = await harness.partition.slots.register([RENAMED, MAILS])

        ledger = harness.client.ledger
        assert groups["Turnover"].number == sales
        assert await ledger.open_row("Sales", "order", "o-1") is None
        assert await ledger.open_row("Turnover", "order", "o-1") == replace(
            open_, group="Turnover", subscription="Turnover.on_paid"
        )
        assert await ledger.row("r-0") == replace(ended, group="Turnover", subscription="Turnover.on_paid")
        loaded = await reloaded(harness)
        assert loaded.marks[sales] == Mark(5)
        assert loaded.held == (("Turnover", "order", "o-1"),)

    async def test_an_alias_that_names_nothing_known_is_no_rename(self, harness: Harness) -> None:
        """A group that is new starts as declared, whatever it is said to have been called."""
        await append(harness, ref_in_slot(harness, 3))

        groups = await harness.partition.slots.register([replace(MAILS, aliases=("Letters.on_paid",))])

        assert (await reloaded(harness)).marks == {groups["Mails.on_paid"].number: Mark(1)}

    async def test_a_group_that_returns_asks_where_it_goes_on(self, harness: Harness) -> None:
        """H20: half a year of mails is not sent by accident, nor left out; a refused start registers nothing."""
        await harness.partition.slots.register([SALES, MAILS])
        await harness.partition.slots.register([SALES])

        with pytest.raises(ConfigurationError, match="Mails"):
            await harness.partition.slots.register([SALES, MAILS, replace(SALES, name="Sums", subscriptions=())])

        assert len((await reloaded(harness)).marks) == 2

    async def test_a_group_that_returns_may_go_on_at_what_is_stored(self, harness: Harness) -> None:
        """H20: everything appended meanwhile is handled."""
        groups = await harness.partition.slots.register([SALES, MAILS])
        await harness.partition.slots.register([SALES])
        await append(harness, ref_in_slot(harness, 3))

        back = await harness.partition.slots.register([SALES, MAILS], "stored")

        assert back == groups
        assert (await reloaded(harness)).marks[groups["Mails.on_paid"].number] == Mark(0)

    async def test_a_group_that_returns_may_go_on_at_the_end(self, harness: Harness) -> None:
        """H20: what was appended meanwhile is passed over, and what comes from now on is handled."""
        partition = await owning(harness)
        mails = partition.group("Mails.on_paid")
        await append(harness, ref_in_slot(harness, 3), *[Placed()] * 4)
        await partition.commit(partition.write(marks={**partition.loaded[3].marks, mails: Mark(2)}))
        await harness.partition.slots.register([SALES])

        await harness.partition.slots.register([SALES, MAILS], "end")

        await append(harness, ref_in_slot(harness, 3))
        marks = (await reloaded(harness)).marks
        assert marks == {partition.group(): Mark(0), mails: Mark(4)}

    async def test_an_owner_that_has_not_heard_of_it_cannot_take_a_group_back_from_the_end(
        self, harness: Harness
    ) -> None:
        """H20, L7: a partition of the former release still commits meanwhile; its place does not count."""
        old = await owning(harness)
        mails = old.group("Mails.on_paid")
        await append(harness, ref_in_slot(harness, 3), *[Placed()] * 4)
        await harness.partition.slots.register([SALES])
        await harness.partition.slots.register([SALES, MAILS], "end")
        await old.commit(old.write(marks={old.group(): Mark(3), mails: Mark(1)}))

        new = await owning(harness)
        found = new.loaded[3].marks
        await new.commit(new.write(marks={old.group(): Mark(4), mails: Mark(5)}))

        assert found == {old.group(): Mark(3), mails: Mark(4)}
        assert (await reloaded(harness)).marks == {old.group(): Mark(4), mails: Mark(5)}

    async def test_an_owner_that_knows_the_former_name_writes_under_the_present_one(self, harness: Harness) -> None:
        """L5, L7: rows and intents of a program of the former release are not lost to the group that was renamed."""
        old = await owning(harness)
        await harness.partition.slots.register([RENAMED, MAILS])

        await old.put(old.row())
        intent = await harness.client.ledger.ask(old.intent())

        row = await harness.client.ledger.open_row("Turnover", "order", "o-1")
        assert row is not None
        assert row.group == intent.request.group == "Turnover"
        assert (await reloaded(harness)).held == (("Turnover", "order", "o-1"),)

    async def test_admitting_refuses_what_registering_would_refuse_and_changes_nothing(self, harness: Harness) -> None:
        """H20: a program that is about to take over is told before anything is taken from the one that runs."""
        slots = harness.partition.slots
        await slots.admit([SALES, MAILS])
        groups = await slots.register([SALES])
        await slots.admit([MAILS])
        assert await slots.register([SALES]) == groups
        await slots.register([MAILS])

        with pytest.raises(ConfigurationError, match="--returning"):
            await slots.admit([SALES, MAILS])
        await slots.admit([SALES, MAILS], "stored")
        await slots.admit([RENAMED, MAILS], "end")
        with pytest.raises(ConfigurationError):
            await slots.register([SALES, MAILS])

    async def test_a_returning_group_is_asked_for_once(self, harness: Harness) -> None:
        """Once it is back, later starts need no answer, and an answer given to them changes nothing."""
        await harness.partition.slots.register([SALES, MAILS])
        await harness.partition.slots.register([SALES])
        groups = await harness.partition.slots.register([SALES, MAILS], "stored")
        await append(harness, ref_in_slot(harness, 3))

        assert await harness.partition.slots.register([SALES, MAILS]) == groups
        assert await harness.partition.slots.register([SALES, MAILS], "end") == groups
        assert (await reloaded(harness)).marks[groups["Mails.on_paid"].number] == Mark(0)
