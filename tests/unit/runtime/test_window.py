"""Three aggregates that fail alike, what is given back, and how a group comes back to its full load."""

from __future__ import annotations

import pytest

from tests.unit.runtime.desk import (
    BadParcel,
    CarrierDown,
    Desk,
    TooBusy,
    UnknownBuyer,
    Unlisted,
    crash,
    notices,
    outline,
    paid,
    scenario,
)
from tests.unit.runtime.shop import app
from wow_ray.policy.slots import slot_of
from wow_ray.runtime.group import Group
from wow_ray.testing import Running

FAST = {"subscription": {"systemic": {"max_probe": "500ms"}}}


def group_of(running: Running, number: int = 0) -> Group:
    """Give the one group of a partition."""
    (group,) = running.service.partitions[number].groups.values()
    return group


async def fail_at(running: Running, desk: Desk, *times: tuple[str, float]) -> None:
    """Have aggregates fail for good from these seconds on."""
    for name, at in times:
        desk.always(name, Unlisted("down"))
        await running.advance(f"{round((at - desk.now()) * 1000)}ms")
        await paid(running, name)
        await running.advance("0s")


async def test_one_aggregate_that_fails_three_times_in_a_second_is_no_outage() -> None:
    """S60 (a), W1: it is parked after its budget, and nobody is paused."""
    desk = Desk()
    async with scenario(app, desk) as running:
        await fail_at(running, desk, ("A", 0))
        await running.advance("3s")
        assert not group_of(running).paused
        assert await outline(running) == [("A", "parked", "budget_spent", 1)]


async def test_three_within_ten_seconds_pause_and_nothing_of_it_was_charged_parked_or_told() -> None:
    """S60 (b), W1, H15: A was parked at 1.5 s and is taken back; with the other side back all go on by themselves."""
    desk = Desk()
    async with scenario(app, desk, slots=1) as running:
        await fail_at(running, desk, ("A", 0), ("B", 4))
        await running.advance("5s")
        assert [row.state for row in await running.rows()] == ["parked", "parked"]
        await fail_at(running, desk, ("C", 9.9))
        assert group_of(running).paused
        await running.advance("1m")
        assert await running.parked() == []
        assert await notices(running) == []
        for name in "ABC":
            desk.drop_steps(name)
        await running.advance("10s")
        assert sorted(desk.done) == [("A", 1), ("B", 1), ("C", 1)]
        assert not group_of(running).paused
        assert await running.parked() == []
        assert await notices(running) == []


async def test_three_in_more_than_ten_seconds_are_three_of_their_own() -> None:
    """S60 (c), W1: at 0, 5 and 10.1 s after the end of A's budget; each is parked."""
    desk = Desk()
    settings = {"subscription": {"retry": {"max_attempts": 1}}}
    async with scenario(app, desk, settings=settings) as running:
        await fail_at(running, desk, ("A", 0), ("B", 5), ("C", 10.1))
        await running.advance("1s")
        assert not group_of(running).paused
        assert len(await running.parked()) == 3
        await running.advance("11s")
        assert await notices(running) == ["parked"] * 3


async def test_aggregates_of_different_partitions_do_not_add_up() -> None:
    """S60 (d), W1: two on one partition and one on the other."""
    desk = Desk()
    ids = [f"o-{number}" for number in range(50)]
    first = [each for each in ids if slot_of("shop", "order", each, 2) == 0]
    second = [each for each in ids if slot_of("shop", "order", each, 2) == 1]
    async with scenario(app, desk, slots=2, partitions=2) as running:
        await fail_at(running, desk, (first[0], 0), (first[1], 0.1), (second[0], 0.2))
        assert not group_of(running, 0).paused
        assert not group_of(running, 1).paused


@pytest.mark.parametrize("error", [UnknownBuyer, BadParcel])
async def test_failures_that_a_list_calls_the_aggregates_own_never_pause(error: type[Exception]) -> None:
    """S60 (e), W2: a bad deploy: five aggregates long the same listed error; each is parked."""
    desk = Desk()
    for name in "ABCDE":
        desk.always(name, error())
    async with scenario(app, desk) as running:
        await paid(running, *"ABCDE")
        await running.advance("3s")
        assert not group_of(running).paused
        assert len(await running.parked()) == 5


