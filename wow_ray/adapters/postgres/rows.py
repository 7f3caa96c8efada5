"""Rows of the database as values, and values as rows: the one module that knows the columns."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import asyncpg

from wow_ray.errors import StoreDataError
from wow_ray.events import StoredEvent
from wow_ray.failure import Category, Failure
from wow_ray.policy.parked import Reason, Row, State, Verb
from wow_ray.ports.ledger import Alike, Intent, NewIntent
from wow_ray.ports.slots import AttemptNote, IntentDone

_FAILURE = ("category", "source", "type", "message", "traceback", "fingerprint")


# Tens of thousands a second: one call in C each, where `StoredEvent._make` is one in Python.
_EVENT: Callable[[Iterable[Any]], StoredEvent] = partial(tuple.__new__, StoredEvent)


def stored_events(rows: Iterable[asyncpg.Record]) -> list[StoredEvent]:
    """Make the events of a read; the columns are those of `StoredEvent`, in order."""
    return list(map(_EVENT, rows))


def row_of(record: asyncpg.Record) -> Row:
    """Make a ledger row of its record."""
    skip = record["skip_version"]
    return Row(
        id=record["id"],
        group=record["group_name"],
        subscription=record["subscription"],
        slot=record["slot"],
        aggregate=record["aggregate"],
        aggregate_id=record["aggregate_id"],
        state=State(record["state"]),
        reason=Reason(record["reason"]),
        stopped_version=record["stopped_version"],
        stopped_sequence=record["stopped_sequence"],
        stopped_position=record["stopped_position"],
        failure=_failure_of(record, ""),
        first_cause=_failure_of(record, "first_"),
        attempts=record["attempts"],
        backpressure=record["backpressure"],
        retries=record["retries"],
        next_due=record["next_due"],
        begun=record["begun"],
        skip_through=None if skip is None else (skip, record["skip_sequence"]),
        etag=record["etag"],
        parked_at=record["parked_at"],
        updated_at=record["updated_at"],
        told=record["told"],
        suspicions=record["suspicions"],
    )


def alike_of(record: asyncpg.Record) -> Alike:
    """Make a group of rows of its record."""
    category = record["category"]
    return Alike(
        fingerprint=record["fingerprint"],
        rows=record["rows"],
        first=record["first"],
        last=record["last"],
        category=None if category is None else Category(category),
        type=record["type"] or "",
        message=record["message"] or "",
        subscription=record["subscription"],
        exact=record["exact"],
    )


def rows_json(rows: Iterable[Row]) -> str:
    """Write ledger rows as the JSON that `put_rows` takes."""
    return _json([_row_record(row) for row in rows])


def attempts_json(notes: Iterable[AttemptNote]) -> str:
    """Write attempts as the JSON that `add_attempts` takes."""
    return _json(
        [
            {"row_id": note.row_id, "at": note.at.isoformat(), "kind": note.kind, **_failure_record(note.failure, "")}
            for note in notes
        ]
    )


def attempt_of(record: asyncpg.Record) -> AttemptNote:
    """Make an attempt of its record."""
    return AttemptNote(record["row_id"], record["kind"], record["at"], _failure_of(record, ""))


def intents_json(done: Iterable[IntentDone]) -> str:
    """Write how intents ended as the JSON that `end_intents` takes."""
    return _json(
        [
            {"id": one.intent_id, "applied": one.applied, "code": one.code, "text": one.text, "outcome": one.outcome}
            for one in done
        ]
    )


def intent_of(record: asyncpg.Record) -> Intent:
    """Make an intent of its record."""
    request = NewIntent(
        request_id=record["request_id"],
        verb=Verb(record["verb"]),
        group=record["group_name"],
        slot=record["slot"],
        aggregate=record["aggregate"],
        aggregate_id=record["aggregate_id"],
        row_id=record["row_id"],
        etag=record["etag"],
        through_version=record["through_version"],
        actor=record["actor"],
        reason=record["reason"],
    )
    return Intent(
        id=record["id"],
        request=request,
        state=record["state"],
        code=record["code"],
        text=record["text"],
        outcome=json.loads(record["outcome"]),
        asked_at=record["asked_at"],
        ended_at=record["ended_at"],
    )


def intent_arguments(intent: NewIntent) -> Sequence[Any]:
    """Give what `ask` takes."""
    return (
        intent.request_id,
        intent.verb.value,
        intent.group,
        intent.slot,
        intent.aggregate,
        intent.aggregate_id,
        intent.row_id,
        intent.etag,
        intent.through_version,
        intent.actor,
        intent.reason,
    )


def actual_version(error: BaseException) -> tuple[int | None, int | None]:
    """Read the expected and the actual version from the detail of a conflict."""
    detail = json.loads(getattr(error, "detail", None) or "{}")
    return detail.get("expected"), detail.get("actual")


def _row_record(row: Row) -> dict[str, Any]:
    """Give a ledger row by column."""
    skip = row.skip_through or (None, None)
    return {
        "id": row.id,
        "group_name": row.group,
        "subscription": row.subscription,
        "slot": row.slot,
        "aggregate": row.aggregate,
        "aggregate_id": row.aggregate_id,
        "state": row.state.value,
        "reason": row.reason.value,
        "stopped_version": row.stopped_version,
        "stopped_sequence": row.stopped_sequence,
        "stopped_position": row.stopped_position,
        "attempts": row.attempts,
        "backpressure": row.backpressure,
        "retries": row.retries,
        "next_due": None if row.next_due is None else row.next_due.isoformat(),
        "begun": row.begun,
        "skip_version": skip[0],
        "skip_sequence": skip[1],
        "etag": row.etag,
        "parked_at": row.parked_at.isoformat(),
        "updated_at": row.updated_at.isoformat(),
        "told": row.told,
        "suspicions": row.suspicions,
        **_failure_record(row.failure, ""),
        **_failure_record(row.first_cause, "first_"),
    }


def _failure_record(failure: Failure | None, prefix: str) -> dict[str, str | None]:
    """Give a failure by column."""
    if failure is None:
        return {f"{prefix}{name}": None for name in _FAILURE}
    return {f"{prefix}{name}": str(getattr(failure, name)) for name in _FAILURE}


def _failure_of(record: asyncpg.Record, prefix: str) -> Failure | None:
    """Make a failure of its columns, `None` when there is none."""
    category, *texts = (record[f"{prefix}{name}"] for name in _FAILURE)
    return None if category is None else Failure(Category(category), *texts)


def _json(value: Any) -> str:  # noqa: ANN401 - anything
    """Write JSON; raises `StoreDataError` for what is none.

    Odd characters are escaped, so that the server judges them.
    """
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        msg = f"a value cannot be written as JSON: {error}"
        raise StoreDataError(msg) from error
