# ruff: noqa: S101, PLR2004 - assert is how a contract speaks, and its numbers are examples
"""What looking at a store as a whole shows."""

from __future__ import annotations

import pytest

from wow_ray.policy.progress import Mark
from wow_ray.ports.overview import Overview, SlotSeen
from wow_ray.ports.slots import EffectMark
from wow_ray.testing.contract.harness import Harness, ref_in_slot
from wow_ray.testing.contract.rows import MAILS, SALES, owning
from wow_ray.testing.contract.suite import Suite, append


class OverviewContract(Suite):
    """The whole contract of `Overview`; override `overview` as well as `harness`."""

    @pytest.fixture
    def overview(self, harness: Harness) -> Overview:
        """Give the overview of the harness's store; every adapter has its own."""
        raise NotImplementedError

    async def test_an_empty_store_has_slots_and_nothing_else(self, harness: Harness, overview: Overview) -> None:
        """Every slot is shown, in order, without owner and without progress."""
        seen = await overview.snapshot()

        assert [slot.slot for slot in seen.slots] == list(range(harness.slots))
        assert all(slot == SlotSeen(slot.slot, 0, None, None, {}) for slot in seen.slots)
        assert (seen.groups, seen.owners) == ((), ())
        assert seen.now.tzinfo is not None

    async def test_what_takes_how_much_room_is_shown_by_kind(self, harness: Harness, overview: Overview) -> None:
        """H53: the largest first; all tables of the log are one kind."""
        await append(harness, ref_in_slot(harness, 3))

        sizes = await overview.sizes()

        names = [each.name for each in sizes]
        assert len(names) == len(set(names))
        assert {"events", "parked", "parked_attempts", "operator_actions", "notices", "deliveries"} <= set(names)
        assert [each.bytes for each in sizes] == sorted((each.bytes for each in sizes), reverse=True)
        assert all(each.rows >= 0 for each in sizes)

    async def test_nothing_keeps_a_fresh_store_from_cleaning_up_for_long(self, overview: Overview) -> None:
        """H47: who looks is not among those who are seen."""
        held = await overview.holders()

        assert [(each.seconds, each.bytes) for each in held] == sorted(
            ((each.seconds, each.bytes) for each in held), reverse=True
        )
        assert all(each.name and each.seconds >= 0 for each in held)

    async def test_groups_are_shown_with_their_subscriptions(self, harness: Harness, overview: Overview) -> None:
        """By number, as the newest program declares them."""
        registered = await harness.partition.slots.register([SALES, MAILS])

        groups = await overview.groups()

        assert [(group.number, group.name) for group in groups] == [
            (each.number, each.name) for each in registered.values()
        ]
        assert [group.subscriptions for group in groups] == [("Sales.on_paid", "Sales.on_placed"), ("Mails.on_paid",)]
        assert not any(group.retired for group in groups)
        assert (await overview.snapshot()).groups == tuple(groups)

    async def test_a_group_no_longer_declared_is_retired(self, harness: Harness, overview: Overview) -> None:
        """L5: it is kept, with where it stands."""
        await harness.partition.slots.register([SALES, MAILS])
        await harness.partition.slots.register([SALES])

        assert [(group.name, group.retired) for group in await overview.groups()] == [
            ("Sales", False),
            ("Mails.on_paid", True),
        ]

    async def test_lag_is_the_head_less_the_cursor(self, harness: Harness, overview: Overview) -> None:
        """A group without progress stands at its start: the beginning, or the end as it was when it was registered."""
        await append(harness, ref_in_slot(harness, 3))
        await append(harness, ref_in_slot(harness, 3, skip=1))
        partition = await owning(harness)
        await append(harness, ref_in_slot(harness, 3, skip=2))

        slot = (await overview.snapshot()).slots[3]
        assert slot.head == 3
        assert slot.marks == {partition.group("Sales"): Mark(0), partition.group("Mails.on_paid"): Mark(2)}

        await partition.commit(partition.write(marks={partition.group(): Mark(3, (2,))}))
        assert (await overview.snapshot()).slots[3].marks[partition.group()] == Mark(3, (2,))

    async def test_what_a_transaction_of_effects_settled_is_not_unfinished(
        self, harness: Harness, overview: Overview
    ) -> None:
        """H4: its marker counts before a commit has folded it; one above the cursor changes nothing."""
        partition = await owning(harness)
        await partition.commit(partition.write(marks={partition.group(): Mark(9, (4, 7), 1)}))
        for position in (4, 12):
            mark = EffectMark(partition.group(), 3, partition.loaded[3].epoch, position)
            transaction = await harness.partition.effects.begin(mark)
            await transaction.commit()

        assert (await overview.snapshot()).slots[3].marks[partition.group()] == Mark(9, (7,), 1)

    async def test_owners_are_shown_with_their_leases(self, harness: Harness, overview: Overview) -> None:
        """L3: who owns a slot, where it runs, and how long its right to begin calls still holds."""
        owner = harness.another_owner()
        await harness.partition.lease.start(owner)
        await owning(harness, 2, 3, owner=owner)

        seen = await overview.snapshot()

        (shown,) = seen.owners
        assert (shown.id, shown.partition, shown.host, shown.pid) == (owner.id, owner.partition, owner.host, owner.pid)
        assert shown.lease_left > 0
        assert [slot.slot for slot in seen.slots if slot.owner == owner.id and slot.partition == owner.partition] == [
            2,
            3,
        ]

    async def test_whoever_holds_a_lease_is_shown_without_slots_too(self, harness: Harness, overview: Overview) -> None:
        """L7: slots are given up only to a partition that lives, and a new one has none yet."""
        owner = harness.another_owner()
        await harness.partition.lease.start(owner)

        seen = await overview.snapshot()
        await harness.partition.lease.stop()

        assert [shown.id for shown in seen.owners if shown.lease_left > 0] == [owner.id]
        assert all(shown.lease_left <= 0 for shown in (await overview.snapshot()).owners)

    async def test_slots_given_up_have_no_owner(self, harness: Harness, overview: Overview) -> None:
        """And a lease that was stopped holds nothing."""
        owner = harness.another_owner()
        await harness.partition.lease.start(owner)
        partition = await owning(harness, owner=owner)
        await harness.partition.slots.release([partition.write()], owner)
        await harness.partition.lease.stop()

        seen = await overview.snapshot()

        assert seen.slots[3].owner is None
        assert not any(shown.lease_left > 0 for shown in seen.owners)
