"""One owned slot in memory: its epoch, every group's progress in it, who is held.

And what the next commit has to say.

`write()` is a snapshot of one loop turn; it is the only way anything of the slot reaches the store (H9). Everything
added after it belongs to the next one. Rows are kept here until a commit that carries them is acknowledged, so that
whoever needs a row finds the newest (P10).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wow_ray.policy.parked import State
from wow_ray.policy.progress import Mark, Progress
from wow_ray.ports.slots import SlotWrite

if TYPE_CHECKING:
    from wow_ray.policy.parked import Row
    from wow_ray.ports.slots import AttemptNote, IntentDone, Notice, SlotLoaded

ENDED = frozenset({State.RESOLVED, State.SKIPPED, State.RESET, State.NOTHING_TO_READ})


class Slot:
    """An owned slot. `lost` is set when a newer owner was met; nothing of it is written from then on (L3)."""

    __slots__ = (
        "attempts",
        "dirty",
        "done",
        "epoch",
        "folded",
        "foreign",
        "held",
        "intents",
        "lost",
        "notices",
        "number",
        "progress",
        "rows",
        "sent_rows",
    )

    def __init__(self, loaded: SlotLoaded, groups: dict[int, str]) -> None:
        """Take over what was loaded for the groups (number to name) of this program.

        Other groups' marks are kept as they are.
        """
        self.number = loaded.slot
        self.epoch = loaded.epoch
        self.lost = False
        self.dirty = False
        self.foreign = {number: mark for number, mark in loaded.marks.items() if number not in groups}
        self.progress: dict[int, Progress] = {}
        self.held: dict[int, set[bytes]] = {number: set() for number in groups}
        self.done: dict[int, set[int]] = {}
        """Held positions whose effects are in the store already, by group: a drain passes over them (H4)."""
        self.folded: list[tuple[int, int]] = []
        for number in groups:
            mark = loaded.marks.get(number, Mark(0))
            unfinished = set(mark.unfinished)
            markers = loaded.settled.get(number, frozenset())
            done = {position for position in markers if position <= mark.cursor and position not in unfinished}
            if done:
                self.done[number] = done
            self.progress[number] = Progress.loaded(mark, markers - done)
            self._fold(number)
        self.rows: dict[str, Row] = {}
        self.sent_rows: dict[str, Row] = {}
        self.attempts: list[AttemptNote] = []
        self.intents: list[IntentDone] = []
        self.notices: list[Notice] = []

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
        """Note that these groups have read everything up to `cursor`.

        Markers of calls settled before are passed with it.
        """
        for number in groups:
            progress = self.progress[number]
            progress.moved(cursor)
            if progress.ahead:
                self._fold(number)
        self.dirty = True

    def _fold(self, number: int) -> None:
        """Have the next commit delete the markers that the group's mark contains from now on (H4)."""
        self.folded += [(number, position) for position in self.progress[number].fold()]

    def take_unfinished(self) -> dict[int, frozenset[int]]:
        """Give, by group, the positions a former owner left unfinished, to be dispatched again.

        They are taken out here.
        """
        left = {number: frozenset(progress.unfinished) for number, progress in self.progress.items()}
        for progress in self.progress.values():
            progress.unfinished.clear()
        return left

    def keep(self, row: Row) -> None:
        """Have the next commit write the row in this state."""
        self.rows[row.id] = row
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
        row = self.rows.get(row_id) or self.sent_rows.get(row_id)
        return row is not None and row.state in ENDED

    def write(self) -> SlotWrite:
        """Take everything there is to say, as one snapshot; what comes later goes into the next one."""
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
        )
        self.sent_rows = self.rows
        self.rows = {}
        self.folded = []
        self.attempts = []
        self.intents = []
        self.notices = []
        self.dirty = False
        return write

    def take_back(self, write: SlotWrite) -> None:
        """Say again, before anything newer, what a write that was not made had to say."""
        self.rows = {**{row.id: row for row in write.rows}, **self.rows}
        self.folded[:0] = write.folded
        self.attempts[:0] = write.attempts
        self.intents[:0] = write.intents
        self.notices[:0] = write.notices
        self.sent_rows = {}
        self.dirty = True

    def acknowledged(self) -> None:
        """Forget what the store has now."""
        self.sent_rows = {}
