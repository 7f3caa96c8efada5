"""The Postgres of the demo: a private one in a fresh folder, or schemas of its own on the server that is configured."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import asyncpg

from examples.shop.shop import app
from examples.shop.tables import make_tables
from wow_ray import StoreUnavailableError
from wow_ray.cluster import database_of, migrated, settings_of, start_embedded

DSN = "WOW_RAY_POSTGRES_DSN"
SCHEMA = "WOW_RAY_POSTGRES_SCHEMA"
APP = "examples.shop.shop:app"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the shop's data lie: in words, as an address, and how commands in another terminal are told."""

    described: str
    dsn: str
    preparing: Sequence[str]
    options: str


@asynccontextmanager
async def opened() -> AsyncIterator[Place]:
    """Open a place for the shop, with log and tables; everything in it is gone afterwards."""
    dsn = os.environ.get(DSN)
    async with _theirs(dsn) if dsn else _ours() as place:
        settings = settings_of(app)
        await migrated(database_of(settings, app.context, dsn=place.dsn), settings)
        await make_tables(place.dsn)
        yield place


@asynccontextmanager
async def _ours() -> AsyncIterator[Place]:
    """Start a private server; it ends with this process at the latest."""
    with TemporaryDirectory(prefix="wow-ray-shop-", ignore_cleanup_errors=True) as folder:
        server = await asyncio.to_thread(start_embedded, app.context, Path(folder) / "state")
        try:
            yield Place(
                f"a private Postgres in {server.state_dir}",
                server.dsn,
                (),
                f"--app {APP} --data-dir {server.state_dir}",
            )
        finally:
            await asyncio.to_thread(server.stop)


@asynccontextmanager
async def _theirs(dsn: str) -> AsyncIterator[Place]:
    """Make two schemas on a server that is there, one for the log and one for the tables, and drop them afterwards."""
    schema = f"wow_shop_demo_{os.getpid()}"
    tables = f"{schema}_tables"
    await _run(dsn, f"create schema {tables}")
    try:
        with _told(SCHEMA, schema):
            found = f"{dsn}{'&' if '?' in dsn else '?'}search_path={tables}"
            yield Place(f"the server of {DSN}, schema {schema}", found, (f"export {SCHEMA}={schema}",), f"--app {APP}")
    finally:
        await _run(dsn, f"drop schema if exists {schema} cascade; drop schema {tables} cascade")


@contextmanager
def _told(name: str, value: str) -> Iterator[None]:
    """Set a variable of the environment, as a deployment would, for the length of the block."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


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
