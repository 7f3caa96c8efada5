"""One row of the failure ledger: where an aggregate stopped in a group, why, and what comes next (P0, P3, P4)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from wow_ray.failure import Failure


class State(StrEnum):
    """What a row waits for: the first four are open, the others ended and history.

    `WAITING`: spilled, its next call is due; not shown as parked. `PARKED`: the next parked retry is due at
    `next_due`. `RETRYING`: one call or a drain runs. `EXHAUSTED`: a person must act; nothing happens by itself.
    """

    WAITING = "waiting"
    PARKED = "parked"
    RETRYING = "retrying"
    EXHAUSTED = "exhausted"
    RESOLVED = "resolved"
    SKIPPED = "skipped"
    RESET = "reset"
    NOTHING_TO_READ = "nothing_to_read"


class Reason(StrEnum):
    """Why an aggregate is in the ledger; for a `WAITING` row, which budget it is spending."""

    UNRECOVERABLE = "unrecoverable"
    BUDGET_SPENT = "budget_spent"
    BACKPRESSURE_SPENT = "backpressure_spent"
    CRASHED_WORKER = "crashed_worker"
    NOT_ENDING = "not_ending"
    UNDECODABLE = "undecodable"
    NO_HANDLER = "no_handler"
    OPERATOR = "operator"


OPEN = frozenset({State.WAITING, State.PARKED, State.RETRYING, State.EXHAUSTED})
"""The states of a row that still holds its aggregate; every other is final."""

FOR_A_PERSON = frozenset(
    {Reason.UNRECOVERABLE, Reason.CRASHED_WORKER, Reason.UNDECODABLE, Reason.NO_HANDLER, Reason.OPERATOR}
)
"""Reasons with which no automatic retry has a point or is safe: such a stop is `EXHAUSTED` from the start (D1, P14)."""

LAST_SEQUENCE = 2**31 - 1
"""Above every sequence: `(version, LAST_SEQUENCE)` means through all events of that version."""


@dataclass(frozen=True, slots=True)
class Place:
    """Which aggregate of which group a row is about; `id` is the row's own, new for each row."""

    id: str
    group: str
    slot: int
    aggregate: str
    aggregate_id: str


@dataclass(frozen=True, slots=True)
class Stop:
    """The event that a row stops at, and the subscription (`Processor.handler`) that it is for."""

    subscription: str
    version: int
    sequence: int
    position: int


@dataclass(frozen=True, slots=True)
class Cause:
    """Why it stops: the last failure, the first one of this event when it was another, and the budgets spent on it."""

    reason: Reason
    failure: Failure | None = None
    first: Failure | None = None
    attempts: int = 0
    backpressure: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """A ledger row as a value; each change of it is a function in `policy.parked` and raises `etag`.

    The stopped mark `(stopped_version, stopped_sequence)` is the first place of the aggregate's stream not yet done:
    everything before it is handled or passed over, reading goes on from it, itself included. After a drained event it
    stands right behind that event, where there need not be one.

    `attempts` and `backpressure` are the budgets spent on the event at the mark, `retries` the parked retries used
    on it. `next_due` is by the store's clock: set while `WAITING` or `PARKED`, and kept while the single call of a
    parked retry runs. `begun`: a call of it has been begun and its end is not recorded. `skip_through`: an operator
    asked to pass over the held events up to and including this (version, sequence). `told`: people were told of it; a
    row that only ever waited within its budget begins and ends silently (P0). `suspicions`: how often the process died
    during the call at the mark; after any, each event of the drain is begun for itself, and alone (P15, H10).
    """

    id: str
    group: str
    subscription: str
    slot: int
    aggregate: str
    aggregate_id: str
    state: State
    reason: Reason
    stopped_version: int
    stopped_sequence: int
    stopped_position: int
    failure: Failure | None
    first_cause: Failure | None
    attempts: int
    backpressure: int
    retries: int
    next_due: datetime | None
    begun: bool
    skip_through: tuple[int, int] | None
    etag: int
    parked_at: datetime
    updated_at: datetime
    told: bool = False
    suspicions: int = 0

    @property
    def stopped(self) -> tuple[int, int]:
        """The stopped mark."""
        return self.stopped_version, self.stopped_sequence

    @property
    def draining(self) -> bool:
        """Whether the row drains under the normal budget, as opposed to the single call of a parked retry."""
        return self.state is State.RETRYING and self.next_due is None

    def is_due(self, now: datetime) -> bool:
        """Whether a call of it may begin by itself at `now`; never of an exhausted or ended row."""
        return self.state in {State.WAITING, State.PARKED} and self.next_due is not None and self.next_due <= now

    def passes_over(self, version: int, sequence: int) -> bool:
        """Whether the operator's skip covers this event, so that a drain passes over it without a call."""
        return self.skip_through is not None and (version, sequence) <= self.skip_through
