"""What an operator, or the caller through its handle, asks of one stored call (F7, P10)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, assert_never

from wow_ray.policy.durable_call import PENDING, CallRow, CallState, Fallback

CallVerb = Literal["retry", "cancel", "discard"]


@dataclass(frozen=True, slots=True)
class CallAsked:
    """A request on one call: who and why, once for each `request_id`; `etag` as the row was seen (`None` = any)."""

    request_id: str
    verb: CallVerb
    id: str
    etag: int | None
    actor: str
    reason: str


@dataclass(frozen=True, slots=True)
class Changed:
    """Store this row."""

    row: CallRow


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing is done; `text` says to people why.

    `code` is stable: `not_found`, `conflict`, `ended`, `running`, `pending`, `exhausted`, `key` (another call has it).
    """

    code: str
    text: str


def decide_asked(row: CallRow | None, asked: CallAsked, now: datetime) -> Changed | Refused:
    """Answer what a request does to a call.

    Retry makes a waiting call due now and gives an exhausted one a fresh budget; cancel ends a pending call, also one
    that runs (its claim is lost, and the worker ends it); discard ends an exhausted one.
    """
    if row is None:
        return Refused("not_found", f"there is no call {asked.id!r}")
    if asked.etag not in {None, row.etag}:
        return Refused("conflict", f"the call has changed since: it is {row.state}, etag {row.etag}")
    match asked.verb:
        case "retry":
            return _retried(row, asked, now)
        case "cancel":
            return _cancelled(row, asked, now)
        case "discard":
            return _discarded(row, asked, now)
        case _:
            assert_never(asked.verb)


def _cancelled(row: CallRow, asked: CallAsked, now: datetime) -> Changed | Refused:
    if row.state in PENDING:
        return _ended(row, CallState.CANCELLED, asked, now)
    if row.state is CallState.EXHAUSTED:
        return Refused("exhausted", "its calls are over; discard it instead")
    return Refused("ended", f"the call has ended as {row.state}")


def _discarded(row: CallRow, asked: CallAsked, now: datetime) -> Changed | Refused:
    if row.state in PENDING:
        return Refused("pending", "the call is pending; cancel it instead")
    if row.state is not CallState.EXHAUSTED:
        return Refused("ended", f"the call has ended as {row.state}")
    return _ended(row, CallState.DISCARDED, asked, now)


def _retried(row: CallRow, asked: CallAsked, now: datetime) -> Changed | Refused:
    if row.state is CallState.RUNNING:
        return Refused("running", "a call of it runs now")
    if row.state is CallState.WAITING:
        return Changed(_told(replace(row, due=now), asked, now))
    if row.state is not CallState.EXHAUSTED:
        return Refused("ended", f"the call has ended as {row.state}")
    fresh = replace(
        row,
        state=CallState.WAITING,
        due=now,
        spent=0,
        busy=0,
        fallback=Fallback.NONE,
        fallbacks=0,
        fallback_failure=None,
        reason=None,
        note="",
        aside_since=None,
        ended_at=None,
    )
    return Changed(_told(fresh, asked, now))


def _ended(row: CallRow, state: CallState, asked: CallAsked, now: datetime) -> Changed:
    over = replace(row, state=state, token=None, worker=None, lease_until=None, ended_at=now)
    return Changed(_told(over, asked, now))


def _told(row: CallRow, asked: CallAsked, now: datetime) -> CallRow:
    return replace(row, etag=row.etag + 1, updated_at=now, request_id=asked.request_id)
