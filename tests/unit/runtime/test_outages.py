"""Systemic failures: the group of a partition pauses and one entry is called until it succeeds."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.unit.runtime.desk import (
    CarrierDown,
    Desk,
    Door,
    StubbornDoor,
    UnknownBuyer,
    Unlisted,
    crash,
    notices,
    order,
    outline,
    paid,
    scenario,
    sent,
)
from tests.unit.runtime.shop import app, two
from wow_ray.policy.parked import Verb
from wow_ray.policy.slots import slot_of
from wow_ray.ports.slots import Owner
from wow_ray.testing import Running


def paused(running: Running) -> bool:
    """Tell whether any group of any partition is paused."""
    return any(group.paused for partition in running.service.partitions for group in partition.groups.values())


async def test_while_a_group_is_paused_one_call_goes_out_at_a_time_and_nothing_is_charged() -> None:
    """D3, W4: everybody fails for a minute; failing and untried aggregates are tried in turn, never two at once."""
    desk = Desk()
    for each in "ABC":
        desk.always(each, CarrierDown())
    async with scenario(app, desk, slots=1) as running:
        await paid(running, "A", "B", "A", "C")
        await running.advance("1m")
        assert [call.id for call in desk.calls[:3]] == ["A", "B", "A"]
        assert {call.id for call in desk.calls} == {"A", "B", "C"}
        assert len({call.at for call in desk.calls}) == len(desk.calls) < 25
        assert await running.rows() == []
        for each in "ABC":
            desk.always(each, None)
        await running.advance("10s")
        assert sorted(desk.done) == [("A", 1), ("A", 2), ("B", 1), ("C", 1)]
        assert {call.attempt for call in desk.calls} == {1}
        assert await notices(running) == []


async def test_one_dead_tenant_stops_nobody_and_is_parked_like_any_other() -> None:
    """W5, H12: A's endpoint is gone for good; B's success says so, and A is charged from then on, and exhausted."""
    desk = Desk()
    desk.always("A", ConnectionRefusedError())
    settings = {"subscription": {"parked": {"max_retries": 2}}}
    async with scenario(app, desk, slots=1, settings=settings) as running:
        await paid(running, "A", "B", "A")
        await running.advance("200ms")
        assert desk.done == [("B", 1)]
        assert not paused(running)
        await running.advance("5s")
        assert await outline(running) == [("A", "parked", "budget_spent", 1)]
        (row,) = await running.rows()
        assert row.failure is not None
        assert row.failure.source == "systemic by class, but others succeed"
        for _ in range(6):
            await paid(running, "B")
            await running.advance("2m")
        assert await outline(running) == [("A", "exhausted", "budget_spent", 1)]


async def test_probes_go_out_further_and_further_apart_but_never_above_five_seconds() -> None:
    """W4: 100 ms doubling up to 5 s, spread by the dice; at 0.5 three quarters of each."""
    desk = Desk()
    desk.next("A", *[CarrierDown()] * 9)
    async with scenario(app, desk) as running:
        await paid(running, "A")
        await running.advance("1m")
    assert desk.waits("A") == [0.075, 0.15, 0.3, 0.6, 1.2, 2.4, 3.75, 3.75, 3.75]


async def test_three_hours_of_outage_overflow_nothing_and_end_by_themselves() -> None:
    """D3, S37, B3: more than 2,500 probes, none later than 5 s, nothing parked; then the log is caught up with."""
    desk = Desk()
    desk.always("A", CarrierDown())
    desk.always("B", CarrierDown())
    async with scenario(app, desk, slots=1) as running:
        await paid(running, "A", "B")
        await running.advance("3h")
        assert len(desk.calls) > 2_500
        assert max(desk.waits("A")) <= 10
        assert await running.rows() == []
        desk.always("A", None)
        desk.always("B", None)
        await running.advance("10s")
        assert sorted(desk.done) == [("A", 1), ("B", 1)]


async def test_other_groups_go_on_while_one_is_paused() -> None:
    """D3, P1: `First` is paused by A; `Second` handles the same events and others."""
    desk = Desk()
    for each in "ABC":
        desk.always(each, CarrierDown())
    async with scenario(two, desk, slots=1) as running:
        await paid(running, "A", "B")
        await sent(running, "P")
        await running.advance("10s")
        await paid(running, "C")
        await running.advance("10s")
        assert desk.done == []
        assert [call.id for call in desk.calls if call.subscription == "Second.on_paid"] == ["A", "B", "C"]
        assert [call.id for call in desk.calls if call.subscription == "Second.on_sent"] == ["P"]


async def test_other_partitions_go_on_while_one_is_paused() -> None:
    """D3: the pause is the partition's; an aggregate of the other one is called."""
    desk = Desk()
    ids = [f"o-{number}" for number in range(50)]
    first = [each for each in ids if slot_of("shop", "order", each, 2) == 0]
    second = [each for each in ids if slot_of("shop", "order", each, 2) == 1]
    for each in first:
        desk.always(each, CarrierDown())
    async with scenario(app, desk, slots=2, partitions=2) as running:
        await paid(running, *first, *second)
        await running.advance("10s")
        assert {name for name, _ in desk.done} == set(second)


