"""How far a group has come in a slot: in memory, and packed."""

from __future__ import annotations

from time import perf_counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from wow_ray.errors import SchemaError
from wow_ray.policy.progress import Mark, Progress, pack, unpack


class NaiveProgress(RuleBasedStateMachine):
    """H2, H4, H46, L2: `Progress` agrees with plain sets of what was read and settled, also through crashes."""

    @initialize()
    def start(self) -> None:
        """Begin with nothing read."""
        self.progress = Progress()
        self.cursor = 0
        self.settled: set[int] = set()
        self.markers: set[int] = set()
        self.page: list[int] = []

    @rule(size=st.integers(1, 6), gap=st.integers(0, 3))
    def read(self, size: int, gap: int) -> None:
        """Dispatch a page of positions, then move the cursor to its end."""
        first = self.cursor + 1 + gap
        for position in range(first, first + size):
            known = position in self.settled
            assert self.progress.dispatched(position) is not known
        self.settled.update(range(self.cursor + 1, first))  # nobody's events: read and done with
        self.cursor = first + size - 1
        self.progress.moved(self.cursor)

    @rule(data=st.data())
    def settle(self, data: st.DataObject) -> None:
        """Settle one dispatched position, sometimes one that was settled before."""
        if self.cursor:
            position = data.draw(st.integers(1, self.cursor))
            self.progress.settled(position)
            self.settled.add(position)

    @rule(distance=st.integers(1, 12))
    def effect(self, distance: int) -> None:
        """Leave a marker above the cursor, as an effectively-once call of a lost owner does."""
        position = self.cursor + distance
        self.markers.add(position)
        self.settled.add(position)
        self.progress.settled(position)

    @rule()
    def fold(self) -> None:
        """Fold the markers that the cursor has passed."""
        passed = sorted(position for position in self.markers if position <= self.cursor)
        assert self.progress.fold() == passed
        self.markers.difference_update(passed)

    @rule()
    def crash(self) -> None:
        """Load what the last commit wrote: nothing settled is unsettled by it but what it did not contain."""
        mark = unpack(pack({3: self.progress.mark()}))[3]
        self.progress = Progress.loaded(mark, self.markers)

    @invariant()
    def agrees(self) -> None:
        """Cursor, low-water, high mark, snapshot."""
        unfinished = [position for position in range(1, self.cursor + 1) if position not in self.settled]
        assert self.progress.cursor == self.cursor
        assert list(self.progress.unfinished) == unfinished
        assert self.progress.low_water() == (unfinished[0] - 1 if unfinished else self.cursor)
        assert self.progress.high_mark() == max([self.cursor, *self.markers])
        assert self.progress.mark() == Mark(self.cursor, tuple(unfinished))


NaiveProgress.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestNaiveProgress = NaiveProgress.TestCase


def test_an_event_that_is_dispatched_above_the_cursor_is_not_part_of_the_snapshot() -> None:
    """L2: a page in the midst of being dispatched is read again after a crash, whatever of it was settled."""
    progress = Progress(10, unfinished=(7, 9))
    for position in (11, 12, 13):
        progress.dispatched(position)
    progress.settled(12)

    assert progress.mark() == Mark(10, (7, 9))
    assert progress.low_water() == 6
    progress.settled(7)
    progress.settled(9)
    assert progress.low_water() == 10, "what lies above the cursor says nothing yet"
    progress.settled(11)
    assert progress.low_water() == 10


def test_the_bound_of_a_drain_is_how_far_anything_was_held_not_the_low_water() -> None:
    """H2: B slow at 41, everything up to 60 held, crash: the drain goes to 60."""
    progress = Progress.loaded(Mark(60, (41,)))

    assert progress.low_water() == 40
    assert progress.high_mark() == 60
    assert Progress.loaded(Mark(60, (41,)), [75]).high_mark() == 75


def test_a_marker_settles_what_the_mark_left_unfinished() -> None:
    """H4: a load unites mark and markers; those the cursor has passed can be folded at once."""
    progress = Progress.loaded(Mark(60, (41, 50)), [50, 70])

    assert list(progress.unfinished) == [41]
    assert progress.dispatched(70) is False, "it must not be called again"
    assert progress.fold() == [50]
    assert progress.ahead == {70}


def test_the_cursor_never_goes_back() -> None:
    """P1: a step back would be a lost or repeated event."""
    progress = Progress(5)
    progress.moved(5)

    with pytest.raises(ValueError, match="cannot go back to 4"):
        progress.moved(4)


