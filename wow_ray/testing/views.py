"""What a test sees of a parked aggregate."""

from __future__ import annotations

from dataclasses import dataclass

from wow_ray.events import AggregateRef
from wow_ray.policy.parked import Reason, Row, State


@dataclass(frozen=True, slots=True)
class ParkedView:
    """One parked aggregate of one group, as the ledger had it when it was looked at."""

    id: str
    group: str
    subscription: str
    ref: AggregateRef
    state: State
    reason: Reason
    stopped_version: int
    stopped_sequence: int
    attempts: int
    retries: int
    error: str
    etag: int

    @classmethod
    def of(cls, row: Row) -> ParkedView:
        """View a row of the ledger."""
        failure = row.failure
        return cls(
            id=row.id,
            group=row.group,
            subscription=row.subscription,
            ref=AggregateRef("", row.aggregate, row.aggregate_id),
            state=row.state,
            reason=row.reason,
            stopped_version=row.stopped_version,
            stopped_sequence=row.stopped_sequence,
            attempts=row.attempts,
            retries=row.retries,
            error="" if failure is None else f"{failure.type}: {failure.message}",
            etag=row.etag,
        )
