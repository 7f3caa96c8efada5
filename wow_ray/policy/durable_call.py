"""One durable call as it is stored, and how it is claimed (F6, H39). Pure: times come from the store.

A call is always one of two things: *claimable* (waiting for its time, or held under a lease that runs out) or
*terminal* (succeeded, exhausted, cancelled, discarded), never both and never neither. A claim carries a token and a
lease; whatever is written of a claimed call is written under that token or not at all. The attempt is charged when it
is claimed, so that one that dies with its worker counts once; an end that is no attempt gives it back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from wow_ray.failure import Failure

PRIORITIES = range(10)
"""From 0 to 9; the higher goes first."""
DEFAULT_PRIORITY = 4
MOST_FALLBACKS = 2
"""How often a fallback is begun: once, and once more when a crash interrupted it (F7)."""


class CallState(StrEnum):
    """Where a call stands.

    `WAITING` for its time or a place, `RUNNING`, `SUCCEEDED`, `EXHAUSTED` (its calls are used up, or pointless: a
    person may retry or discard it), `CANCELLED`, `DISCARDED`.
    """

    WAITING = "waiting"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    EXHAUSTED = "exhausted"
    CANCELLED = "cancelled"
    DISCARDED = "discarded"


PENDING = frozenset({CallState.WAITING, CallState.RUNNING})
"""Sooner or later claimable; every other state is terminal."""
FINISHED = frozenset({CallState.SUCCEEDED, CallState.CANCELLED, CallState.DISCARDED})
"""Over for good: nobody has to look at it, and it is deleted after a while."""


class CallReason(StrEnum):
    """Why a call is exhausted."""

    UNRECOVERABLE = "unrecoverable"
    BUDGET_SPENT = "budget_spent"
    BACKPRESSURE_SPENT = "backpressure_spent"
    CRASHED_WORKER = "crashed_worker"
    NOT_ENDING = "not_ending"
    UNFIT = "unfit"


class Fallback(StrEnum):
    """What became of the fallback: none was called, it is being called, it did its work, failed, or crashed twice."""

    NONE = "none"
    BEGUN = "begun"
    DONE = "done"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class NewCall:
    """A call to be stored.

    `key` dedupes: while a call of the function with that key is pending, another one is not stored. `delay` is in
    seconds from now by the store's clock. `attempts` are calls made already, `spent` what they took of the budget: 1
    when the caller's own calls have failed, 0 when it was only submitted. `failure` is what they failed with.
    """

    id: str
    function: str
    payload: str
    key: str | None = None
    priority: int = DEFAULT_PRIORITY
    delay: float = 0.0
    headers: Mapping[str, str] = field(default_factory=dict)
    attempts: int = 0
    spent: int = 0
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class CallRow:
    """A stored call.

    `attempts` are all calls ever begun (a claim counts the one it is for), `spent` those charged to the present
    budget, `busy` the busy answers. `due` is when it may be claimed. `token`, `worker` and `lease_until` belong to the
    present claim. `fallbacks` is how often the fallback was begun. `aside_since` is since when programs that it does
    not fit have left it for others. `etag` changes with every transition.
    """

    id: str
    function: str
    payload: str
    key: str | None
    priority: int
    headers: Mapping[str, str]
    state: CallState
    due: datetime
    attempts: int
    spent: int
    busy: int
    etag: int
    created_at: datetime
    updated_at: datetime
    token: str | None = None
    worker: str | None = None
    lease_until: datetime | None = None
    fallbacks: int = 0
    fallback: Fallback = Fallback.NONE
    aside_since: datetime | None = None
    result: str | None = None
    reason: CallReason | None = None
    note: str = ""
    failure: Failure | None = None
    fallback_failure: Failure | None = None
    first_cause: Failure | None = None
    ended_at: datetime | None = None
    request_id: str = ""


def submitted(call: NewCall, now: datetime) -> CallRow:
    """Give the row of a call that has just been stored."""
    return CallRow(
        id=call.id,
        function=call.function,
        payload=call.payload,
        key=call.key,
        priority=call.priority,
        headers=dict(call.headers),
        state=CallState.WAITING,
        due=now + timedelta(seconds=call.delay),
        attempts=call.attempts,
        spent=call.spent,
        busy=0,
        etag=1,
        created_at=now,
        updated_at=now,
        failure=call.failure,
        first_cause=call.failure,
    )


def claimable(row: CallRow, now: datetime) -> bool:
    """Tell whether the call may be claimed now: it is due, or its worker's lease has run out."""
    if row.state is CallState.RUNNING:
        return row.lease_until is not None and row.lease_until <= now
    return row.state is CallState.WAITING and row.due <= now


def claimable_at(row: CallRow) -> datetime | None:
    """Give when the call may be claimed unless something happens; `None` = it is terminal."""
    if row.state is CallState.RUNNING:
        return row.lease_until
    return row.due if row.state is CallState.WAITING else None


def claimed(row: CallRow, token: str, worker: str, lease: float, now: datetime) -> CallRow:
    """Give the row as its claimer has it: one attempt is charged, or one begin of the fallback where that was begun."""
    falling_back = row.fallback is Fallback.BEGUN
    return replace(
        row,
        state=CallState.RUNNING,
        token=token,
        worker=worker,
        lease_until=now + timedelta(seconds=lease),
        attempts=row.attempts + (not falling_back),
        spent=row.spent + (not falling_back),
        fallbacks=row.fallbacks + falling_back,
        etag=row.etag + 1,
        updated_at=now,
    )


def extended(row: CallRow, lease: float, now: datetime) -> CallRow:
    """Give the row with its lease begun anew."""
    return replace(row, lease_until=now + timedelta(seconds=lease))