MARKS = st.builds(
    lambda cursor, below, generation: Mark(
        cursor, tuple(sorted({cursor - step for step in below if step < cursor})), generation
    ),
    st.integers(0, 2**63 - 1) | st.integers(0, 300),
    st.lists(st.integers(0, 2**40) | st.integers(0, 300), max_size=40),
    st.integers(0, 3) | st.integers(0, 2**63 - 1),
)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.integers(0, 300) | st.integers(0, 2**31), MARKS, max_size=12))
def test_what_is_packed_is_unpacked(marks: dict[int, Mark]) -> None:
    """H45, H46: every mark comes back, of every group."""
    assert unpack(pack(marks)) == marks


def test_a_group_without_deviations_takes_two_bytes() -> None:
    """H45: cursor once, and per group only what differs."""
    alike = {group: Mark(1_000_000) for group in range(8)}

    assert len(pack(alike)) == 1 + 3 + 1 + 8 * 2
    assert len(pack({**alike, 3: Mark(999_990)})) == len(pack(alike)) + 1
    assert len(pack({**alike, 3: Mark(1_000_000, (999_999,))})) == len(pack(alike)) + 2


def test_no_marks_are_none() -> None:
    """H45: a slot that nobody has read."""
    assert unpack(None) == unpack(b"") == unpack(pack({})) == {}


@pytest.mark.parametrize(
    "mark", [Mark(-1), Mark(5, (6,)), Mark(5, (0,)), Mark(5, (3, 3)), Mark(5, (4, 2)), Mark(5, (), -1), Mark(2**65)]
)
def test_a_mark_that_is_none_is_not_packed(mark: Mark) -> None:
    """H45: better an error at the commit than a wrong position after the next start."""
    with pytest.raises(ValueError, match=r"\d"):
        pack({1: mark, 2: Mark(7), 3: Mark(7)})


GOOD = pack({1: Mark(1_000, (10, 500)), 2: Mark(1_000), 5: Mark(990, (), 2)})


@pytest.mark.parametrize("length", range(1, len(GOOD)))
def test_a_truncated_pack_is_refused(length: int) -> None:
    """H45: never read as something shorter."""
    with pytest.raises(SchemaError, match=r"slots\.progress is damaged"):
        unpack(GOOD[:length])


@pytest.mark.parametrize(
    "data",
    [
        GOOD + b"\x00",
        b"\x01" + b"\xff" * 20,
        bytes((1, 5, 1, 0, 8)),  # an unknown flag
        bytes((1, 5, 1, 0, 4, 0, 0)),  # no unfinished positions, though the flag says so
        bytes((1, 5, 1, 0, 4, 1, 9)),  # one at -4
        bytes((1, 5, 1, 0, 4, 2, 0, 0)),  # one above the cursor
        bytes((1, 5, 1, 0, 1, 13)),  # a cursor of -2
        b"\x01\x05\x01\x00\x04\xff\xff\xff\xff\x0f\x00",  # four thousand million of them
    ],
)
def test_garbage_is_refused(data: bytes) -> None:
    """H45: with an error that says where it lies, at once."""
    with pytest.raises(SchemaError, match=r"slots\.progress is damaged"):
        unpack(data)


def test_a_newer_form_is_refused_with_what_to_do() -> None:
    """H45: the format has a version."""
    with pytest.raises(SchemaError, match="form 2; this program reads form 1, a newer one is needed"):
        unpack(b"\x02\x00")


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused_never_anything_else(data: bytes) -> None:
    """H45: what is read is packed the same way or shorter, and means the same."""
    try:
        marks = unpack(b"\x01" + data)
    except SchemaError:
        return
    try:
        packed = pack(marks)
    except ValueError:
        return  # numbers beyond 63 bits
    assert unpack(packed) == marks


def test_a_slot_is_packed_and_unpacked_in_far_less_than_a_millisecond() -> None:
    """H45, H46: eight groups, three hundred unfinished positions: some 50 µs on a quiet machine."""
    cursor = 10_000_000
    marks = {group: Mark(cursor, tuple(range(cursor - 3_990, cursor, 100)) if group < 7 else ()) for group in range(8)}
    best = 1.0
    for _ in range(20):
        started = perf_counter()
        assert unpack(pack(marks)) == marks
        best = min(best, perf_counter() - started)

    assert best < 0.001
