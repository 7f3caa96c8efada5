"""How a claim ends: what the claimer decides, and what is written of it under its token (F6, F7).

An ending is a value; `written` makes of it the absolute values that every adapter stores with one guarded statement.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, assert_never

from wow_ray.failure import Failure
from wow_ray.policy.durable_call import CallReason, CallRow, CallState, Fallback


@dataclass(frozen=True, slots=True)
class Succeeded:
    """It returned; `result` is JSON."""

    result: str


@dataclass(frozen=True, slots=True)
class Again:
    """It failed and is charged; due again `after` seconds."""

    after: float
    failure: Failure


@dataclass(frozen=True, slots=True)
class Busy:
    """The other side was busy: that has a budget of its own (D5)."""

    after: float
    failure: Failure


@dataclass(frozen=True, slots=True)
class Uncharged:
    """It was no attempt: a shutdown, an outage, a program that it does not fit (`aside`). Due `after` seconds."""

    after: float
    note: str
    failure: Failure | None = None
    aside: bool = False


@dataclass(frozen=True, slots=True)
class FallBack:
    """Its calls are used up, and the fallback is about to be called under the same claim."""

    reason: CallReason
    failure: Failure | None


@dataclass(frozen=True, slots=True)
class Exhausted:
    """It waits for a person.

    With `uncharged` no call was made under this claim. `failure` is that of the calls (`None` = as it was before),
    `fallback_failure` that of the fallback.
    """

    reason: CallReason
    failure: Failure | None = None
    fallback: Fallback = Fallback.NONE
    fallback_failure: Failure | None = None
    note: str = ""
    uncharged: bool = False


Ending = Succeeded | Again | Busy | Uncharged | FallBack | Exhausted


@dataclass(frozen=True, slots=True)
class Written:
    """What is stored of an ending, where the token is still `token`. `after` = `None` leaves `due` as it is.

    `state` `RUNNING` keeps the claim. `aside` is whether `aside_since` begins (or goes on) now.
    """

    id: str
    token: str
    state: CallState
    after: float | None
    attempts: int
    spent: int
    busy: int
    fallbacks: int
    fallback: Fallback
    aside: bool
    result: str | None
    reason: CallReason | None
    note: str
    failure: Failure | None
    fallback_failure: Failure | None
    first_cause: Failure | None


def written(row: CallRow, ending: Ending) -> Written:
    """Give what an ending of the claim that `row` shows is stored as."""
    match ending:
        case Succeeded(result):
            return _of(row, CallState.SUCCEEDED, result=result)
        case Again(after, failure):
            return _of(row, CallState.WAITING, failure, after=after)
        case Busy(after, failure):
            return _of(row, CallState.WAITING, failure, after=after, spent=row.spent - 1, busy=row.busy + 1)
        case Uncharged(after, note, failure, aside):
            back = _given_back(row)
            return _of(row, CallState.WAITING, failure, after=after, note=note, aside=aside, **back)
        case FallBack(reason, failure):
            return _of(row, CallState.RUNNING, failure, reason=reason, fallback=Fallback.BEGUN, fallbacks=1)
        case Exhausted():
            return _exhausted(row, ending)
        case _:
            assert_never(ending)


def applied(row: CallRow, change: Written, now: datetime) -> CallRow:
    """Give the row with what was written; the caller has compared the tokens."""
    keeps = change.state is CallState.RUNNING
    pending = keeps or change.state is CallState.WAITING
    return replace(
        row,
        state=change.state,
        due=row.due if change.after is None else now + timedelta(seconds=change.after),
        attempts=change.attempts,
        spent=change.spent,
        busy=change.busy,
        fallbacks=change.fallbacks,
        fallback=change.fallback,
        aside_since=(row.aside_since or now) if change.aside else None,
        result=change.result,
        reason=change.reason,
        note=change.note,
        failure=change.failure,
        fallback_failure=change.fallback_failure,
        first_cause=change.first_cause,
        token=row.token if keeps else None,
        worker=row.worker if keeps else None,
        lease_until=row.lease_until if keeps else None,
        ended_at=None if pending else now,
        etag=row.etag + 1,
        updated_at=now,
    )


def _of(row: CallRow, state: CallState, failure: Failure | None = None, **changed: Any) -> Written:  # noqa: ANN401 - fields
    """Give what is stored: what the row says, but for what has `changed`; without a failure, the one it had."""
    kept: dict[str, Any] = {
        "after": None,
        "attempts": row.attempts,
        "spent": row.spent,
        "busy": row.busy,
        "fallbacks": row.fallbacks,
        "fallback": row.fallback,
        "aside": False,
        "result": None,
        "reason": None,
        "note": "",
        "failure": failure or row.failure,
        "fallback_failure": row.fallback_failure,
        "first_cause": row.first_cause or failure,
    }
    return Written(row.id, row.token or "", state, **(kept | changed))


def _given_back(row: CallRow) -> dict[str, Any]:
    """Take the charge of the claim back; one for the fallback charged none of the calls, but one of its begins."""
    if row.fallback is Fallback.BEGUN:
        return {"fallbacks": row.fallbacks - 1, "reason": row.reason}
    return {"attempts": row.attempts - 1, "spent": row.spent - 1}


def _exhausted(row: CallRow, ending: Exhausted) -> Written:
    changed: dict[str, Any] = {
        "reason": ending.reason,
        "note": ending.note,
        "fallback": ending.fallback,
        "fallback_failure": ending.fallback_failure,
    }
    if ending.uncharged and row.fallback is not Fallback.BEGUN:
        changed |= _given_back(row)
    return _of(row, CallState.EXHAUSTED, ending.failure, **changed)
