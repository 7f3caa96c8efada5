"""One owned slot in memory: its epoch, every group's progress in it, who is held, and what the next commit says.

`write()` is a snapshot of one loop turn; it is the only way anything of the slot reaches the store (H9). Everything
added after it belongs to the next one. Rows are kept here until a commit that carries them is acknowledged, so that
whoever needs a row finds the newest (P10).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wow_ray.policy.parked import State
from wow_ray.policy.progress import Mark, Progress
from wow_ray.policy.suspicion import Trying, charged
from wow_ray.ports.slots import SlotWrite

if TYPE_CHECKING:
    from datetime import datetime

    from wow_ray.policy.parked import Row
    from wow_ray.ports.slots import AttemptNote, IntentDone, Notice, SlotLoaded
    from wow_ray.runtime.lane import Lane

REMEMBERED = 10_000
"""Rows changed last whose etags are known, by which an answer of the store that was read before is recognised."""
ENDED = frozenset({State.RESOLVED, State.SKIPPED, State.RESET, State.NOTHING_TO_READ})


class Slot:
    """An owned slot. `lost` is set when a newer owner was met; nothing of it is written from then on (L3)."""

    __slots__ = (
        "_etags",
        "attempts",
        "crashed",
        "dirty",
        "draining",
        "epoch",
        "folded",
        "foreign",
        "held",
        "intents",
        "leaving",
        "lost",
        "markers",
        "notices",
        "number",
        "parting",
        "progress",
        "reopened",
        "rows",
        "sent_rows",
        "tried",
        "trying",
    )

    def __init__(self, loaded: SlotLoaded, groups: dict[int, str]) -> None:
        """Take over what was loaded for this program's groups (number to name); marks of other groups are kept."""
        self.number = loaded.slot
        self.epoch = loaded.epoch
        self.lost = False
        self.leaving = False
        """It stands still, because it is to move: nothing is read or called, no row of it begins."""
        self.parting = False
        """Its last word was said, and may be in the store: it never goes on here by itself."""
        self.dirty = False
        self.foreign = {number: mark for number, mark in loaded.marks.items() if number not in groups}
        self.progress: dict[int, Progress] = {}
        self.held: dict[int, set[bytes]] = {number: set() for number in groups}
        self.markers: dict[int, set[int]] = {}
        """Positions whose effects a former owner committed and its progress does not say so, by group (H4)."""
        self.folded: list[tuple[int, int]] = []
        for number in groups:
            mark = loaded.marks.get(number, Mark(0))
            self.progress[number] = Progress(mark.cursor, (), mark.generation, mark.unfinished)
            if loaded.settled.get(number):
                self.markers[number] = set(loaded.settled[number])
        self.draining: set[Lane] = set()
        """Lanes that have drained events their rows do not say yet."""
        self._etags: dict[str, int] = {}
        self.rows: dict[str, Row] = {}
        self.sent_rows: dict[str, Row] = {}
        self.attempts: list[AttemptNote] = []
        self.intents: list[IntentDone] = []
        self.notices: list[Notice] = []
        self.crashed = loaded.crashed
        """The process of the former owner died (P15)."""
        judged = [charged(tried, crashed=loaded.crashed) for tried in loaded.trying]
        self.trying = {(tried.group, tried.position): tried for tried in judged if tried is not None}
        """Live events that are tried under suspicion, by (group, position); empty while all is well."""
        self.tried = self.dirty = bool(loaded.trying)
        """`trying` has changed since the last commit's snapshot."""
        self.reopened: list[tuple[str, int]] = []

    def cursors(self) -> dict[int, int]:
        """Give each group's cursor by group number."""
        return {number: progress.cursor for number, progress in self.progress.items()}

    def standing(self, groups: tuple[int, ...]) -> dict[int, Progress]:
        """Give these groups' progress as objects, by which a page on its way recognises a reset."""
        return {number: self.progress[number] for number in groups}

    def behind(self, head: int) -> bool:
        """Tell whether some group has something to read below `head`."""
        return any(progress.cursor < head for progress in self.progress.values())

    def beyond(self, head: int) -> bool:
        """Tell whether some group has read more than there is (H14)."""
        return any(progress.cursor > head for progress in self.progress.values())

    def moved(self, groups: tuple[int, ...], cursor: int) -> None:
        """Note that these groups have read everything up to `cursor`."""
        for number in groups:
            self.progress[number].moved(cursor)
        self.dirty = True

    def fold_marker(self, group: int, position: int) -> bool:
        """Take a marker out, to be deleted by the commit that settles its event in the progress or the row (H4).

        `False` = there is none: the event is to be handled.
        """
        found = self.markers.get(group)
        if found is None or position not in found:
            return False
        found.discard(position)
        if not found:
            del self.markers[group]
        self.folded.append((group, position))
        self.dirty = True
        return True

    def take_unfinished(self) -> dict[int, frozenset[int]]:
        """Take out, by group, the positions that a former owner left unfinished: they are dispatched again."""
        left = {number: frozenset(progress.unfinished) for number, progress in self.progress.items()}
        for progress in self.progress.values():
            progress.unfinished.clear()
        return left

    def try_out(self, tried: Trying) -> None:
        """Have the next commit mark a live event whose call is about to begin (H10)."""
        self.trying[tried.group, tried.position] = tried
        self.tried = self.dirty = True

    def acquit(self, key: tuple[int, int]) -> None:
        """Hold nothing against the event at (group, position) any more."""
        if self.trying.pop(key, None) is not None:
            self.tried = self.dirty = True

    def give_up(self, key: tuple[int, int]) -> None:
        """Let the mark at (group, position) say that no call is under way; charges stay."""
        tried = self.trying.get(key)
        if tried is not None and tried.trying:
            self.acquit(key)
            if tried.charges:
                self.trying[key] = replace(tried, trying=False)

    def keep(self, row: Row) -> None:
        """Have the next commit write the row in this state."""
        self.rows[row.id] = row
        self._etags.pop(row.id, None)
        self._etags[row.id] = row.etag
        if len(self._etags) > REMEMBERED:
            del self._etags[next(iter(self._etags))]
        self.dirty = True

    def unwritten(self, group: str, aggregate: str, aggregate_id: str) -> Row | None:
        """Give the aggregate's open row of the group when the store does not have its newest state yet."""
        for rows in (self.rows, self.sent_rows):
            for row in reversed(rows.values()):
                if (row.group, row.aggregate, row.aggregate_id) == (group, aggregate, aggregate_id):
                    return None if row.state in ENDED else row
        return None

    def ended_unwritten(self, row_id: str) -> bool:
        """Tell whether the row has ended in memory while the store still shows it open."""
        row = self.in_memory(row_id)
        return row is not None and row.state in ENDED

    def outdated(self, row: Row) -> bool:
        """Tell whether a row read from the store has changed here since, even if the store has that by now."""
        return self._etags.get(row.id, 0) > row.etag

    def in_memory(self, row_id: str) -> Row | None:
        """Give the row as the store does not have it yet, open or ended; `None` = the store has the newest."""
        return self.rows.get(row_id) or self.sent_rows.get(row_id)

    def write(self, now: datetime) -> SlotWrite:
        """Take everything there is to say, as one snapshot; what comes later goes into the next one."""
        for lane in self.draining:
            if lane.row is not None:
                lane.caught_up(now)
        self.draining.clear()
        if self.trying:
            self._forget_done()
        marks = dict(self.foreign)
        for number, progress in self.progress.items():
            marks[number] = progress.mark()
        write = SlotWrite(
            self.number,
            self.epoch,
            marks,
            tuple(self.folded),
            tuple(self.rows.values()),
            tuple(self.attempts),
            tuple(self.intents),
            tuple(self.notices),
            tuple(self.trying.values()) if self.tried else None,
            reopened=tuple(self.reopened),
        )
        self.sent_rows = self.rows
        self.rows = {}
        self.folded = []
        self.attempts = []
        self.intents = []
        self.notices = []
        self.reopened = []
        self.dirty = self.tried = False
        return write

    def _forget_done(self) -> None:
        """Acquit who was done or held meanwhile without a turn: its group stood still when the careful start ended."""
        for group, position in list(self.trying):
            progress = self.progress.get(group)
            if progress is not None and position <= progress.cursor and position not in progress.unfinished:
                self.acquit((group, position))

    def take_back(self, write: SlotWrite) -> None:
        """Say again, before anything newer, what a write that was not made had to say."""
        self.rows = {**{row.id: row for row in write.rows}, **self.rows}
        self.folded[:0] = write.folded
        self.attempts[:0] = write.attempts
        self.intents[:0] = write.intents
        self.notices[:0] = write.notices
        self.reopened[:0] = write.reopened
        self.sent_rows = {}
        self.tried |= write.trying is not None
        self.dirty = True

    def acknowledged(self) -> None:
        """Forget what the store has now."""
        self.sent_rows = {}
