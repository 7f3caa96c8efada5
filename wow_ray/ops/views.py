"""What operators are shown, as frozen values; `to_json` gives plain JSON, times in ISO 8601 and UTC.

Texts of errors come from handlers and may hold anything; whoever shows them on a terminal or a page makes them harmless
there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from wow_ray.failure import Failure
from wow_ray.ops.known import Known, Missing
from wow_ray.ops.plain import View, plain
from wow_ray.policy.parked import Row, Verb
from wow_ray.ports.slots import AttemptNote

__all__ = [
    "Applied",
    "AttemptView",
    "Count",
    "ErrorView",
    "HeldView",
    "ParkedDetail",
    "ParkedPage",
    "ParkedView",
    "Pending",
    "View",
    "plain",
]


@dataclass(frozen=True, slots=True)
class ErrorView(View):
    """A failure without its traceback; `source` says who chose the category."""

    category: str
    source: str
    type: str
    message: str
    fingerprint: str

    @classmethod
    def of(cls, failure: Failure | None) -> ErrorView | None:
        """View a failure, `None` when there is none."""
        if failure is None:
            return None
        return cls(failure.category.value, failure.source, failure.type, failure.message, failure.fingerprint)


@dataclass(frozen=True, slots=True)
class ParkedView(View):
    """One ledger row. `stopped_at` is `version:sequence` of the first event not done.

    `missing` and `note` say that its group or handler is gone (P14); `note` is empty when nothing is.
    """

    id: str
    group: str
    subscription: str
    aggregate: str
    aggregate_id: str
    slot: int
    state: str
    reason: str
    stopped_at: str
    attempts: int
    retries: int
    next_due: datetime | None
    etag: int
    parked_at: datetime
    updated_at: datetime
    error: ErrorView | None
    missing: Missing | None
    note: str
    context: str = ""

    @classmethod
    def of(cls, row: Row, known: Known) -> ParkedView:
        """View a row."""
        return cls(
            id=row.id,
            group=row.group,
            subscription=row.subscription,
            aggregate=row.aggregate,
            aggregate_id=row.aggregate_id,
            slot=row.slot,
            state=row.state.value,
            reason=row.reason.value,
            stopped_at=f"{row.stopped_version}:{row.stopped_sequence}",
            attempts=row.attempts,
            retries=row.retries,
            next_due=row.next_due,
            etag=row.etag,
            parked_at=row.parked_at,
            updated_at=row.updated_at,
            error=ErrorView.of(row.failure),
            missing=known.missing(row.group, row.subscription),
            note=known.note(row.group, row.subscription),
            context=known.context,
        )


@dataclass(frozen=True, slots=True)
class ParkedPage(View):
    """Some rows in the order of their ids; `next` is the `after` of the next page, `None` = this is the last."""

    rows: tuple[ParkedView, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class Count(View):
    """How many rows there are; not `exact` = at least so many."""

    rows: int
    exact: bool


@dataclass(frozen=True, slots=True)
class AttemptView(View):
    """One kept attempt: `kind` is live, retry, drain or operator; `error` is `None` for an operator's command."""

    kind: str
    at: datetime
    error: ErrorView | None

    @classmethod
    def of(cls, note: AttemptNote) -> AttemptView:
        """View an attempt."""
        return cls(note.kind, note.at, ErrorView.of(note.failure))


@dataclass(frozen=True, slots=True)
class HeldView(View):
    """The events that wait behind the row, itself included: how many, from which version through which one.

    A skip without `through_version` passes over all that are held when it is applied; given this `through_version` it
    passes over no more than was seen here. `more` = there are more than were counted.
    """

    events: int
    from_version: int | None
    through_version: int | None
    more: bool


@dataclass(frozen=True, slots=True)
class ParkedDetail(View):
    """Everything about one row: tracebacks, the first error when it was another, what is held, the kept attempts."""

    row: ParkedView
    backpressure: int
    skip_through: str | None
    traceback: str
    first_cause: ErrorView | None
    first_traceback: str
    held: HeldView
    history: tuple[AttemptView, ...]


@dataclass(frozen=True, slots=True)
class Applied(View):
    """A command that the owner of the slot has carried out; `outcome` of a skip says exactly what was passed over."""

    request_id: str
    verb: Verb
    row: ParkedView | None
    outcome: Mapping[str, Any]
    asked_at: datetime
    ended_at: datetime | None
    state: Literal["done"] = field(default="done", init=False)


@dataclass(frozen=True, slots=True)
class Pending(View):
    """A command that is stored and not applied yet; it will be, also when nobody waits. `note` says for what."""

    request_id: str
    verb: Verb
    asked_at: datetime
    note: str
    state: Literal["pending"] = field(default="pending", init=False)
