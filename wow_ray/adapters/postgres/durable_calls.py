"""Durable calls on Postgres."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime
from typing import Any

from asyncpg.exceptions import InterfaceError, PostgresError, UniqueViolationError

from wow_ray.adapters.call_texts import MOST_TOGETHER, weight_of
from wow_ray.adapters.gathering import Gathering
from wow_ray.adapters.postgres.call_rows import (
    call_of,
    ending_record,
    put_arguments,
    submit_arguments,
    submit_arrays,
)
from wow_ray.adapters.postgres.connect import Database, Session, Sessions
from wow_ray.adapters.postgres.errors import translated
from wow_ray.adapters.postgres.rows import intent_of
from wow_ray.adapters.postgres.statements import statements
from wow_ray.adapters.postgres.telling import Told, tell
from wow_ray.errors import StoreUnavailableError
from wow_ray.policy.durable_asked import CallAsked, Changed, Refused, decide_asked
from wow_ray.policy.durable_call import CallRow, CallState, NewCall
from wow_ray.policy.durable_endings import Written
from wow_ray.ports.durable_calls import NOTICE_OF, VERBS, CallFilter, Stored, Wanted, outcome_of_call
from wow_ray.ports.ledger import Intent

TRIES = 5
"""How often a submit looks again when the call that stood in its way was over a moment later."""
MANY, REST = 50_000, 20
"""From how many calls on a count is given again, for so many times as long as it took: a twentieth of a core."""


class PostgresDurableCalls:
    """`ports.durable_calls.DurableCalls` on Postgres, on at most `size` connections of its own."""

    def __init__(self, database: Database, size: int = 8) -> None:
        """Open nothing yet."""
        self._sessions = Sessions(database, "calls", size)
        self._sql = statements(database.schema)
        self._submits = Gathering(self._submit_all, MOST_TOGETHER, weight_of)
        self._counted: Mapping[tuple[str, CallState], int] | None = None
        self._count_again = 0.0

    async def submit(self, call: NewCall, *, connection: Any = None) -> Stored:  # noqa: ANN401 - as in the port
        """See the port; in a caller's own transaction errors of contention come out as the driver's."""
        if connection is not None:
            return await self._submitted_there(call, connection)
        if call.key is None:
            return await self._submits.one(call)
        # Another transaction may hold its key: whoever goes with it would wait, too.
        async with self._sessions.use() as session:
            return await _submitted(call, session.fetch)

    async def claim(self, worker: str, wanted: Sequence[Wanted], most: int, lease: float) -> Sequence[CallRow]:
        """See the port."""
        asked = [one for one in wanted if one.room > 0]
        async with self._sessions.use() as session:
            if any(one.limit is not None for one in asked):
                taken = await _limited(session, worker, asked, most, lease)
            else:
                taken = await _claimed(session, worker, asked, most, lease)
        return sorted(taken, key=lambda row: (-row.priority, row.due, row.id))

    async def extend(self, claims: Sequence[tuple[str, str]], lease: float) -> frozenset[str]:
        """See the port."""
        ids, tokens = [call_id for call_id, _ in claims], [token for _, token in claims]
        async with self._sessions.use() as session:
            rows = await session.fetch("extend_claims", ids, tokens, lease)
        return frozenset(ids) - {row["id"] for row in rows}

    async def finish(self, endings: Sequence[Written]) -> frozenset[str]:
        """See the port."""
        written = json.dumps([ending_record(ending) for ending in endings])
        exhausts = any(ending.state is CallState.EXHAUSTED for ending in endings)
        async with self._sessions.use() as session, session.connection.transaction() if exhausts else nullcontext():
            rows = await session.fetch("finish_claims", written)
            if exhausts:
                await _told(session, [(row["id"], row["etag"]) for row in rows if row["state"] == CallState.EXHAUSTED])
        return frozenset(ending.id for ending in endings) - {row["id"] for row in rows}

    async def next_due(self, functions: Sequence[str]) -> float | None:
        """See the port."""
        async with self._sessions.use() as session:
            seconds = (await session.one("next_due_call", list(functions)))["seconds"]
        return None if seconds is None else max(0.0, seconds)

    async def get(self, call_id: str) -> CallRow | None:
        """See the port."""
        async with self._sessions.use() as session:
            return next(map(call_of, await session.fetch("call_by_id", call_id)), None)

    async def rows(self, wanted: CallFilter) -> Sequence[CallRow]:
        """See the port."""
        states = sorted(wanted.states)
        asked = (states, wanted.function, wanted.fingerprint, wanted.key, wanted.after, wanted.limit)
        async with self._sessions.use() as session:
            return tuple(map(call_of, await session.fetch("list_calls", *asked)))

    async def counts(self) -> Mapping[tuple[str, CallState], int]:
        """See the port; many are counted anew once it has cost little beside the time since."""
        time = asyncio.get_running_loop().time
        if self._counted is None or time() >= self._count_again:
            async with self._sessions.use() as session:
                began = time()
                rows = await session.fetch("count_calls")
                took = time() - began
            self._counted = {(row["function"], CallState(row["state"])): row["calls"] for row in rows}
            many = sum(self._counted.values()) >= MANY
            self._count_again = time() + (took * REST if many else 0.0)
        return self._counted

    async def ask(self, asked: CallAsked) -> Intent:
        """See the port."""
        async with self._sessions.use() as session:
            try:
                async with session.connection.transaction():
                    return await _asked(session, asked)
            except _RepeatedError:
                action = await _action(session, asked.request_id)
                assert action is not None  # noqa: S101 - actions are never deleted
                return action

    async def forget(self, older_than: float, most: int) -> int:
        """See the port."""
        async with self._sessions.use() as session:
            return len(await session.fetch("forget_calls", older_than, most))

    async def now(self) -> datetime:
        """See the port."""
        async with self._sessions.use() as session:
            return await _now(session)

    @property
    def sessions(self) -> Sessions:
        """Its sessions, for the audit of a store elsewhere; closed with it."""
        return self._sessions

    async def close(self) -> None:
        """End the sessions."""
        await self._submits.close()
        await self._sessions.close()

    async def _submit_all(self, calls: Sequence[NewCall]) -> Sequence[Stored]:
        """Store calls without keys in one statement."""
        async with self._sessions.use() as session:
            rows = await session.fetch("submit_calls", *submit_arrays(calls))
        new = {row["id"] for row in rows}
        return [Stored(call.id, call.id in new) for call in calls]

    async def _submitted_there(self, call: NewCall, connection: Any) -> Stored:  # noqa: ANN401 - as in the port
        """Store a call in the caller's transaction."""
        try:
            return await _submitted(call, lambda name, *args: connection.fetch(self._sql[name], *args))
        except (OSError, InterfaceError, PostgresError) as error:
            raise translated(error) or error from error


