"""The log of events: appending (what producers see) and reading (what the feed and the drains need).

Within a slot positions are 1, 2, 3 … without gaps and become visible in that order: a reader that has seen `n` will
never find anything at or below `n` later (L4). Between slots there is no order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

    from pydantic import BaseModel

    from wow_ray.events import AggregateRef, Commit, NewCommit, Scope, StoredEvent


class EventStore(Protocol):
    """What a producer does with the log, inside `async with app.connect()`."""

    async def append(
        self,
        ref: AggregateRef,
        events: Sequence[BaseModel],
        *,
        expected_version: int | None,
        scope: Scope | None = None,
        commit_id: str | None = None,
        headers: Mapping[str, str] | None = None,
        connection: Any = None,  # noqa: ANN401 - an asyncpg connection; no driver below the adapters
    ) -> Commit:
        """Append the events together as the aggregate's next version.

        `expected_version` is the version before the append: 0 = the aggregate must not exist, `None` = not checked.
        Repeating a `commit_id` answers the first `Commit` and appends nothing. With `connection` the append joins its
        open transaction and holds the slot until that ends: append last, and several aggregates with one
        `append_many` (L4).

        Raises `ConcurrencyError`, `EventTooLargeError`, `InvalidEventError`, or `StoreUnavailableError` with unknown
        outcome, after which the same call with a `commit_id` may be repeated safely.
        """
        ...

    async def append_many(self, commits: Sequence[NewCommit], *, connection: Any = None) -> tuple[Commit, ...]:  # noqa: ANN401 - as above
        """Append to several aggregates in one transaction, slots in order, all or nothing; answers in order."""
        ...

    def stream(self, ref: AggregateRef, *, from_version: int = 1) -> AsyncIterator[StoredEvent]:
        """Read one aggregate's events in order from a version on, in pages, up to what is there then."""
        ...


@dataclass(frozen=True, slots=True)
class Range:
    """A part of one slot to read: positions in (after, to], at most `limit` rows of it."""

    slot: int
    after: int
    to: int
    limit: int


@dataclass(frozen=True, slots=True)
class Interest:
    """Which rows a reader wants: those whose (aggregate, type) is in `types` or whose aggregate is in `aggregates`.

    A superset may be answered (a type of the same name in another aggregate), never less.
    """

    types: frozenset[tuple[str, str]]
    aggregates: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Page:
    """What a read of ranges answered: rows by slot, then position, and for each slot how far was read.

    `reached[slot]` is the range's `to`, or the last row's position when the range's limit or the page's 8 MB ended it
    (H7, H48).
    """

    rows: list[StoredEvent]
    reached: dict[int, int]


@dataclass(frozen=True, slots=True)
class StreamWant:
    """A part of one aggregate's stream: from (version, sequence) on, included, no position above `to_position`."""

    slot: int
    aggregate: str
    aggregate_id: str
    version: int
    sequence: int
    to_position: int


class LogReader(Protocol):
    """What the runtime reads. None of it holds a snapshot longer than its one statement (H47)."""

    @property
    def connections(self) -> int:
        """How many times it has connected; with each, another database may be what answers (H14)."""
        ...

    async def heads(self, slots: Sequence[int]) -> dict[int, int]:
        """Give each slot's last position (0 = empty)."""
        ...

    async def page(self, ranges: Sequence[Range], interest: Interest) -> Page:
        """Read the ranges; at least one row is answered of any range that holds a wanted one."""
        ...

    async def at(self, places: Iterable[tuple[int, int]]) -> list[StoredEvent]:
        """Read single rows by (slot, position), ordered by both; missing ones are left out."""
        ...

    async def streams(self, wants: Sequence[StreamWant], limit: int) -> list[list[StoredEvent]]:
        """Read parts of several streams in one statement, at most `limit` rows of each; answers in the order asked."""
        ...

    async def identity(self) -> str:
        """Name the server and its timeline; another answer than before means the log may have gone back (H14)."""
        ...
