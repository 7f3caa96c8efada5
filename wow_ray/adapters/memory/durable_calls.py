"""The port of durable calls, in memory: the life cycle of `policy.durable_call`, applied in one step each."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from wow_ray.adapters.memory.rows import check_texts
from wow_ray.errors import CallError
from wow_ray.policy.durable_asked import CallAsked, Changed, Refused, decide_asked
from wow_ray.policy.durable_call import (
    FINISHED,
    PENDING,
    CallRow,
    CallState,
    NewCall,
    claimable,
    claimable_at,
    claimed,
    extended,
    submitted,
)
from wow_ray.policy.durable_endings import Written, applied
from wow_ray.ports.durable_calls import NOTICE_OF, CallFilter, Stored, Wanted, intent_of_call, outcome_of_call
from wow_ray.ports.ledger import Intent

if TYPE_CHECKING:
    from wow_ray.adapters.memory.server import Server


class Calls:
    """The table of one server."""

    def __init__(self) -> None:
        self.rows: dict[str, CallRow] = {}

    def submit(self, call: NewCall, now: datetime) -> Stored:
        """Store a call, or answer which one stands for it."""
        if call.id in self.rows:
            return Stored(call.id, new=False)
        pending = self.pending_under(call.function, call.key)
        if pending is not None:
            return Stored(pending.id, new=False)
        self.rows[call.id] = submitted(call, now)
        return Stored(call.id, new=True)

    def pending_under(self, function: str, key: str | None) -> CallRow | None:
        """Give the pending call of a function under a key."""
        if key is None:
            return None
        return next(
            (row for row in self.rows.values() if row.state in PENDING and (row.function, row.key) == (function, key)),
            None,
        )


class MemoryDurableCalls:
    """`ports.durable_calls.DurableCalls` in memory."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._table = server.calls

    async def submit(self, call: NewCall, *, connection: Any = None) -> Stored:  # noqa: ANN401 - as in the port
        """See the port."""
        headers = [text for pair in call.headers.items() for text in pair]
        check_texts(call.id, (call.function, call.payload, call.key or "", *headers))
        return await self._server.faults.run("calls.submit", lambda: self._submit(call, connection))

    async def claim(self, worker: str, wanted: Sequence[Wanted], most: int, lease: float) -> Sequence[CallRow]:
        """See the port."""
        return await self._server.faults.run("calls.claim", lambda: self._claim(worker, wanted, most, lease))

    async def extend(self, claims: Sequence[tuple[str, str]], lease: float) -> frozenset[str]:
        """See the port."""
        return await self._server.faults.run("calls.extend", lambda: self._extend(claims, lease))

    async def finish(self, endings: Sequence[Written]) -> frozenset[str]:
        """See the port."""
        return await self._server.faults.run("calls.finish", lambda: self._finish(endings))

    async def next_due(self, functions: Sequence[str]) -> float | None:
        """See the port."""
        return await self._server.faults.run("calls.read", lambda: self._next_due(frozenset(functions)))

    async def get(self, call_id: str) -> CallRow | None:
        """See the port."""
        return await self._server.faults.run("calls.read", lambda: self._table.rows.get(call_id))

    async def rows(self, wanted: CallFilter) -> Sequence[CallRow]:
        """See the port."""
        return await self._server.faults.run("calls.read", lambda: self._list(wanted))

    async def counts(self) -> Mapping[tuple[str, CallState], int]:
        """See the port."""
        return await self._server.faults.run(
            "calls.read",
            lambda: Counter(
                (row.function, row.state) for row in self._table.rows.values() if row.state not in FINISHED
            ),
        )

    async def ask(self, asked: CallAsked) -> Intent:
        """See the port."""
        check_texts(asked.request_id, (asked.request_id, asked.actor, asked.reason))
        return await self._server.faults.run("calls.ask", lambda: self._ask(asked))

    async def forget(self, older_than: float, most: int) -> int:
        """See the port."""
        return await self._server.faults.run("calls.finish", lambda: self._forget(older_than, most))

    async def now(self) -> datetime:
        """See the port."""
        return await self._server.faults.run("calls.read", self._server.now)

    def _submit(self, call: NewCall, connection: Any) -> Stored:  # noqa: ANN401 - as in the port
        if connection is None:
            return self._table.submit(call, self._server.now())
        transaction = self._server.transactions.get(id(connection))
        if transaction is None:
            raise CallError("the connection has no open transaction in this store; submit inside one, or without it")
        pending = self._table.pending_under(call.function, call.key)
        if pending is not None:
            return Stored(pending.id, new=False)
        transaction.calls.append(call)
        return Stored(call.id, new=True)

    def _claim(self, worker: str, wanted: Sequence[Wanted], most: int, lease: float) -> list[CallRow]:
        now = self._server.now()
        room: dict[str, int] = {}
        for one in wanted:
            running = sum(
                row.function == one.function and row.state is CallState.RUNNING and not claimable(row, now)
                for row in self._table.rows.values()
            )
            room[one.function] = one.room if one.limit is None else min(one.room, one.limit - running)
        due = [row for row in self._table.rows.values() if row.function in room and claimable(row, now)]
        due.sort(key=lambda row: (-row.priority, claimable_at(row) or now, row.id))
        taken: list[CallRow] = []
        for row in due:
            if len(taken) < most and room[row.function] > 0:
                room[row.function] -= 1
                taken.append(claimed(row, secrets.token_hex(8), worker, lease, now))
        self._table.rows.update((row.id, row) for row in taken)
        return taken

    def _extend(self, claims: Sequence[tuple[str, str]], lease: float) -> frozenset[str]:
        lost = set()
        for call_id, token in claims:
            row = self._held(call_id, token)
            if row is None:
                lost.add(call_id)
            else:
                self._table.rows[call_id] = extended(row, lease, self._server.now())
        return frozenset(lost)

    def _finish(self, endings: Sequence[Written]) -> frozenset[str]:
        for ending in endings:
            failures = [each for each in (ending.failure, ending.fallback_failure) if each is not None]
            check_texts(ending.id, (ending.result or "", ending.note, *(each.message for each in failures)))
        lost = set()
        for ending in endings:
            row = self._held(ending.id, ending.token)
            if row is None:
                lost.add(ending.id)
            else:
                over = self._table.rows[row.id] = applied(row, ending, self._server.now())
                if over.state is CallState.EXHAUSTED:
                    self._server.rows.tell("exhausted", f"{NOTICE_OF}{over.id}", over.etag, self._server.now())
        return frozenset(lost)

    def _held(self, call_id: str, token: str) -> CallRow | None:
        """Give the row where the claim is still that of the token."""
        row = self._table.rows.get(call_id)
        return row if row is not None and row.state is CallState.RUNNING and row.token == token else None

    def _next_due(self, functions: frozenset[str]) -> float | None:
        times = [claimable_at(row) for row in self._table.rows.values() if row.function in functions]
        earliest = min((at for at in times if at is not None), default=None)
        return None if earliest is None else max(0.0, (earliest - self._server.now()).total_seconds())

    def _list(self, wanted: CallFilter) -> list[CallRow]:
        rows = sorted((row for row in self._table.rows.values() if _passes(row, wanted)), key=lambda row: row.id)
        return rows[: wanted.limit]

    def _ask(self, asked: CallAsked) -> Intent:
        server = self._server
        known = server.rows.intents.get(asked.request_id)
        if known is not None:
            return known
        row = self._table.rows.get(asked.id)
        decided = decide_asked(row, asked, server.now())
        if isinstance(decided, Changed) and row is not None and row.state not in PENDING:
            other = self._table.pending_under(row.function, row.key)
            if other is not None and decided.row.state in PENDING:
                decided = Refused("key", f"call {other.id} is pending under the same key")
        if isinstance(decided, Changed):
            self._table.rows[asked.id] = decided.row
        return acted(server, asked, "" if row is None else row.function, decided)

    def _forget(self, older_than: float, most: int) -> int:
        now = self._server.now()
        over = [
            row.id
            for row in self._table.rows.values()
            if row.state in FINISHED and row.ended_at is not None and (now - row.ended_at).total_seconds() > older_than
        ][:most]
        for call_id in over:
            del self._table.rows[call_id]
        return len(over)


