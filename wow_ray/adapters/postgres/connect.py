"""Connections: what each of our sessions is told, and how they are kept, lent and replaced.

`Sessions` lends dedicated connections with prepared statements; a pool's reset on each release would cost twice the
query. One that a cancelled or lost call left behind is ended and never lent again.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeAlias

import asyncpg
from asyncpg.prepared_stmt import PreparedStatement
from pydantic import SecretStr

from wow_ray.adapters.postgres.errors import leaves_connection_healthy, translated
from wow_ray.adapters.postgres.statements import statements

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 60.0
"""No statement of ours takes that long on a server that answers; a session that waits longer is given up."""
BEAT = 1.0
FIRST_PATIENCE = 5
"""Beats within which what a session was borrowed for is done, at first; see `Sessions`."""
PATIENT = 60
"""Beats for what waits for others, or may read very much."""

# 0.32 logs a traceback for each try to restore a pool's connections while the server is away; we report outages
# ourselves.
logging.getLogger("asyncpg").setLevel(logging.CRITICAL)

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


@dataclass(frozen=True, slots=True)
class Database:
    """Where a store lies. With `pgbouncer` nothing is kept in a session: no prepared statements, no settings.

    `calls_url` is the Redis in which durable calls lie, `None` = they lie here.
    """

    dsn: str
    context: str
    schema: str = "wow"
    pgbouncer: bool = False
    slots: int = 256
    calls_url: SecretStr | None = None


async def connect(database: Database, role: str, **settings: str) -> Connection:
    """Open one session for `role`, which its `application_name` shows; `settings` are Postgres's own.

    A session of ours that stops in the middle of a transaction is ended by the server after 5 s (H8). Raises the
    driver's errors.
    """
    told = {"idle_in_transaction_session_timeout": "5s", **told_of(database, role), **settings}
    connection: Connection = await asyncpg.connect(
        database.dsn,
        timeout=CONNECT_SECONDS,
        command_timeout=ANSWER_SECONDS,
        statement_cache_size=0 if database.pgbouncer else 100,
        server_settings=None if database.pgbouncer else told,
    )
    return connection


def told_of(database: Database, role: str) -> dict[str, str]:
    """Give what every session of ours is told.

    A server that hears nothing of us ends the session within half a minute, over TCP: what it holds would be in the way
    of the session that takes its place, by the system's own settings for two hours.
    """
    return {
        "application_name": f"wow-ray/{database.context}/{role}"[:63],
        "jit": "off",
        "tcp_keepalives_idle": "10",
        "tcp_keepalives_interval": "5",
        "tcp_keepalives_count": "3",
        "tcp_user_timeout": "20s",
    }


class Session:
    """One lent connection: statements by name."""

    __slots__ = ("_prepared", "_sql", "connection", "pgbouncer")

    def __init__(self, connection: Connection, database: Database) -> None:
        """Take over an open connection."""
        self.connection = connection
        self.pgbouncer = database.pgbouncer
        self._sql = statements(database.schema)
        self._prepared: dict[str, PreparedStatement[asyncpg.Record]] = {}

    async def fetch(self, name: str, *args: Any) -> list[asyncpg.Record]:  # noqa: ANN401 - whatever the statement takes
        """Run a statement and give its rows."""
        prepared = self._prepared.get(name)
        if prepared is None:
            if self.pgbouncer:
                return await self.connection.fetch(self._sql[name], *args)
            prepared = self._prepared[name] = await self.connection.prepare(self._sql[name])
        return await prepared.fetch(*args)

    async def many(self, name: str, args: list[tuple[Any, ...]]) -> list[asyncpg.Record]:
        """Run a statement once for each of several arguments, in one go and all or nothing; gives the rows in order."""
        return await self.connection.fetchmany(self._sql[name], args)

    async def one(self, name: str, *args: Any) -> asyncpg.Record:  # noqa: ANN401 - whatever the statement takes
        """Run a statement that always answers one row."""
        return (await self.fetch(name, *args))[0]


class Sessions:
    """At most `size` sessions for one role, opened when needed and lent one at a time, the last returned first.

    A connection may fall silent without being closed (a lost route, a proxy, a server that hangs), which the driver
    would not notice. So a session is ended that is borrowed for longer than our patience: five beats at first, twice as
    many after each time up to a minute, fewer again once answers are quick; so a slow server gets its time. Beats
    of the loop are counted, not seconds: while the loop is blocked by a handler no answer could be read.
    """

    def __init__(
        self, database: Database, role: str, size: int = 1, *, patience: int = FIRST_PATIENCE, **settings: str
    ) -> None:
        """Open nothing yet; `patience` is what it is at first."""
        self.database = database
        self.opened = 0
        """How many sessions were opened so far."""
        self._role = role
        self._settings = settings
        self._free = asyncio.Semaphore(size)
        self._idle: deque[Session] = deque()
        self._lent: dict[Session, int] = {}
        """The beats left to each."""
        self._first_patience = self._patience = patience
        self._beating: asyncio.TimerHandle | None = None
        self._ending: set[asyncio.Task[None]] = set()

    def use(self, patience: int | None = None) -> Use:
        """Borrow a session for a block; driver errors leave it as those of `wow_ray.errors` where they mean one.

        `patience` is for what may take long on a healthy server, in beats.
        """
        return Use(self, patience)

    async def take(self, patience: int | None = None) -> Session:
        """Give an idle session or a new one, waiting for room; raises the driver's errors."""
        await self._free.acquire()
        try:
            while self._idle:
                session = self._idle.pop()
                if not session.connection.is_closed():
                    break
            else:
                session = Session(await connect(self.database, self._role, **self._settings), self.database)
                self.opened += 1
        except BaseException:
            self._free.release()
            raise
        self._lent[session] = self._patience if patience is None else patience
        if self._beating is None:
            self._beating = asyncio.get_running_loop().call_later(BEAT, self._beat)
        return session

    def give_back(self, session: Session, *, healthy: bool) -> None:
        """Take a session back.

        One that is not healthy, or is within a transaction, is ended instead, in the background.
        """
        left = self._lent.pop(session, 0)
        connection = session.connection
        if healthy and not connection.is_closed() and not connection.is_in_transaction():
            if left > self._patience * 3 // 4:
                self._patience = max(self._first_patience, self._patience // 2)
            self._idle.append(session)
            self._free.release()
            return
        ending = asyncio.get_running_loop().create_task(self._end(connection))
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        """End all sessions, also lent ones."""
        if self._beating is not None:
            self._beating.cancel()
            self._beating = None
        lent, self._lent = self._lent, {}
        for session in (*self._idle, *lent):
            await _ended(session.connection)
        self._idle.clear()
        if self._ending:
            await asyncio.wait(set(self._ending))

    def _beat(self) -> None:
        """End sessions whose time is over; whoever waits for their answer is told that the connection is lost."""
        self._beating = None
        for session, left in self._lent.items():
            self._lent[session] = left - 1
            if left == 0:
                self._patience = min(PATIENT, self._patience * 2)
                session.connection.terminate()
        if self._lent:
            self._beating = asyncio.get_running_loop().call_later(BEAT, self._beat)

    async def _end(self, connection: Connection) -> None:
        """End one session; its place is free only afterwards, so that there are never more than allowed."""
        try:
            await _ended(connection)
        finally:
            self._free.release()


class Use:
    """A session borrowed for one block."""

    __slots__ = ("_patience", "_session", "_sessions")

    def __init__(self, sessions: Sessions, patience: int | None) -> None:
        """Borrow nothing yet."""
        self._sessions = sessions
        self._patience = patience
        self._session: Session | None = None

    async def __aenter__(self) -> Session:
        """Borrow."""
        try:
            self._session = await self._sessions.take(self._patience)
        except Exception as error:
            raise translated(error) or error from error
        return self._session

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give back; a session is healthy when the block ended, or the server answered that it refuses."""
        if self._session is not None:
            self._sessions.give_back(self._session, healthy=error is None or leaves_connection_healthy(error))
        if isinstance(error, Exception):
            meaning = translated(error)
            if meaning is not None:
                raise meaning from error


async def _ended(connection: Connection) -> None:
    """End a connection, in an orderly way when that takes less than a second: a cancelled query of it ends first."""
    try:
        await connection.close(timeout=1.0)
    except Exception:  # noqa: BLE001 - whatever is wrong with it, it is given up
        connection.terminate()
