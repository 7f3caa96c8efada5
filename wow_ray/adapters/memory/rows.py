"""The ledger as the server holds it: rows, their history, intents, notices."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from wow_ray.adapters.encoding import unstorable
from wow_ray.adapters.memory.registry import Registry, Renamed
from wow_ray.errors import StoreDataError
from wow_ray.failure import Failure
from wow_ray.policy.parked import OPEN, Row
from wow_ray.ports.ledger import Intent, NewIntent
from wow_ray.ports.slots import AttemptNote, IntentDone, Notice, SlotWrite

KEPT_ATTEMPTS = 100
"""How many attempts of one row are kept as its history, the newest."""

Key = tuple[str, str, str]


class Rows:
    """All rows, intents and notices of one store. `apply` is the only way a row changes."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self.by_id: dict[str, Row] = {}
        self.open: dict[Key, str] = {}
        self.attempts: dict[str, list[AttemptNote]] = {}
        self.intents: dict[str, Intent] = {}
        self.notices: list[Noted] = []
        self._told: set[tuple[str, str, int]] = set()
        self._numbers = itertools.count(1)
        self._asked: dict[int, str] = {}

    def opened(self) -> Iterator[Row]:
        """Give the open rows."""
        return map(self.by_id.__getitem__, self.open.values())

    def check(self, writes: Sequence[SlotWrite]) -> None:
        """Raise `StoreDataError` for what a database would refuse of these writes."""
        for write in writes:
            for row in write.rows:
                check_texts(row.id, _texts_of(row))
            for note in write.attempts:
                check_texts(note.row_id, _texts_of_failure(note.failure))
            for done in write.intents:
                check_texts(f"intent {done.intent_id}", (done.code, done.text, _outcome_text(done)))
        self._check_open(row for write in writes for row in write.rows)

    def apply(self, write: SlotWrite, now: datetime) -> None:
        """Carry out one write that was checked; the same again changes nothing (H26)."""
        for row in write.rows:
            self._put(self._present(row))
        for note in write.attempts:
            self._note(note)
        for done in write.intents:
            self._end_intent(done, now)
        for notice in write.notices:
            self._tell(notice, now)
        for row_id, etag in write.reopened:
            self._withdraw(row_id, etag, now)

    def forget(self, row_id: str) -> None:
        """Delete an ended row with its history."""
        self.by_id.pop(row_id, None)
        self.attempts.pop(row_id, None)

    def close(self, row: Row) -> None:
        """Let a row be in the ended state that a reset gave it."""
        self._put(row)

    def ask(self, intent: NewIntent, now: datetime) -> Intent:
        """Store an intent under its request, or give the one that is there."""
        check_texts(intent.request_id, (intent.request_id, intent.actor, intent.reason, intent.row_id))
        known = self.intents.get(intent.request_id)
        if known is not None:
            return known
        asked = replace(intent, group=self._registry.present_name(intent.group))
        stored = Intent(len(self.intents) + 1, asked, "asked", "", "", {}, now, None)
        self.intents[intent.request_id] = stored
        self._asked[stored.id] = intent.request_id
        return stored

    def acted(self, intent: NewIntent, outcome: Mapping[str, Any], now: datetime) -> Intent:
        """Store an action that was carried out at once, under a request that is new."""
        stored = Intent(len(self.intents) + 1, intent, "done", "done", "", outcome, now, now)
        self.intents[intent.request_id] = stored
        return stored

    def rename(self, renamed: Renamed) -> None:
        """Let rows and waiting intents carry a group's or a subscription's new name."""
        for row in list(self.by_id.values()):
            if renamed.what == "group" and row.group == renamed.old:
                self._put(replace(row, group=renamed.new))
            elif renamed.what == "subscription" and (row.group, row.subscription) == (renamed.group, renamed.old):
                self._put(replace(row, subscription=renamed.new))
        for request_id, intent in self.intents.items():
            if renamed.what == "group" and intent.request.group == renamed.old:
                self.intents[request_id] = replace(intent, request=replace(intent.request, group=renamed.new))

    def _put(self, row: Row) -> None:
        """Let the row be in this state."""
        before = self.by_id.get(row.id)
        if before is not None and self.open.get(_key(before)) == row.id:
            del self.open[_key(before)]
        self.by_id[row.id] = row
        if row.state in OPEN:
            self.open[_key(row)] = row.id

    def _present(self, row: Row) -> Row:
        """Give the row under its group's present name, whatever its writer calls it."""
        name = self._registry.present_name(row.group)
        return row if name == row.group else replace(row, group=name)

    def _check_open(self, rows: Iterable[Row]) -> None:
        """Raise `StoreDataError` when an aggregate would have two open rows of a group."""
        states = {row.id: self._present(row) for row in rows}
        opened: dict[Key, str] = {}
        for row in states.values():
            if row.state not in OPEN:
                continue
            holder = opened.setdefault(_key(row), row.id)
            if holder == row.id:
                stored = self.open.get(_key(row), row.id)
                holder = row.id if stored in states else stored
            if holder != row.id:
                msg = f"{row.group} has an open row for {row.aggregate}/{row.aggregate_id} already: {holder}"
                raise StoreDataError(msg)

    def _note(self, note: AttemptNote) -> None:
        """Add an attempt to its row's history, once."""
        kept = self.attempts.setdefault(note.row_id, [])
        if _when(note) not in map(_when, kept):
            kept.append(note)
            kept.sort(key=_when)
            del kept[:-KEPT_ATTEMPTS]

    def _end_intent(self, done: IntentDone, now: datetime) -> None:
        """Store how an intent ended, once."""
        request_id = self._asked.get(done.intent_id)
        if request_id is None or self.intents[request_id].state != "asked":
            return
        self.intents[request_id] = replace(
            self.intents[request_id],
            state="done" if done.applied else "refused",
            code=done.code,
            text=done.text,
            outcome=json.loads(_outcome_text(done)),
            ended_at=now,
        )

    def told(self, after: int, limit: int, now: datetime) -> tuple[tuple[int, str, str], ...]:
        """Give the facts that are to be told by now, those numbered above `after`."""
        found = (
            (fact.number, fact.kind, fact.row_id) for fact in self.notices if fact.number > after and fact.at <= now
        )
        return tuple(itertools.islice(found, limit))

    def _tell(self, notice: Notice, now: datetime) -> None:
        """Put a fact into the outbox, once for each state of its row."""
        row = notice.row
        self.tell(notice.kind, row.id, row.etag, now, notice.after)

    def tell(self, kind: str, of: str, etag: int, now: datetime, after: float = 0.0) -> None:
        """Put a fact into the outbox, once for each state of what it is about."""
        if (kind, of, etag) not in self._told:
            self._told.add((kind, of, etag))
            self.notices.append(Noted(next(self._numbers), kind, of, etag, now + timedelta(seconds=after), now))

    def _withdraw(self, row_id: str, etag: int, now: datetime) -> None:
        """Take back what was said of a row before it was reopened and nobody was told yet."""
        self.notices = [fact for fact in self.notices if fact.row_id != row_id or fact.etag >= etag or fact.at <= now]