class MemoryCallAudit:
    """`ports.durable_calls.CallAudit` in memory."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def known(self, request_id: str) -> Intent | None:
        """See the port."""
        return self._server.rows.intents.get(request_id)

    async def acted(self, asked: CallAsked, function: str, decided: Changed | Refused) -> Intent:
        """See the port."""
        known = self._server.rows.intents.get(asked.request_id)
        return acted(self._server, asked, function, decided) if known is None else known

    async def exhausted(self, calls: Sequence[tuple[str, int]]) -> None:
        """See the port."""
        for call_id, etag in calls:
            self._server.rows.tell("exhausted", f"{NOTICE_OF}{call_id}", etag, self._server.now())


def acted(server: Server, asked: CallAsked, function: str, decided: Changed | Refused) -> Intent:
    """Store a request with what came of it."""
    intent = intent_of_call(asked, function)
    if isinstance(decided, Changed):
        return server.rows.acted(intent, outcome_of_call(decided.row), server.now())
    stored = server.rows.acted(intent, {}, server.now())
    refused = replace(stored, state="refused", code=decided.code, text=decided.text)
    server.rows.intents[asked.request_id] = refused
    return refused


def _passes(row: CallRow, wanted: CallFilter) -> bool:
    if row.state not in wanted.states or (wanted.after is not None and row.id <= wanted.after):
        return False
    asked = (
        (wanted.function, row.function),
        (wanted.key, row.key),
        (wanted.fingerprint, None if row.failure is None else row.failure.fingerprint),
    )
    return all(value is None or value == has for value, has in asked)
