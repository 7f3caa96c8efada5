"""Transactions of effectively-once calls: what a handler writes and the marker of its call, committed together (H4)."""

from __future__ import annotations

import asyncio
import uuid
from contextlib import suppress
from typing import TypeAlias

import asyncpg
from asyncpg.exceptions import InterfaceError, PostgresError
from asyncpg.transaction import Transaction

from wow_ray.adapters.postgres.connect import ANSWER_SECONDS, CONNECT_SECONDS, Database, told_of
from wow_ray.adapters.postgres.errors import (
    FAILED_TRANSACTION,
    READ_ONLY,
    is_lost_connection,
    sqlstate_of,
    translated,
)
from wow_ray.adapters.postgres.statements import statements
from wow_ray.errors import FencedError, StoreUnavailableError, WowError
from wow_ray.ports.slots import EffectMark

Pool: TypeAlias = "asyncpg.Pool[asyncpg.Record]"
Lent: TypeAlias = "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"

ROLLBACK_SECONDS = 5.0
BEGIN_SECONDS, SETTLE_SECONDS, COMMIT_SECONDS = 5.0, 10.0, 15.0
"""Within which the server answers to what is ours around a call, else it is gone.

The first waits for nothing, the second for a commit under way, the third for the handler's own deferred constraints.
"""


class PostgresEffectTransaction:
    """`ports.slots.EffectTransaction` on Postgres.

    `connection` is the handler's; its nested transactions are savepoints.
    """

    def __init__(self, effects: PostgresEffects, mark: EffectMark, connection: Lent) -> None:
        """Take over a lent connection on which nothing was begun yet."""
        self._effects = effects
        self._mark = mark
        self._token = uuid.uuid4().hex
        self._transaction: Transaction = connection.transaction(isolation="read_committed")
        self._over = False
        self.lost = False
        self.connection = connection

    async def start(self) -> None:
        """Begin, and mark the transaction as ours."""
        async with asyncio.timeout(BEGIN_SECONDS):
            await self._transaction.start()
            await self.connection.fetch(self._effects.sql["mark_transaction"], self._token)

    async def commit(self) -> None:
        """See the port; a handler that ended the transaction, or left it failed, is told so and nothing is settled."""
        try:
            async with asyncio.timeout(SETTLE_SECONDS):
                await self._settle()
            async with asyncio.timeout(COMMIT_SECONDS):  # without an answer the outcome is unknown
                await self._transaction.commit()
        except (WowError, asyncio.CancelledError):
            raise
        except Exception as error:
            self.lost = _is_gone(error)
            raise _meaning(error) from error
        finally:
            await self.rollback()

    async def rollback(self) -> None:
        """See the port; after a commit it only gives the connection back."""
        if self._over:
            return
        self._over = True
        try:
            self.lost = self.lost or self.connection.is_closed() or _takes_no_writes(self.connection)
            if not self.lost and self.connection.is_in_transaction():
                await self._roll_back()
        except Exception as error:  # noqa: BLE001 - whatever it is, the connection is given up
            self.lost = self.lost or _is_gone(error)
        finally:
            await self._effects.give_back(self.connection, lost=self.lost)

    async def _roll_back(self) -> None:
        """Roll back as the driver wants it told, and by hand where a handler has confused it."""
        try:
            async with asyncio.timeout(ROLLBACK_SECONDS):
                await self._transaction.rollback()
        except InterfaceError as error:
            if is_lost_connection(error):
                raise
        if self.connection.is_in_transaction():
            await self.connection.execute("ROLLBACK", timeout=ROLLBACK_SECONDS)

    async def _settle(self) -> None:
        """Insert the marker and lock the slot's row at our epoch, in the handler's transaction."""
        if not self.connection.is_in_transaction():
            raise WowError(_ENDED, "WOW-EFFECT")
        mark = self._mark
        try:
            rows = await self.connection.fetch(
                self._effects.sql["settle"], mark.group, mark.slot, mark.position, mark.epoch, self._token
            )
        except PostgresError as error:
            # A statement of ours: a lock that was not given, a full disk, are no fault of the handler's.
            meaning = translated(error)
            if isinstance(meaning, StoreUnavailableError) and sqlstate_of(error) != FAILED_TRANSACTION:
                raise meaning from error
            raise
        if not rows:
            msg = f"slot {mark.slot} has a newer owner; what the handler wrote was undone"
            raise FencedError(msg, (mark.slot,))
        if not rows[0]["same"]:
            raise WowError(_ENDED, "WOW-EFFECT")


