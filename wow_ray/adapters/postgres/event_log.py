"""Appending to the log, and a producer's own reading."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import asyncpg
from asyncpg.exceptions import InterfaceError, PostgresError
from pydantic import BaseModel

from wow_ray.adapters.encoding import EncodedCommit, EncodedEvent, encoded_commit, own_ref
from wow_ray.adapters.postgres.connect import FIRST_PATIENCE, Database, Session, Sessions
from wow_ray.adapters.postgres.errors import (
    CONFLICT,
    INVALID,
    SECOND_APPEND,
    TOO_LARGE,
    UNIQUE_VIOLATION,
    is_client_data_error,
    is_lost_connection,
    sqlstate_of,
    translated,
)
from wow_ray.adapters.postgres.rows import actual_version, stored_events
from wow_ray.adapters.postgres.statements import statements, table_of
from wow_ray.errors import AppendError, ConcurrencyError, EventTooLargeError, InvalidEventError
from wow_ray.events import AggregateRef, Commit, NewCommit, Scope, StoredEvent
from wow_ray.policy.slots import slot_of
from wow_ray.ports.wakes import Wakes

STREAM_PAGE = 500


class PostgresEventStore:
    """`ports.event_log.EventStore` on Postgres: `writers` appends at a time, each event at most `max_event_bytes`."""

    def __init__(
        self,
        database: Database,
        *,
        writers: int = 16,
        max_event_bytes: int = 1_000_000,
        wait_seconds: float = 10.0,
        wakes: Wakes | None = None,
    ) -> None:
        """Open nothing yet; `wait_seconds` is how long an append of ours waits for a slot that somebody holds (H36).

        `wakes` is told of what was committed; not of what is appended in a caller's own transaction, whose end we do
        not see.
        """
        self._database = database
        self._wait = f"{wait_seconds * 1000:.0f}ms"
        self._sessions = Sessions(
            database,
            "append",
            writers,
            patience=FIRST_PATIENCE + math.ceil(wait_seconds),
            lock_timeout=self._wait,
            plan_cache_mode="force_generic_plan",
        )
        self._max_event_bytes = max_event_bytes
        self._sql = statements(database.schema)
        self._wakes = wakes

    async def append(
        self,
        ref: AggregateRef,
        events: Sequence[BaseModel],
        *,
        expected_version: int | None,
        scope: Scope | None = None,
        commit_id: str | None = None,
        headers: Mapping[str, str] | None = None,
        connection: Any = None,  # noqa: ANN401 - an asyncpg connection or the proxy of one
    ) -> Commit:
        """See the port.

        With `connection` errors of contention (40, 55P03) come out as the driver's: its transaction must be repeated.
        """
        commit = self._placed(NewCommit(ref, tuple(events), expected_version, scope, commit_id, headers))
        plain = connection is None and commit_id is None and not self._database.pgbouncer
        if not plain or expected_version is None:
            return (await self._in_order([commit], connection))[0]
        async with self._sessions.use() as session:
            done = await self._expecting(session, commit, expected_version)
        return self._told((done,))[0]

    async def append_many(
        self,
        commits: Sequence[NewCommit],
        *,
        connection: Any = None,  # noqa: ANN401 - as above
    ) -> tuple[Commit, ...]:
        """See the port."""
        return await self._in_order([self._placed(commit) for commit in commits], connection)

    async def stream(self, ref: AggregateRef, *, from_version: int = 1) -> AsyncIterator[StoredEvent]:
        """See the port."""
        ref = own_ref(self._database.context, ref)
        slot = slot_of(ref.context, ref.aggregate, ref.id, self._database.slots)
        version, sequence = from_version, 0
        while True:
            async with self._sessions.use() as session:
                rows = await session.fetch(
                    "stream", slot, ref.context, ref.aggregate, ref.id, version, sequence, STREAM_PAGE
                )
            page = stored_events(rows)
            for event in page:
                yield event
            if len(page) < STREAM_PAGE:
                return
            version, sequence = page[-1].version, page[-1].sequence + 1

    async def close(self) -> None:
        """End the sessions."""
        await self._sessions.close()

    async def _in_order(
        self,
        commits: Sequence[_Placed],
        connection: Any,  # noqa: ANN401 - as above
    ) -> tuple[Commit, ...]:
        """Append by the schema's functions, in the caller's transaction or in one of ours."""
        if not commits:
            return ()
        if connection is None:
            async with self._sessions.use() as session:
                if len(commits) == 1 and not self._database.pgbouncer:  # one statement, a transaction of its own
                    done = await self._appended(session.connection, commits)
                else:
                    done = await self._in_transaction(session, commits)
            return self._told(done)
        try:
            return await self._appended(connection, commits)
        except (OSError, InterfaceError, PostgresError) as error:
            lost = isinstance(error, OSError) or is_lost_connection(error) or sqlstate_of(error).startswith("08")
            raise (translated(error) if lost else None) or error from error

    async def _in_transaction(self, session: Session, commits: Sequence[_Placed]) -> tuple[Commit, ...]:
        """Append in a transaction of ours."""
        async with session.connection.transaction():
            if self._database.pgbouncer:
                await session.fetch("bound_wait", self._wait)
            return await self._appended(session.connection, commits)

    def _told(self, done: tuple[Commit, ...]) -> tuple[Commit, ...]:
        """Wake whoever reads what was committed."""
        if self._wakes is not None:
            self._wakes.told({commit.slot: commit.positions[-1] for commit in done if commit.positions})
        return done

    async def _appended(
        self,
        connection: Any,  # noqa: ANN401 - as above
        commits: Sequence[_Placed],
    ) -> tuple[Commit, ...]:
        """Append within a transaction in slot order; answers in the order given."""
        order = sorted(range(len(commits)), key=lambda n: commits[n].slot)
        done: dict[int, Commit] = {}
        for table, part in groupby(order, key=lambda n: commits[n].table):
            together = list(part)
            args = [commits[n].arguments(follows=n != order[0]) for n in together]
            try:
                rows = await connection.fetchmany(self._sql[f"append/{table}"], args)
            except (PostgresError, InterfaceError) as error:
                raise _refused(error, commits[together[0]]) or error from error
            done.update((n, commits[n].done(row)) for n, row in zip(together, rows, strict=True))
        return tuple(done[n] for n in range(len(commits)))

    async def _expecting(self, session: Session, commit: _Placed, expected: int) -> Commit:
        """Append by the shorter statement, in a transaction of its own."""
        try:
            rows = await session.fetch(f"append_expected/{commit.table}", *commit.expecting(self._database.context))
        except (PostgresError, InterfaceError) as error:
            if sqlstate_of(error) != UNIQUE_VIOLATION:
                raise _refused(error, commit) or error from error
            rows = []
        ref = commit.commit.ref
        if rows:
            before = rows[0]["before"]
            count = len(commit.commit.events)
            return Commit(ref, expected + 1, commit.slot, tuple(range(before + 1, before + 1 + count)))
        actual = (await session.one("version_of", commit.slot, ref.context, ref.aggregate, ref.id))["version"]
        msg = f"{ref} is at version {actual}, and {expected} was expected; read it again and decide anew"
        raise ConcurrencyError(msg, expected, actual)

    def _placed(self, commit: NewCommit) -> _Placed:
        """Check and encode a commit, and find its slot."""
        context, slots = self._database.context, self._database.slots
        encoded = encoded_commit(context, commit, self._max_event_bytes)
        slot = slot_of(context, encoded.ref.aggregate, encoded.ref.id, slots)
        return _Placed(encoded, slot, f"{table_of(slot, slots):02}")


class _Placed(NamedTuple):
    """A commit that the log can take, its slot, and the number of the table that holds it."""

    commit: EncodedCommit
    slot: int
    table: str

    def expecting(self, context: str) -> tuple[Any, ...]:
        """Give what `append_expected` takes."""
        commit, events = self.commit, self.commit.events
        return (
            self.slot,
            commit.ref.aggregate,
            commit.ref.id,
            [event.type for event in events],
            [event.payload for event in events],
            _largest(events),
            commit.expected_version,
            _revisions(events),
            commit.scope.tenant_id,
            commit.scope.owner_id,
            commit.headers,
            context,
        )

    def arguments(self, *, follows: bool) -> tuple[Any, ...]:
        """Give what `append` takes."""
        commit, events = self.commit, self.commit.events
        return (
            self.slot,
            commit.ref.aggregate,
            commit.ref.id,
            [event.type for event in events],
            [event.payload for event in events],
            _largest(events),
            commit.expected_version,
            commit.commit_id,
            _revisions(events),
            commit.scope.tenant_id,
            commit.scope.owner_id,
            commit.headers,
            follows,
        )

    def done(self, row: asyncpg.Record) -> Commit:
        """Say what was appended."""
        version, first, count = row
        return Commit(self.commit.ref, version, self.slot, tuple(range(first, first + count)))


def _largest(events: Sequence[EncodedEvent]) -> int:
    """Give the size of the largest event."""
    return events[0].size if len(events) == 1 else max([event.size for event in events])


def _revisions(events: Sequence[EncodedEvent]) -> list[int] | None:
    """Give the events' revisions; `None` = all of them are 1, as most are."""
    revisions = [event.revision for event in events]
    return revisions if any(revision != 1 for revision in revisions) else None


def _refused(error: BaseException, commit: _Placed) -> AppendError | None:
    """Say why the log refused a commit; `None` = for no fault of it."""
    code = sqlstate_of(error)
    ref = commit.commit.ref
    if code == CONFLICT:
        expected, actual = actual_version(error)
        return ConcurrencyError(f"{error}; read it again and decide anew", expected, actual)
    if code == UNIQUE_VIOLATION:
        msg = f"an append to {ref} met another one; read it again and decide anew"
        return ConcurrencyError(msg, commit.commit.expected_version)
    if code == SECOND_APPEND:
        return AppendError(f"{error}; append to several aggregates with one append_many")
    if code == TOO_LARGE:
        return EventTooLargeError(str(error))
    if code == INVALID or code.startswith("22") or is_client_data_error(error):
        return InvalidEventError(f"an append to {ref} was refused: {error}")
    return None
