"""The clock and the dice that tests and scenarios run on."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from wow_ray.ports.clock import Clock, Dice
from wow_ray.testing.clock import START, VirtualClock, at_rest, dice, turn


def test_it_is_a_clock() -> None:
    """It fits the port, and begins at fixed values, so that a failing run can be repeated."""
    clock: Clock = VirtualClock()

    assert (clock.now(), clock.monotonic()) == (START, 1000.0)


async def test_time_passes_only_in_advance() -> None:
    """Both times move together by what was asked for, and by nothing else."""
    clock = VirtualClock()

    await clock.advance(90.5)

    assert clock.now() == START + timedelta(seconds=90.5)
    assert clock.monotonic() == 1090.5


async def test_calls_are_made_in_the_order_of_their_times_each_at_its_own() -> None:
    """A call sees the time it asked for; calls for one time keep the order in which they were asked for."""
    clock = VirtualClock()
    made: list[tuple[str, float]] = []
    for name, when in (("late", 1007.0), ("early", 1001.5), ("late too", 1007.0)):
        clock.call_at(when, lambda name=name: made.append((name, clock.monotonic())))  # type: ignore[misc]

    await clock.advance(10)

    assert made == [("early", 1001.5), ("late", 1007.0), ("late too", 1007.0)]


async def test_a_call_beyond_the_advance_waits_for_the_next() -> None:
    """A time exactly reached is reached."""
    clock = VirtualClock()
    made: list[float] = []
    clock.call_at(1010.0, lambda: made.append(clock.monotonic()))

    await clock.advance(9.5)
    before = list(made)
    await clock.advance(0.5)

    assert (before, made) == ([], [1010.0])


async def test_a_call_for_a_time_that_has_come_is_made_at_the_next_turn() -> None:
    """Not at once, inside the asker's own step."""
    clock = VirtualClock()
    made: list[str] = []

    clock.call_at(1000.0, lambda: made.append("now"))
    clock.call_at(-5.0, lambda: made.append("long ago"))
    at_once = list(made)
    await turn()

    assert (at_once, made) == ([], ["now", "long ago"])


async def test_a_call_taken_back_is_not_made() -> None:
    """Also one that was due at the next turn; taking it back twice, or after it was made, does nothing."""
    clock = VirtualClock()
    made: list[str] = []
    timers = [clock.call_at(when, lambda: made.append("call")) for when in (1000.0, 1005.0)]

    for timer in (*timers, *timers):
        timer.cancel()
    await clock.advance(10)

    assert made == []
    assert clock.next_timer() is None


async def test_what_is_asked_for_on_the_way_happens_on_the_way() -> None:
    """A loop that sleeps again and again wakes at every step of it."""
    clock = VirtualClock()
    woke: list[float] = []

    async def ticking() -> None:
        while True:
            await clock.sleep(2)
            woke.append(clock.monotonic())

    ticker = asyncio.ensure_future(ticking())
    await clock.advance(7)
    ticker.cancel()

    assert woke == [1002.0, 1004.0, 1006.0]


async def test_a_sleep_of_nothing_lets_the_loop_turn_once() -> None:
    """Zero or less; no time passes."""
    clock = VirtualClock()
    ran: list[str] = []
    asyncio.get_running_loop().call_soon(ran.append, "other")

    await clock.sleep(0)
    await clock.sleep(-1)

    assert ran == ["other"]
    assert clock.monotonic() == 1000.0


async def test_a_cancelled_sleep_leaves_no_timer() -> None:
    """What nobody waits for any more keeps nothing alive."""
    clock = VirtualClock()
    sleeper = asyncio.ensure_future(clock.sleep(5))
    await at_rest()
    assert clock.next_timer() == 1005.0

    sleeper.cancel()
    await at_rest()

    assert clock.next_timer() is None


async def test_between_timers_the_test_settles_as_it_likes() -> None:
    """The given `settle` is awaited first, after each timer, and last."""
    clock = VirtualClock()
    settled_at: list[float] = []

    async def settle() -> None:
        await at_rest()
        settled_at.append(clock.monotonic())

    clock.call_at(1001.0, lambda: None)
    clock.call_at(1002.0, lambda: None)
    await clock.advance(5, settle)

    assert settled_at == [1000.0, 1001.0, 1002.0, 1005.0]


async def test_a_step_of_the_calendar_moves_no_timer() -> None:
    """A time server's correction: `now` jumps, `monotonic` and the timers do not notice."""
    clock = VirtualClock()
    made: list[float] = []
    clock.call_at(1010.0, lambda: made.append(clock.monotonic()))

    clock.step(3600)
    await clock.advance(5)
    clock.step(-7200)
    await clock.advance(5)

    assert made == [1010.0]
    assert clock.now() == START + timedelta(seconds=3600 - 7200 + 10)


async def test_time_does_not_go_back() -> None:
    """Neither by a negative advance nor by one that is no number."""
    for seconds in (-1.0, float("nan")):
        with pytest.raises(ValueError, match="go back"):
            await VirtualClock().advance(seconds)


async def test_tasks_that_never_wait_for_time_are_reported() -> None:
    """A test that would hang says so instead."""

    async def restless() -> None:
        while True:
            await turn()

    task = asyncio.ensure_future(restless())
    with pytest.raises(RuntimeError, match="did not come to rest"):
        await at_rest()
    task.cancel()


def test_dice_fall_as_written_and_repeat_the_last_value() -> None:
    """And they count how often they were thrown."""
    thrown = dice(0.25, 0.75)
    port: Dice = thrown

    assert [port() for _ in range(4)] == [0.25, 0.75, 0.75, 0.75]
    assert thrown.rolls == 4


@pytest.mark.parametrize("values", [(), (1.0,), (0.5, -0.1), (float("nan"),)])
def test_dice_have_sides_from_0_up_to_1(values: tuple[float, ...]) -> None:
    """A script that no dice could follow is an error of the test."""
    with pytest.raises(ValueError, match="dice"):
        dice(*values)