async def test_a_probe_that_fails_in_another_way_charges_nothing_and_another_follows() -> None:
    """W4, D3: recoverable failures and timeouts of the probe spend no budget."""
    desk = Desk()
    desk.next("A", CarrierDown(), *[Unlisted()] * 10, desk.sleeping(60), CarrierDown())
    desk.next("B", *[CarrierDown()] * 13)
    async with scenario(app, desk, slots=1) as running:
        await paid(running, "A", "B")
        await running.advance("5m")
        assert desk.done == [("A", 1), ("B", 1)]
        assert await notices(running) == []


async def test_a_probe_whose_budget_was_nearly_spent_before_the_outage_is_charged_nothing_either() -> None:
    """D3, W4: four attempts were spent; in the pause the probe fails in a recoverable way and is not parked for it."""
    desk = Desk()
    desk.next("A", *[Unlisted()] * 4, CarrierDown(), *[Unlisted()] * 3, desk.sleeping(60), CarrierDown())
    async with scenario(app, desk, slots=1) as running:
        await paid(running, "A")
        await running.advance("3m")
        assert desk.done == [("A", 1)]
        assert await notices(running) == []


async def test_a_probe_that_ends_in_unrecoverable_is_parked_and_the_next_aggregate_is_tried() -> None:
    """W4, S84 (a), D1: A is parked; B, which was waiting, becomes the probe; its success ends the pause."""
    desk = Desk()
    desk.next("A", CarrierDown(), UnknownBuyer())
    desk.next("B", CarrierDown())
    desk.next("C", CarrierDown())
    async with scenario(app, desk, slots=1) as running:
        await paid(running, "A", "B", "C")
        await running.advance("10s")
        assert await outline(running) == [("A", "exhausted", "unrecoverable", 1)]
        assert sorted(desk.done) == [("B", 1), ("C", 1)]


async def test_a_pause_ends_when_its_only_aggregate_is_parked() -> None:
    """W4, S84 (a): nobody else is there to be tried; what comes later is called."""
    desk = Desk()
    desk.next("A", CarrierDown(), UnknownBuyer())
    async with scenario(app, desk) as running:
        await paid(running, "A")
        await running.advance("10s")
        await paid(running, "B")
        await running.advance("10s")
        assert desk.done == [("B", 1)]


@pytest.mark.parametrize("later", [False, True])
async def test_a_pause_goes_on_to_the_next_aggregate_when_an_operator_parks_the_probe(*, later: bool) -> None:
    """W4, S84 (d): the entry that was probed is parked on purpose between two probes."""
    desk = Desk()
    desk.always("A", CarrierDown())
    async with scenario(app, desk, slots=1) as running:
        await paid(running, "A", *([] if later else ["B"]))
        await running.advance("5s")
        await running.park("Notifier.on_paid", order("A"), reason="its tenant is gone")
        if later:
            await paid(running, "B")
        await running.advance("10s")
        assert desk.done == [("B", 1)]
        (group,) = running.service.partitions[0].groups.values()
        assert group.outlook.failing == {}


async def test_a_command_during_the_probes_call_does_not_stop_the_probing() -> None:
    """W4, S84 (d), S89, H41: parked on purpose while its probe runs; the call ends, the next aggregate is tried."""
    desk, door = Desk(), Door()
    desk.next("A", CarrierDown(), door)
    async with scenario(app, desk, slots=1) as running:
        await paid(running, "A", "B")
        await running.advance("5s")
        assert door.waiting == 1
        await running.intend(Verb.PARK, "Notifier.on_paid", order("A"), reason="its tenant is gone")
        door.open(CarrierDown())
        await running.advance("10s")
        assert await outline(running) == [("A", "exhausted", "operator", 1)]
        assert desk.done == [("B", 1)]


@pytest.mark.parametrize("later", [False, True])
async def test_a_probe_that_does_not_end_is_parked_and_another_follows(*, later: bool) -> None:
    """W4, S84 (b), H25: the next aggregate is tried, be it there already or yet to come."""
    desk, door = Desk(), StubbornDoor()
    desk.next("A", CarrierDown(), door)
    async with scenario(app, desk, slots=1) as running:
        await paid(running, "A", *([] if later else ["B"]))
        await running.advance("2m")
        assert await outline(running) == [("A", "parked", "not_ending", 1)]
        if later:
            await paid(running, "B")
        await running.advance("10s")
        assert desk.done == [("B", 1)]
        door.open()
        await running.advance("0s")


