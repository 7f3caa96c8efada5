"""What a test can do to a store in memory: let operations fail, hold them, end leases, take events back."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from wow_ray.adapters.memory import MemoryStore
from wow_ray.errors import AppendError, FencedError, StoreUnavailableError
from wow_ray.policy.progress import Mark
from wow_ray.ports.event_log import Range
from wow_ray.ports.slots import EffectMark
from wow_ray.testing.clock import START, VirtualClock, at_rest
from wow_ray.testing.contract.harness import Placed, order, ref_in_slot
from wow_ray.testing.contract.memory import MemoryHarness
from wow_ray.testing.contract.rows import SUBSCRIPTIONS, is_fenced, owning, reloaded
from wow_ray.testing.contract.suite import ALL, append, rows_of

AWAY = StoreUnavailableError("the store is away")


async def test_the_next_calls_of_an_operation_fail_as_often_as_asked(memory: MemoryHarness) -> None:
    """Before they have done anything; other operations do not notice."""
    memory.store.fail_next("events.append", AWAY, 2)

    for _ in range(2):
        with pytest.raises(StoreUnavailableError):
            await append(memory, order("o-1"))
        assert sum((await memory.client.reader.heads(range(8))).values()) == 0

    assert (await append(memory, order("o-1"))).version == 1


async def test_an_operation_that_fails_at_its_end_has_done_everything(memory: MemoryHarness) -> None:
    """The unknown outcome: the commit is written, the answer is lost, and the same again does no harm (H26)."""
    partition = await owning(memory)
    write = partition.write(marks={partition.group(): Mark(8)}, rows=(partition.row(),))
    memory.store.fail_next("slots.commit", AWAY, at="end")

    with pytest.raises(StoreUnavailableError):
        await partition.commit(write)

    assert await memory.client.ledger.row("r-1") == partition.row()
    await partition.commit(write)
    assert (await reloaded(memory)).marks[partition.group()] == Mark(8)


async def test_failing_may_be_ended_early(memory: MemoryHarness) -> None:
    """An outage that a test staged for as long as it likes."""
    memory.store.fail_next("events.append", AWAY, 1_000_000)
    with pytest.raises(StoreUnavailableError):
        await append(memory, order("o-1"))

    memory.store.fail_next("events.append", AWAY, 0)

    assert (await append(memory, order("o-1"))).version == 1


async def test_a_call_is_held_before_it_has_done_anything(memory: MemoryHarness) -> None:
    """A commit still on its way when a successor takes over is fenced, and changes nothing (H1)."""
    old = await owning(memory)
    gate = memory.store.gate("slots.commit")
    late = asyncio.ensure_future(old.commit(old.write(marks={old.group(): Mark(8)})))
    await gate.reached()

    loaded = await reloaded(memory)
    gate.open()

    assert loaded.marks[old.group()] == Mark(0)
    with pytest.raises(FencedError):
        await late


async def test_a_call_is_held_when_only_its_answer_is_missing(memory: MemoryHarness) -> None:
    """A page in flight: it was read before what came after, however late it arrives (H7)."""
    ref = ref_in_slot(memory, 3)
    await append(memory, ref)
    async with memory.store.gate("reader.page", "end") as gate:
        reading = asyncio.ensure_future(memory.partition.reader.page([Range(3, 0, 9, 9)], ALL))
        await gate.reached()
        await append(memory, ref)
        in_flight = gate.held

    assert in_flight == 1
    assert len((await reading).rows) == 1


async def test_a_gate_may_be_opened_with_an_error(memory: MemoryHarness) -> None:
    """Those who stand there fail with it; whoever comes later passes."""
    gate = memory.store.gate("ledger.read")
    waiting = asyncio.ensure_future(memory.client.ledger.row("r-1"))
    await gate.reached()

    gate.open(AWAY)

    with pytest.raises(StoreUnavailableError):
        await waiting
    assert await memory.client.ledger.row("r-1") is None


async def test_a_held_call_may_be_cancelled(memory: MemoryHarness) -> None:
    """It leaves the gate and has done nothing."""
    gate = memory.store.gate("events.append")
    waiting = asyncio.ensure_future(append(memory, ref_in_slot(memory, 3)))
    await gate.reached()

    waiting.cancel()
    await at_rest()
    gate.open()

    assert (waiting.cancelled(), gate.held) == (True, 0)
    assert await rows_of(memory.client.reader, 3) == []


async def test_an_append_cancelled_while_it_waits_for_its_slot_holds_nothing(memory: MemoryHarness) -> None:
    """L4: the next one gets the slot as soon as the transaction before it ends."""
    ref = ref_in_slot(memory, 3)
    async with memory.transaction() as connection:
        await memory.client.events.append(ref, [Placed()], expected_version=0, connection=connection)
        waiting = asyncio.ensure_future(append(memory, ref))
        await at_rest()
        waiting.cancel()

    assert (await append(memory, ref)).positions == (2,)


async def test_there_is_one_gate_at_a_place(memory: MemoryHarness) -> None:
    """A second one would hide the first from those who wait there."""
    memory.store.gate("events.append")

    with pytest.raises(ValueError, match="gate"):
        memory.store.gate("events.append")


@pytest.mark.parametrize("misspelt", ["append", "slots.comit", ""])
async def test_an_operation_there_is_not_is_refused(memory: MemoryHarness, misspelt: Any) -> None:  # noqa: ANN401 - no Operation on purpose
    """A fault that never happens would let its test pass for nothing."""
    with pytest.raises(ValueError, match="no operation"):
        memory.store.fail_next(misspelt, AWAY)
    with pytest.raises(ValueError, match="no operation"):
        memory.store.gate(misspelt)


async def test_a_lost_lease_lets_the_successor_in(memory: MemoryHarness) -> None:
    """L3, H8: the old owner may begin no call, and what it still writes is fenced once somebody has taken over."""
    old = await owning(memory)
    await memory.partition.lease.start(old.owner)
    successor = asyncio.ensure_future(memory.another_partition().slots.acquire(memory.another_owner(), [3]))
    await at_rest()
    waited = not successor.done()

    memory.store.lose_lease(old.owner.id)
    await successor

    assert waited
    assert memory.partition.lease.valid_until < memory.clock.monotonic()
    assert await is_fenced(old)


async def test_a_rewound_log_is_shorter_and_says_who_it_is_not(memory: MemoryHarness) -> None:
    """H14: positions and versions above are given anew, and a repeated commit of what was lost is no repeat."""
    events, ref = memory.client.events, ref_in_slot(memory, 3)
    await append(memory, ref, Placed(), Placed())
    await events.append(ref, [Placed()], expected_version=1, commit_id="c-1")
    before = await memory.partition.reader.identity()

    memory.store.rewind(3, 2)

    assert await memory.partition.reader.identity() != before
    assert await memory.partition.reader.heads([3]) == {3: 2}
    assert len([row async for row in events.stream(ref)]) == 2
    again = await events.append(ref, [Placed()], expected_version=1, commit_id="c-1")
    assert (again.version, again.positions) == (2, (3,))


async def test_the_stores_time_runs_with_the_clock_and_knows_no_steps(memory: MemoryHarness) -> None:
    """P6: a step of one process's calendar makes nothing due."""
    partition = await owning(memory)
    await partition.put(partition.row(next_due=START + timedelta(minutes=3)))

    memory.clock.step(86_400)
    before = await memory.partition.ledger.due([3], SUBSCRIPTIONS, 10)
    await memory.clock.advance(180)

    assert list(before) == []
    assert [row.id for row in await memory.partition.ledger.due([3], SUBSCRIPTIONS, 10)] == ["r-1"]
    assert memory.store.now() == START + timedelta(minutes=3)


