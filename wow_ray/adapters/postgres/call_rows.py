"""Durable calls as records, and records as durable calls: the one module that knows those columns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import asyncpg

from wow_ray.adapters.call_texts import failure_of, failure_text
from wow_ray.policy.durable_call import CallReason, CallRow, CallState, Fallback, NewCall
from wow_ray.policy.durable_endings import Written

KEY = 3
"""The place of the key among the arguments of `submit_call`."""


def call_of(record: asyncpg.Record) -> CallRow:
    """Make a call of its record."""
    return CallRow(
        id=record["id"],
        function=record["function"],
        payload=record["payload"],
        key=record["key"],
        priority=record["priority"],
        headers=json.loads(record["headers"]),
        state=CallState(record["state"]),
        due=record["due"],
        attempts=record["attempts"],
        spent=record["spent"],
        busy=record["busy"],
        etag=record["etag"],
        created_at=record["created_at"],
        updated_at=record["updated_at"],
        token=record["token"],
        worker=record["worker"],
        lease_until=record["lease_until"],
        fallbacks=record["fallbacks"],
        fallback=Fallback(record["fallback"]),
        aside_since=record["aside_since"],
        result=record["result"],
        reason=None if record["reason"] is None else CallReason(record["reason"]),
        note=record["note"],
        failure=failure_of(record["failure"]),
        fallback_failure=failure_of(record["fallback_failure"]),
        first_cause=failure_of(record["first_cause"]),
        ended_at=record["ended_at"],
        request_id=record["request_id"],
    )


def submit_arguments(call: NewCall) -> Sequence[Any]:
    """Give what `submit_call` takes."""
    return (
        call.id,
        call.function,
        call.payload,
        call.key,
        call.priority,
        json.dumps(dict(call.headers)),
        call.delay,
        call.attempts,
        call.spent,
        failure_text(call.failure),
        None if call.failure is None else call.failure.fingerprint,
    )


def submit_arrays(calls: Sequence[NewCall]) -> Sequence[Any]:
    """Give what `submit_calls` takes: the same by column, but for the keys, which these calls have none of."""
    columns = list(zip(*map(submit_arguments, calls), strict=True))
    del columns[KEY]
    return columns


def ending_record(ending: Written) -> dict[str, Any]:
    """Give an ending by column."""
    return {
        "id": ending.id,
        "token": ending.token,
        "state": ending.state.value,
        "after": ending.after,
        "attempts": ending.attempts,
        "spent": ending.spent,
        "busy": ending.busy,
        "fallbacks": ending.fallbacks,
        "fallback": ending.fallback.value,
        "aside": ending.aside,
        "result": ending.result,
        "reason": ending.reason,
        "note": ending.note,
        "failure": failure_text(ending.failure),
        "fallback_failure": failure_text(ending.fallback_failure),
        "first_cause": failure_text(ending.first_cause),
        "fingerprint": None if ending.failure is None else ending.failure.fingerprint,
    }


def put_arguments(row: CallRow) -> Sequence[Any]:
    """Give what `put_call` takes."""
    return (
        row.id,
        row.state.value,
        row.due,
        row.spent,
        row.busy,
        row.fallbacks,
        row.fallback.value,
        row.reason,
        row.note,
        failure_text(row.fallback_failure),
        row.ended_at,
        row.request_id,
        row.token,
        row.worker,
        row.lease_until,
    )
