"""The life of a parked aggregate: every change of its ledger row.

    (fresh stop) -> PARKED or EXHAUSTED    (spill) -> WAITING
    PARKED, WAITING --begin--> RETRYING --advanced...--> ended
    RETRYING --failed--> PARKED or EXHAUSTED    RETRYING --stopped_again--> PARKED or EXHAUSTED
    any open state --resume, skip--> RETRYING    PARKED, EXHAUSTED, WAITING --reopened--> WAITING

Two things run as RETRYING: the single call of a parked retry (`next_due` kept; its failure goes to `failed`), and a
drain under the normal budget (`next_due` is None: after `resume`, `skip`, a begun `WAITING` row, or the first
`advanced`; its failures go through `decide`, and what that parks goes to `stopped_again`).

Each function answers a new row whose etag is one more, and raises `ValueError` where the change is not allowed: that
is a fault of the caller. `now` is the store's time, aware; `dice` is chance in [0, 1).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import assert_never

from wow_ray.failure import Category, Failure
from wow_ray.policy.budget import ParkedRetries, jitter_up
from wow_ray.policy.parked_changes import changed, fresh, moved, moved_up, standing
from wow_ray.policy.parked_row import OPEN, Cause, Place, Reason, Row, State, Stop
from wow_ray.policy.suspicion import DEATHS, passed_by


def parked(place: Place, stop: Stop, cause: Cause, *, now: datetime, dice: float, limits: ParkedRetries) -> Row:
    """Make the row of a fresh stop, etag 1.

    `PARKED` with the first retry due `initial_delay` after now or up to a quarter later, never earlier (P6, H35); for
    a reason that is `FOR_A_PERSON`, or when there are no automatic retries, `EXHAUSTED` with nothing due (D1, P14).
    A row that is `NOT_ENDING` is `PARKED`, but must not be begun while the old call may still run.
    """
    state, due = standing(cause.reason, 0, now, dice, limits)
    return fresh(place, stop, cause, state=state, due=due, now=now, told=True)


def spilled(place: Place, stop: Stop, cause: Cause, due: datetime, now: datetime) -> Row:
    """Make the `WAITING` row of an aggregate whose in-budget wait goes through the ledger, etag 1 (P5, H6).

    The budgets in `cause` go on counting; `reason` says which of them is being spent. `due` = `now` for one that
    merely has too many events waiting.
    """
    return fresh(place, stop, cause, state=State.WAITING, due=due, now=now)


def spilled_again(row: Row, stop: Stop, cause: Cause, due: datetime, now: datetime) -> Row:
    """Put a draining row back to `WAITING` until `due`, its budgets as in `cause`; the mark moves up to `stop`."""
    if not row.draining:
        raise ValueError(f"row {row.id} is {row.state} and does not drain; only a drain can spill")
    return moved(row, stop, cause, now, state=State.WAITING, reason=cause.reason, next_due=due)


def begin(row: Row, now: datetime, stop: Stop | None = None) -> Row:
    """Note that a call is about to begin; to be committed before the call (H10).

    A due `PARKED` row becomes the single call of a parked retry, a due `WAITING` row a drain under the budgets it
    kept; a draining row goes on, with `stop` at that event, its next one, so that the row says which it is. Everything
    else is refused: above all `EXHAUSTED` (P8) and what is not due.
    """
    if row.draining:
        at = row if stop is None else moved_up(row, stop)
        return changed(at, now, begun=True)
    if not row.is_due(now):
        raise ValueError(f"row {row.id} is {row.state}, due {row.next_due}: no call of it may begin at {now}")
    due = row.next_due if row.state is State.PARKED else None
    return changed(row, now, state=State.RETRYING, begun=True, next_due=due)


def failed(
    row: Row,
    category: Category,
    failure: Failure,
    *,
    now: datetime,
    dice: float,
    limits: ParkedRetries,
    retry_after: float | None = None,
) -> Row:
    """Record the failure of a parked retry's single call (P6, P7, P8, H35).

    Recoverable costs one retry: the next is due after the next longer wait, or the row is `EXHAUSTED` after the
    last. Unrecoverable costs it too and exhausts at once. Systemic and backpressure cost none and move the due time by
    `initial_delay`, or by `retry_after` seconds when that is longer. `category` is what counts, also where the caller
    judges otherwise than `failure.category` ("systemic by class, but others succeed", W5).
    """
    if row.state is not State.RETRYING or row.draining:
        raise ValueError(f"row {row.id} is {row.state}, draining={row.draining}: no parked retry of it runs")
    stands: tuple[State, datetime | None] = (State.EXHAUSTED, None)
    retries, reason = row.retries + 1, row.reason
    match category:
        case Category.SYSTEMIC | Category.BACKPRESSURE:
            delay = jitter_up(max(limits.initial_delay, retry_after or 0.0), dice, None)
            stands, retries = (State.PARKED, now + timedelta(seconds=delay)), row.retries
        case Category.UNRECOVERABLE:
            reason = Reason.UNRECOVERABLE
        case Category.RECOVERABLE:
            stands = standing(reason, retries, now, dice, limits)
        case _:
            assert_never(category)
    first = row.first_cause or failure
    state, due = stands
    return changed(
        row,
        now,
        state=state,
        next_due=due,
        retries=retries,
        reason=reason,
        failure=failure,
        first_cause=first,
        suspicions=0,
    )


def advanced(row: Row, version: int, sequence: int, position: int, now: datetime) -> Row:
    """Record that the event at (version, sequence), in the log at `position`, is done or passed over (P6).

    The mark moves right behind it, every count starts fresh, errors are forgotten (the history has them), and the row
    drains on: with a call still begun, unless it is under suspicion, when each call is begun for itself (H10). Refused
    for an event before the mark and for a row that is not `RETRYING`.
    """
    if row.state is not State.RETRYING or (version, sequence) < row.stopped:
        raise ValueError(f"row {row.id} is {row.state} at {row.stopped}: it cannot have done {version, sequence}")
    return changed(
        row,
        now,
        stopped_version=version,
        stopped_sequence=sequence + 1,
        stopped_position=position + 1,
        failure=None,
        first_cause=None,
        attempts=0,
        backpressure=0,
        retries=0,
        next_due=None,
        begun=row.begun and not row.suspicions,
        suspicions=passed_by(row.suspicions),
    )


def stopped_again(row: Row, stop: Stop, cause: Cause, *, now: datetime, dice: float, limits: ParkedRetries) -> Row:
    """Park an aggregate that has an open row (P3, H29).

    At a greater event it is a new stop with a fresh count, in whatever state the row was. At the same event a row
    that is `PARKED` or `EXHAUSTED` changes only its diagnostics; one that was called again (`RETRYING`, `WAITING`) is
    parked there, keeping its first cause and the retries it used (none after a resume; one more if this was a parked
    retry). A smaller event is refused.
    """
    same = (stop.version, stop.sequence) == row.stopped
    if same and row.state in {State.PARKED, State.EXHAUSTED}:
        return changed(row, now, failure=cause.failure)
    retries = 0 if not same else row.retries + (row.state is State.RETRYING and not row.draining)
    state, due = standing(cause.reason, retries, now, dice, limits)
    again = moved(row, stop, cause, now, state=state, reason=cause.reason, next_due=due, skip_through=None, told=True)
    return replace(again, retries=retries)


def resume(row: Row, now: datetime) -> Row:
    """Drain from the stopped mark with a fresh budget and fresh retries (P9); also reopens after an outage (H15).

    A skip that was answered and not carried out yet stays: its answer said what is passed over.
    """
    ahead = row.skip_through is not None and row.skip_through >= row.stopped
    return _drained_from_mark(row, now, skip_through=row.skip_through if ahead else None)


def skip(row: Row, through: tuple[int, int], now: datetime) -> Row:
    """Drain from the stopped mark, passing over the held events up to and including `through` (P9).

    The drain answers `passes_over` for them and records each with `advanced`; later events are handled. Refused when
    `through` is before the mark.
    """
    if through < row.stopped:
        raise ValueError(f"row {row.id} is already at {row.stopped}; there is nothing to skip through {through}")
    return _drained_from_mark(row, now, skip_through=max(through, row.skip_through or through))


def reopened(row: Row, now: datetime) -> Row:
    """Take back a park or a spill that an outage caused: `WAITING`, due at once, budgets fresh, nobody told (H15)."""
    if row.state not in {State.PARKED, State.EXHAUSTED, State.WAITING}:
        raise ValueError(f"row {row.id} is {row.state}; only one that stands still can be taken back")
    return changed(row, now, state=State.WAITING, attempts=0, backpressure=0, retries=0, next_due=now, told=False)


def given_back(row: Row, now: datetime) -> Row:
    """Take back a begun call that our own shutdown, drain or pause ended: it costs nothing (P7).

    A parked retry is due again at once; a drain goes on where it was.
    """
    if row.state is not State.RETRYING:
        raise ValueError(f"row {row.id} is {row.state}: no call of it runs")
    if row.draining:
        return changed(row, now)
    return changed(row, now, state=State.PARKED, next_due=now)


def interrupted(row: Row, now: datetime, limits: ParkedRetries, crash: Failure | None = None) -> Row:
    """Judge a row as a new owner finds it after an end that was no stop (H5, H10).

    A call found begun counts as one retry: a parked retry is then due after the next longer wait, a drain goes on by
    itself, either is `EXHAUSTED` when that was the last. With `crash`, which says that the process died, it counts as
    one suspicion as well, and the third makes the row `CRASHED_WORKER`, with `crash` as its failure (P15). Any other
    row is answered as it is, etag and all.
    """
    if row.state is not State.RETRYING or not row.begun:
        return row
    retries, suspicions = row.retries + 1, row.suspicions + (crash is not None)
    if crash is not None and suspicions >= DEATHS:
        return changed(
            row,
            now,
            state=State.EXHAUSTED,
            reason=Reason.CRASHED_WORKER,
            next_due=None,
            retries=retries,
            failure=crash,
            first_cause=row.first_cause or crash,
            suspicions=suspicions,
            told=True,
        )
    if row.draining and retries < limits.max_retries:
        return changed(row, now, retries=retries, suspicions=suspicions)
    state, due = standing(row.reason, retries, now, 0.0, limits)
    return changed(row, now, state=state, next_due=due, retries=retries, suspicions=suspicions)


def ended(row: Row, now: datetime, outcome: State | None = None) -> Row:
    """Close a row for good.

    Without `outcome` the drain has caught up and hands over: `SKIPPED` when an operator had events passed over since
    the last stop, else `RESOLVED`. `RESET` and `NOTHING_TO_READ` (H40) close any open row in which no call runs.
    """
    if outcome is None:
        outcome = State.RESOLVED if row.skip_through is None else State.SKIPPED
    drained = row.state is State.RETRYING or outcome in {State.RESET, State.NOTHING_TO_READ}
    if outcome in OPEN or row.state not in OPEN or not drained:
        raise ValueError(f"row {row.id} is {row.state} and cannot end as {outcome}")
    return changed(row, now, state=outcome, next_due=None)


def held_back(row: Row, now: datetime) -> Row:
    """Stop an open row on purpose: `EXHAUSTED`, reason `OPERATOR`, errors kept (H41). A running drain stops as well."""
    return changed(row, now, state=State.EXHAUSTED, reason=Reason.OPERATOR, next_due=None, told=True)


def hurried(row: Row, now: datetime) -> Row:
    """Make the next call of a `PARKED` or `WAITING` row due at once; it counts as if it had come in its time."""
    if row.state not in {State.PARKED, State.WAITING}:
        raise ValueError(f"row {row.id} is {row.state}; only a row that waits for its time can be hurried")
    return changed(row, now, next_due=now)


def _drained_from_mark(row: Row, now: datetime, *, skip_through: tuple[int, int] | None) -> Row:
    """Answer the row as a drain from its mark, every count fresh."""
    return changed(
        row,
        now,
        state=State.RETRYING,
        attempts=0,
        backpressure=0,
        retries=0,
        next_due=None,
        skip_through=skip_through,
        suspicions=0,
        told=True,
    )
