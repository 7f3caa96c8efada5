# ruff: noqa: S101, PLR2004 - assert is how a contract speaks, and its numbers are examples
"""What every store of slots promises of a group that begins anew (L6, H13)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from wow_ray.errors import ConflictError, FencedError
from wow_ray.policy.parked import State
from wow_ray.policy.progress import Mark
from wow_ray.ports.slots import EffectMark, GroupReset, IntentDone
from wow_ray.testing.contract.harness import Harness, Placed, ref_in_slot
from wow_ray.testing.contract.rows import Owning, owning, reloaded
from wow_ray.testing.contract.suite import Suite

ANEW = Mark(0, (), 1)


class Resetting(Suite):
    """`SlotStore.reset`: new marks, markers, rows, intent and the projection's own hook, all or nothing."""

    async def test_a_reset_writes_the_new_marks_and_closes_rows_and_markers(self, harness: Harness) -> None:
        """L6, H13: rows that stopped behind the place it begins at end as reset, those before it stay."""
        partition = await _of_everything(harness)
        intent = await harness.client.ledger.ask(partition.intent())
        await partition.put(
            partition.row("r-behind"),
            partition.row("r-before", aggregate_id="o-2", stopped_position=7),
            partition.row("r-other", group="Mails.on_paid", subscription="Mails.on_paid"),
        )
        transaction = await harness.partition.effects.begin(
            EffectMark(partition.group(), 3, partition.loaded[3].epoch, 11)
        )
        await transaction.commit()

        done = IntentDone(intent.id, applied=True, code="done", text="")
        writes = [replace(write, intents=(done,)) if write.slot == 3 else write for write in _anew(partition)]
        closed = await harness.partition.slots.reset(writes, GroupReset("Sales", partition.group(), 7), None)

        states = {id_: (await harness.client.ledger.row(id_)) for id_ in ("r-behind", "r-before", "r-other")}
        assert closed == 1
        assert {id_: row.state for id_, row in states.items() if row is not None} == {
            "r-behind": State.RESET,
            "r-before": State.PARKED,
            "r-other": State.PARKED,
        }
        found = await reloaded(harness)
        assert (found.marks[partition.group()], found.settled) == (ANEW, {})
        answered = await harness.client.ledger.intent("q-1")
        assert answered is not None
        assert answered.state == "done"

    async def test_the_hook_writes_within_the_reset(self, harness: Harness) -> None:
        """L6: what the projection's hook does is there exactly if the new marks are."""
        partition = await _of_everything(harness)
        ref = ref_in_slot(harness, 5)

        async def hook(connection: Any) -> None:  # noqa: ANN401 - the store's own
            await harness.client.events.append(ref, [Placed()], expected_version=0, connection=connection)

        await harness.partition.slots.reset(_anew(partition), GroupReset("Sales", partition.group()), hook)

        assert await harness.partition.reader.heads([5]) == {5: 1}

    async def test_a_reset_whose_hook_fails_changes_nothing(self, harness: Harness) -> None:
        """L6, H13: the error comes out, the rows stay open, the marks stay as they were."""
        partition = await _of_everything(harness)
        await partition.put(partition.row())

        async def hook(connection: Any) -> None:  # noqa: ANN401, ARG001 - the store's own
            raise RuntimeError("no such table")

        with pytest.raises(RuntimeError, match="no such table"):
            await harness.partition.slots.reset(_anew(partition), GroupReset("Sales", partition.group()), hook)

        row = await harness.client.ledger.row("r-1")
        assert row is not None
        assert row.state is State.PARKED
        assert (await reloaded(harness)).marks[partition.group()].generation == 0

    async def test_only_the_owner_of_all_slots_resets(self, harness: Harness) -> None:
        """H13, L3: every owner has to stand still; a slot that is another's stops it."""
        partition = await _of_everything(harness)
        reset = GroupReset("Sales", partition.group())
        with pytest.raises(ConflictError):
            await harness.partition.slots.reset(_anew(partition)[:-1], reset, None)

        await harness.partition.slots.acquire(harness.another_owner(), [3])

        with pytest.raises(FencedError):
            await harness.partition.slots.reset(_anew(partition), reset, None)


async def _of_everything(harness: Harness) -> Owning:
    """Take all slots over."""
    return await owning(harness, *range(harness.slots))


def _anew(partition: Owning) -> list[Any]:
    """Make the writes of every slot with the group's new mark."""
    return [
        partition.write(slot, marks={**loaded.marks, partition.group(): ANEW})
        for slot, loaded in partition.loaded.items()
    ]
