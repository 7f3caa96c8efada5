"""A way to a server that can fall silent: nothing is closed, nothing is refused, nothing arrives any more."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

_ROLE = re.compile(rb"application_name\0wow-ray/[^/\0]+/([a-z]+)\0")


class Carried:
    """One connection: whose it is, and whether what is sent over it is lost."""

    def __init__(self) -> None:
        """Begin as anybody's."""
        self.role = ""
        self.deaf = False


class Way:
    """What lies between a client and a server: everything goes through, until it is lost without a word."""

    def __init__(self, dsn: str) -> None:
        """Lead to the server at `dsn`, by its socket or its port."""
        self._parts = urlsplit(dsn)
        self._query = parse_qs(self._parts.query)
        self._carried: list[Carried] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self.blocked = False
        """Whether new connections are taken and lead nowhere."""

    def deafen(self, *roles: str) -> int:
        """Lose, for good, everything that is sent over the connections there are, or over those of our `roles`.

        Answers how many there are. New ones are fine, unless the way is `blocked`.
        """
        chosen = [each for each in self._carried if not roles or each.role in roles]
        for each in chosen:
            each.deaf = True
        return len(chosen)

    async def lead(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection."""
        carried = Carried()
        self._carried.append(carried)
        port = self._parts.port or int(self._query.get("port", ["5432"])[0])
        host = self._query.get("host", [self._parts.hostname or "127.0.0.1"])[0]
        carried.deaf = self.blocked
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        ends = [writer]
        with contextlib.suppress(OSError, asyncio.CancelledError):
            if host.startswith("/"):
                ours, theirs = await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
            else:
                ours, theirs = await asyncio.open_connection(host, port)
            ends.append(theirs)
            await asyncio.gather(self._carry(reader, theirs, carried), self._carry(ours, writer, carried))
        for end in ends:
            end.transport.abort()
        self._carried.remove(carried)
        self._tasks.discard(task)

    async def close(self) -> None:
        """End every connection."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @staticmethod
    async def _carry(source: asyncio.StreamReader, to: asyncio.StreamWriter, carried: Carried) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await source.read(65_536):
                if found := _ROLE.search(data):
                    carried.role = found[1].decode()
                if not carried.deaf:
                    to.write(data)
        to.close()


@asynccontextmanager
async def between(dsn: str) -> AsyncIterator[tuple[Way, str]]:
    """Give a way to a server, and the address at its beginning."""
    way = Way(dsn)
    server = await asyncio.start_server(way.lead, "127.0.0.1", 0)
    parts = urlsplit(dsn)
    who = parts.netloc.rpartition("@")[0]
    port = server.sockets[0].getsockname()[1]
    try:
        yield way, f"postgresql://{who}@127.0.0.1:{port}{parts.path}"
    finally:
        server.close()
        await way.close()
