# ruff: noqa: S101, PLR2004 - assert is how a contract speaks, and its numbers are examples
"""What every store of slots promises about owners: epochs, fences, leases, taking over and giving up."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from wow_ray.errors import FencedError
from wow_ray.policy.progress import Mark
from wow_ray.testing.contract.harness import Harness
from wow_ray.testing.contract.refusing import BEYOND_PATIENCE
from wow_ray.testing.contract.rows import is_fenced, owning, reloaded
from wow_ray.testing.contract.suite import Suite

IN_TIME = 10.0
"""Seconds of real time within which what must happen has happened."""


class Leasing(Suite):
    """`SlotStore.acquire` and `release`, `Lease`."""

    async def test_the_number_of_slots_is_the_stores(self, harness: Harness) -> None:
        """H37: it is fixed, and everybody computes with it."""
        assert await harness.partition.slots.slot_count() == harness.slots

    async def test_acquiring_raises_the_epoch(self, harness: Harness) -> None:
        """L3: each take-over is a later one than all before, also the same owner's."""
        owner = harness.another_owner()
        epochs = []
        for who in (owner, harness.another_owner(), owner, owner):
            acquired = await harness.partition.slots.acquire(who, [3])
            epochs.append(acquired.slots[0].epoch)

        assert epochs == sorted(set(epochs))

    async def test_exactly_the_slots_asked_for_are_taken(self, harness: Harness) -> None:
        """S30: no slots are none."""
        partition = await owning(harness, 1, 2, 3)

        acquired = await harness.partition.slots.acquire(harness.another_owner(), [2])
        nothing = await harness.partition.slots.acquire(harness.another_owner(), [])

        assert [loaded.slot for loaded in acquired.slots] == [2]
        assert nothing.slots == ()
        assert [await is_fenced(partition, slot) for slot in (1, 2, 3)] == [False, True, False]

    async def test_a_stale_owner_changes_nothing_and_is_told_which_slots_it_lost(self, harness: Harness) -> None:
        """L3, H1: one lost slot, and nothing of the batch is written; the healthy slots may be sent again alone."""
        old = await owning(harness, 1, 2, 3)
        await harness.partition.slots.acquire(harness.another_owner(), [2, 3])
        writes = [
            old.write(slot, rows=(old.row(f"r-{slot}", slot=slot, aggregate_id=f"o-{slot}"),)) for slot in (1, 2, 3)
        ]

        with pytest.raises(FencedError) as fenced:
            await old.commit(*writes)

        assert sorted(fenced.value.slots) == [2, 3]
        assert await harness.client.ledger.row("r-1") is None
        await old.commit(writes[0])
        assert await harness.client.ledger.row("r-1") == writes[0].rows[0]

    async def test_a_new_owner_finds_what_the_old_one_committed(self, harness: Harness) -> None:
        """H1: and what the old one tries afterwards does not change what the new one has found."""
        old = await owning(harness)
        await old.commit(old.write(marks={old.group(): Mark(8)}))

        loaded = await reloaded(harness)

        assert loaded.marks[old.group()] == Mark(8)
        with pytest.raises(FencedError):
            await old.commit(old.write(marks={old.group(): Mark(9)}))
        assert (await reloaded(harness)).marks[old.group()] == Mark(8)

    async def test_owners_that_take_the_same_slots_at_once_get_different_epochs(self, harness: Harness) -> None:
        """L3: one of them is the last, and the only one that can write."""
        taken = await asyncio.gather(*(owning(harness, 1, 2, 3) for _ in range(5)))

        assert len({one.loaded[2].epoch for one in taken}) == 5
        fenced = [await is_fenced(one, 2) for one in taken]
        assert sorted(fenced) == [False, True, True, True, True]

    async def test_a_successor_waits_for_the_lease_of_the_present_owner(self, harness: Harness) -> None:
        """L3, H8: while it holds the owner may begin calls and nobody else; stopped, the slots are free at once."""
        old = await owning(harness)
        lease = harness.partition.lease
        await lease.start(old.owner)

        successor = asyncio.ensure_future(harness.another_partition().slots.acquire(harness.another_owner(), [2, 3]))
        done, _ = await asyncio.wait({successor}, timeout=BEYOND_PATIENCE)
        still_mine = not await is_fenced(old)
        await lease.stop()

        acquired = await asyncio.wait_for(successor, IN_TIME)
        assert not done
        assert still_mine
        assert {loaded.slot for loaded in acquired.slots} == {2, 3}

    async def test_an_owner_does_not_wait_for_itself(self, harness: Harness) -> None:
        """H14: an owner that must load again takes its own slots, lease or not."""
        old = await owning(harness)
        await harness.partition.lease.start(old.owner)

        acquired = await asyncio.wait_for(harness.partition.slots.acquire(old.owner, [3]), IN_TIME)

        assert acquired.slots[0].epoch > old.loaded[3].epoch
        await harness.partition.lease.stop()

    async def test_a_lease_that_has_ended_is_in_the_past(self, harness: Harness) -> None:
        """L3: before each call the owner compares `valid_until` with its monotonic clock."""
        lease = harness.partition.lease
        before = lease.valid_until

        await lease.start(harness.another_owner())
        during = lease.valid_until
        await lease.stop()

        assert before < during
        assert lease.valid_until < during

    async def test_released_slots_are_free_at_once(self, harness: Harness) -> None:
        """A planned move does not wait for the lease of an owner that has let go; what it said last is there."""
        old = await owning(harness, 2, 3)
        await harness.partition.lease.start(old.owner)
        await harness.partition.slots.release([old.write(3, marks={old.group(): Mark(8)})], old.owner)

        loaded = await asyncio.wait_for(reloaded(harness), IN_TIME)

        assert loaded.marks[old.group()] == Mark(8)
        assert not await is_fenced(old, 2)
        await harness.partition.lease.stop()

    async def test_a_release_may_be_sent_again(self, harness: Harness) -> None:
        """H26: its outcome may be unknown; after a take-over it is refused like every write."""
        old = await owning(harness)
        write = old.write(marks={old.group(): Mark(8)})
        await harness.partition.slots.release([write], old.owner)
        await harness.partition.slots.release([write], old.owner)
        await harness.partition.slots.acquire(harness.another_owner(), [3])

        with pytest.raises(FencedError):
            await harness.partition.slots.release([write], old.owner)

    async def test_single_slots_are_let_go_and_the_others_stay(self, harness: Harness) -> None:
        """L7, H25: what was said last is there, and the next owner waits for nobody."""
        old = await owning(harness, 2, 3, 4)
        await harness.partition.lease.start(old.owner)
        last = old.write(3, marks={old.group(): Mark(8)}, rows=(old.row(),))
        await harness.partition.slots.let_go([last], old.owner)

        slots = harness.another_partition().slots
        acquired = await asyncio.wait_for(slots.acquire(harness.another_owner(), [3]), IN_TIME)

        (loaded,) = acquired.slots
        assert (loaded.marks[old.group()], loaded.crashed) == (Mark(8), False)
        assert loaded.held == (("Sales", "order", "o-1"),)
        assert [await is_fenced(old, slot) for slot in (2, 3, 4)] == [False, True, False]
        await harness.partition.lease.stop()

    async def test_letting_go_may_be_said_again(self, harness: Harness) -> None:
        """H26: its answer may be lost; once somebody else has the slot it is refused, and nothing was changed."""
        old = await owning(harness, 2, 3)
        write = old.write(marks={old.group(): Mark(8)})
        await harness.partition.slots.let_go([write], old.owner)
        await harness.partition.slots.let_go([write], old.owner)
        await harness.partition.slots.let_go([], old.owner)
        await harness.partition.slots.acquire(harness.another_owner(), [3])

        with pytest.raises(FencedError) as fenced:
            await harness.partition.slots.let_go(
                [replace(write, marks={old.group(): Mark(9)}), old.write(2)], old.owner
            )

        assert fenced.value.slots == (3,)
        assert (await reloaded(harness)).marks[old.group()] == Mark(8)
        assert not await is_fenced(old, 2)

    async def test_what_is_free_is_taken_without_waiting_for_the_rest(self, harness: Harness) -> None:
        """L3, L7: a slot whose owner's lease holds stays with it; one that was let go, or never owned, comes."""
        old = await owning(harness, 2, 3)
        await harness.partition.lease.start(old.owner)
        slots, owner = harness.another_partition().slots, harness.another_owner()
        nothing = await asyncio.wait_for(slots.acquire_free(owner, [2, 3]), IN_TIME)
        await harness.partition.slots.let_go([old.write(3)], old.owner)

        found = await asyncio.wait_for(slots.acquire_free(owner, [2, 3, 5]), IN_TIME)

        assert (nothing.slots, (await slots.acquire_free(owner, [])).slots) == ((), ())
        assert old.now <= nothing.now <= found.now
        assert {loaded.slot for loaded in found.slots} == {3, 5}
        assert not await is_fenced(old, 2)
        await harness.partition.lease.stop()
        after = await asyncio.wait_for(slots.acquire_free(owner, [2]), IN_TIME)
        assert [loaded.slot for loaded in after.slots] == [2]

    async def test_an_owner_takes_its_own_slots_again_when_the_answer_was_lost(self, harness: Harness) -> None:
        """H26: at a later epoch, as `acquire` does."""
        old = await owning(harness)
        await harness.partition.lease.start(old.owner)

        again = await harness.partition.slots.acquire_free(old.owner, [3])

        assert again.slots[0].epoch > old.loaded[3].epoch
        await harness.partition.lease.stop()

    async def test_the_stores_time_is_aware_and_does_not_go_back(self, harness: Harness) -> None:
        """P6: what is due is due by it."""
        old = await owning(harness)

        first = await old.commit(old.write())
        second = await old.commit()

        assert old.now.utcoffset() is not None
        assert old.now <= first <= second
