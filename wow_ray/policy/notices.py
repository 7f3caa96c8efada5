"""Which notices go to which webhook, and together with which others: facts in, deliveries out (P13).

A fact is one transition that people are told of. Up to `ALONE` facts of one round go out one by one; more go in one
delivery, which names some, counts all, and groups their errors. A delivery's body is fixed when it is made, so that
every attempt sends the same bytes under the same id.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, Literal
from urllib.parse import quote

from wow_ray.policy.parked import Row, State
from wow_ray.policy.pauses import PauseSeen
from wow_ray.redaction import safe

SCHEMA = "wow-ray.notices.v1"
ALONE = 5
"""Facts of one round that are still sent one by one."""
NAMED = 50
"""Facts that a delivery of many tells one by one; the others are counted."""
LINES = 12
"""Facts that a chat message of many tells one by one."""
MOST_ALIKE = 10
MOST_TEXT = 500
TOLD = 1_000
"""Characters of an error's message that a fact brings along."""
MOST_NAME = 300

Format = Literal["json", "slack"]


class Kind(StrEnum):
    """What happened. `PAUSED` and `BACK` are of a group in a partition, or everywhere; `TEST` is asked for."""

    PARKED = "parked"
    EXHAUSTED = "exhausted"
    RESUMED = "resumed"
    SKIPPED = "skipped"
    RESOLVED = "resolved"
    PAUSED = "paused"
    BACK = "back"
    TEST = "test"


EVENTS = tuple(kind for kind in Kind if kind is not Kind.TEST)
"""What a webhook may ask for."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact of the outbox, with the row (see `told_of`) or the pause it is about; `None` = gone, or of the other.

    `actor` and `why` are those of the last command on the row, where a person's command led to the fact. `call` is
    the id of a durable call that it is about, whose function is the `group` then.
    """

    number: int
    kind: Kind
    at: datetime
    group: str
    row: Row | None = None
    pause: PauseSeen | None = None
    actor: str = ""
    why: str = ""
    call: str = ""

    @property
    def subscription(self) -> str:
        """The handler's subscription; of a pause its group."""
        return self.group if self.row is None else self.row.subscription


def told_of(row: Row) -> Row:
    """Give what a fact brings along of a row: thousands are read at once, and tracebacks are told to nobody."""
    failure = row.failure
    short = None if failure is None else replace(failure, message=failure.message[:TOLD], traceback="")
    return replace(row, failure=short, first_cause=None)


@dataclass(frozen=True, slots=True)
class Route:
    """What a webhook is told: these kinds, of subscriptions or groups that fit one of the patterns (none = all)."""

    webhook: str
    kinds: frozenset[Kind] = frozenset(EVENTS)
    subscriptions: tuple[str, ...] = ()
    format: Format = "json"

    def wants(self, fact: Fact) -> bool:
        """Whether it is told of the fact. Patterns are those of shells: `Mailer.*`, `*.on_paid`."""
        names = {fact.group, fact.subscription}
        fits = any(fnmatchcase(name, pattern) for name in names for pattern in self.subscriptions)
        return fact.kind in self.kinds and (fits or not self.subscriptions)