class Noted(NamedTuple):
    """A fact in the outbox, written at `since`; nobody is told of it before `at`."""

    number: int
    kind: str
    row_id: str
    etag: int
    at: datetime
    since: datetime
    routed_at: datetime | None = None


def _key(row: Row) -> Key:
    """Give what a group may have one open row for (P3)."""
    return row.group, row.aggregate, row.aggregate_id


def _when(note: AttemptNote) -> tuple[datetime, str]:
    """Order a row's history; two attempts of one kind are not made at one time."""
    return note.at, note.kind


def _texts_of(row: Row) -> Iterator[str | None]:
    """Give the texts of a row."""
    yield from (row.id, row.group, row.subscription, row.aggregate, row.aggregate_id)
    yield from _texts_of_failure(row.failure)
    yield from _texts_of_failure(row.first_cause)


def _texts_of_failure(failure: Failure | None) -> Iterator[str | None]:
    """Give the texts of a failure, if there is one."""
    if failure is not None:
        yield from (failure.source, failure.type, failure.message, failure.traceback, failure.fingerprint)


def _outcome_text(done: IntentDone) -> str:
    """Write an outcome as JSON; raises `StoreDataError` when it is none."""
    try:
        return json.dumps(done.outcome, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        msg = f"the outcome of intent {done.intent_id} is no JSON: {error}"
        raise StoreDataError(msg) from error


def check_texts(whose: str, texts: Iterable[str | None]) -> None:
    """Refuse a text that no database takes."""
    odd = unstorable(texts)
    if odd is not None:
        msg = f"{whose!r} carries a text with a NUL or a lone surrogate: {odd[:64]!r}"
        raise StoreDataError(msg)
