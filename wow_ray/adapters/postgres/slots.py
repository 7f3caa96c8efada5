"""Owning slots, and committing what their owner did."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, Literal

from wow_ray.adapters.postgres import registering, schema, takeover
from wow_ray.adapters.postgres.commits import write_all
from wow_ray.adapters.postgres.connect import PATIENT, Database, Session, Sessions
from wow_ray.adapters.postgres.identity import identity_of
from wow_ray.errors import ConflictError, StoreUnavailableError
from wow_ray.ports.clock import Clock
from wow_ray.ports.slots import Acquired, GroupDeclared, GroupRegistered, GroupReset, Owner, SlotWrite

HOOKED = 3_600
"""Beats for a reset, in which a projection's own `on_reset` does whatever it does."""


class PostgresSlotStore:
    """`ports.slots.SlotStore` on Postgres, on one connection of its own.

    Commits queue behind each other, not behind pages.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        """Open nothing yet."""
        self._database = database
        self._clock = clock
        self._sessions = Sessions(database, "slots")
        self._identity: str | None = None
        self._same: Session | None = None
        """The session that is known to lead to the database of which slots were acquired."""

    async def register(
        self, groups: Sequence[GroupDeclared], returning: Literal["stored", "end"] | None = None
    ) -> dict[str, GroupRegistered]:
        """See the port."""
        async with (
            self._sessions.use(PATIENT) as session,
            session.connection.transaction(isolation="read_committed"),
        ):
            return await registering.register(session, groups, returning)

    async def admit(self, groups: Sequence[GroupDeclared], returning: Literal["stored", "end"] | None = None) -> None:
        """See the port."""
        async with self._sessions.use() as session:
            await registering.admit(session, groups, returning)

    async def slot_count(self) -> int:
        """See the port."""
        return (await schema.check(self._database)).slots

    async def acquire(self, owner: Owner, slots: Sequence[int]) -> Acquired:
        """See the port; a commit that hangs is ended by ending whoever holds its rows."""
        if not slots:
            async with self._sessions.use() as session:
                return Acquired((), await _now(session))
        acquired = await takeover.acquire(self._sessions, owner, slots, self._clock)
        async with self._sessions.use() as session:
            self._identity, self._same = await identity_of(session), session
        return acquired

    async def acquire_free(self, owner: Owner, slots: Sequence[int]) -> Acquired:
        """See the port."""
        async with self._sessions.use() as session:
            await self._look_where(session)
            now = await _now(session)
        found = await takeover.acquire_free(self._sessions, owner, slots) if slots else None
        return found or Acquired((), now)

    async def commit(self, writes: Sequence[SlotWrite]) -> datetime:
        """See the port; no writes = no transaction, just the store's time."""
        async with self._sessions.use() as session:
            if not writes:
                return await _now(session)
            await self._look_where(session)
            async with session.connection.transaction(isolation="read_committed"):
                return await write_all(session, writes)

    async def _look_where(self, session: Session) -> None:
        """Refuse to commit to another database than the slots were acquired of, met when connecting anew (H14).

        What the owner knows is of a log that this one may not have; it begins anew once its feed sees that too.
        """
        if session is self._same or session.pgbouncer:
            return
        found = await identity_of(session)
        if self._identity not in {None, found}:
            raise StoreUnavailableError(f"this is another database, or timeline, than before: {found}")
        self._identity, self._same = found, session

    async def reset(
        self, writes: Sequence[SlotWrite], reset: GroupReset, hook: Callable[[Any], Awaitable[None]] | None
    ) -> int:
        """See the port."""
        slots = await self.slot_count()
        if len({write.slot for write in writes}) != slots:
            msg = f"{reset.group} can only be reset by the owner of all {slots} slots"
            raise ConflictError(msg)
        async with (
            self._sessions.use(HOOKED) as session,
            session.connection.transaction(isolation="read_committed"),
        ):
            await write_all(session, writes)
            await session.fetch("reset_settled", reset.number)
            closed = await session.fetch("reset_rows", reset.group, reset.to)
            if hook is not None:
                await hook(session.connection)
            return len(closed)

    async def release(self, writes: Sequence[SlotWrite], owner: Owner) -> None:
        """See the port."""
        async with self._sessions.use() as session, session.connection.transaction(isolation="read_committed"):
            await _given_up(session, writes, owner)
            await session.fetch("end_clean", owner.id)

    async def let_go(self, writes: Sequence[SlotWrite], owner: Owner) -> None:
        """See the port."""
        async with self._sessions.use() as session, session.connection.transaction(isolation="read_committed"):
            await _given_up(session, writes, owner)

    async def excuse(self, partition: str) -> None:
        """See the port."""
        async with self._sessions.use() as session:
            await session.fetch("excuse_start", partition)

    async def close(self) -> None:
        """End the session."""
        await self._sessions.close()


async def _given_up(session: Session, writes: Sequence[SlotWrite], owner: Owner) -> None:
    """Commit, then let the slots have no owner; no slots, nothing to do."""
    if writes:
        await write_all(session, writes)
        await session.fetch("give_up", [write.slot for write in writes], owner.id)


async def _now(session: Session) -> datetime:
    """Give the store's time."""
    now: datetime = (await session.one("store_time"))["now"]
    return now
