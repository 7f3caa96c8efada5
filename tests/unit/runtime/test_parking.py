"""Writing the park down: in one commit with the progress, once, whatever goes wrong with it."""

from __future__ import annotations

import pytest

from tests.unit.runtime.desk import Desk, UnknownBuyer, Unlisted, crash, notices, outline, paid, scenario
from tests.unit.runtime.shop import app
from wow_ray import StoreUnavailableError
from wow_ray.errors import StoreDataError
from wow_ray.policy.slots import slot_of

GONE = StoreUnavailableError("no answer")
REFUSED = StoreDataError("22021 invalid byte sequence")


def in_slots_ascending(count: int) -> list[str]:
    """Give so many order ids, each in a higher slot than the one before."""
    found: dict[int, str] = {}
    for number in range(1_000):
        found.setdefault(slot_of("shop", "order", f"o-{number}", 16), f"o-{number}")
    return [found[slot] for slot in sorted(found)][:count]


async def test_while_a_park_cannot_be_written_nothing_is_skipped_and_the_handler_is_not_called() -> None:
    """P2, S15: the write fails four times; 0 calls in that time, then exactly one row and one notice."""
    desk = Desk()
    desk.always("A", Unlisted())
    async with scenario(app, desk) as running:
        await paid(running, "A")
        await running.advance("1s")
        running.memory.fail_next("slots.commit", GONE, times=4)
        await running.advance("700ms")
        assert len(desk.calls) == 5
        assert await running.rows() == []
        await paid(running, "B")
        await running.advance("100ms")
        assert desk.versions("B") == []
        await running.advance("1m")
        assert len(desk.calls) == 6
        assert desk.versions("B") == [1]
        assert await outline(running) == [("A", "parked", "budget_spent", 1)]
        assert await notices(running) == ["parked"]


async def test_a_crash_before_the_park_is_written_repeats_the_event_and_loses_nothing() -> None:
    """P2, L1, S15: the checkpoint did not move past it, so the successor calls it again."""
    desk = Desk()
    desk.next("A", UnknownBuyer())
    async with scenario(app, desk) as running:
        running.memory.fail_next("slots.commit", GONE, times=1_000)
        await paid(running, "A", "A")
        await running.advance("10s")
        await crash(running)
        running.memory.fail_next("slots.commit", GONE, times=0)
    async with scenario(app, desk, memory=running.memory) as running:
        await running.advance("1s")
        assert desk.versions("A") == [1, 1, 2]
        assert await running.rows() == []


async def test_a_park_whose_answer_was_lost_is_one_park() -> None:
    """P2, H26, S29: the same batch again changes nothing: one row, one notice, attempts as they were."""
    desk = Desk()
    desk.next("A", UnknownBuyer())
    async with scenario(app, desk) as running:
        running.memory.fail_next("slots.commit", GONE, times=3, at="end")
        await paid(running, "A")
        await running.advance("1m")
        (row,) = await running.rows()
        assert (row.state, row.attempts, row.etag) == ("exhausted", 1, 1)
        assert await notices(running) == ["parked"]
        assert len(await running.service.client.ledger.attempts(row.id)) == 1
    assert len(desk.calls) == 1


async def test_a_row_that_the_store_refuses_for_its_text_is_written_in_minimal_form() -> None:
    """P2, H27, S15: the type and a fixed sentence instead of the error's text; the park itself never fails."""
    desk = Desk()
    desk.next("A", UnknownBuyer("odd text"))
    async with scenario(app, desk) as running:
        await running.advance("1s")
        running.memory.fail_next("slots.commit", REFUSED)
        await paid(running, "A")
        await running.advance("1s")
        (row,) = await running.rows()
        assert row.failure is not None
        assert row.failure.type.endswith("UnknownBuyer")
        assert "odd text" not in row.failure.message + row.failure.traceback
        assert await outline(running) == [("A", "exhausted", "unrecoverable", 1)]
        assert await notices(running) == ["parked"]


async def test_a_refused_commit_is_halved_until_the_row_at_fault_is_alone() -> None:
    """P2, H27: four slots park at once; of the refused batch only the first slot's row becomes minimal."""
    desk = Desk()
    ids = in_slots_ascending(4)
    for each in ids:
        desk.next(each, UnknownBuyer(f"text of {each}"))
    async with scenario(app, desk) as running:
        await running.advance("1s")
        # All four, the first two, the first.
        running.memory.fail_next("slots.commit", REFUSED, times=3)
        await paid(running, *ids)
        await running.advance("1s")
        texts = {row.aggregate_id: row.failure.message for row in await running.rows() if row.failure}
        assert texts.pop(ids[0]) == "The store refused this error's text; the program's log has it."
        assert texts == {each: f"text of {each}" for each in ids[1:]}


async def test_a_slot_that_the_store_takes_in_no_form_stops_alone() -> None:
    """P2, H27: refused in minimal form too: that slot stops and says so, the others go on."""
    desk = Desk()
    bad, good = in_slots_ascending(2)
    desk.next(bad, UnknownBuyer())
    async with scenario(app, desk) as running:
        await running.advance("1s")
        running.memory.fail_next("slots.commit", REFUSED, times=2)
        await paid(running, bad)
        await running.advance("1s")
        await paid(running, bad, good)
        await running.advance("1s")
        assert desk.versions(bad) == [1]
        assert desk.versions(good) == [1]


async def test_a_parked_aggregate_with_a_thousand_held_events_starves_nobody_and_costs_one_row() -> None:
    """P5, S04, L2: B behind A's thousand events is called, the progress passes them all, nothing stays in memory."""
    desk = Desk()
    desk.next("A", UnknownBuyer())
    async with scenario(app, desk, slots=1) as running:
        await paid(running, "A")
        await running.advance("1s")
        await paid(running, "A", times=1_000)
        await paid(running, "B")
        await running.advance("1s")
        assert desk.versions("B") == [1]
        assert desk.versions("A") == [1]
        assert len(await running.rows()) == 1
        (partition,) = running.service.partitions
        assert [len(group.lanes) for group in partition.groups.values()] == [0]
        await crash(running)
    async with scenario(app, desk, slots=1, memory=running.memory) as running:
        await running.advance("1s")
        assert len(desk.calls) == 2
        (row,) = await running.parked()
        await running.resume(row, reason="fixed")
        await running.advance("1s")
        assert desk.versions("A") == [1, *range(1, 1_002)]


async def test_an_error_and_a_kill_at_that_moment_lose_nothing() -> None:
    """S13, P1: nine events, the process dies as the fifth raises; the successor's fixed handler completes them."""
    desk = Desk()
    desk.next("A", None, None, None, None, Unlisted())
    async with scenario(app, desk) as running:
        await paid(running, "A", times=9)
        await running.advance("0s")
        await crash(running)
    async with scenario(app, desk, memory=running.memory) as running:
        await running.advance("1s")
    done = [version for _, version in desk.done]
    assert sorted(set(done)) == list(range(1, 10))
    assert done[done.index(5) :] == [5, 6, 7, 8, 9]


@pytest.mark.parametrize("clean", [True, False])
async def test_what_was_committed_before_the_end_is_not_called_again(*, clean: bool) -> None:
    """L1, L2: a stop commits everything; a crash repeats at most what finished since the last commit."""
    desk = Desk()
    async with scenario(app, desk) as running:
        await paid(running, "A", "B", "C")
        await running.advance("1s" if not clean else "0s")
        if not clean:
            await crash(running)
    async with scenario(app, desk, memory=running.memory) as running:
        await running.advance("1s")
    assert len(desk.calls) == 3
