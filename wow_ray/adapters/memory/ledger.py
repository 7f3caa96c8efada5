"""The port of the failure ledger, in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from wow_ray.failure import Category
from wow_ray.policy.parked import OPEN, Row, State
from wow_ray.ports.ledger import ActionFilter, Alike, Counted, Intent, Looked, NewIntent, RowFilter
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

    async def look(self, wanted: RowFilter) -> Looked:
        """See the port; it looks at all."""
        rows = await self.rows(wanted)
        return Looked(rows, rows[-1].id if len(rows) == wanted.limit else None)

    async def count(self, wanted: RowFilter, most: int) -> Counted:
        """See the port."""
        rows = len(await self._read(lambda: self._wanted(wanted)))
        return Counted(min(most, rows), exact=rows <= most)

    async def alike(self, wanted: RowFilter, limit: int) -> Sequence[Alike]:
        """See the port."""
        found: dict[str | None, list[Row]] = {}
        for row in await self._read(lambda: self._wanted(wanted)):
            found.setdefault(None if row.failure is None else row.failure.fingerprint, []).append(row)
        return sorted(map(_alike, found.values()), key=_most_rows_first)[:limit]

    async def categories(self, states: frozenset[State]) -> Mapping[Category | None, int]:
        """See the port."""
        rows = await self._read(lambda: self._wanted(RowFilter(states & OPEN)))
        return Counter(None if row.failure is None else row.failure.category for row in rows)

    async def actions(self, wanted: ActionFilter) -> Sequence[Intent]:
        """See the port."""
        intents = await self._read(lambda: tuple(self._rows.intents.values()))
        found = sorted((each for each in intents if _is_wanted(each, wanted)), key=lambda each: -each.id)
        return found[: wanted.limit]

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
        """Give a page of the rows that pass the filter, by id."""
        rows = sorted(self._wanted(wanted), key=lambda row: row.id, reverse=wanted.newest_first)
        after = wanted.after
        if after is not None:
            rows = [row for row in rows if (row.id < after if wanted.newest_first else row.id > after)]
        return rows[: wanted.limit]

    def _wanted(self, wanted: RowFilter) -> list[Row]:
        """Give the rows that pass the filter."""
        return [row for row in self._rows.by_id.values() if _passes(row, wanted)]

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
    if row.state not in wanted.states:
        return False
    failure = row.failure
    asked = (
        (wanted.group, row.group),
        (wanted.subscription, row.subscription),
        (wanted.aggregate, row.aggregate),
        (wanted.aggregate_id, row.aggregate_id),
        (wanted.reason, row.reason),
        (wanted.stopped_version, row.stopped_version),
        (wanted.fingerprint, None if failure is None else failure.fingerprint),
        (wanted.category, None if failure is None else failure.category),
        (wanted.error_type, None if failure is None else failure.type),
    )
    said = "" if failure is None else f"{failure.type}\n{failure.message}".lower()
    return all(value is None or value == has for value, has in asked) and (wanted.text or "").lower() in said


def _alike(rows: Sequence[Row]) -> Alike:
    """Sum up rows of one fingerprint."""
    newest = max(rows, key=lambda row: row.id)
    failure = newest.failure
    return Alike(
        fingerprint=None if failure is None else failure.fingerprint,
        rows=len(rows),
        first=min(row.parked_at for row in rows),
        last=max(row.parked_at for row in rows),
        category=None if failure is None else failure.category,
        type="" if failure is None else failure.type,
        message="" if failure is None else failure.message,
        subscription=newest.subscription,
    )


def _most_rows_first(group: Alike) -> tuple[int, bool, str]:
    """Order groups of rows; those without an error come last among equals."""
    return -group.rows, group.fingerprint is None, group.fingerprint or ""


def _is_wanted(intent: Intent, wanted: ActionFilter) -> bool:
    """Tell whether the filter wants the action."""
    asked = (
        (wanted.group, intent.request.group),
        (wanted.aggregate, intent.request.aggregate),
        (wanted.aggregate_id, intent.request.aggregate_id),
        (wanted.actor, intent.request.actor),
    )
    before = wanted.before is None or intent.id < wanted.before
    return before and all(value is None or value == has for value, has in asked)
