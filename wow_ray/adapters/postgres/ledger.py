"""Reading the failure ledger, and leaving intents in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wow_ray.adapters.postgres.connect import Database, Sessions
from wow_ray.adapters.postgres.rows import alike_of, attempt_of, intent_arguments, intent_of, row_of
from wow_ray.failure import Category
from wow_ray.policy.parked import OPEN, Row, State
from wow_ray.ports.ledger import ActionFilter, Alike, Counted, Intent, Looked, NewIntent, RowFilter
from wow_ray.ports.slots import AttemptNote

MOST_LOOKED = 10_000
"""Rows that are looked at for one answer where no index leads to those that are wanted."""


class PostgresLedger:
    """`ports.ledger.Ledger` on Postgres, on at most `size` connections of its own."""

    def __init__(self, database: Database, size: int = 1) -> None:
        """Open nothing yet."""
        # A plan for any filter is a plan for none: which of them are given decides which index serves.
        self._sessions = Sessions(database, "ledger", size, plan_cache_mode="force_custom_plan")

    @property
    def sessions(self) -> Sessions:
        """Its sessions, for what is as small and belongs beside it; closed with it."""
        return self._sessions

    async def row(self, row_id: str) -> Row | None:
        """See the port."""
        return next(iter(await self._rows("row", row_id)), None)

    async def open_row(self, group: str, aggregate: str, aggregate_id: str) -> Row | None:
        """See the port."""
        return next(iter(await self._rows("open_row", group, aggregate, aggregate_id)), None)

    async def rows(self, wanted: RowFilter) -> Sequence[Row]:
        """See the port."""
        given = (*_wanted(wanted), wanted.after, wanted.limit)
        if wanted.newest_first:
            return await self._rows("list_rows_newest", *given)
        return await self._rows("list_rows", *given)

    async def look(self, wanted: RowFilter) -> Looked:
        """See the port."""
        if wanted.text is None:
            rows = await self.rows(wanted)
            return Looked(rows, rows[-1].id if len(rows) == wanted.limit else None)
        given = (*_wanted(wanted), wanted.after, wanted.limit, MOST_LOOKED)
        async with self._sessions.use() as session:
            if wanted.newest_first:
                records = await session.fetch("search_rows_newest", *given)
            else:
                records = await session.fetch("search_rows", *given)
        rows = tuple(row_of(record) for record in records if record["id"] is not None)
        if len(rows) == wanted.limit:
            return Looked(rows, rows[-1].id)
        return Looked(rows, records[0]["through"] if records[0]["looked"] == MOST_LOOKED else None)

    async def count(self, wanted: RowFilter, most: int) -> Counted:
        """See the port."""
        async with self._sessions.use() as session:
            if _is_totalled(wanted):
                found: int = (await session.one("count_totals", *_totalled(wanted)))["rows"]
                return Counted(min(found, most), exact=found <= most)
            size = most + 1 if wanted.text is None else MOST_LOOKED
            seen = await session.one("count_wanted", *_wanted(wanted), size)
        return Counted(min(seen["rows"], most), exact=seen["looked"] < size)

    async def alike(self, wanted: RowFilter, limit: int) -> Sequence[Alike]:
        """See the port."""
        async with self._sessions.use() as session:
            if _is_totalled(wanted):
                records = await session.fetch("alike_totals", *_totalled(wanted), limit)
            else:
                records = await session.fetch("alike", *_wanted(wanted), limit, MOST_LOOKED)
        return tuple(map(alike_of, records))

    async def categories(self, states: frozenset[State]) -> Mapping[Category | None, int]:
        """See the port."""
        async with self._sessions.use() as session:
            rows = await session.fetch("count_categories", sorted(states))
        return {None if row["category"] is None else Category(row["category"]): row["rows"] for row in rows}

    async def actions(self, wanted: ActionFilter) -> Sequence[Intent]:
        """See the port."""
        of = (wanted.group, wanted.aggregate, wanted.aggregate_id, wanted.actor)
        async with self._sessions.use() as session:
            return tuple(map(intent_of, await session.fetch("actions", *of, wanted.before, wanted.limit)))

    async def counts(self) -> Mapping[tuple[str, State], int]:
        """See the port."""
        async with self._sessions.use() as session:
            rows = await session.fetch("count_rows")
        return {(row["group_name"], State(row["state"])): row["rows"] for row in rows}

    async def due(self, slots: Sequence[int], subscriptions: Sequence[str], limit: int) -> Sequence[Row]:
        """See the port."""
        return await self._rows("due_rows", list(slots), list(subscriptions), limit)

    async def attempts(self, row_id: str) -> Sequence[AttemptNote]:
        """See the port."""
        async with self._sessions.use() as session:
            return tuple(map(attempt_of, await session.fetch("attempts", row_id)))

    async def ask(self, intent: NewIntent) -> Intent:
        """See the port."""
        async with self._sessions.use() as session:
            await session.fetch("ask", *intent_arguments(intent))
        stored = await self.intent(intent.request_id)
        assert stored is not None  # noqa: S101 - intents are never deleted
        return stored

    async def intent(self, request_id: str) -> Intent | None:
        """See the port."""
        async with self._sessions.use() as session:
            return next(map(intent_of, await session.fetch("intent", request_id)), None)

    async def open_intents(self, slots: Sequence[int]) -> Sequence[Intent]:
        """See the port."""
        async with self._sessions.use() as session:
            return tuple(map(intent_of, await session.fetch("open_intents", list(slots))))

    async def notices(self, after: int, limit: int) -> Sequence[tuple[int, str, str]]:
        """See the port."""
        async with self._sessions.use() as session:
            return tuple(
                (row["number"], row["kind"], row["row_id"]) for row in await session.fetch("list_notices", after, limit)
            )

    async def close(self) -> None:
        """End the sessions."""
        await self._sessions.close()

    async def _rows(self, name: str, *args: object) -> tuple[Row, ...]:
        """Run a statement that reads ledger rows."""
        async with self._sessions.use() as session:
            return tuple(map(row_of, await session.fetch(name, *args)))


def _is_totalled(wanted: RowFilter) -> bool:
    """Whether a filter is only by what is counted as it changes."""
    finer = (wanted.subscription, wanted.aggregate, wanted.aggregate_id, wanted.reason, wanted.error_type, wanted.text)
    return wanted.states <= OPEN and all(each is None for each in (*finer, wanted.stopped_version))


def _totalled(wanted: RowFilter) -> tuple[object, ...]:
    """Give what the statements on totals take."""
    return sorted(wanted.states), wanted.group, wanted.fingerprint, wanted.category


def _wanted(wanted: RowFilter) -> tuple[object, ...]:
    """Give what `{wanted}` takes."""
    return (
        sorted(wanted.states),
        wanted.group,
        wanted.subscription,
        wanted.aggregate,
        wanted.aggregate_id,
        wanted.fingerprint,
        wanted.reason,
        wanted.category,
        wanted.error_type,
        wanted.text,
        wanted.stopped_version,
        wanted.states <= OPEN,
    )