async def test_a_step_of_the_calendar_changes_nothing_of_the_window() -> None:
    """S60 (f), W1: the window is on the monotonic clock."""
    desk = Desk()
    async with scenario(app, desk) as running:
        await fail_at(running, desk, ("A", 0))
        running.clock.step(3_600)
        await fail_at(running, desk, ("B", 1))
        running.clock.step(-7_200)
        await fail_at(running, desk, ("C", 2))
        assert group_of(running).paused


async def test_many_poison_aggregates_among_healthy_ones_never_pause() -> None:
    """W3: a tenth fails for good, by default or by class; every one is parked, everybody else is handled at once."""
    desk = Desk()
    ids = [f"o-{number}" for number in range(200)]
    poison = ids[5::10]
    for number, each in enumerate(poison):
        desk.always(each, Unlisted() if number % 2 else ConnectionRefusedError())
    for each in ids:
        if each not in poison:
            desk.always(each, desk.sleeping(0.01))
    async with scenario(app, desk, slots=1) as running:
        pauses = 0
        await paid(running, "healthy")
        await running.advance("10ms")
        await paid(running, *ids)
        for _ in range(300):
            await running.advance("10ms")
            pauses += group_of(running).paused
        assert pauses == 0
        assert len(desk.done) == 181
        assert {row.ref.id for row in await running.parked()} == set(poison)


async def test_an_outage_of_an_hour_parks_nobody_charges_nobody_and_everything_is_handled_in_order() -> None:
    """D3, W1: fifty aggregates with two events each; then the other side is back."""
    desk = Desk()
    ids = [f"o-{number}" for number in range(50)]
    async with scenario(app, desk, slots=4) as running:
        await paid(running, *ids)
        await running.advance("1s")
        assert len(desk.done) == 50
        for each in ids:
            desk.always(each, Unlisted("down"))
        await paid(running, *ids)
        await running.advance("1h")
        calls = len(desk.calls)
        assert await running.parked() == []
        assert calls < 50 + 50 * 2 + 3_600 / 2.5
        for each in ids:
            desk.drop_steps(each)
        await running.advance("10s")
        assert sorted(desk.done) == sorted([(each, version) for each in ids for version in (1, 2)])
        assert await notices(running) == []


async def test_after_a_pause_the_load_begins_with_one_call_and_doubles() -> None:
    """W6: 1, 2, 4, 8 … calls at once."""
    desk = Desk()
    ids = [f"o-{number}" for number in range(100)]
    for each in ids:
        desk.always(each, CarrierDown())
    async with scenario(app, desk, slots=1, settings=FAST) as running:
        await paid(running, *ids)
        await running.advance("5s")
        assert group_of(running).paused
        for each in ids:
            desk.drop_steps(each)
            desk.always(each, desk.sleeping(1))
        most = []
        for _ in range(12):
            await running.advance("1s")
            most.append(group_of(running).running)
        assert most[:2] == [1, 2]
        assert max(most) == 32
        assert len(desk.done) == 100


async def test_a_pause_that_a_handler_without_the_outside_ended_comes_back_and_gives_back_what_was_charged() -> None:
    """H16: every third aggregate does not touch what is down: few others are parked, and the outside is spared."""
    desk = Desk()
    ids = [f"o-{number}" for number in range(600)]
    down = [each for number, each in enumerate(ids) if number % 3]
    for each in down:
        desk.always(each, CarrierDown())
    async with scenario(app, desk, slots=1) as running:
        for first in range(0, 600, 10):
            await paid(running, *ids[first : first + 10])
            await running.advance("1s")
        stuck = len(await running.parked())
        for each in down:
            desk.drop_steps(each)
        await running.advance("10m")
        assert {name for name, _ in desk.done} == set(ids)
        assert stuck <= 20


async def test_a_park_between_successes_is_taken_back_by_an_outage_within_ten_seconds_and_nobody_is_told() -> None:
    """W1, H15, H16: others, which do not touch what is down, succeeded meanwhile; then B, C and D fail."""
    desk = Desk()
    async with scenario(app, desk, slots=1) as running:
        await fail_at(running, desk, ("A", 1))
        for number in range(4):
            await running.advance("500ms")
            await paid(running, f"early-{number}")
        await running.advance("1s")
        assert await outline(running) == [("A", "parked", "budget_spent", 1)]
        await fail_at(running, desk, ("B", 5), ("C", 5.1), ("D", 5.2))
        assert group_of(running).paused
        await running.advance("1s")
        assert await running.parked() == []
        for name in "ABCD":
            desk.drop_steps(name)
        await running.advance("30s")
        assert {("A", 1), ("B", 1), ("C", 1), ("D", 1)} <= set(desk.done)
        assert await notices(running) == []


