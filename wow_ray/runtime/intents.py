"""Operators' intents, applied by the owner of the slot: effect and outcome in one commit (P10, H5).

Intents are looked for at every nudge and at least every second. One that meets a running call waits until that call
has ended and is then applied before anything else of its lane (H41); a drain between two calls yields at once. What
is refused says why and changes nothing.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Protocol

from wow_ray.errors import StoreUnavailableError
from wow_ray.policy.parked import (
    LAST_SEQUENCE,
    Apply,
    Cause,
    Later,
    Place,
    Reason,
    Refuse,
    Row,
    Stop,
    Verb,
    decide_intent,
)
from wow_ray.policy.parked import parked as parked_row
from wow_ray.ports.slots import AttemptNote, IntentDone
from wow_ray.runtime.held_events import scan
from wow_ray.runtime.lane import Status
from wow_ray.runtime.newest_rows import NewestRows
from wow_ray.runtime.parking import NO_RETRIES
from wow_ray.runtime.rows import say
from wow_ray.runtime.trouble import Trouble

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from wow_ray.events import StoredEvent
    from wow_ray.ports.clock import Clock
    from wow_ray.ports.event_log import LogReader
    from wow_ray.ports.ledger import Intent, Ledger
    from wow_ray.runtime.commits import Commits
    from wow_ray.runtime.drains import Drains
    from wow_ray.runtime.group import Group
    from wow_ray.runtime.lane import Lane
    from wow_ray.runtime.parking import Parking
    from wow_ray.runtime.slot import Slot
    from wow_ray.runtime.timers import Timers
    from wow_ray.runtime.unparking import Unparking
    from wow_ray.runtime.workers import Workers

log = logging.getLogger("wow_ray.intents")

ROOM = 512
"""Drains in memory at once; further intents wait in the store until there is room (S87's pacing)."""


class Owning(Protocol):
    """The partition, as the intents see it."""

    slots: dict[int, Slot]
    by_name: dict[str, Group]
    parking: Parking
    unparking: Unparking
    drains: Drains
    workers: Workers
    timers: Timers
    commits: Commits

    def store_now(self) -> datetime:
        """The store's time."""


class Intents:
    """Applies the intents of one partition's slots."""

    def __init__(  # noqa: PLR0917 - an intent needs all of these
        self,
        ledger: Ledger,
        reader: LogReader,
        clock: Clock,
        ids: Callable[[], str],
        poll: float,
        partition: Owning,
    ) -> None:
        """Look for intents every `poll` seconds and at every nudge; `ids` gives the ids of rows made on purpose."""
        self._new_id = ids
        self._ledger = ledger
        self._newest = NewestRows(ledger, partition.store_now)
        self._reader = reader
        self._clock = clock
        self._poll = poll
        self._partition = partition
        self._nudged = asyncio.Event()
        self._trouble = Trouble(log, clock, "intents cannot be read (%s); trying on", "intents are read after %.1f s")
        self.on_reset: Callable[[Intent], None] = self._no_reset
        """Carries out a reset, which concerns all partitions and is the host's to do (L6)."""
        self.due = clock.monotonic() + poll
        """When it is to look again at the latest, monotonic; in the past = it is late (H60)."""
        self._answered: set[int] = set()
        """Intents applied in memory whose outcome is not in the store yet."""

    def nudge(self) -> None:
        """Look now."""
        self._nudged.set()

    async def run(self) -> None:
        """Apply intents for ever; ends by cancellation."""
        while True:
            self._nudged.clear()
            self.due = self._clock.monotonic() + self._poll
            try:
                await self.look()
            except StoreUnavailableError as error:
                self._trouble.failed(error)
            else:
                self._trouble.worked()
            timer = self._clock.call_at(self._clock.monotonic() + self._poll, self._nudged.set)
            try:
                await self._nudged.wait()
            finally:
                timer.cancel()

    async def look(self) -> None:
        """Apply what is open as far as there is room: oldest first, none past an older one of its aggregate."""
        slots = [number for number, slot in self._partition.slots.items() if not slot.leaving]
        if not slots:
            return
        opened = await self._ledger.open_intents(slots)
        self._answered &= {intent.id for intent in opened}
        waiting: set[tuple[str, str, str]] = set()
        for intent in opened:
            if self._partition.drains.active >= ROOM:
                return
            key = (intent.request.group, intent.request.aggregate, intent.request.aggregate_id)
            if intent.id not in self._answered and key not in waiting:
                await self._apply(intent)
                if intent.id not in self._answered:
                    waiting.add(key)

    def refuse(self, intent: Intent, code: str, text: str) -> None:
        """Answer that nothing was done, and why."""
        for slot in [each for each in self._partition.slots.values() if not each.leaving][:1]:
            self._answer(slot, intent, applied=False, code=code, text=text)

    def _no_reset(self, intent: Intent) -> None:
        self.refuse(intent, "no_host", "nobody here can reset a group")

    async def _apply(self, intent: Intent) -> None:
        request = intent.request
        group, slot = self._partition.by_name.get(request.group), self._partition.slots.get(request.slot)
        if slot is None or slot.leaving:
            return
        if request.verb is Verb.RESET:
            self._answered.add(intent.id)
            self.on_reset(intent)
            return
        if group is None:
            text = f"this program has no group {request.group!r} (renamed? give the old name as an alias); it is kept"
            self._answer(slot, intent, applied=False, code="no_handler", text=text)
            return
        key = (request.aggregate, request.aggregate_id)
        row = await self._newest.row(slot, group.lanes.get(key), request)
        held: StoredEvent | None = None
        skipped: dict[str, Any] = {}
        if request.verb in (Verb.SKIP, Verb.SKIP_ONE, Verb.PARK):
            held, skipped = await scan(self._reader, group, slot, row, request)
        lane = group.lanes.get(key)
        if not self._newest.same(slot, lane, row, request):
            # It changed while it was read, so nothing is decided on it: asked again once the change is in the store.
            self._look_again(slot)
            return
        if key in group.stuck or group.closed or slot.leaving:
            return
        if lane is not None and lane.status is Status.RUNNING:
            lane.commanded = True
            return
        self._decide(intent, group, slot, lane, row, held, skipped)

    def _look_again(self, slot: Slot) -> None:
        """Look for intents once the slot has said what it has to say; if it has nothing to say, at the next poll."""
        if slot.rows or slot.sent_rows:
            self._partition.commits.after(self.nudge)

    def _decide(  # noqa: PLR0917 - an intent meets all of these
        self,
        intent: Intent,
        group: Group,
        slot: Slot,
        lane: Lane | None,
        row: Row | None,
        held: StoredEvent | None,
        skipped: dict[str, Any],
    ) -> None:
        request = intent.request
        now = self._partition.store_now()
        last = None if held is None else (held.version, held.sequence)
        through = last
        if row is not None and request.verb is Verb.SKIP and request.through_version is not None:
            # Never further than what is held: later events are handled, and the answer says exactly what was skipped.
            through = min((request.through_version, LAST_SEQUENCE), last or row.stopped)
        outcome = decide_intent(
            row,
            request.verb,
            request.etag,
            now=now,
            through=through,
            held=last,
            fresh=self._fresh(intent, group, slot, lane, held, now)
            if request.verb is Verb.PARK and row is None
            else None,
            # A lane that has the row knows better than `begun`: it stands still, or this would not have been asked.
            calling=None if lane is None or lane.row is None else False,
        )
        match outcome:
            case Later():
                self._look_again(slot)
            case Refuse(code, text):
                self._answer(slot, intent, applied=False, code=code, text=text)
                if lane is not None:
                    self._go_on(lane)
            case Apply(after):
                self._answer(
                    slot,
                    intent,
                    applied=True,
                    code="done",
                    text="",
                    outcome={"row": after.id, **(skipped if request.verb is not Verb.PARK else {})},
                )
                self._carry_out(intent, group, slot, lane, after, now)

    def _carry_out(  # noqa: PLR0917 - as above
        self, intent: Intent, group: Group, slot: Slot, lane: Lane | None, after: Row, now: datetime
    ) -> None:
        """Bring memory in line with the row the command left."""
        verb = intent.request.verb
        slot.attempts.append(AttemptNote(after.id, "operator", now, None))
        if lane is not None:
            lane.commanded = False
            if lane.row is None:
                self._partition.parking.leave_live(lane)
                self._partition.workers.activate(group)
            else:
                self._partition.drains.left(lane)
        self._partition.unparking.operator_row(group, slot, after)
        if verb in (Verb.RESUME, Verb.SKIP, Verb.SKIP_ONE):
            say(slot, "resumed" if verb is Verb.RESUME else "skipped", after)

    def _go_on(self, lane: Lane) -> None:
        """Let a lane that stood still for a command that was refused run on."""
        if lane.commanded:
            lane.commanded = False
            if lane.status is not Status.READING:
                return
            if lane.due > self._clock.monotonic():
                self._partition.timers.set(lane, lane.due)
            else:
                self._partition.workers.ready(lane)

    def _fresh(  # noqa: PLR0917 - a row is about all of these
        self, intent: Intent, group: Group, slot: Slot, lane: Lane | None, last: StoredEvent | None, now: datetime
    ) -> Row:
        """Make the row of an aggregate that an operator parks on purpose: it stops before its next event."""
        request = intent.request
        subscription = next(iter(group.spec.handlers)).subscription
        if lane is not None and lane.queue:
            first = lane.queue[0].row
            stop = Stop(subscription, first.version, first.sequence, first.position)
        elif last is not None:
            stop = Stop(subscription, last.version, last.sequence + 1, last.position + 1)
        else:
            stop = Stop(subscription, 1, 0, 0)
        place = Place(self._new_id(), group.name, slot.number, request.aggregate, request.aggregate_id)
        return parked_row(place, stop, Cause(Reason.OPERATOR), now=now, dice=0.0, limits=NO_RETRIES)

    def _answer(
        self, slot: Slot, intent: Intent, *, applied: bool, code: str, text: str, outcome: dict[str, Any] | None = None
    ) -> None:
        self._answered.add(intent.id)
        slot.intents.append(IntentDone(intent.id, applied, code, text, outcome or {}))
        slot.dirty = True
        self._partition.commits.poke(now=True)
