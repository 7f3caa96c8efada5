"""Reading the failure ledger, and leaving intents in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wow_ray.adapters.postgres.connect import Database, Sessions
from wow_ray.adapters.postgres.rows import alike_of, attempt_of, intent_arguments, intent_of, row_of
from wow_ray.failure import Category
from wow_ray.policy.parked import Row, State
from wow_ray.ports.ledger import ActionFilter, Alike, Intent, NewIntent, RowFilter
from wow_ray.ports.slots import AttemptNote


class PostgresLedger:
    """`ports.ledger.Ledger` on Postgres, on at most `size` connections of its own."""

    def __init__(self, database: Database, size: int = 1) -> None:
        """Open nothing yet."""
        self._sessions = Sessions(database, "ledger", size)

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

    async def count(self, wanted: RowFilter, most: int) -> int:
        """See the port."""
        async with self._sessions.use() as session:
            found: int = (await session.one("count_wanted", *_wanted(wanted), most))["rows"]
        return found

    async def alike(self, wanted: RowFilter, limit: int) -> Sequence[Alike]:
        """See the port."""
        async with self._sessions.use() as session:
            return tuple(map(alike_of, await session.fetch("alike", *_wanted(wanted), limit)))

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
    )
