"""The Postgres of the demo: a private one in a fresh folder, or schemas of its own on the server that is configured."""

import asyncio
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from examples.shop.demo.environment import told
from examples.shop.shop import app
from examples.shop.tables import make_tables
from wow_ray import StoreUnavailableError
from wow_ray.cluster import Database, database_of, migrated, settings_of, start_embedded

DSN = "WOW_RAY_POSTGRES_DSN"
SCHEMA = "WOW_RAY_POSTGRES_SCHEMA"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the shop's data lie: in words, as a database, as the folder of a private server, if it is one.

    `preparing` and `options` are how commands in another terminal are told.
    """

    described: str
    database: Database
    data_dir: Path | None
    preparing: Sequence[str]
    options: str


@contextmanager
def opened(folder: Path) -> Iterator[Place]:
    """Open a place for the shop, with log and tables; everything in it is gone afterwards.

    Processes that are started during the block find it in their environment, or in the folder they are told.
    """
    dsn = settings_of(app).dsn()
    with _ours(folder / "postgres") if dsn is None else _theirs(dsn) as place:
        asyncio.run(_furnished(place.database))
        yield place


async def _furnished(database: Database) -> None:
    await migrated(database, settings_of(app))
    await make_tables(database.dsn)


@contextmanager
def _ours(state: Path) -> Iterator[Place]:
    """Start a private server; it ends with this process at the latest."""
    server = start_embedded(app.context, state)
    try:
        database = database_of(settings_of(app), app.context, dsn=server.dsn)
        options = f"--context {app.context} --data-dir {server.state_dir}"
        yield Place(f"a private Postgres in {server.state_dir}", database, server.state_dir, (), options)
    finally:
        server.stop()


@contextmanager
def _theirs(dsn: str) -> Iterator[Place]:
    """Make two schemas on a server that is there, one for the log and one for the tables, and drop them afterwards."""
    schema = f"wow_shop_demo_{os.getpid()}"
    tables = f"{schema}_tables"
    asyncio.run(_run(dsn, f"create schema {tables}"))
    found = f"{dsn}{'&' if '?' in dsn else '?'}search_path={tables}"
    try:
        with told(**{DSN: found, f"{DSN}_FILE": None, SCHEMA: schema}):
            database = database_of(settings_of(app), app.context)
            preparing = (f"export {SCHEMA}={schema}",)
            options = f"--context {app.context}"
            yield Place(f"the configured server, schema {schema}", database, None, preparing, options)
    finally:
        asyncio.run(_run(dsn, f"drop schema if exists {schema} cascade; drop schema {tables} cascade"))


async def _run(dsn: str, sql: str) -> None:
    """Run statements on a connection of their own."""
    try:
        connection = await asyncpg.connect(dsn, timeout=10.0)
    except (OSError, asyncpg.PostgresError, ValueError) as error:
        raise StoreUnavailableError(
            f"{DSN} cannot be used ({error}): correct it, or unset it for a private one"
        ) from error
    try:
        await connection.execute(sql)
    finally:
        await connection.close()
