"""The pieces that a row's changes are made of: how it stands after so many retries, fresh, changed, moved."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from wow_ray.policy.budget import ParkedRetries, jitter_up, wait
from wow_ray.policy.parked_row import FOR_A_PERSON, OPEN, Cause, Place, Reason, Row, State, Stop


def standing(
    reason: Reason, retries: int, now: datetime, dice: float, limits: ParkedRetries
) -> tuple[State, datetime | None]:
    """Answer how a row stands that has used so many retries: parked with the next due, or waiting for a person."""
    if reason in FOR_A_PERSON or retries >= limits.max_retries:
        return State.EXHAUSTED, None
    delay = wait(limits.initial_delay, limits.multiplier, limits.max_delay, retries + 1)
    return State.PARKED, now + timedelta(seconds=jitter_up(delay, dice, limits.max_delay))


def fresh(
    place: Place, stop: Stop, cause: Cause, *, state: State, due: datetime | None, now: datetime, told: bool = False
) -> Row:
    """Make a new row."""
    return Row(
        id=place.id,
        group=place.group,
        subscription=stop.subscription,
        slot=place.slot,
        aggregate=place.aggregate,
        aggregate_id=place.aggregate_id,
        state=state,
        reason=cause.reason,
        stopped_version=stop.version,
        stopped_sequence=stop.sequence,
        stopped_position=stop.position,
        failure=cause.failure,
        first_cause=cause.first or cause.failure,
        attempts=cause.attempts,
        backpressure=cause.backpressure,
        retries=0,
        next_due=due,
        begun=False,
        skip_through=None,
        etag=1,
        parked_at=now,
        updated_at=now,
        told=told,
    )


def changed(row: Row, now: datetime, **changes: Any) -> Row:  # noqa: ANN401 - the fields of a row, checked by it
    """Answer the open row changed, with the next etag and, unless `begun` is among the changes, no call running."""
    if row.state not in OPEN:
        raise ValueError(f"row {row.id} ended as {row.state}; nothing changes it any more")
    return replace(row, **{"begun": False, "etag": row.etag + 1, "updated_at": now, **changes})


def moved(row: Row, stop: Stop, cause: Cause, now: datetime, **changes: Any) -> Row:  # noqa: ANN401 - as `changed`
    """Answer the row stopped at `stop` for `cause`; the first cause is kept only at the same event."""
    mark = (stop.version, stop.sequence)
    if mark < row.stopped:
        raise ValueError(f"row {row.id} is stopped at {row.stopped}; it cannot go back to {mark}")
    first = cause.first or cause.failure
    return changed(
        row,
        now,
        subscription=stop.subscription,
        stopped_version=stop.version,
        stopped_sequence=stop.sequence,
        stopped_position=stop.position,
        failure=cause.failure,
        first_cause=(row.first_cause or first) if mark == row.stopped else first,
        attempts=cause.attempts,
        backpressure=cause.backpressure,
        retries=row.retries if mark == row.stopped else 0,
        suspicions=0,
        **changes,
    )


def moved_up(row: Row, stop: Stop) -> Row:
    """Answer the row standing at its next event instead of right behind the last one; not a change by itself."""
    if (stop.version, stop.sequence) < row.stopped:
        raise ValueError(f"row {row.id} is stopped at {row.stopped}; it cannot go back to {stop}")
    return replace(
        row,
        subscription=stop.subscription,
        stopped_version=stop.version,
        stopped_sequence=stop.sequence,
        stopped_position=stop.position,
    )
