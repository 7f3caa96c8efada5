"""A group that was paused from outside stands still, whatever happens to the program meanwhile (H44, S83, D3)."""

from __future__ import annotations

import pytest

from tests.unit.pausing import end, pause
from tests.unit.runtime.desk import CarrierDown, Desk, Door, Paid, Unlisted, crash, outline, paid, scenario
from tests.unit.runtime.shop import app, sales, two
from wow_ray import App, Context, Event, StoreUnavailableError, on_event
from wow_ray.policy.parked import Verb
from wow_ray.policy.pauses import STOPS, PauseReason
from wow_ray.policy.slots import slot_of
from wow_ray.ports.ledger import NewIntent
from wow_ray.runtime.pace import Pace
from wow_ray.testing import Running
from wow_ray.testing.clock import at_rest

GROUP = "Notifier.on_paid"
AWAY = StoreUnavailableError("the store is away")


async def looked(running: Running, seconds: str = "2s") -> None:
    """Let the partitions look, and let time pass."""
    await running.advance(seconds)


async def test_a_paused_group_is_not_called_and_the_others_go_on() -> None:
    """H44, D3: two groups read the same events; the one stands still, and has all of them in order afterwards."""
    desk = Desk()
    async with scenario(two, desk) as running:
        await pause(running.memory, "First.on_paid")
        await looked(running)
        await paid(running, "a", "b", times=3)
        await looked(running, "1h")
        assert {call.subscription for call in desk.calls} == {"Second.on_paid"}

        await end(running.memory, "First.on_paid")
        await looked(running)
        first = [(call.id, call.version) for call in desk.calls if call.subscription == "First.on_paid"]
        assert sorted(first) == [(each, version) for each in "ab" for version in (1, 2, 3)]
        assert [version for each, version in first if each == "a"] == [1, 2, 3]


@pytest.mark.parametrize("reason", list(PauseReason))
async def test_only_what_is_asked_from_outside_is_a_stop(reason: PauseReason) -> None:
    """H44: operator, deploy and restored are; what a partition notes of itself is for people to see."""
    desk = Desk()
    async with scenario(app, desk) as running:
        await pause(running.memory, GROUP, reason)
        await looked(running)
        await paid(running, "a")
        await looked(running)
        assert bool(desk.calls) is (reason not in STOPS)


async def test_a_call_under_way_ends_and_none_follows() -> None:
    """H44: the call counts as done; the aggregate's next event and everybody else's wait."""
    desk, door = Desk(), Door()
    desk.next("a", door)
    async with scenario(app, desk) as running:
        await paid(running, "a", "a")
        await looked(running)
        assert door.waiting == 1
        await pause(running.memory, GROUP)
        await looked(running)
        await paid(running, "b")
        door.open()
        await looked(running, "1h")
        assert desk.done == [("a", 1)]

        await end(running.memory, GROUP)
        await looked(running)
        assert sorted(desk.done) == [("a", 1), ("a", 2), ("b", 1)]
        assert desk.versions("a") == [1, 2]


async def test_a_pause_between_two_attempts_costs_nothing_of_the_budget() -> None:
    """H44, B4: the second attempt falls due meanwhile and is made afterwards, as the second."""
    desk = Desk()
    desk.next("a", Unlisted())
    async with scenario(app, desk) as running:
        await paid(running, "a")
        await running.advance("10ms")
        await pause(running.memory, GROUP)
        running.service.partitions[0].stops.nudge()
        await looked(running, "1h")
        assert len(desk.calls) == 1

        await end(running.memory, GROUP)
        await looked(running)
        assert [call.attempt for call in desk.calls] == [1, 2]
        assert await outline(running) == []


@pytest.mark.parametrize("how", ["in order", "by a crash"])
async def test_a_pause_outlives_the_program(how: str) -> None:
    """H44, S83: the next one calls nothing from its first moment on, neither new events nor those it had begun."""
    desk, door = Desk(), Door()
    desk.next("a", door)
    first = scenario(app, desk)
    async with first as running:
        await paid(running, "a", "b")
        await looked(running, "1s")
        await pause(running.memory, GROUP)
        await looked(running)
        await paid(running, "c")
        if how == "by a crash":
            await crash(running)
        else:
            door.open()
    before = len(desk.calls)
    async with scenario(app, desk, memory=first.memory) as running:
        await looked(running, "1h")
        assert len(desk.calls) == before

        await end(running.memory, GROUP)
        await looked(running)
        assert {each for each, _ in desk.done} == {"a", "b", "c"}


