"""The port of the failure ledger, in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from wow_ray.policy.parked import Row, State
from wow_ray.ports.ledger import Intent, NewIntent, RowFilter
from wow_ray.ports.slots import AttemptNote

if TYPE_CHECKING:
    from wow_ray.adapters.memory.server import Server

T = TypeVar("T")


class MemoryLedger:
    """`ports.ledger.Ledger` in memory."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._rows = server.rows

    async def row(self, row_id: str) -> Row | None:
        """See the port."""
        return await self._read(lambda: self._rows.by_id.get(row_id))

    async def open_row(self, group: str, aggregate: str, aggregate_id: str) -> Row | None:
        """See the port."""
        rows = self._rows
        return await self._read(lambda: rows.by_id.get(rows.open.get((group, aggregate, aggregate_id), "")))

    async def rows(self, wanted: RowFilter) -> Sequence[Row]:
        """See the port."""
        return await self._read(lambda: self._list(wanted))

    async def counts(self) -> Mapping[tuple[str, State], int]:
        """See the port."""
        return await self._read(lambda: Counter((row.group, row.state) for row in self._rows.opened()))

    async def due(self, slots: Sequence[int], subscriptions: Sequence[str], limit: int) -> Sequence[Row]:
        """See the port."""
        wanted = frozenset(subscriptions)
        due = await self._read(lambda: self._due(frozenset(slots)))
        return [row for row in due if row.subscription in wanted][:limit]

    async def attempts(self, row_id: str) -> Sequence[AttemptNote]:
        """See the port."""
        return await self._read(lambda: tuple(self._rows.attempts.get(row_id, ())))

    async def ask(self, intent: NewIntent) -> Intent:
        """See the port."""
        return await self._server.faults.run("ledger.ask", lambda: self._rows.ask(intent, self._server.now()))

    async def intent(self, request_id: str) -> Intent | None:
        """See the port."""
        return await self._read(lambda: self._rows.intents.get(request_id))

    async def open_intents(self, slots: Sequence[int]) -> Sequence[Intent]:
        """See the port."""
        return await self._read(lambda: self._open_intents(frozenset(slots)))

    async def notices(self, after: int, limit: int) -> Sequence[tuple[int, str, str]]:
        """See the port."""
        return await self._read(lambda: self._rows.told(after, limit, self._server.now()))

    async def _read(self, work: Callable[[], T]) -> T:
        """Answer what only reads."""
        return await self._server.faults.run("ledger.read", work)

    def _list(self, wanted: RowFilter) -> list[Row]:
        """Give the rows that pass the filter, by id."""
        rows = sorted((row for row in self._rows.by_id.values() if _passes(row, wanted)), key=lambda row: row.id)
        return rows[: wanted.limit]

    def _due(self, slots: frozenset[int]) -> list[Row]:
        """Give what is due now, the longest due first."""
        now = self._server.now()
        due = [
            (row.next_due, row.id, row)
            for row in self._rows.opened()
            if row.slot in slots and row.state is State.PARKED and row.next_due is not None and row.next_due <= now
        ]
        return [row for _, _, row in sorted(due, key=lambda one: one[:2])]

    def _open_intents(self, slots: frozenset[int]) -> list[Intent]:
        """Give the intents that wait, in the order they were asked."""
        return [
            intent for intent in self._rows.intents.values() if intent.state == "asked" and intent.request.slot in slots
        ]


def _passes(row: Row, wanted: RowFilter) -> bool:
    """Tell whether the filter wants the row."""
    if row.state not in wanted.states or (wanted.after is not None and row.id <= wanted.after):
        return False
    asked = (
        (wanted.group, row.group),
        (wanted.subscription, row.subscription),
        (wanted.aggregate, row.aggregate),
        (wanted.aggregate_id, row.aggregate_id),
        (wanted.fingerprint, row.failure.fingerprint if row.failure is not None else None),
    )
    return all(value is None or value == has for value, has in asked)