@dataclass(frozen=True, slots=True)
class NewDelivery:
    """What is to be sent to a webhook: JSON in ASCII; `summary` says it to people in one line."""

    id: str
    webhook: str
    kinds: tuple[str, ...]
    facts: int
    summary: str
    body: str


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes deliveries of one context; `console` is the console's address for links, empty = no links."""

    context: str
    new_id: Callable[[], str]
    console: str = ""

    def deliveries(self, facts: Sequence[Fact], routes: Iterable[Route]) -> tuple[NewDelivery, ...]:
        """Write what each webhook is told of these facts."""
        made: list[NewDelivery] = []
        for route in routes:
            wanted = [fact for fact in facts if route.wants(fact)]
            parts = [[fact] for fact in wanted] if len(wanted) <= ALONE else [wanted]
            for part in parts:
                identity, kinds = self.new_id(), tuple(sorted({fact.kind.value for fact in part}))
                body = self.body(identity, part, route.format)
                made.append(NewDelivery(identity, route.webhook, kinds, len(part), self.summary(part), body))
        return tuple(made)

    def test(self, webhook: str, now: datetime) -> NewDelivery:
        """Write a delivery that only shows that deliveries arrive; its body is written by who knows the format."""
        facts = [Fact(0, Kind.TEST, now, "")]
        return NewDelivery(self.new_id(), webhook, (Kind.TEST.value,), 0, self.summary(facts), "")

    def body(self, identity: str, facts: Sequence[Fact], format_: Format) -> str:
        """Write the body of a delivery."""
        return json.dumps(
            self._slack(facts) if format_ == "slack" else self._json(identity, facts), separators=(",", ":")
        )

    def _json(self, identity: str, facts: Sequence[Fact]) -> Mapping[str, Any]:
        """Write it as `docs/notices.md` says."""
        return {
            "schema": SCHEMA,
            "id": identity,
            "context": self.context,
            "count": len(facts),
            "counts": Counter(fact.kind.value for fact in facts),
            "notices": [self._notice(fact) for fact in facts[:NAMED]],
            "left_out": max(0, len(facts) - NAMED),
            "alike": _alike(facts) if len(facts) > ALONE else [],
        }

    def _notice(self, fact: Fact) -> Mapping[str, Any]:
        """Write one fact; what it has nothing of is left out."""
        row, pause = fact.row, fact.pause
        said: dict[str, Any] = {
            "number": fact.number,
            "kind": fact.kind.value,
            "at": _time(fact.at),
            "group": fact.group,
            "text": self.line(fact),
            "actor": _kept(fact.actor),
            "why": _kept(fact.why),
        }
        if fact.call:
            said |= {"call": fact.call, "needs_person": fact.kind is Kind.EXHAUSTED}
        if row is not None:
            said |= {
                "subscription": row.subscription,
                "aggregate": row.aggregate,
                "aggregate_id": row.aggregate_id,
                "row": row.id,
                "state": row.state.value,
                "needs_person": row.state is State.EXHAUSTED,
                "reason": row.reason.value,
                "version": row.stopped_version,
                "sequence": row.stopped_sequence,
                "attempts": row.attempts,
                "retries": row.retries,
                "next_due": None if row.next_due is None else _time(row.next_due),
                "link": self._link(f"/parked/{quote(row.id, safe='')}"),
            }
            if row.failure is not None:
                failure = row.failure
                said["category"] = failure.category.value
                said["error"] = {
                    "type": cut(failure.type, MOST_NAME),
                    "message": _kept(failure.message),
                    "fingerprint": failure.fingerprint,
                }
        if pause is not None:
            said |= {
                "partition": pause.partition,
                "pause_reason": pause.reason.value,
                "since": _time(pause.since),
                "error_text": _kept(pause.text),
                "ended_at": None if pause.ended_at is None else _time(pause.ended_at),
                "link": self._link(f"/subscriptions/{quote(fact.group, safe='')}"),
            }
        return {name: value for name, value in said.items() if value not in ("", None) or name == "partition"}

    def _slack(self, facts: Sequence[Fact]) -> Mapping[str, Any]:
        """Write it as a chat's incoming webhook takes it; nothing in it can mention or link anybody."""
        lines = [self.summary(facts)] if len(facts) > 1 else []
        lines += [self.line(fact) for fact in facts[:LINES]]
        if len(facts) > LINES:
            lines.append(f"… and {len(facts) - LINES:,} more")
        texts = [cut(line, MOST_TEXT).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") for line in lines]
        first = facts[0]
        if self.console:
            path = "/parked" if len(facts) > 1 or first.row is None else f"/parked/{quote(first.row.id, safe='')}"
            texts.append(f"<{self._link(path)}|Open the console>")
        return {"text": "\n".join(texts)}

    def summary(self, facts: Sequence[Fact]) -> str:
        """Say a delivery in one line."""
        if len(facts) == 1:
            return cut(self.line(facts[0]), MOST_NAME)
        counts = Counter(fact.kind.value for fact in facts)
        told = ", ".join(f"{count:,} {kind}" for kind, count in counts.most_common())
        names = sorted({fact.subscription for fact in facts})
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""  # noqa: PLR2004 - so many fit
        return cut(f"{self.context}: {told} ({', '.join(names[:3])}{more})", MOST_NAME)

    def line(self, fact: Fact) -> str:
        """Say one fact in one line, without odd characters."""
        said = f"{self.context}: {_said(fact)}"
        who = f" by {fact.actor}" + (f": {fact.why}" if fact.why else "") if fact.actor else ""
        return " ".join(safe(f"{said}{who}").split())

    def _link(self, path: str) -> str:
        return f"{self.console.rstrip('/')}{path}" if self.console else ""


def cut(text: str, most: int) -> str:
    """Bound a text."""
    return text if len(text) <= most else text[: most - 1] + "…"


def _kept(text: str) -> str:
    """Bound a text that people or programs have written, without secrets and odd characters."""
    return cut(safe(text), MOST_TEXT)


def _said(fact: Fact) -> str:
    """Say what happened."""
    row, pause = fact.row, fact.pause
    if fact.kind is Kind.TEST:
        return "a test; notices arrive here"
    if pause is not None:
        where = "everywhere" if pause.partition is None else f"in {pause.partition}"
        if fact.kind is Kind.BACK:
            return f"{fact.group} goes on {where}; it was paused ({pause.reason.value}) since {_time(pause.since)}"
        return f"{fact.group} is paused {where} ({pause.reason.value}) since {_time(pause.since)}: {pause.text}"
    if fact.call:
        return f"{fact.group or 'a durable call'} {fact.kind.value}, waits for a person: call {fact.call}"
    if row is None:
        return f"{fact.group} {fact.kind.value}; what it was about is deleted"
    at = f"{row.aggregate}/{row.aggregate_id} at version {row.stopped_version}:{row.stopped_sequence}"
    error = "" if row.failure is None else f": {row.failure.type}: {row.failure.message[:MOST_TEXT]}"
    person = ", waits for a person" if row.state is State.EXHAUSTED else ""
    return f"{row.subscription} {fact.kind.value} {at} ({row.reason.value}{person}){error}"


def _alike(facts: Iterable[Fact]) -> list[Mapping[str, Any]]:
    """Group the errors of what is parked by their fingerprint, those of most facts first."""
    found: Counter[str] = Counter()
    rows: dict[str, Row] = {}
    for fact in facts:
        if fact.kind in {Kind.PARKED, Kind.EXHAUSTED} and fact.row is not None and fact.row.failure is not None:
            found[fact.row.failure.fingerprint] += 1
            rows[fact.row.failure.fingerprint] = fact.row
    told: list[Mapping[str, Any]] = []
    for fingerprint, count in found.most_common(MOST_ALIKE):
        failure = rows[fingerprint].failure
        assert failure is not None  # noqa: S101 - only such rows are counted
        error = {"type": cut(failure.type, MOST_NAME), "message": _kept(failure.message)}
        told.append({"fingerprint": fingerprint, "count": count, **error})
    return told


def _time(at: datetime) -> str:
    """Write a time in UTC, to the second."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