async def test_statements_are_committed_with_their_transaction_or_not_at_all(memory: MemoryHarness) -> None:
    """L1: the double tells which of a handler's statements took effect."""
    partition = await owning(memory)
    for position in (11, 12):
        mark = EffectMark(partition.group(), 3, partition.loaded[3].epoch, position)
        transaction = await memory.partition.effects.begin(mark)
        await transaction.connection.execute("insert into sales values ($1)", position)
        await (transaction.commit() if position == 11 else transaction.rollback())

    assert [statement.arguments for statement in memory.database.committed] == [(11,)]
    assert [statement.arguments for statement in memory.database.rolled_back] == [(12,)]


async def test_a_begin_that_fails_late_leaves_no_transaction(memory: MemoryHarness) -> None:
    """The fixture counts those left open."""
    partition = await owning(memory)
    memory.store.fail_next("effects.begin", AWAY, at="end")

    with pytest.raises(StoreUnavailableError):
        await memory.partition.effects.begin(EffectMark(partition.group(), 3, partition.loaded[3].epoch, 11))


async def test_a_commit_of_effects_with_a_lost_answer_is_settled(memory: MemoryHarness) -> None:
    """H4: after the unknown outcome the marker tells; without it nothing was written."""
    partition = await owning(memory)
    marks = [EffectMark(partition.group(), 3, partition.loaded[3].epoch, position) for position in (11, 12)]
    lost_after, lost_before = [await memory.partition.effects.begin(mark) for mark in marks]

    memory.store.fail_next("effects.commit", AWAY, at="end")
    with pytest.raises(StoreUnavailableError):
        await lost_after.commit()
    memory.store.fail_next("effects.commit", AWAY)
    with pytest.raises(StoreUnavailableError):
        await lost_before.commit()
    await lost_before.rollback()

    assert [await memory.partition.effects.settled(mark) for mark in marks] == [True, False]


async def test_a_connection_of_somewhere_else_is_refused() -> None:
    """An append that joins no transaction of this store would be lost, or committed by itself."""
    store = MemoryStore("shop", VirtualClock(), slots=8)

    with pytest.raises(AppendError, match="transaction"):
        await store.client_stores().events.append(order("o-1"), [Placed()], expected_version=0, connection=object())


async def test_a_store_without_a_factory_hands_out_connections_all_the_same() -> None:
    """For handlers that ask for the connection and do not use it, and for producers' transactions."""
    store = MemoryStore("shop", VirtualClock(), slots=8)

    async with store.transaction() as connection:
        await store.client_stores().events.append(order("o-1"), [Placed()], expected_version=0, connection=connection)

    assert [row.version async for row in store.client_stores().events.stream(order("o-1"))] == [1]
