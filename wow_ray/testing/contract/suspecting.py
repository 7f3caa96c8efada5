# ruff: noqa: S101, PLR2004 - assert is how a contract speaks, and its numbers are examples
"""What every store of slots promises about deaths: how starts ended, and what was marked when they did (P15, H10)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wow_ray.errors import FencedError
from wow_ray.policy.suspicion import Ending, Trying
from wow_ray.ports.slots import Acquired, Owner
from wow_ray.testing.contract.harness import Harness
from wow_ray.testing.contract.rows import owning, reloaded
from wow_ray.testing.contract.suite import Suite


class Suspecting(Suite):
    """`Acquired.starts`, `SlotLoaded.trying` and `crashed`, `SlotWrite.trying`, `SlotStore.excuse`."""

    async def test_a_first_start_knows_of_nothing(self, harness: Harness) -> None:
        """P15: no former starts, nothing marked, nobody died."""
        acquired = await _started(harness, 1)

        assert acquired.starts == ()
        assert [(loaded.trying, loaded.crashed) for loaded in acquired.slots] == [((), False)]

    async def test_an_owner_that_let_nobody_have_its_slots_died(self, harness: Harness) -> None:
        """H10: its start has ended uncleanly, and its slots say so, to the next owner only."""
        await _started(harness, 1)
        second = await _started(harness, 2)
        await harness.partition.slots.release([], _owner(harness, 2))

        third = await _started(harness, 3)

        assert [start.ending for start in second.starts] == [Ending.UNCLEAN]
        assert [loaded.crashed for loaded in second.slots] == [True]
        assert [start.ending for start in third.starts] == [Ending.UNCLEAN, Ending.CLEAN]
        assert [loaded.crashed for loaded in third.slots] == [False]
        assert all(start.started_at <= start.ended_at for start in third.starts)

    async def test_an_owner_that_released_its_slots_ended_cleanly(self, harness: Harness) -> None:
        """H10: deployments and shutdowns never count, also where one slot could not be given up."""
        owner = _owner(harness, 1)
        first = await owning(harness, 2, 3, owner=owner)
        await harness.partition.slots.release([first.write(3)], owner)

        acquired = await harness.partition.slots.acquire(_owner(harness, 2), [2, 3])

        assert [start.ending for start in acquired.starts] == [Ending.CLEAN]
        assert [loaded.crashed for loaded in acquired.slots] == [False, False]

    async def test_an_owner_that_let_go_of_one_slot_can_still_die(self, harness: Harness) -> None:
        """L7, H10: its start lasts; the slot that it let go is not the dead one's."""
        owner = _owner(harness, 1)
        first = await owning(harness, 2, 3, owner=owner)
        await harness.partition.slots.let_go([first.write(3)], owner)

        acquired = await harness.partition.slots.acquire_free(_owner(harness, 2), [2, 3])

        assert [start.ending for start in acquired.starts] == [Ending.UNCLEAN]
        assert {loaded.slot: loaded.crashed for loaded in acquired.slots} == {2: True, 3: False}

    async def test_whoever_is_excused_did_not_die(self, harness: Harness) -> None:
        """H10: ended on purpose by whoever watches it; only its newest start is excused, and only once."""
        await _started(harness, 1)
        await harness.partition.slots.excuse("shop-0")
        second = await _started(harness, 2)
        third = await _started(harness, 3)
        await harness.partition.slots.excuse("nobody")

        assert [start.ending for start in second.starts] == [Ending.EXCUSED]
        assert [loaded.crashed for loaded in second.slots] == [False]
        assert [start.ending for start in third.starts] == [Ending.EXCUSED, Ending.UNCLEAN]

    async def test_starting_anew_in_the_same_process_is_no_death(self, harness: Harness) -> None:
        """H14: a partition whose log went back begins again where it is."""
        one = replace(_owner(harness, 1), process_started=5.0)
        await harness.partition.slots.acquire(one, [3])

        acquired = await harness.partition.slots.acquire(replace(one, id="anew"), [3])

        assert [start.ending for start in acquired.starts] == [Ending.EXCUSED]
        assert not acquired.slots[0].crashed

    async def test_starts_belong_to_a_partition_and_deaths_to_the_slots(self, harness: Harness) -> None:
        """H10: slots that moved tell their new owner that the old one died; its own starts are another history."""
        await _started(harness, 1)

        acquired = await harness.partition.slots.acquire(replace(_owner(harness, 2), partition="shop-1"), [3, 4])

        assert acquired.starts == ()
        assert [loaded.crashed for loaded in acquired.slots] == [True, False]

    async def test_only_the_last_twenty_starts_are_told_of(self, harness: Harness) -> None:
        """H10: a partition that flaps for days keeps a short history."""
        for number in range(1, 23):
            acquired = await _started(harness, number)

        assert len(acquired.starts) == 20
        assert list(acquired.starts) == sorted(acquired.starts, key=lambda start: start.started_at)

    async def test_marks_are_as_last_said_until_something_else_is_said(self, harness: Harness) -> None:
        """P15, H26: all of a slot's marks at once, also sent twice; a commit that says nothing of them leaves them."""
        partition = await owning(harness, 3, 4)
        group = partition.group()
        tried = (Trying(group, 7, 1, trying=True), Trying(group, 2**40, 2))
        write = partition.write(3, trying=(Trying(group, 5),))
        await partition.commit(write, partition.write(4, trying=(Trying(group, 9, 0, trying=True),)))
        write = partition.write(3, trying=tried)
        await partition.commit(write)
        await partition.commit(write)
        await partition.commit(partition.write(3), partition.write(4, trying=()))

        acquired = await harness.partition.slots.acquire(harness.another_owner(), [3, 4])

        assert [loaded.trying for loaded in acquired.slots] == [tried, ()]

    async def test_a_stale_owner_marks_nothing(self, harness: Harness) -> None:
        """L3: marks are written behind the slot's fence."""
        partition = await owning(harness)
        await harness.partition.slots.acquire(harness.another_owner(), [3])

        with pytest.raises(FencedError):
            await partition.commit(partition.write(trying=(Trying(partition.group(), 5),)))

        assert (await reloaded(harness)).trying == ()

    async def test_a_rows_suspicions_are_kept(self, harness: Harness) -> None:
        """P4, P15: they are part of the row."""
        partition = await owning(harness)
        row = partition.row(suspicions=2)

        await partition.put(row)

        assert await harness.client.ledger.row("r-1") == row


def _owner(harness: Harness, number: int) -> Owner:
    """Name an incarnation of partition `shop-0`, whose process was one of its own and is known of no more."""
    return replace(harness.another_owner(), id=f"shop-0/{number}", partition="shop-0", pid=number, process_started=None)


async def _started(harness: Harness, number: int) -> Acquired:
    """Have an incarnation of the partition take slot 3."""
    return await harness.partition.slots.acquire(_owner(harness, number), [3])