async def test_a_pause_everywhere_goes_with_the_slots() -> None:
    """H44, S83: two partitions become one, then four: nothing is called the whole time."""
    desk = Desk()
    first = scenario(app, desk, partitions=2)
    async with first as running:
        await pause(running.memory, GROUP)
        await looked(running)
        await paid(running, *"abcdef")
    for partitions in (1, 4):
        async with scenario(app, desk, memory=first.memory, partitions=partitions) as running:
            await paid(running, *"abcdef")
            await looked(running, "1h")
            assert desk.calls == []
    await end(first.memory, GROUP)
    async with scenario(app, desk, memory=first.memory, partitions=2) as running:
        await looked(running)
        assert all(desk.versions(each) == [1, 2, 3] for each in "abcdef")


async def test_a_pause_of_one_partition_is_of_that_one_alone() -> None:
    """H44: by its lasting name, so it holds for whoever takes that part after a restart."""
    desk = Desk()
    ids = "abcdefgh"
    second = {each for each in ids if slot_of("shop", "order", each, 16) >= 8}
    first = scenario(app, desk, partitions=2)
    for _ in range(2):
        async with scenario(app, desk, partitions=2, memory=first.memory) as running:
            await pause(running.memory, GROUP, partition="shop-1")
            await looked(running)
            await paid(running, *ids)
            await looked(running)
            assert running.service.partitions[1].slots.keys() == set(range(8, 16))
            assert {call.id for call in desk.calls} == set(ids) - second
    assert second


@pytest.mark.parametrize("order", ["as they came", "the other way"])
async def test_two_reasons_are_ended_one_by_one(order: str) -> None:
    """S83: the group goes on only when the last one is over, whichever that is."""
    desk = Desk()
    reasons = [PauseReason.OPERATOR, PauseReason.DEPLOY]
    async with scenario(app, desk) as running:
        for reason in reasons:
            await pause(running.memory, GROUP, reason)
        await looked(running)
        await paid(running, "a")
        first, last = reasons if order == "as they came" else reversed(reasons)
        await end(running.memory, GROUP, first)
        await looked(running, "1h")
        assert desk.calls == []
        await end(running.memory, GROUP, last)
        await looked(running)
        assert desk.done == [("a", 1)]


async def test_a_pause_that_nobody_is_told_of_is_found_within_a_second() -> None:
    """H44: the push only hurries; so it is when a pause ends."""
    desk = Desk()
    async with scenario(app, desk, pace=Pace()) as running:
        await pause(running.memory, GROUP)
        await running.clock.advance(1.0)
        await paid(running, "a")
        await running.clock.advance(60.0)
        assert desk.calls == []
        await end(running.memory, GROUP)
        await running.clock.advance(1.5)
        assert desk.done == [("a", 1)]


async def test_a_pause_holds_while_the_store_cannot_be_asked() -> None:
    """H44: what was known last counts; nobody goes on because nobody can be asked."""
    desk = Desk()
    async with scenario(app, desk, pace=Pace()) as running:
        await pause(running.memory, GROUP)
        await running.clock.advance(1.0)
        await paid(running, "a")
        await end(running.memory, GROUP)
        running.memory.fail_next("pauses.read", AWAY, times=1_000)
        await running.clock.advance(60.0)
        assert desk.calls == []
        running.memory.fail_next("pauses.read", AWAY, times=0)
        await running.clock.advance(1.5)
        assert desk.done == [("a", 1)]


async def test_a_group_that_runs_goes_on_while_the_store_cannot_be_asked() -> None:
    """H44: not knowing anew is no reason to stop either."""
    desk = Desk()
    async with scenario(app, desk, pace=Pace()) as running:
        running.memory.fail_next("pauses.read", AWAY, times=1_000)
        await running.clock.advance(5.0)
        await paid(running, "a")
        await running.clock.advance(5.0)
        assert desk.done == [("a", 1)]


