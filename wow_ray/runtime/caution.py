"""A careful start: after deaths of the process, calls wait for a turn and for a mark in the store (P15, H10).

While all is well nothing here is asked but `active`, once a lane's turn. A careful start ends as soon as its stretch
is passed: each event that the former owners can have had under way has been called once and the process still lives,
or somebody else is to say when it is called (its group stands still, it is parked). Parked retries and drains begin
only then; those under suspicion a few at a time, each event with a begin of its own.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

from wow_ray.policy import parked as life
from wow_ray.policy.parked import Reason
from wow_ray.policy.suspicion import Trying, admitted, in_a_row, is_careful, is_convicted, may_be_called, stretch_end
from wow_ray.runtime.crashes import crash
from wow_ray.runtime.group import WINDOW
from wow_ray.runtime.lane import Status
from wow_ray.runtime.rows import stop_at
from wow_ray.runtime.turns import Turn, Turns

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Collection, Mapping

    from wow_ray.policy.parked import Row
    from wow_ray.ports.clock import Clock
    from wow_ray.ports.event_log import LogReader
    from wow_ray.ports.slots import Acquired
    from wow_ray.runtime.attempts import Attempts
    from wow_ray.runtime.commits import Commits
    from wow_ray.runtime.going_on import GoingOn
    from wow_ray.runtime.group import Group
    from wow_ray.runtime.lane import Lane
    from wow_ray.runtime.parking import Parking
    from wow_ray.runtime.rows import Rows
    from wow_ray.runtime.slot import Slot
    from wow_ray.runtime.workers import Workers

log = logging.getLogger("wow_ray.caution")

LOOK = 0.1
"""Seconds between two looks whether the stretch is passed and whether whoever has a turn can still use it."""


class Careful(Protocol):
    """The partition, as its caution sees it."""

    slots: dict[int, Slot]
    groups: dict[int, Group]
    workers: Workers
    commits: Commits
    attempts: Attempts
    parking: Parking
    going_on: GoingOn


class Caution:
    """The caution of one partition."""

    def __init__(self, clock: Clock, rows: Rows, turns: Turns, partition: Careful) -> None:
        """Be careless until `begin` finds a reason."""
        self.active = False
        """Whether each live call needs a turn and a mark."""
        self._clock, self._began, self._deaths = clock, clock.monotonic(), 0
        self._rows = rows
        self._shared = turns
        self._partition = partition
        self._turns: dict[Lane, Turn] = {}
        self._ends: dict[int, int] = {}
        self._tried: set[tuple[int, int, int]] = set()
        self._rows_begun: dict[str, tuple[Row, Slot]] = {}

    # --- the start

    async def begin(
        self, acquired: Acquired, slots: Mapping[int, Slot], reader: LogReader, *, joins: bool = False
    ) -> None:
        """Look at how former starts ended and at what they had marked, before anything of the slots is handed out.

        A partition that runs (`joins`) is careful again only with slots whose owner died.
        """
        careful = is_careful(acquired.starts) and (not joins or any(slot.crashed for slot in slots.values()))
        suspects = sum(len(slot.trying) for slot in slots.values())
        if not careful and not suspects:
            return
        self.active = self._partition.attempts.rush.careful = True
        self._partition.workers.close("caution")
        heads = await reader.heads(list(slots)) if careful else {}
        for number, slot in slots.items():
            cursor = max(slot.cursors().values(), default=0)
            self._ends[number] = stretch_end(cursor, heads[number], WINDOW) if careful else 0
        count = self._deaths = in_a_row(acquired.starts)
        log.warning("the process died %d times in a row; going on carefully, with %d suspects", count, suspects)

    def convict(self, slots: Collection[Slot]) -> None:
        """Park those who are charged often enough, and begin with the others; everything left over is handed out."""
        if not self.active:
            return
        firsts = {
            (group.number, lane.slot, lane.queue[0].position): lane
            for group in self._partition.groups.values()
            for lane in group.lanes.values()
            if lane.queue
        }
        for slot in slots:
            for tried in list(slot.trying.values()):
                lane = firsts.get((tried.group, slot, tried.position))
                if lane is None or is_convicted(tried, self._deaths):
                    slot.acquit((tried.group, tried.position))
                if lane is not None and is_convicted(tried, self._deaths):
                    self._park(lane)
        self._partition.workers.open("caution")
        self._look()

    def _park(self, lane: Lane) -> None:
        cell = lane.queue[0]
        handler = lane.group.handler_of(cell.row.aggregate, cell.row.type)
        if handler is not None:
            self._partition.parking.park(lane, cell, handler, Reason.CRASHED_WORKER, crash())

    # --- between

    async def run(self, lane: Lane, task: asyncio.Task[None]) -> None:
        """Have the lane's next call made, once its turn has come and its mark is in the store."""
        run = self._partition.attempts.run
        if lane.row is not None:
            if self._begun_again(lane):
                await run(lane, task)
                self._partition.going_on.look()  # another one may have waited for it
            return
        turn = self._turns.get(lane)
        if turn is None or not turn.marked:
            self._ask(lane)
            return
        key = (lane.group.number, lane.queue[0].position)
        # A handler's SystemExit passes through here: it ends the process, and leaves the mark as a death does (H32).
        await run(lane, task)
        self._ended(lane, key)

    def _begun_again(self, lane: Lane) -> bool:
        """Tell whether the draining lane's next call is begun in its row; if not, have it begun and come back."""
        row = lane.caught_up(self._rows.now())
        if row.begun:
            return True
        lane.status = Status.READING
        cell = lane.queue[0]
        handler = lane.group.handler_of(cell.row.aggregate, cell.row.type)
        stop = None if handler is None else stop_at(handler.subscription, cell)
        begun = lane.row = life.begin(row, self._rows.now(), stop)
        self._rows.keep(lane.slot, begun)

        def ready() -> None:
            if lane.status is Status.READING and lane.row is not None:
                self._partition.workers.ready(lane)

        self._partition.commits.after(ready)
        return False

    def _ask(self, lane: Lane) -> None:
        """Have the lane wait for its turn, then for its mark."""
        key = (lane.group.number, lane.queue[0].position)
        known = lane.slot.trying.get(key)
        lane.status = Status.READING
        turn = self._turns[lane] = Turn(key, 0 if known is None else known.charges)
        turn.begin = lambda: self._mark(lane, turn)
        turn.held = self._too_soon(turn.charges)
        self._shared.ask(turn)

    def _mark(self, lane: Lane, turn: Turn) -> None:
        if not self._stands(lane):
            self._leave(lane)
            return
        lane.slot.try_out(Trying(*turn.key, turn.charges, trying=True))

        def marked() -> None:
            if self._turns.get(lane) is not turn:
                return  # it went another way meanwhile, and so did its mark
            if self._stands(lane):
                turn.marked = True
                self._partition.workers.ready(lane)
            else:
                self._leave(lane)

        self._partition.commits.after(marked)

    @staticmethod
    def _stands(lane: Lane) -> bool:
        """Tell whether a lane that waits here is still what it was: not spilled, parked or lost meanwhile."""
        return lane.status is Status.READING and lane.row is None and bool(lane.queue)

    def _ended(self, lane: Lane, key: tuple[int, int]) -> None:
        """Take the mark away; whoever was called is charged with nothing any more, since the process lives."""
        interrupted = lane.status is Status.READY and bool(lane.queue) and lane.queue[0].position == key[1]
        if not interrupted:
            self._tried.add((lane.slot.number, *key))
            lane.slot.acquit(key)
        self._leave(lane)
        if self.active:
            self._pass()

    def _leave(self, lane: Lane) -> None:
        """Give the lane's turn back, and with it a mark that stands for no call; charges stay.

        A lane that has become a drain while it waited goes on as one.
        """
        turn = self._turns.pop(lane, None)
        if turn is not None:
            lane.slot.give_up(turn.key)
            self._partition.commits.poke()
            self._shared.leave(turn)
            if lane.status is Status.READING and lane.row is not None:
                self._partition.workers.ready(lane)

    def dropped(self, lane: Lane) -> None:
        """Forget a lane whose slot leaves; charges go with the slot."""
        lane.status = Status.GONE
        self._leave(lane)

    # --- rows

    def allows(self, row: Row) -> bool:
        """Tell whether the row's call or drain may begin now.

        None does during a careful start. Those under suspicion begin a few at a time, those that were suspected twice
        alone among them and after a while, so that a death is charged to few and in the end to one.
        """
        if self.active or not row.suspicions:
            return not self.active
        if self._too_soon(row.suspicions):
            return False
        there = [each for each, slot in self._rows_begun.values() if self._under_way(each, slot)]
        others = [each.suspicions - 1 for each in there if each.id != row.id]
        return bool(admitted([row.suspicions - 1], len(others), alone=any(others)))

    def _too_soon(self, charges: int) -> bool:
        return not may_be_called(charges, self._clock.monotonic() - self._began)

    def begun(self, slot: Slot, row: Row) -> None:
        """Note that a row has begun."""
        if row.suspicions:
            there = [(each, of) for each, of in self._rows_begun.values() if self._under_way(each, of)]
            self._rows_begun = {each.id: (each, of) for each, of in (*there, (row, slot))}

    def _under_way(self, row: Row, slot: Slot) -> bool:
        group = self._rows.partition.by_name[row.group]
        lane = group.lanes.get((row.aggregate, row.aggregate_id))
        if lane is not None:
            return lane.row is not None
        newest = slot.in_memory(row.id)
        return not slot.lost and newest is not None and newest.state is life.State.RETRYING

    # --- the end

    def _look(self) -> None:
        if not self.active:
            return
        for lane in list(self._turns):
            still = lane.status is Status.READY and (lane.group.halted or lane.group.paused)
            if lane.status is Status.GONE or lane.row is not None or still:
                self._leave(lane)
        for turn in self._turns.values():
            turn.held = turn.held and self._too_soon(turn.charges)
        self._shared.look()
        self._pass()
        if self.active:
            self._clock.call_at(self._clock.monotonic() + LOOK, self._look)

    def _pass(self) -> None:
        """Be careless again once the stretch is passed."""
        if not all(self._passed(slot) for slot in self._partition.slots.values()):
            return
        log.warning("nothing of what was under way killed the process again; going on at full speed")
        self.close()
        self._partition.going_on.look()

    def _passed(self, slot: Slot) -> bool:
        end = self._ends.get(slot.number, 0)
        for number, progress in slot.progress.items():
            group = self._partition.groups[number]
            if group.paused or group.halted:
                continue
            if progress.cursor < end or any(one.group == number and one.charges for one in slot.trying.values()):
                return False
            for position in progress.unfinished:
                if position > end:
                    break
                if (slot.number, number, position) not in self._tried:
                    return False
        return True

    def close(self) -> None:
        """Be careful no more: whoever waits for a turn goes on without."""
        self.active = self._partition.attempts.rush.careful = False
        for lane in list(self._turns):
            self._leave(lane)
            if self._stands(lane):
                self._partition.workers.ready(lane)
        self._tried.clear()
