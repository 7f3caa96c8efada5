"""How far a group has come in a slot: in memory, where each event passes, and packed, as a commit writes it.

Unfinished positions are what is kept, not finished ones: with 64 workers over a window of thousands there are a few
hundred of the former and thousands of ranges of the latter (H46).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from wow_ray.errors import SchemaError


@dataclass(frozen=True, slots=True)
class Mark:
    """The progress of one group in one slot, as it is stored.

    Everything up to and including `cursor` is settled but for `unfinished` (ascending, none above the cursor);
    nothing above it is said. `generation` grows with each reset (H13).
    """

    cursor: int
    unfinished: tuple[int, ...] = ()
    generation: int = 0


class Progress:
    """The progress of one group in one slot, in memory.

    Everything up to and including `cursor` is read. `unfinished` holds the positions that are dispatched and not
    settled, in ascending order; the hot path may work on it directly. `ahead` holds positions above the cursor that
    were settled by effectively-once calls of an earlier owner (H4). `generation` is that of the last reset.
    """

    __slots__ = ("ahead", "cursor", "generation", "unfinished")

    def __init__(
        self, cursor: int = 0, ahead: Iterable[int] = (), generation: int = 0, unfinished: Iterable[int] = ()
    ) -> None:
        """Start where a mark says; `unfinished` ascending and not above the cursor, to be dispatched anew."""
        self.cursor = cursor
        self.ahead = set(ahead)
        self.generation = generation
        self.unfinished = dict.fromkeys(unfinished)

    @classmethod
    def loaded(cls, mark: Mark, markers: Iterable[int] = ()) -> Progress:
        """Unite a stored mark with the positions of markers not folded yet (H4).

        Those at or below the cursor are finished with that; all of them may be folded by the next commit that passes
        them: see `fold`. What is left in `unfinished` is to be read and dispatched again.
        """
        settled = set(markers)
        return cls(mark.cursor, settled, mark.generation, (at for at in mark.unfinished if at not in settled))

    def low_water(self) -> int:
        """Answer the position up to and including which everything is settled (0 = nothing)."""
        for position in self.unfinished:
            return position - 1 if position <= self.cursor else self.cursor
        return self.cursor

    def high_mark(self) -> int:
        """Answer how far anything is settled or held: a drain that has reached it has caught up (H2)."""
        return max(self.cursor, max(self.ahead, default=0))

    def dispatched(self, position: int) -> bool:
        """Note that the event at `position` goes to a lane; `False` = it was settled before, so that it must not.

        Call it in ascending order, before `moved` passes the position.
        """
        if position in self.ahead:
            return False
        self.unfinished[position] = None
        return True

    def settled(self, position: int) -> None:
        """Note that the event at `position` is done or held; a second time changes nothing."""
        if self.unfinished.pop(position, 0) == 0 and position > self.cursor:
            self.ahead.add(position)

    def moved(self, cursor: int) -> None:
        """Note that everything up to `cursor` is read and dispatched; raises `ValueError` when that is a step back."""
        if cursor < self.cursor:
            raise ValueError(f"the cursor stands at {self.cursor} and cannot go back to {cursor}")
        self.cursor = cursor

    def fold(self) -> list[int]:
        """Take out, in order, the markers that the cursor has passed: the next mark contains them, so they can go."""
        passed = sorted(position for position in self.ahead if position <= self.cursor)
        self.ahead.difference_update(passed)
        return passed

    def mark(self) -> Mark:
        """Take the snapshot that a commit writes; what lies above the cursor is not part of it and is read again."""
        unfinished = tuple(self.unfinished)
        if unfinished and unfinished[-1] > self.cursor:
            unfinished = tuple(position for position in unfinished if position <= self.cursor)
        return Mark(self.cursor, unfinished, self.generation)


# The packed form of one slot, all numbers as little-endian base-128 varints:
#   version (one byte), the commonest cursor, the number of groups; then for each group in ascending order
#   the distance to the group before, flags (one byte), and as the flags say:
#   its cursor as zigzag distance from the commonest, its generation,
#   the number of unfinished positions, the first as distance below the cursor, the others from the one before.

_VERSION = 1
_CURSOR, _GENERATION, _UNFINISHED = 1, 2, 4
_FLAGS = _CURSOR | _GENERATION | _UNFINISHED
_LARGEST = 2**63 - 1
_MORE = 0x80


def pack(marks: Mapping[int, Mark]) -> bytes:
    """Pack the marks of a slot's groups, by group number: two bytes for a group like the others.

    Raises `ValueError` for a mark that is none: negative numbers, unfinished positions that do not ascend or lie
    outside 1 to the cursor.
    """
    common = _commonest([mark.cursor for mark in marks.values()])
    out = bytearray((_VERSION,))
    _put(out, common)
    _put(out, len(marks))
    before = -1
    for group in sorted(marks):
        mark = marks[group]
        if mark.cursor < 0:
            raise ValueError(f"{mark.cursor} is no cursor")
        _put(out, group - before - 1)
        before = group
        flags = (
            (_CURSOR if mark.cursor != common else 0)
            | (_GENERATION if mark.generation else 0)
            | (_UNFINISHED if mark.unfinished else 0)
        )
        out.append(flags)
        if flags & _CURSOR:
            away = mark.cursor - common
            _put(out, away << 1 if away >= 0 else (-away << 1) - 1)
        if flags & _GENERATION:
            _put(out, mark.generation)
        if flags & _UNFINISHED:
            _put_unfinished(out, mark)
    return bytes(out)


def _commonest(cursors: list[int]) -> int:
    """Answer the cursor that most groups share; nearly always all do."""
    if not cursors or cursors.count(cursors[0]) == len(cursors):
        return cursors[0] if cursors else 0
    return Counter(cursors).most_common(1)[0][0]


def unpack(data: bytes | None) -> dict[int, Mark]:
    """Read what `pack` wrote; `None` or nothing is no marks.

    Raises `SchemaError` for anything that `pack` could not have written, and for a form newer than this program.
    """
    if not data:
        return {}
    if data[0] != _VERSION:
        raise SchemaError(
            f"slots.progress has form {data[0]}; this program reads form {_VERSION}, a newer one is needed"
        )
    try:
        marks, end = _marks(data)
    except (IndexError, ValueError) as error:
        raise SchemaError(f"slots.progress is damaged: {len(data)} bytes that no program of ours wrote") from error
    if end != len(data):
        raise SchemaError(f"slots.progress is damaged: {len(data) - end} bytes too many")
    return marks


def _marks(data: bytes) -> tuple[dict[int, Mark], int]:
    """Read all marks, and where they end; raises `IndexError` or `ValueError` for what is not well formed."""
    common, at = _get(data, 1)
    count, at = _get(data, at)
    marks: dict[int, Mark] = {}
    group = -1
    for _ in range(count):
        step, at = _get(data, at)
        group += step + 1
        flags = data[at]
        at += 1
        if flags & ~_FLAGS:
            raise ValueError(flags)
        cursor, generation = common, 0
        unfinished: tuple[int, ...] = ()
        if flags & _CURSOR:
            away, at = _get(data, at)
            cursor += -((away + 1) >> 1) if away & 1 else away >> 1
        if flags & _GENERATION:
            generation, at = _get(data, at)
        if flags & _UNFINISHED:
            unfinished, at = _get_unfinished(data, at, cursor)
        marks[group] = Mark(cursor, unfinished, generation)
        if cursor < 0:
            raise ValueError(cursor)
    return marks, at


def _put(out: bytearray, number: int) -> None:
    """Append a number from 0 to 2**63 - 1, or twice that for a distance with a sign."""
    if not 0 <= number <= _LARGEST << 1:
        raise ValueError(f"{number} is no number of a mark")
    while number >= _MORE:
        out.append(number & 0x7F | _MORE)
        number >>= 7
    out.append(number)


def _get(data: bytes, at: int) -> tuple[int, int]:
    """Read a number, and where the next one begins."""
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < _MORE:
            return number, at
        shift += 7
        if shift >= 7 * 10:
            raise ValueError(shift)


def _put_unfinished(out: bytearray, mark: Mark) -> None:
    """Append the unfinished positions of a mark."""
    positions = mark.unfinished
    if positions[0] < 1 or positions[-1] > mark.cursor:
        raise ValueError(f"unfinished positions {positions[0]} to {positions[-1]} lie outside 1 to {mark.cursor}")
    _put(out, len(positions))
    _put(out, mark.cursor - positions[0])
    before = positions[0]
    for position in positions[1:]:
        step = position - before - 1
        if 0 <= step < _MORE:
            out.append(step)
        else:
            _put(out, step)
        before = position


def _get_unfinished(data: bytes, at: int, cursor: int) -> tuple[tuple[int, ...], int]:
    """Read the unfinished positions of a mark, and where the next number begins."""
    count, at = _get(data, at)
    below, at = _get(data, at)
    if count > len(data):
        raise ValueError(count)
    position = cursor - below
    positions = [position]
    for _ in range(count - 1):
        step = data[at]
        at += 1
        if step >= _MORE:
            step, at = _get(data, at - 1)
        position += step + 1
        positions.append(position)
    if count < 1 or positions[0] < 1 or position > cursor:
        raise ValueError(position)
    return tuple(positions), at