async def test_no_partition_starts_without_having_asked() -> None:
    """H44: a start that cannot read the pauses fails before it has called anybody."""
    desk = Desk()
    first = scenario(app, desk)
    async with first as running:
        await pause(running.memory, GROUP)
        await looked(running)
        await paid(running, "a")
    first.memory.fail_next("pauses.read", AWAY)
    with pytest.raises(StoreUnavailableError):
        await scenario(app, desk, memory=first.memory).__aenter__()
    assert desk.calls == []


async def test_an_operators_pause_stops_the_probes_of_an_outage_and_outlives_its_end() -> None:
    """S83: systemic begins, the operator pauses, the carrier comes back unnoticed; then one resume starts it."""
    desk = Desk()
    desk.always("a", CarrierDown())
    async with scenario(app, desk) as running:
        await paid(running, "a", "b")
        await looked(running, "10s")
        await pause(running.memory, GROUP)
        await looked(running)
        calls = len(desk.calls)
        desk.drop_steps("a")
        await looked(running, "1h")
        assert len(desk.calls) == calls

        await end(running.memory, GROUP)
        await looked(running, "30s")
        assert ("a", 1) in desk.done
        assert ("b", 1) in desk.done
        assert await outline(running) == []


async def test_a_call_that_waits_for_its_connection_does_not_begin() -> None:
    """H44, L1: the pause came while it waited; nothing is charged, and it is called once afterwards."""
    desk = Desk()
    async with scenario(sales, desk) as running:
        async with running.memory.gate("effects.begin") as gate:
            await paid(running, "a")
            running.service.wake()
            await gate.reached()
            await pause(running.memory, "Sales")
            running.service.wake()
            await at_rest()
        await looked(running, "1h")
        assert desk.calls == []
        await end(running.memory, "Sales")
        await looked(running)
        assert [(call.version, call.attempt) for call in desk.calls] == [(1, 1)]


async def test_a_group_keeps_its_pause_under_its_new_name() -> None:
    """L5, H44: a release that renames the processor is not called either."""
    desk = Desk()
    first = scenario(app, desk)
    async with first as running:
        await pause(running.memory, GROUP)
        await looked(running)
        await paid(running, "a")
    async with scenario(renamed(), desk, memory=first.memory) as running:
        await looked(running, "1h")
        assert desk.calls == []
        await end(running.memory, "Notices.on_paid")
        await looked(running)
        assert desk.done == [("a", 1)]


async def test_a_paused_projection_can_be_reset_and_stands_still_until_it_is_resumed() -> None:
    """L6, H44: the reset is carried out meanwhile; everything is handled again, once, after the resume."""
    desk = Desk()
    async with scenario(sales, desk) as running:
        await paid(running, "a", "b")
        await looked(running)
        await pause(running.memory, "Sales")
        await looked(running)
        await running.reset("Sales", reason="a column was added")
        await looked(running, "1h")
        assert len(desk.calls) == 2

        await end(running.memory, "Sales")
        await looked(running)
        assert sorted(desk.done[2:]) == [("a", 1), ("b", 1)]


async def test_a_pause_during_a_reset_leaves_the_group_standing() -> None:
    """L6, H44: the end of the reset opens the group for nobody whom a person has stopped."""
    desk, door = Desk(), Door()
    desk.next("a", door)
    async with scenario(sales, desk) as running:
        await paid(running, "a", "b")
        await looked(running)
        wanted = NewIntent("reset", Verb.RESET, "Sales", 0, "", "", None, None, None, "ann", "a column was added")
        await running.service.client.ledger.ask(wanted)
        await looked(running)
        assert running.service.partitions[0].by_name["Sales"].closed
        await pause(running.memory, "Sales")
        door.open()
        await looked(running)
        done = await running.service.client.ledger.intent("reset")
        assert done is not None
        assert done.state == "done"
        calls = len(desk.calls)
        await looked(running, "1h")
        assert len(desk.calls) == calls
        await end(running.memory, "Sales")
        await looked(running)
        assert sorted(desk.done[-2:]) == [("a", 1), ("b", 1)]


def renamed() -> App:
    """The app after its reactor got another name."""
    later = App("shop")

    @later.reactor
    class Notices:
        def __init__(self, desk: Desk) -> None:
            self.desk = desk

        @on_event(aliases=[GROUP])
        async def on_paid(self, event: Event[Paid], ctx: Context) -> None:
            await self.desk.handle(event, ctx)

    return later
