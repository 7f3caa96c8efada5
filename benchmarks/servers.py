"""A Postgres of its own for each benchmark: durable, as it comes, gone afterwards."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import asyncpg

from wow_ray.adapters.embedded import EmbeddedPostgres
from wow_ray.adapters.postgres import Database, migrate


@asynccontextmanager
async def fresh_database(context: str) -> AsyncIterator[Database]:
    """Start a server in a temporary folder and make the schema."""
    async with fresh_server(context) as (_, database):
        yield database


@asynccontextmanager
async def fresh_server(context: str, *, port: int | None = None) -> AsyncIterator[tuple[EmbeddedPostgres, Database]]:
    """Do the same, and give the server too; on a `port` its address stays the same when it is stopped and started."""
    with TemporaryDirectory(prefix="wow-ray-bench-", ignore_cleanup_errors=True) as folder:
        server = EmbeddedPostgres(Path(folder) / "state", port=port)
        await asyncio.to_thread(server.start)
        try:
            database = Database(server.dsn, context)
            await migrate(database.dsn, database.schema, database.slots, context)
            yield server, database
        finally:
            await asyncio.to_thread(server.stop)


def free_port() -> int:
    """Find a port of 127.0.0.1 on which nobody listens now."""
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])


@asynccontextmanager
async def connected(database: Database) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """Open one plain connection."""
    connection = await asyncpg.connect(database.dsn)
    try:
        yield connection
    finally:
        await connection.close()


async def server_version(database: Database) -> str:
    """Name the server's version."""
    async with connected(database) as connection:
        return str(await connection.fetchval("show server_version"))
