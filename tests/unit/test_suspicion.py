"""Who is suspected of killing the process, and how carefully a successor begins (P15, H10)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wow_ray.policy.suspicion import (
    AT_ONCE,
    DEATHS,
    MOST_AT_ONCE,
    STEADY,
    Ending,
    Start,
    Trying,
    admitted,
    charged,
    in_a_row,
    is_careful,
    is_convicted,
    may_be_called,
    passed_by,
    stretch_end,
    widened,
)

T0 = datetime(2026, 1, 1, tzinfo=UTC)


def starts(*lives: str) -> list[Start]:
    """Make a history: `u5` is an unclean end after 5 s, `c` a clean one, `x` an excused one."""
    kinds = {"u": Ending.UNCLEAN, "c": Ending.CLEAN, "x": Ending.EXCUSED}
    return [Start(T0, T0 + timedelta(seconds=float(life[1:] or 1)), kinds[life[0]]) for life in lives]


@pytest.mark.parametrize(
    ("lives", "count"),
    [
        ("", 0),
        ("u1", 1),
        ("u1 u1", 2),
        ("u9999 u1", 2),  # the first may have lived for long
        ("u1 u60 u60", 3),  # 60 s are within 60 s
        ("u1 u1 u61", 1),  # that one was past whatever killed the others
        ("u1 u1 c", 0),  # a deployment begins anew
        ("u1 c u1", 1),
        ("u1 x u1", 2),  # a kill on purpose says nothing
        ("x x x x", 0),
    ],
)
def test_unclean_ends_are_counted_in_a_row(lives: str, count: int) -> None:
    """H10: a second one within 60 s of its start, a third …; node loss, drains and kills on purpose do not count."""
    history = starts(*lives.split())

    assert in_a_row(history) == count
    assert is_careful(history) is (count >= 2)


@pytest.mark.parametrize(
    ("cursor", "head", "end"),
    [(100, 100, 100), (100, 107, 107), (100, 99_999, 8_100), (100, 50, 100)],
)
def test_the_stretch_ends_where_nothing_can_have_been_under_way(cursor: int, head: int, end: int) -> None:
    """H10: W beyond what a commit noted, and no further than the log reached; never before the note."""
    assert stretch_end(cursor, head, 8_000) == end


def test_the_third_charge_convicts() -> None:
    """P15: each death during its call is one; a mark whose call was not under way, or a stop, charges nobody."""
    tried = Trying(1, 7, trying=True)
    for deaths in range(1, DEATHS + 1):
        assert not is_convicted(tried)
        judged = charged(tried, crashed=True)
        assert judged is not None
        assert judged == Trying(1, 7, deaths, trying=False)
        assert charged(judged, crashed=True) == judged
        assert charged(Trying(1, 7, deaths, trying=True), crashed=False) == judged
        tried = Trying(1, 7, deaths, trying=True)
    assert is_convicted(tried)


def test_what_was_marked_without_a_charge_at_a_stop_is_forgotten() -> None:
    """H10: nothing is held against it."""
    assert charged(Trying(1, 7, trying=True), crashed=False) is None
    assert charged(Trying(1, 7), crashed=True) is None


def test_an_event_that_is_done_takes_its_suspicions_with_it_but_for_the_drains_own() -> None:
    """H10: the first death fell on a drain whose row did not say at which event it was."""
    assert [passed_by(suspicions) for suspicions in range(4)] == [0, 1, 1, 1]


def test_nobody_suspected_begins_eight_at_a_time() -> None:
    """H10: as many as there is room for, first come first."""
    assert admitted([0] * 10, 0, alone=False) == list(range(8))
    assert admitted([0] * 10, 6, alone=False) == [0, 1]
    assert admitted([0] * 10, 8, alone=False) == []


def test_each_full_round_that_came_through_doubles_the_next_one() -> None:
    """H10: 8, 16, 32, 64 and no more, so that a long stretch is passed soon and suspects stay few."""
    room, through = AT_ONCE, 0
    rooms = []
    for _ in range(8 + 16 + 32 + 64):
        rooms.append(room)
        room, through = widened(room, through)

    assert [rooms.count(each) for each in (8, 16, 32, 64)] == [8, 16, 32, 64]
    assert room == MOST_AT_ONCE
    assert admitted([0] * 100, 10, alone=False, room=32) == list(range(22))


def test_a_suspect_begins_alone_and_the_most_charged_first() -> None:
    """H10: one at a time; while one waits for others to end, nobody else begins."""
    assert admitted([0, 1, 2, 2], 0, alone=False) == [2]
    assert admitted([0, 1, 2, 2], 3, alone=False) == []
    assert admitted([0, 0], 1, alone=True) == []


def test_deaths_that_found_the_suspect_not_under_way_speak_for_it() -> None:
    """H10 (c): a lone killer is there at each death after the second; kills from outside meet this one and that."""
    three, four = Trying(1, 7, charges=3), Trying(1, 7, charges=4)
    assert [is_convicted(three, deaths) for deaths in (0, 5, 6, 7, 12)] == [True, True, True, False, False]
    assert [is_convicted(four, deaths) for deaths in (6, 8, 10)] == [True, True, False]


def test_whom_one_more_death_would_convict_is_called_only_by_a_process_that_has_lived_a_while() -> None:
    """H10 (c): whatever kills a process soon after each start would find the same call under way each time."""
    assert [may_be_called(charges, 0.0) for charges in range(3)] == [True, True, False]
    assert [may_be_called(2, lived) for lived in (STEADY - 0.001, STEADY)] == [False, True]


@given(st.lists(st.integers(0, 2), max_size=30))
def test_everybody_has_a_turn_and_no_suspect_shares_one(charges: list[int]) -> None:
    """H10, S49: whatever they are charged with, all begin in the end, suspects alone, never more than eight."""
    waiting = list(charges)
    rounds = 0
    while waiting:
        chosen = admitted(waiting, 0, alone=False)
        assert 0 < len(chosen) <= AT_ONCE
        taken = [waiting[index] for index in chosen]
        assert len(taken) == 1 or not any(taken)
        assert max(waiting) in taken
        waiting = [one for index, one in enumerate(waiting) if index not in chosen]
        rounds += 1
    suspects = sum(1 for one in charges if one)
    assert rounds == suspects + -((suspects - len(charges)) // AT_ONCE)