_ENDED = (
    "the handler ended the transaction of its ctx.connection; what it wrote by then may be stored, but the call is "
    "not settled: write without COMMIT and ROLLBACK, use `async with ctx.connection.transaction()` for savepoints"
)
_FAILED = (
    "the handler left the transaction of its ctx.connection failed and went on; what it wrote was undone: "
    "let the error out, or use `async with ctx.connection.transaction()` around what may fail"
)


def _meaning(error: BaseException) -> BaseException:
    """Say what an error around a commit means: the store is gone and the outcome unknown, or the database refused."""
    if sqlstate_of(error) == FAILED_TRANSACTION:
        return WowError(_FAILED, "WOW-EFFECT")
    meaning = translated(error)
    return meaning if _is_gone(error) and meaning is not None else error


def _takes_no_writes(connection: Lent) -> bool:
    """Whether the server says that it is a standby, or read-only: after a failover another one is the right one."""
    said = connection.get_settings()
    return "on" in {getattr(said, name, "off") for name in ("in_hot_standby", "default_transaction_read_only")}


def _is_gone(error: BaseException) -> bool:
    """Whether the connection is of no use any more: lost, silent, or one to a server that takes no writes."""
    gone = sqlstate_of(error).startswith(("08", "57P", READ_ONLY, "25P03"))
    return gone or isinstance(error, OSError) or is_lost_connection(error)


class PostgresEffects:
    """`ports.slots.Effects` on Postgres: at most `size` connections, opened when needed."""

    def __init__(self, database: Database, size: int = 4) -> None:
        """Open nothing yet."""
        self._database = database
        self._size = size
        self._pool: Pool | None = None
        self.sql = statements(database.schema)

    async def begin(self, mark: EffectMark) -> PostgresEffectTransaction:
        """See the port; waits for a free connection."""
        connection = await self._taken()
        transaction = PostgresEffectTransaction(self, mark, connection)
        try:
            await transaction.start()
        except BaseException as error:
            transaction.lost = True
            await transaction.rollback()
            if isinstance(error, TimeoutError) and self._pool is not None:
                await self._pool.expire_connections()  # those that are idle have fallen silent with this one
            raise translated(error) or error from error
        return transaction

    async def settled(self, mark: EffectMark) -> bool:
        """See the port; the slot's row is locked first, so that a commit still running on the server is waited out."""
        connection = await self._taken()
        lost = True
        try:
            transaction = connection.transaction(isolation="read_committed")
            async with asyncio.timeout(BEGIN_SECONDS):
                await transaction.start()
            await connection.fetch(self.sql["wait_for_commits"], mark.slot, timeout=ANSWER_SECONDS)
            async with asyncio.timeout(BEGIN_SECONDS):
                found = await connection.fetchval(self.sql["is_settled"], mark.group, mark.slot, mark.position)
                await transaction.commit()
            lost = False
        except Exception as error:
            raise translated(error) or error from error
        finally:
            await self.give_back(connection, lost=lost)
        return bool(found)

    async def give_back(self, connection: Lent, *, lost: bool = False) -> None:
        """Return a lent connection to the pool; a `lost` one, or one not returned in time, is ended. Never raises."""
        if self._pool is None:
            return
        if lost:
            with suppress(Exception):
                connection.terminate()
        try:
            await self._pool.release(connection, timeout=ROLLBACK_SECONDS)
        except Exception:  # noqa: BLE001 - whatever is wrong with it, it is given up
            with suppress(Exception):
                connection.terminate()

    async def close(self) -> None:
        """End all connections; those in use after 5 s are cut off."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        try:
            await asyncio.wait_for(pool.close(), ROLLBACK_SECONDS)
        except TimeoutError:
            pool.terminate()

    async def _taken(self) -> Lent:
        """Borrow a connection; raises `StoreUnavailableError`."""
        if self._pool is None:
            self._pool = self._made()
        try:
            await self._pool
            return await self._pool.acquire()
        except Exception as error:
            raise translated(error) or error from error

    def _made(self) -> Pool:
        """Make the pool; it connects when a call wants a connection."""
        database = self._database
        return asyncpg.create_pool(
            database.dsn,
            min_size=0,
            max_size=self._size,
            timeout=CONNECT_SECONDS,
            command_timeout=None,
            statement_cache_size=0 if database.pgbouncer else 100,
            server_settings=None if database.pgbouncer else told_of(database, "effects"),
        )