async def test_a_poison_aggregate_among_healthy_ones_is_told_of_when_no_outage_can_have_caused_it() -> None:
    """P13, H15: ten seconds after it was parked."""
    desk = Desk()
    desk.always("A", Unlisted("its own"))
    async with scenario(app, desk, slots=1) as running:
        await paid(running, "A", "B")
        await running.advance("5s")
        assert await outline(running) == [("A", "parked", "budget_spent", 1)]
        await running.advance("8s")
        assert await notices(running) == ["parked"]


async def test_many_new_poison_aggregates_one_after_the_other_hold_a_pause_for_a_moment_only() -> None:
    """W3, W4: nobody knows better than a pause when all that was ever called fails; the second probe knows better."""
    desk = Desk()
    poison = [f"p-{number}" for number in range(40)]
    healthy = [f"o-{number}" for number in range(60)]
    for each in poison:
        desk.always(each, Unlisted("its own"))
    async with scenario(app, desk, slots=1) as running:
        await paid(running, *poison, *healthy)
        await running.advance("3s")
        assert not group_of(running).paused
        assert {name for name, _ in desk.done} == set(healthy)
        await running.advance("10s")
        assert sorted(row.aggregate_id for row in await running.rows()) == sorted(poison)


async def test_a_park_that_an_outage_caused_survives_a_crash_during_it_as_one_that_waits() -> None:
    """H15, L1: taken back durably; the successor goes on with it when the other side is back."""
    desk = Desk()
    async with scenario(app, desk, slots=1) as running:
        await fail_at(running, desk, ("A", 0), ("B", 3), ("C", 4))
        await running.advance("1s")
        assert group_of(running).paused
        await crash(running)
    for name in "ABC":
        desk.drop_steps(name)
    async with scenario(app, desk, slots=1, memory=running.memory) as running:
        await running.advance("10s")
        assert sorted(desk.done) == [("A", 1), ("B", 1), ("C", 1)]
        assert await notices(running) == []


async def test_very_many_parks_alike_pause_the_group_and_probing_goes_on() -> None:
    """P16: a bad deploy calls every order's buyer unknown; a hundred and some are parked, not three hundred."""
    desk = Desk()
    ids = [f"o-{number}" for number in range(300)]
    for each in ids:
        desk.always(each, UnknownBuyer())
    async with scenario(app, desk, slots=1) as running:
        await paid(running, *ids)
        await running.advance("10s")
        group = group_of(running)
        assert group.pause is not None
        assert group.pause.why == "mass_failure"
        assert 101 <= len(await running.parked()) < 120
        running.service.partitions[0].outages.lift(group)
        await running.advance("10s")
        assert len(await running.parked()) == 300


async def test_the_other_side_that_is_busy_gets_half_the_calls_at_once_and_all_of_them_again_soon() -> None:
    """D4, D5: it takes ten at once; no retry is spent, nobody is parked, and in the end the limit is whole again."""
    desk = Desk()
    here = 0
    most_busy = 0

    async def carrier(event: object) -> None:
        nonlocal here, most_busy
        del event
        if here >= 10:
            most_busy += 1
            raise TooBusy
        here += 1
        await desk.clock.sleep(0.1)
        here -= 1

    ids = [f"o-{number}" for number in range(400)]
    for each in ids:
        desk.always(each, carrier)
    async with scenario(app, desk, slots=1) as running:
        await paid(running, *ids)
        await running.advance("20ms")
        assert group_of(running).limit == 5
        await running.advance("30s")
        assert len(desk.done) == 400
        assert await running.rows() == []
        assert most_busy < 200
        assert {call.attempt for call in desk.calls if call.attempt > 4} == set()
        await paid(running, *ids)
        desk_limit = group_of(running).limit
        for each in ids:
            desk.always(each, None)
        await running.advance("10s")
        assert desk_limit < 32
        assert group_of(running).limit == 32
