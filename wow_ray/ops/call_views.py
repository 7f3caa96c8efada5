"""What operators are shown of durable calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from wow_ray.ops.views import ErrorView, View
from wow_ray.policy.durable_call import CallRow, CallState
from wow_ray.ports.ledger import Intent


@dataclass(frozen=True, slots=True)
class CallView(View):
    """One durable call; `due` is when it is called next (`None` = not by itself), `worker` who runs it now."""

    id: str
    function: str
    state: str
    reason: str | None
    key: str | None
    priority: int
    attempts: int
    busy: int
    due: datetime | None
    worker: str | None
    fallback: str
    note: str
    etag: int
    created_at: datetime
    updated_at: datetime
    error: ErrorView | None

    @classmethod
    def of(cls, row: CallRow) -> CallView:
        """View a row."""
        return cls(
            id=row.id,
            function=row.function,
            state=row.state.value,
            reason=None if row.reason is None else row.reason.value,
            key=row.key,
            priority=row.priority,
            attempts=row.attempts,
            busy=row.busy,
            due=row.due if row.state is CallState.WAITING else None,
            worker=row.worker,
            fallback=row.fallback.value,
            note=row.note,
            etag=row.etag,
            created_at=row.created_at,
            updated_at=row.updated_at,
            error=ErrorView.of(row.failure),
        )


@dataclass(frozen=True, slots=True)
class Shown:
    """What of a call's arguments, result and headers may be shown."""

    payload: str
    result: str | None
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CallDetail(View):
    """Everything about one call: both errors where its fallback failed too (F7), and the first one.

    Arguments, result and headers are masked (P4); `None` = they are not for who asks, no result = there is none.
    """

    call: CallView
    payload: str | None
    headers: Mapping[str, str] | None
    result: str | None
    traceback: str
    first_cause: ErrorView | None
    fallback_error: ErrorView | None
    fallback_traceback: str
    ended_at: datetime | None

    @classmethod
    def of(cls, row: CallRow, shown: Shown) -> CallDetail:
        """View a row."""
        return cls(
            call=CallView.of(row),
            payload=shown.payload,
            headers=shown.headers,
            result=shown.result,
            traceback="" if row.failure is None else row.failure.traceback,
            first_cause=ErrorView.of(row.first_cause),
            fallback_error=ErrorView.of(row.fallback_failure),
            fallback_traceback="" if row.fallback_failure is None else row.fallback_failure.traceback,
            ended_at=row.ended_at,
        )


@dataclass(frozen=True, slots=True)
class CallPage(View):
    """A page of calls, by id, which is oldest first; `next` is where the next begins, `None` = there is none."""

    calls: tuple[CallView, ...]
    counts: Mapping[str, Mapping[str, int]]
    next: str | None


@dataclass(frozen=True, slots=True)
class CallAnswer(View):
    """What became of a request on a call, which is in the audit under `request_id`."""

    request_id: str
    verb: str
    outcome: Mapping[str, Any]
    asked_at: datetime
    call: CallView | None

    @classmethod
    def of(cls, action: Intent, row: CallRow | None) -> CallAnswer:
        """View an action that was carried out."""
        view = None if row is None else CallView.of(row)
        return cls(action.request.request_id, action.request.verb.value, action.outcome, action.asked_at, view)
