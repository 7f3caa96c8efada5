"""What a partition says of its own pauses is there for people to see, and in nobody's way (W7, S83, H44)."""

from __future__ import annotations

from tests.unit.pausing import end, pause, present
from tests.unit.runtime.desk import Desk, crash, paid, scenario
from tests.unit.runtime.shop import app
from wow_ray import StoreUnavailableError
from wow_ray.policy.pauses import PauseReason
from wow_ray.ports.pauses import PauseAsked
from wow_ray.runtime.group import Group
from wow_ray.runtime.pace import Pace
from wow_ray.runtime.pause_notes import MOST_TEXT, PauseNotes
from wow_ray.testing import Running

GROUP = "Notifier.on_paid"
SYSTEMIC, MASS = PauseReason.SYSTEMIC, PauseReason.MASS_FAILURE
AWAY = StoreUnavailableError("the store is away")


def here(running: Running) -> tuple[PauseNotes, Group]:
    """Give the notes of the first partition, and its group."""
    partition = running.service.partitions[0]
    return partition.notes, partition.by_name[GROUP]


async def texts(running: Running) -> list[str]:
    """Give what is said of present pauses."""
    return [pause.text for pause in await running.service.client.pauses.present()]


async def test_a_note_is_shown_until_it_ends() -> None:
    """W7: begun, told anew, ended; the group is called all the while, since a note stops nobody."""
    desk = Desk()
    async with scenario(app, desk) as running:
        notes, group = here(running)
        notes.begun(group, SYSTEMIC, "the carrier is away", {"failing": 3})
        await running.advance("1s")
        assert await present(running.memory) == [(GROUP, "systemic", "shop-0")]
        notes.begun(group, SYSTEMIC, "still away")
        await paid(running, "a")
        await running.advance("1s")
        assert await texts(running) == ["still away"]
        assert desk.done == [("a", 1)]
        notes.ended(group, SYSTEMIC, "the probe succeeded")
        await running.advance("1s")
        assert await present(running.memory) == []


async def test_notes_of_two_reasons_and_a_stop_stand_beside_each_other() -> None:
    """S83: ending the one leaves the others."""
    async with scenario(app, Desk()) as running:
        notes, group = here(running)
        await pause(running.memory, GROUP, partition="shop-0")
        notes.begun(group, SYSTEMIC, "away")
        notes.begun(group, MASS, "104 parks of one kind")
        await running.advance("1s")
        notes.ended(group, SYSTEMIC, "back")
        await running.advance("1s")
        assert await present(running.memory) == [(GROUP, "operator", "shop-0"), (GROUP, "mass_failure", "shop-0")]


async def test_a_note_waits_for_the_store_and_says_the_newest() -> None:
    """W7: while the store is away nothing is lost but what is over by then."""
    async with scenario(app, Desk()) as running:
        notes, group = here(running)
        running.memory.fail_next("pauses.note", AWAY, times=1_000)
        notes.begun(group, SYSTEMIC, "one")
        notes.begun(group, MASS, "over before it could be said")
        await running.advance("10s")
        notes.begun(group, SYSTEMIC, "two")
        notes.ended(group, MASS, "over")
        running.memory.fail_next("pauses.note", AWAY, times=0)
        await running.advance("10s")
        assert await texts(running) == ["two"]


async def test_what_ends_while_it_is_being_written_is_ended() -> None:
    """W7: the answer of the store came later than the end of the pause."""
    async with scenario(app, Desk()) as running:
        notes, group = here(running)
        async with running.memory.gate("pauses.note", "end") as gate:
            notes.begun(group, SYSTEMIC, "away")
            await gate.reached()
            notes.ended(group, SYSTEMIC, "back")
        await running.advance("1s")
        assert await present(running.memory) == []


async def test_a_note_without_an_end_goes_with_its_partition() -> None:
    """W7: a partition that stops ends what it has said; what one that died has left is ended by the next."""
    first = scenario(app, Desk())
    async with first as running:
        notes, group = here(running)
        notes.begun(group, SYSTEMIC, "away")
        await running.advance("1s")
    assert await present(first.memory) == []

    async with scenario(app, Desk(), memory=first.memory) as running:
        notes, group = here(running)
        notes.begun(group, SYSTEMIC, "away")
        await running.advance("1s")
        await pause(first.memory, GROUP, partition="shop-0")
        await crash(running)
    assert len(await present(first.memory)) == 2
    async with scenario(app, Desk(), memory=first.memory) as running:
        await running.advance("1s")
        assert await present(first.memory) == [(GROUP, "operator", "shop-0")]


async def test_nothing_rests_on_notes() -> None:
    """H44: whatever the store makes of them, the partition works; a text of any length and kind is no matter."""
    desk = Desk()
    async with scenario(app, desk) as running:
        notes, group = here(running)
        running.memory.fail_next("pauses.note", RuntimeError("unheard of"), times=3)
        notes.begun(group, SYSTEMIC, "x" * 10 * MOST_TEXT)
        notes.begun(group, MASS, "odd \x00 text")
        await paid(running, "a")
        await running.advance("10s")
        assert desk.done == [("a", 1)]
        (text,) = await texts(running)
        assert len(text) == MOST_TEXT


async def test_a_note_that_somebody_lifts_is_told_to_the_partition_once() -> None:
    """P16: an operator lifts what many failures alike have paused; what ends by itself is no lifting."""
    lifted: list[PauseReason] = []
    async with scenario(app, Desk(), pace=Pace()) as running:
        notes, group = here(running)
        notes.on_lifted = lambda _, reason: lifted.append(reason)
        notes.begun(group, MASS, "104 parks of one kind")
        notes.begun(group, SYSTEMIC, "away")
        await running.clock.advance(5.0)
        notes.ended(group, SYSTEMIC, "back")
        await running.clock.advance(5.0)
        assert lifted == []
        asked = PauseAsked("lift", group.number, "shop-0", MASS, "ann", "it is mended")
        assert (await running.service.client.pauses.end(asked)).outcome["changed"]
        await running.clock.advance(5.0)
        assert lifted == [MASS]
        await end(running.memory, GROUP, MASS, "shop-0")
        await running.clock.advance(5.0)
        assert lifted == [MASS]


async def test_a_note_written_while_the_pauses_are_read_is_not_taken_for_lifted() -> None:
    """P16: the answer of the store was made before the note, and comes after it."""
    lifted: list[PauseReason] = []
    async with scenario(app, Desk(), pace=Pace()) as running:
        notes, group = here(running)
        notes.on_lifted = lambda _, reason: lifted.append(reason)
        async with running.memory.gate("pauses.read", "end") as gate:
            running.service.partitions[0].stops.nudge()
            await gate.reached()
            notes.begun(group, MASS, "104 parks of one kind")
            await running.clock.advance(0.2)
        await running.clock.advance(5.0)
        assert lifted == []
        assert await present(running.memory) == [(GROUP, "mass_failure", "shop-0")]
