"""Taking slots over from owners whose lease has ended or whose process is known dead (H8)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import asyncpg

from wow_ray.adapters.postgres import endings
from wow_ray.adapters.postgres.connect import PATIENT, Database, Session, Sessions
from wow_ray.adapters.postgres.loading import load
from wow_ray.adapters.postgres.processes import is_dead
from wow_ray.ports.clock import Clock
from wow_ray.ports.slots import Acquired, Owner

LOOK_AGAIN_SECONDS = 0.2
"""How often a waiting successor looks whether the lease has ended."""

HUNG_SECONDS = 2.0
"""How long a commit of the old owner may hold a slot's row before its session is ended."""


async def acquire(sessions: Sessions, owner: Owner, slots: Sequence[int], clock: Clock) -> Acquired:
    """Take the slots over, all or none, as soon as nobody defends them; see `SlotStore.acquire`."""
    while True:
        async with sessions.use(PATIENT) as session:
            defended = await _defenders(session, owner, slots)
            if not defended:
                acquired = await _unhung(_Taking(session, owner, slots), sessions.database)
                if acquired is not None:
                    return acquired
        await clock.sleep(min(LOOK_AGAIN_SECONDS, *defended.values()) if defended else 0)


async def acquire_free(sessions: Sessions, owner: Owner, slots: Sequence[int]) -> Acquired | None:
    """Take over those of the slots that nobody defends; `None` = there are none. See `SlotStore.acquire_free`."""
    async with sessions.use(PATIENT) as session:
        defended = await _defenders(session, owner, slots)
        owners = await session.fetch("owners_of", list(slots))
        free = [row["slot"] for row in owners if row["owner"] not in defended]
        return await _unhung(_Taking(session, owner, free), sessions.database) if free else None


async def _defenders(session: Session, owner: Owner, slots: Sequence[int]) -> dict[str, float]:
    """Give, by owner, the seconds left of each lease that must be waited for."""
    present = await session.fetch("present_owners", list(slots), owner.id)
    return {row["id"]: max(row["left"], 0.01) for row in present if not _known_dead(row, owner)}


def _known_dead(present: asyncpg.Record, owner: Owner) -> bool:
    """Whether a present owner's process is gone for certain: seen on the same host, or by its session having left."""
    if present["session_gone"]:
        return True
    return present["host"] == owner.host and is_dead(present["pid"], present["process_started"])


class _Taking:
    """One try to take slots over; `backend` is the server's number of the session that does it, once it has begun."""

    def __init__(self, session: Session, owner: Owner, slots: Sequence[int]) -> None:
        self._session = session
        self._owner = owner
        self._slots = list(slots)
        self.backend: int | None = None

    async def taken(self) -> Acquired | None:
        """Lock, raise the epochs, load: statements of their own, so that what old commits wrote meanwhile is seen (H1).

        `None` when a present owner has renewed its lease since it was looked at.
        """
        session, owner, slots = self._session, self._owner, self._slots
        async with session.connection.transaction(isolation="read_committed"):
            self.backend = (await session.one("own_backend"))["pid"]
            locked = await session.fetch("lock_slots", slots)
            owners = {row["slot"]: row["owner"] for row in locked}
            present = sorted(set(owners.values()) - {None, owner.id})
            await session.fetch("lock_owners", present)
            if await _defenders(session, owner, slots):
                return None
            died = await endings.judge(session, present, owner)
            await session.fetch("end_leases", present)
            await session.fetch("raise_epochs", slots, owner.id, owner.partition)
            starts = await endings.begin(session, owner)
            return await load(session, slots, {slot for slot in owners if owners[slot] in died}, starts)


async def _unhung(taking: _Taking, database: Database) -> Acquired | None:
    """Take over; while that waits for a commit that hangs, end the sessions it waits for, every 2 s."""
    task = asyncio.ensure_future(taking.taken())
    try:
        while True:
            done, _ = await asyncio.wait({task}, timeout=HUNG_SECONDS)
            if done:
                return task.result()
            if taking.backend is not None:
                await _end_hung_sessions(database, taking.backend)
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})


async def _end_hung_sessions(database: Database, backend: int) -> None:
    """End whoever holds the rows that a take-over waits for, seen from a second session."""
    helper = Sessions(database, "takeover")
    try:
        async with helper.use() as session:
            await session.fetch("hung_sessions", backend)
    finally:
        await helper.close()