class PostgresCallAudit:
    """`ports.durable_calls.CallAudit` on Postgres, on somebody else's sessions."""

    def __init__(self, sessions: Sessions) -> None:
        """Use these sessions; whoever made them closes them."""
        self._sessions = sessions

    async def known(self, request_id: str) -> Intent | None:
        """See the port."""
        async with self._sessions.use() as session:
            return await _action(session, request_id)

    async def acted(self, asked: CallAsked, function: str, decided: Changed | Refused) -> Intent:
        """See the port."""
        async with self._sessions.use() as session:
            action = await _acted(session, asked, function, decided) or await _action(session, asked.request_id)
        assert action is not None  # noqa: S101 - actions are never deleted
        return action

    async def exhausted(self, calls: Sequence[tuple[str, int]]) -> None:
        """See the port."""
        async with self._sessions.use() as session, session.connection.transaction():
            await _told(session, calls)


class _RepeatedError(Exception):
    """Something is stored under the request already; what this transaction did is not."""


async def _told(session: Session, exhausted: Sequence[tuple[str, int]]) -> None:
    """Put into the outbox which calls are exhausted; last in its transaction, since numbering locks out others."""
    await tell(session, [Told("exhausted", f"{NOTICE_OF}{call_id}", etag) for call_id, etag in exhausted])


async def _limited(session: Session, worker: str, wanted: Sequence[Wanted], most: int, lease: float) -> list[CallRow]:
    """Claim, where some functions have a limit in all workers together: those are counted under a lock."""
    limits = [one.function for one in wanted if one.limit is not None]
    async with session.connection.transaction():
        await session.fetch("lock_limits", limits)
        running = {row["function"]: row["running"] for row in await session.fetch("count_running", limits)}
        left = [
            one if one.limit is None else replace(one, room=min(one.room, one.limit - running.get(one.function, 0)))
            for one in wanted
        ]
        return await _claimed(session, worker, [one for one in left if one.room > 0], most, lease)


async def _claimed(session: Session, worker: str, wanted: Sequence[Wanted], most: int, lease: float) -> list[CallRow]:
    """Claim as far as there is room, in one statement."""
    if not wanted:
        return []
    names, rooms = [one.function for one in wanted], [one.room for one in wanted]
    return list(map(call_of, await session.fetch("claim_calls", names, rooms, most, worker, lease)))


async def _submitted(call: NewCall, fetch: Callable[..., Awaitable[Sequence[Any]]]) -> Stored:
    """Store a call, or find the one that stands for it."""
    for _ in range(TRIES):
        if await fetch("submit_call", *submit_arguments(call)):
            return Stored(call.id, new=True)
        if standing := await fetch("standing_call", call.id, call.function, call.key):
            return Stored(standing[0]["id"], new=False)
    raise StoreUnavailableError(f"calls under the key {call.key!r} come and go too fast; try again")


async def _asked(session: Session, asked: CallAsked) -> Intent:
    """Carry out a request; raises `_RepeatedError` when it was made before."""
    found = await session.fetch("lock_call", asked.id)
    if await _action(session, asked.request_id) is not None:
        raise _RepeatedError
    row = call_of(found[0]) if found else None
    now = await _now(session)
    decided = decide_asked(row, asked, now)
    if isinstance(decided, Changed):
        try:
            async with session.connection.transaction():
                await session.fetch("put_call", *put_arguments(decided.row))
        except UniqueViolationError:
            decided = Refused("key", "another call is pending under the same key")
    action = await _acted(session, asked, "" if row is None else row.function, decided)
    if action is None:
        raise _RepeatedError
    return action


async def _acted(session: Session, asked: CallAsked, function: str, decided: Changed | Refused) -> Intent | None:
    """Store a request with what came of it; `None` = something is stored under it."""
    if isinstance(decided, Refused):
        came: tuple[str, str, str, str] = ("refused", decided.code, decided.text, "{}")
    else:
        came = ("done", "done", "", json.dumps(outcome_of_call(decided.row)))
    verb = VERBS[asked.verb].value
    who = (asked.id, asked.etag, asked.actor, asked.reason)
    return next(map(intent_of, await session.fetch("call_action", asked.request_id, verb, function, *who, *came)), None)


async def _action(session: Session, request_id: str) -> Intent | None:
    """Give what is stored under a request."""
    return next(map(intent_of, await session.fetch("call_action_of", request_id)), None)


async def _now(session: Session) -> datetime:
    """Give the server's time."""
    now: datetime = (await session.one("call_time"))["now"]
    return now
