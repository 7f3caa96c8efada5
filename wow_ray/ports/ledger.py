"""The failure ledger as it is read, and the intents that operators leave in it.

Only the owner of a slot changes a row, inside `SlotStore.commit` (H5). Everybody else reads, and stores an intent
that the owner applies; that intent is the audit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from wow_ray.policy.parked import Row, State, Verb
    from wow_ray.ports.slots import AttemptNote


@dataclass(frozen=True, slots=True)
class NewIntent:
    """What an operator asks for.

    `request_id` makes it idempotent; `etag` is that of the row as the operator saw it (`None` = any).

    `through_version` is how far to skip (`None` = the last event held when the intent is applied).
    """

    request_id: str
    verb: Verb
    group: str
    slot: int
    aggregate: str
    aggregate_id: str
    row_id: str | None
    etag: int | None
    through_version: int | None
    actor: str
    reason: str


@dataclass(frozen=True, slots=True)
class Intent:
    """A stored intent.

    `state` is `asked` until its owner has applied it (`done`) or not (`refused`, with code and text).
    """

    id: int
    request: NewIntent
    state: Literal["asked", "done", "refused"]
    code: str
    text: str
    outcome: Mapping[str, Any]
    asked_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Which rows to list; `None` = any. `states` empty = no row (an empty selection selects nothing, P12)."""

    states: frozenset[State]
    group: str | None = None
    subscription: str | None = None
    aggregate: str | None = None
    aggregate_id: str | None = None
    fingerprint: str | None = None
    after: str | None = None
    limit: int = 100


class Ledger(Protocol):
    """Rows, their history, intents."""

    async def row(self, row_id: str) -> Row | None:
        """Give the row, also an ended one; `None` = there never was one of that id."""
        ...

    async def open_row(self, group: str, aggregate: str, aggregate_id: str) -> Row | None:
        """Give the aggregate's open row of the group, or `None`."""
        ...

    async def rows(self, wanted: RowFilter) -> Sequence[Row]:
        """List rows by id, keyset-paged: at most `limit`, those after `after`."""
        ...

    async def counts(self) -> Mapping[tuple[str, State], int]:
        """Count the open rows by group and state."""
        ...

    async def due(self, slots: Sequence[int], subscriptions: Sequence[str], limit: int) -> Sequence[Row]:
        """Give parked rows of these subscriptions whose next retry is due by the store's clock, oldest first.

        Rows of a handler that the asking program does not have are left out, so that they never take others' place.
        """
        ...

    async def attempts(self, row_id: str) -> Sequence[AttemptNote]:
        """Give the row's kept history, oldest first."""
        ...

    async def ask(self, intent: NewIntent) -> Intent:
        """Store an intent, or give the one already stored under that `request_id`."""
        ...

    async def intent(self, request_id: str) -> Intent | None:
        """Give an intent as it stands."""
        ...

    async def open_intents(self, slots: Sequence[int]) -> Sequence[Intent]:
        """Give the intents of these slots that wait to be applied, oldest first."""
        ...

    async def notices(self, after: int, limit: int) -> Sequence[tuple[int, str, str]]:
        """Give facts from the outbox as (number, kind, row id), oldest first; those that are to be told by now (H15).

        One that was withheld keeps the number it was given with its commit.
        """
        ...
