"""What an operator's command does to a ledger row: apply it, refuse it and say why, or wait for a running call."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import assert_never

from wow_ray.policy.parked_life import ended, held_back, hurried, resume, skip
from wow_ray.policy.parked_row import OPEN, Reason, Row, State


class Verb(StrEnum):
    """What may be asked: of an aggregate in a group (P9, P10), a group, a durable call (F7), a notice (P13), a plan."""

    RESUME = "resume"
    RETRY_NOW = "retry_now"
    SKIP = "skip"
    SKIP_ONE = "skip_one"
    PARK = "park"
    RESET = "reset"
    PAUSE = "pause"
    END_PAUSE = "end_pause"
    RETRY_CALL = "retry_call"
    CANCEL_CALL = "cancel_call"
    DISCARD_CALL = "discard_call"
    SCALE = "scale"
    RESEND_NOTICE = "resend_notice"
    TEST_WEBHOOK = "test_webhook"


@dataclass(frozen=True, slots=True)
class Apply:
    """Commit `row` together with the intent's outcome, and go on as it says."""

    row: Row


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer the operator that nothing was done; `code` is stable, `text` says what is the case instead.

    Codes: `not_found` (no row), `ended` (history), `conflict` (stale etag), `already` (it is so; hence twenty resumes
    make one drain), `exhausted` (asks for a resume), `nothing_to_skip`, `kept` (a reset does not concern the row),
    `no_row` (nor does a pause).
    """

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Later:
    """A call of the row runs: apply the command when its end has been recorded, by asking again (P10, H41)."""


Outcome = Apply | Refuse | Later


def decide_intent(  # noqa: C901, PLR0911 - one answer a verb
    row: Row | None,
    verb: Verb,
    etag: int | None,
    *,
    now: datetime,
    through: tuple[int, int] | None = None,
    held: tuple[int, int] | None = None,
    target: int = 0,
    fresh: Row | None = None,
    calling: bool | None = None,
) -> Outcome:
    """Answer what a command does to the row as its owner has it at this moment.

    `etag` is the row's as the operator saw it, `None` for any (see `_barred`). `through` is how far `SKIP` goes
    ((version, `LAST_SEQUENCE`) for a whole version), else `held`, the last event held now, else the stop alone;
    `SKIP_ONE` passes over one event only, the first held (`held`). `RETRY_NOW` makes the next parked retry due.
    `RESET` closes a row stopped at position `target` or above. `PARK` without a row applies `fresh`, made by `parked`
    with reason `OPERATOR`. `calling`: a call of the row runs at this moment; not given, `row.begun` says so.
    """
    if row is None:
        return Apply(fresh) if verb is Verb.PARK and fresh is not None else _NO_ROW
    barred = _barred(row, verb, etag, calling=row.begun if calling is None else calling)
    if barred is not None:
        return barred
    match verb:
        case Verb.RESUME:
            return _DRAINS if row.draining else Apply(resume(row, now))
        case Verb.RETRY_NOW:
            return _hurried(row, now)
        case Verb.SKIP:
            return _skipped(row, through or held or row.stopped, now)
        case Verb.SKIP_ONE:
            return _skipped(row, held or row.stopped, now)
        case Verb.PARK:
            return _held_back(row, now)
        case Verb.RESET:
            return _reset(row, target, now)
        case Verb.PAUSE | Verb.END_PAUSE:
            return _OF_A_GROUP
        case Verb.RETRY_CALL | Verb.CANCEL_CALL | Verb.DISCARD_CALL:
            return _OF_A_CALL
        case Verb.SCALE | Verb.RESEND_NOTICE | Verb.TEST_WEBHOOK:
            return _OF_NO_ROW
        case _:
            assert_never(verb)


_NO_ROW = Refuse("not_found", "the aggregate has no open row in this group")
_OF_A_GROUP = Refuse("no_row", "a pause is of a whole group; it changes no row")
_OF_A_CALL = Refuse("no_row", "that is asked of a durable call; it changes no row")
_OF_NO_ROW = Refuse("no_row", "that is asked of the plan or of a notice; it changes no row")
_DRAINS = Refuse("already", "it is draining already")


def _barred(row: Row, verb: Verb, etag: int | None, *, calling: bool) -> Refuse | Later | None:
    """Answer what keeps any command from being applied now.

    A stale etag does, except that `PARK` stops a drain whatever its etag, since a drain changes it with every event
    (H41). A running call does; a drain that waits between two calls runs none and is commanded at once.
    """
    if row.state not in OPEN:
        return Refuse("ended", f"the row has ended as {row.state}")
    if etag not in {None, row.etag} and not (verb is Verb.PARK and row.draining):
        return Refuse("conflict", f"the row has changed since: it is {_shown(row)}, etag {row.etag}")
    return Later() if calling else None


def _hurried(row: Row, now: datetime) -> Apply | Refuse:
    """Make the next call due, where there is a next one."""
    if row.state is State.EXHAUSTED:
        return Refuse("exhausted", "its automatic retries are over; resume it, which gives a fresh budget")
    if row.state is State.RETRYING:
        return _DRAINS
    return Apply(hurried(row, now))


def _skipped(row: Row, through: tuple[int, int], now: datetime) -> Apply | Refuse:
    """Skip through an event, where that is still ahead."""
    if through < row.stopped:
        return Refuse("nothing_to_skip", f"everything through {_place(through)} is done; it is {_shown(row)}")
    return Apply(skip(row, through, now))


def _held_back(row: Row, now: datetime) -> Apply | Refuse:
    """Park on purpose, once."""
    if row.state is State.EXHAUSTED and row.reason is Reason.OPERATOR:
        return Refuse("already", "it is parked on purpose already")
    return Apply(held_back(row, now))


def _reset(row: Row, target: int, now: datetime) -> Apply | Refuse:
    """Close a row that a reset to position `target` makes pointless (L6)."""
    if row.stopped_position < target:
        return Refuse("kept", f"it stopped at position {row.stopped_position}, before the reset to {target}")
    return Apply(ended(row, now, State.RESET))


def _shown(row: Row) -> str:
    """Say how a row stands."""
    return f"{row.state} at {_place(row.stopped)}"


def _place(mark: tuple[int, int]) -> str:
    """Write a place of a stream as `version:sequence`."""
    return f"{mark[0]}:{mark[1]}"
