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

    from wow_ray.failure import Category
    from wow_ray.policy.parked import Reason, Row, State, Verb
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
    """Which rows are meant; `None` = any. `states` empty = no row (an empty selection selects nothing, P12).

    `error_type` is the whole name of the error's class; `text` stands anywhere in its name or its message, in letters
    of either case. Rows are listed by id, which is oldest first, or with `newest_first` the other way round; `after` is
    the id of the last row seen. Who counts or groups rows looks at all of them, whatever `after` and `limit`.
    """

    states: frozenset[State]
    group: str | None = None
    subscription: str | None = None
    aggregate: str | None = None
    aggregate_id: str | None = None
    fingerprint: str | None = None
    after: str | None = None
    limit: int = 100
    reason: Reason | None = None
    category: Category | None = None
    error_type: str | None = None
    text: str | None = None
    stopped_version: int | None = None
    newest_first: bool = False


@dataclass(frozen=True, slots=True)
class Alike:
    """Rows whose last errors have one fingerprint; `None` = those without an error, parked on purpose.

    `first` and `last` are when the first and the last of them were parked; the rest is that of the newest row. Not
    `exact` = at least so many: the newest that are wanted were looked at, not all.
    """

    fingerprint: str | None
    rows: int
    first: datetime
    last: datetime
    category: Category | None
    type: str
    message: str
    subscription: str
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Counted:
    """How many rows there are; not `exact` = at least so many."""

    rows: int
    exact: bool


@dataclass(frozen=True, slots=True)
class Looked:
    """Rows in their order, and `through` which id was looked for them; `None` = to the end, there are no more."""

    rows: Sequence[Row]
    through: str | None


@dataclass(frozen=True, slots=True)
class ActionFilter:
    """Which actions of operators are meant, `None` = any; `before` is the id of the last one seen, newest first."""

    group: str | None = None
    aggregate: str | None = None
    aggregate_id: str | None = None
    actor: str | None = None
    before: int | None = None
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

    async def look(self, wanted: RowFilter) -> Looked:
        """List rows as `rows` does, but look only so far for a text: there may be fewer than `limit`, and more."""
        ...

    async def count(self, wanted: RowFilter, most: int) -> Counted:
        """Count rows, and stop at `most` or when enough were looked at."""
        ...

    async def alike(self, wanted: RowFilter, limit: int) -> Sequence[Alike]:
        """Group rows by the fingerprint of their last error: at most `limit` groups, those of most rows first.

        Where that means to look at each row, the newest are looked at.
        """
        ...

    async def categories(self, states: frozenset[State]) -> Mapping[Category | None, int]:
        """Count the open rows in these states by the category of their last error; `None` = they have none."""
        ...

    async def actions(self, wanted: ActionFilter) -> Sequence[Intent]:
        """List what operators asked for, the newest first: the audit."""
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
