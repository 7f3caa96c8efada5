"""Durable calls as hashes of Redis, and hashes as durable calls: the one module that knows those fields."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from wow_ray.adapters.call_texts import failure_of, failure_text
from wow_ray.policy.durable_call import CallReason, CallRow, CallState, Fallback, NewCall
from wow_ray.policy.durable_endings import Written

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def micros(seconds: float) -> str:
    """Write a length of time."""
    return str(round(seconds * 1_000_000))


def moment_of(text: str) -> datetime:
    """Read a time."""
    return EPOCH + int(text) * MICROSECOND


def call_of(fields: Mapping[str, str]) -> CallRow:
    """Make a call of its hash; what is `None` is not there."""

    def at(name: str) -> datetime | None:
        return moment_of(fields[name]) if name in fields else None

    return CallRow(
        id=fields["id"],
        function=fields["function"],
        payload=fields["payload"],
        key=fields.get("key"),
        priority=int(fields["priority"]),
        headers=json.loads(fields["headers"]),
        state=CallState(fields["state"]),
        due=moment_of(fields["due"]),
        attempts=int(fields["attempts"]),
        spent=int(fields["spent"]),
        busy=int(fields["busy"]),
        etag=int(fields["etag"]),
        created_at=moment_of(fields["created_at"]),
        updated_at=moment_of(fields["updated_at"]),
        token=fields.get("token"),
        worker=fields.get("worker"),
        lease_until=at("lease_until"),
        fallbacks=int(fields["fallbacks"]),
        fallback=Fallback(fields["fallback"]),
        aside_since=at("aside_since"),
        result=fields.get("result"),
        reason=CallReason(fields["reason"]) if "reason" in fields else None,
        note=fields["note"],
        failure=failure_of(fields.get("failure")),
        fallback_failure=failure_of(fields.get("fallback_failure")),
        first_cause=failure_of(fields.get("first_cause")),
        ended_at=at("ended_at"),
        request_id=fields["request_id"],
    )


def new_fields(call: NewCall) -> dict[str, str]:
    """Give a new call as `submit.lua` takes it."""
    failure = failure_text(call.failure)
    fields = {
        "id": call.id,
        "function": call.function,
        "payload": call.payload,
        "key": call.key,
        "priority": str(call.priority),
        "headers": json.dumps(dict(call.headers)),
        "attempts": str(call.attempts),
        "spent": str(call.spent),
        "failure": failure,
        "first_cause": failure,
        "fingerprint": None if call.failure is None else call.failure.fingerprint,
    }
    return {name: value for name, value in fields.items() if value is not None}


def ending_fields(ending: Written) -> dict[str, str | bool]:
    """Give an ending as `finish.lua` takes it."""
    fields = {
        "id": ending.id,
        "token": ending.token,
        "state": ending.state.value,
        "after": None if ending.after is None else micros(ending.after),
        "attempts": str(ending.attempts),
        "spent": str(ending.spent),
        "busy": str(ending.busy),
        "fallbacks": str(ending.fallbacks),
        "fallback": ending.fallback.value,
        "aside": "1" if ending.aside else None,
        "result": ending.result,
        "reason": ending.reason,
        "note": ending.note,
        "failure": failure_text(ending.failure),
        "fallback_failure": failure_text(ending.fallback_failure),
        "first_cause": failure_text(ending.first_cause),
        "fingerprint": None if ending.failure is None else ending.failure.fingerprint,
    }
    return {name: False if value is None else value for name, value in fields.items()}


def put_fields(row: CallRow) -> dict[str, str | bool]:
    """Give what somebody's request changes as `put.lua` takes it."""

    def at(time: datetime | None) -> str | None:
        return None if time is None else str((time - EPOCH) // MICROSECOND)

    fields = {
        "state": row.state.value,
        "due": at(row.due),
        "spent": str(row.spent),
        "busy": str(row.busy),
        "fallbacks": str(row.fallbacks),
        "fallback": row.fallback.value,
        "reason": row.reason,
        "note": row.note,
        "fallback_failure": failure_text(row.fallback_failure),
        "ended_at": at(row.ended_at),
        "request_id": row.request_id,
        "token": row.token,
        "worker": row.worker,
        "lease_until": at(row.lease_until),
        "aside_since": None,
    }
    return {name: False if value is None else value for name, value in fields.items()}