async def test_a_probe_whose_slot_is_lost_is_followed_by_another() -> None:
    """W4, S84 (c), L3: the slot of the probed entry has a newer owner; the other slots are probed on."""
    desk = Desk()
    desk.always("A", CarrierDown())
    async with scenario(app, desk) as running:
        (partition,) = running.service.partitions
        await paid(running, "A")
        await running.advance("5s")
        # As when a single slot is moved: the lease of the others goes on.
        partition.stores.lease.on_lost = lambda: None
        running.memory.lose_lease(partition.owner.id)
        lost = slot_of("shop", "order", "A", 16)
        await running.memory.partition_stores().slots.acquire(Owner("other", "p", "h", 1, None), [lost])
        await partition.stores.lease.start(partition.owner)
        other = next(each for each in "BCDEFGH" if slot_of("shop", "order", each, 16) != lost)
        # The partition learns of its loss with its next commit of that slot.
        await paid(running, "A", other)
        partition.slots[lost].dirty = True
        partition.commits.poke()
        await running.advance("20s")
        assert desk.done == [(other, 1)]
        running.memory.lose_lease("other")


async def test_a_probe_that_overflows_goes_on_all_the_same() -> None:
    """W4, H6, P5: a page that was under way when the pause began brings the probed entry more than it can hold."""
    desk, door = Desk(), Door()
    desk.next("A", door)
    async with scenario(app, desk, slots=1) as running:
        await paid(running, "A")
        await running.advance("1s")
        async with running.memory.gate("reader.page", "end") as gate:
            await paid(running, "A", times=100)
            await paid(running, "B")
            await running.advance("0s")
            assert gate.held == 1
            door.open(CarrierDown())
            await running.advance("10ms")
        await running.advance("1m")
        assert desk.versions("A") == [1, *range(1, 102)]
        assert desk.versions("B") == [1]


async def test_calls_that_were_under_way_when_the_pause_began_may_end_but_no_further_one_begins() -> None:
    """D3: A's first event ends during the pause that B began; A's second is not called before it is over."""
    desk, door = Desk(), Door()
    desk.next("A", door, CarrierDown())
    desk.next("B", *[CarrierDown()] * 5)
    async with scenario(app, desk, slots=1) as running:
        await paid(running, "A", "A", "A", "B")
        await running.advance("10ms")
        door.open()
        await running.advance("50ms")
        assert desk.versions("A") == [1]
        assert paused(running)
        await running.advance("10s")
        assert desk.versions("A") == [1, 2, 2, 3]


async def test_a_failure_during_a_pause_waits_until_the_pause_is_over() -> None:
    """D3, W1: what failed beside the probe is charged nothing either, and is called again as a probe or afterwards."""
    desk, door = Desk(), Door()
    desk.next("A", door, *[Unlisted()] * 4)
    desk.next("B", *[CarrierDown()] * 5)
    async with scenario(app, desk, slots=1) as running:
        await paid(running, "A", "B")
        await running.advance("10ms")
        door.open(Unlisted())
        await running.advance("50ms")
        assert desk.versions("A") == [1]
        await running.advance("20s")
        assert sorted(desk.done) == [("A", 1), ("B", 1)]
        assert await notices(running) == []


async def test_a_crash_during_a_pause_loses_and_charges_nothing() -> None:
    """D3, L1, L2: the successor calls the failing entry, then everything that was held up."""
    desk = Desk()
    desk.next("A", *[CarrierDown()] * 4)
    desk.next("B", *[CarrierDown()] * 4)
    async with scenario(app, desk, slots=1) as running:
        await paid(running, "A", "B")
        await running.advance("500ms")
        await crash(running)
    async with scenario(app, desk, slots=1, memory=running.memory) as running:
        await running.advance("1m")
        assert sorted(desk.done) == [("A", 1), ("B", 1)]
        assert await running.rows() == []


async def test_two_aggregates_that_meet_the_outage_at_once_are_probed_one_at_a_time() -> None:
    """W4: two calls under way fail alike; they are tried in turn, one call at a time."""
    desk, door = Desk(), Door()
    desk.next("A", door, *[desk.failing(1, CarrierDown())] * 3)
    desk.next("B", door, *[desk.failing(1, CarrierDown())] * 3)
    async with scenario(app, desk, slots=1) as running:
        await paid(running, "A", "B")
        await running.advance("10ms")
        door.open(CarrierDown())
        await running.advance("5s")
        called = desk.calls[2:]
        assert {call.id for call in called} == {"A", "B"}
        assert all(after.at - before.at >= 1 for before, after in pairwise(called))
        await running.advance("1m")
        assert sorted(desk.done) == [("A", 1), ("B", 1)]
