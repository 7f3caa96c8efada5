"""Wake-ups by NOTIFY, for whoever has Postgres and nothing else.

Never in the append's own transaction, where it takes a lock of the whole database until the commit: from a connection
beside. Not through pgbouncer, which keeps no session that could listen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from wow_ray.adapters.postgres.connect import Database, Sessions, connect
from wow_ray.adapters.waking import ANSWER, Bus, channel_of
from wow_ray.ports.clock import Clock


class PostgresWakes(Bus):
    """`ports.wakes.Wakes` on Postgres: one connection for sending, one for each listener, opened when needed."""

    def __init__(self, database: Database, clock: Clock) -> None:
        """Open nothing yet."""
        super().__init__(clock)
        self._database = database
        self._channel = channel_of(database.schema, database.context)
        self._sessions = Sessions(database, "tell")

    async def _send(self, messages: list[str]) -> None:
        async with self._sessions.use() as session:
            await session.fetch("notify", self._channel, messages)

    async def _listen(self, begun: Callable[[], None], hear: Callable[[str], None]) -> None:
        connection = await connect(self._database, "listen")
        try:
            over = asyncio.Event()
            connection.add_termination_listener(lambda _: over.set())
            await connection.add_listener(self._channel, lambda *told: hear(str(told[-1])))
            begun()
            while not over.is_set():
                try:
                    async with asyncio.timeout(self.check):
                        await over.wait()
                except TimeoutError:
                    await connection.execute("SELECT 1", timeout=ANSWER)
        finally:
            connection.terminate()
        raise ConnectionError("the server ended the listening connection")

    async def _end(self) -> None:
        await self._sessions.close()
