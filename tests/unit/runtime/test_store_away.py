"""Our own store is what failed: the waiting commit is the probe, and no handler is called."""

from __future__ import annotations

import pytest

from tests.unit.runtime.desk import Desk, Door, Paid, crash, notices, order, paid, scenario
from tests.unit.runtime.shop import app
from wow_ray import StoreUnavailableError
from wow_ray.errors import FencedError, StoreDataError
from wow_ray.events import NewCommit
from wow_ray.ports.slots import Owner

GONE = StoreUnavailableError("no answer")
W = 8_000


async def test_a_commit_that_fails_for_thirty_seconds_is_retried_alone() -> None:
    """P2, S32, H9: the handler had returned; it is called once, nothing is charged, nobody is told."""
    desk = Desk()
    async with scenario(app, desk) as running:
        running.memory.fail_next("slots.commit", GONE, times=1_000)
        await paid(running, "A")
        await running.advance("30s")
        running.memory.fail_next("slots.commit", GONE, times=0)
        await running.advance("10s")
        await paid(running, "A")
        await running.advance("1s")
        assert desk.versions("A") == [1, 2]
        assert await running.rows() == []
        assert await notices(running) == []
        await crash(running)
    async with scenario(app, desk, memory=running.memory) as running:
        await running.advance("1s")
    assert desk.versions("A") == [1, 2]


async def test_no_handler_is_called_while_the_store_is_away() -> None:
    """H9, P2, W4: a handler's success would not end this pause; what arrived is called when the commit is taken."""
    desk = Desk()
    async with scenario(app, desk) as running:
        await paid(running, "A")
        running.memory.fail_next("slots.commit", GONE, times=1_000)
        await running.advance("1s")
        await paid(running, "A", "B", "C")
        await running.advance("1h")
        assert [call.id for call in desk.calls] == ["A"]
        running.memory.fail_next("slots.commit", GONE, times=0)
        await running.advance("10s")
        assert sorted(call.id for call in desk.calls) == ["A", "A", "B", "C"]


async def test_an_aggregate_with_several_events_stops_between_two_of_them_when_the_store_goes_away() -> None:
    """H9, P2: the call under way ends; the next event of the same aggregate is not begun."""
    desk, door = Desk(), Door()
    desk.next("A", door)
    async with scenario(app, desk, slots=1) as running:
        await paid(running, "A", "A", "A")
        running.memory.fail_next("slots.commit", GONE, times=1_000)
        await running.advance("1s")
        door.open()
        await running.advance("1s")
        assert desk.versions("A") == [1]
        running.memory.fail_next("slots.commit", GONE, times=0)
        await running.advance("10s")
        assert desk.versions("A") == [1, 2, 3]


async def test_a_second_call_after_a_death_before_the_commit_has_the_same_key() -> None:
    """S32, L1, L2: the process dies while the commit waits; the repeat can be recognised by its key."""
    desk = Desk()
    async with scenario(app, desk) as running:
        running.memory.fail_next("slots.commit", GONE, times=1_000)
        await paid(running, "A")
        await running.advance("30s")
        await crash(running)
        running.memory.fail_next("slots.commit", GONE, times=0)
    async with scenario(app, desk, memory=running.memory) as running:
        await running.advance("1s")
    assert [call.key for call in desk.calls] == ["Notifier.on_paid:A@1:0"] * 2


async def test_never_more_than_w_events_are_called_beyond_the_last_commit() -> None:
    """P5, L2, H9: commits hang, 12,000 events wait: at most 8,000 are called; the rest when commits go on."""
    desk = Desk()
    event = Paid()
    commits = [NewCommit(order(f"o-{number}"), (event,)) for number in range(12_000)]
    async with scenario(app, desk) as running:
        await running.store.append_many(commits)
        async with running.memory.gate("slots.commit"):
            await running.advance("1m")
            first = len(desk.calls)
            assert 2_000 <= first <= W
        await running.advance("1m")
        assert len(desk.calls) == 12_000


async def test_a_log_that_cannot_be_read_stops_nothing_that_is_there_and_is_read_on_later() -> None:
    """H9, L4: the feed tries again; what it has is handled, nothing is passed over."""
    desk = Desk()
    async with scenario(app, desk) as running:
        running.memory.fail_next("reader.heads", GONE, times=20)
        await paid(running, "A")
        await running.advance("5s")
        assert desk.calls == []
        await running.advance("10s")
        running.memory.fail_next("reader.page", GONE, times=3)
        await paid(running, "A")
        await running.advance("5s")
        assert desk.versions("A") == [1, 2]


async def test_no_call_begins_once_the_lease_is_lost_and_calls_go_on_when_it_is_renewed() -> None:
    """L3, H8: cut off from the store the owner begins nothing more; a renewal opens the gate by itself."""
    desk, door = Desk(), Door()
    desk.next("A", door)
    async with scenario(app, desk) as running:
        (partition,) = running.service.partitions
        await paid(running, "A", "A")
        await running.advance("1s")
        running.memory.lose_lease(partition.owner.id)
        await paid(running, "B")
        door.open()
        await running.advance("10m")
        assert [call.id for call in desk.calls] == ["A"]
        await partition.stores.lease.start(partition.owner)
        await running.advance("1s")
        assert sorted((call.id, call.version) for call in desk.calls) == [("A", 1), ("A", 2), ("B", 1)]
        assert await running.rows() == []


async def test_no_retry_begins_without_the_lease_and_none_is_charged_for_it() -> None:
    """L3, B4: due retries wait for the renewal; the wait is no attempt."""
    desk = Desk()
    desk.next("A", StoreDataError("first"))
    async with scenario(app, desk) as running:
        (partition,) = running.service.partitions
        await paid(running, "A")
        await running.advance("50ms")
        running.memory.lose_lease(partition.owner.id)
        await running.advance("10m")
        assert len(desk.calls) == 1
        await partition.stores.lease.start(partition.owner)
        await running.advance("1s")
        assert [call.attempt for call in desk.calls] == [1, 2]


async def test_an_owner_whose_slot_was_taken_over_stops_and_writes_nothing() -> None:
    """L3, H1, S25, S33: the loser's commit changes nothing, its service ends, and the successor begins where it was."""
    desk = Desk()
    async with scenario(app, desk, slots=1) as old:
        await paid(old, "A")
        await old.advance("1s")
        (partition,) = old.service.partitions
        old.memory.lose_lease(partition.owner.id)
        await old.memory.partition_stores().slots.acquire(Owner("successor", "p", "h", 1, None), [0])
        # As if the loser did not know yet: it still begins calls.
        await partition.stores.lease.start(partition.owner)
        await paid(old, "A", "B")
        await old.advance("1s")
        with pytest.raises(FencedError):
            await old.service.wait()
        calls = len(desk.calls)
        await paid(old, "C")
        await old.advance("1m")
        assert len(desk.calls) == calls
        old.memory.lose_lease("successor")
    async with scenario(app, desk, slots=1, memory=old.memory) as running:
        await running.advance("1s")
        assert await running.rows() == []
    again = [(call.id, call.version) for call in desk.calls[calls:]]
    assert again == [("A", 2), ("B", 1), ("C", 1)]
