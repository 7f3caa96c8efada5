# ruff: noqa: S101, PLR2004 - assert is how a contract speaks, and its numbers are examples
"""What every adapter of effectively-once transactions promises."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from wow_ray.errors import ConcurrencyError, FencedError
from wow_ray.ports.slots import EffectMark
from wow_ray.testing.contract.harness import Harness, Placed, ref_in_slot
from wow_ray.testing.contract.rows import Owning, owning, reloaded
from wow_ray.testing.contract.suite import Suite, append


class EffectsContract(Suite):
    """The whole contract of `Effects` and `EffectTransaction`."""

    async def test_a_committed_call_is_settled(self, harness: Harness) -> None:
        """L1, H4: the marker is there with the effect, and a new owner finds it."""
        partition = await owning(harness)
        transaction = await harness.partition.effects.begin(_mark(partition, 11))

        await transaction.commit()

        assert await harness.partition.effects.settled(_mark(partition, 11))
        assert (await reloaded(harness)).settled == {partition.group(): frozenset({11})}

    async def test_the_effect_and_the_marker_are_committed_together(self, harness: Harness) -> None:
        """L1: what the handler wrote through the connection, here an event, is there exactly if the marker is."""
        partition = await owning(harness)
        ref = ref_in_slot(harness, 5)
        transaction = await harness.partition.effects.begin(_mark(partition, 11))
        await harness.client.events.append(ref, [Placed()], expected_version=0, connection=transaction.connection)
        before = await harness.partition.reader.heads([5])

        await transaction.commit()

        assert before == {5: 0}
        assert await harness.partition.reader.heads([5]) == {5: 1}

    async def test_a_call_rolled_back_leaves_nothing(self, harness: Harness) -> None:
        """L1: neither effect nor marker; the next attempt is as the first."""
        partition = await owning(harness)
        ref = ref_in_slot(harness, 5)
        transaction = await harness.partition.effects.begin(_mark(partition, 11))
        await harness.client.events.append(ref, [Placed()], expected_version=0, connection=transaction.connection)

        await transaction.rollback()

        assert not await harness.partition.effects.settled(_mark(partition, 11))
        assert await harness.partition.reader.heads([5]) == {5: 0}
        again = await harness.partition.effects.begin(_mark(partition, 11))
        await again.commit()
        assert await harness.partition.effects.settled(_mark(partition, 11))

    async def test_a_call_in_which_an_append_was_refused_cannot_be_committed(self, harness: Harness) -> None:
        """L1: a handler that swallows the refusal has not done its work; its other writes are not kept either."""
        partition = await owning(harness)
        ref = ref_in_slot(harness, 5)
        await append(harness, ref)
        transaction = await harness.partition.effects.begin(_mark(partition, 11))
        with pytest.raises(ConcurrencyError):
            await harness.client.events.append(ref, [Placed()], expected_version=0, connection=transaction.connection)

        (refused,) = await asyncio.gather(transaction.commit(), return_exceptions=True)
        await transaction.rollback()

        assert isinstance(refused, Exception)
        assert not await harness.partition.effects.settled(_mark(partition, 11))
        assert (await append(harness, ref)).version == 2

    async def test_an_open_call_is_not_settled(self, harness: Harness) -> None:
        """H4: begun is not done, whatever the handler has written so far."""
        partition = await owning(harness)
        transaction = await harness.partition.effects.begin(_mark(partition, 11))

        settled = await harness.partition.effects.settled(_mark(partition, 11))

        await transaction.rollback()
        assert not settled

    async def test_a_stale_owner_settles_nothing(self, harness: Harness) -> None:
        """L3, H1: the epoch is checked last, so a take-over at any time before the commit is noticed."""
        old = await owning(harness)
        ref = ref_in_slot(harness, 5)
        transaction = await harness.partition.effects.begin(_mark(old, 11))
        await harness.client.events.append(ref, [Placed()], expected_version=0, connection=transaction.connection)
        await harness.partition.slots.acquire(harness.another_owner(), [3])

        with pytest.raises(FencedError) as fenced:
            await transaction.commit()
        await transaction.rollback()

        assert fenced.value.slots == (3,)
        assert await harness.partition.reader.heads([5]) == {5: 0}
        assert (await reloaded(harness)).settled == {}

    async def test_a_call_is_settled_once(self, harness: Harness) -> None:
        """L1: the marker is unique; the second transaction fails whole."""
        partition = await owning(harness)
        ref = ref_in_slot(harness, 5)
        for_first, for_second = [await harness.partition.effects.begin(_mark(partition, 11)) for _ in range(2)]
        await harness.client.events.append(ref, [Placed()], expected_version=0, connection=for_second.connection)
        await for_first.commit()

        (refused,) = await asyncio.gather(for_second.commit(), return_exceptions=True)
        await for_second.rollback()

        assert isinstance(refused, Exception)
        assert not isinstance(refused, FencedError)
        assert await harness.partition.reader.heads([5]) == {5: 0}
        assert (await reloaded(harness)).settled == {partition.group(): frozenset({11})}

    async def test_lanes_of_one_slot_settle_side_by_side(self, harness: Harness) -> None:
        """H4: each its own marker, none overwrites another's, and no group another group's."""
        partition = await owning(harness)
        sales, mails = partition.group(), partition.group("Mails.on_paid")
        marks = [
            replace(_mark(partition, position), group=group) for position in range(20, 24) for group in (sales, mails)
        ]

        async def settle(mark: EffectMark) -> None:
            transaction = await harness.partition.effects.begin(mark)
            await transaction.commit()

        await asyncio.gather(*map(settle, marks))

        positions = frozenset(range(20, 24))
        assert (await reloaded(harness)).settled == {sales: positions, mails: positions}

    async def test_the_owner_commits_progress_while_calls_are_open(self, harness: Harness) -> None:
        """H4: a transaction of effects does not hold the slot's row while the handler works."""
        partition = await owning(harness)
        transaction = await harness.partition.effects.begin(_mark(partition, 11))

        await asyncio.wait_for(partition.commit(partition.write()), 10)
        await transaction.commit()

        assert await harness.partition.effects.settled(_mark(partition, 11))

    async def test_a_rollback_never_raises(self, harness: Harness) -> None:
        """Neither a second time nor after the end; a failed attempt is followed by one in any case."""
        partition = await owning(harness)
        transaction = await harness.partition.effects.begin(_mark(partition, 11))

        await transaction.rollback()
        await transaction.rollback()
        done = await harness.partition.effects.begin(_mark(partition, 12))
        await done.commit()
        await done.rollback()

        assert await harness.partition.effects.settled(_mark(partition, 12))


def _mark(partition: Owning, position: int) -> EffectMark:
    """Name the call of group Sales at this position of slot 3."""
    return EffectMark(partition.group(), 3, partition.loaded[3].epoch, position)
