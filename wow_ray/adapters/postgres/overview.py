"""Looking at a store on Postgres as a whole."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import asyncpg

from wow_ray.adapters.postgres.connect import PATIENT, Database, Session, Sessions
from wow_ray.adapters.postgres.loading import marks_of
from wow_ray.policy.progress import Mark
from wow_ray.ports.overview import GroupSeen, HolderSeen, OwnerSeen, SlotSeen, Snapshot, TableSeen, standing


class PostgresOverview:
    """`ports.overview.Overview` on Postgres, on one connection of its own."""

    def __init__(self, database: Database) -> None:
        """Open nothing yet."""
        self._sessions = Sessions(database, "overview", patience=PATIENT)

    async def groups(self) -> Sequence[GroupSeen]:
        """See the port."""
        async with self._sessions.use() as session:
            return await _groups(session)

    async def snapshot(self) -> Snapshot:
        """See the port; one snapshot of the database, which no writer waits for."""
        async with (
            self._sessions.use() as session,
            session.connection.transaction(isolation="repeatable_read", readonly=True),
        ):
            store = await session.one("overview_store")
            owners = [OwnerSeen(*row) for row in await session.fetch("overview_owners")]
            slots = [_slot(row) for row in await session.fetch("overview_slots")]
            return Snapshot(
                store["now"],
                store["server"],
                store["schema_version"],
                await _groups(session),
                tuple(slots),
                tuple(owners),
            )

    async def sizes(self) -> Sequence[TableSeen]:
        """See the port."""
        async with self._sessions.use() as session:
            return tuple(TableSeen(*row) for row in await session.fetch("overview_sizes"))

    async def holders(self) -> Sequence[HolderSeen]:
        """See the port."""
        async with self._sessions.use() as session:
            return tuple(HolderSeen(*row) for row in await session.fetch("overview_holders"))

    async def close(self) -> None:
        """End the session."""
        await self._sessions.close()


@asynccontextmanager
async def open_overview(database: Database) -> AsyncIterator[PostgresOverview]:
    """Open the overview of a checked database; on leaving its session is closed."""
    overview = PostgresOverview(database)
    try:
        yield overview
    finally:
        await overview.close()


async def _groups(session: Session) -> tuple[GroupSeen, ...]:
    """Read all groups."""
    rows = await session.fetch("overview_groups")
    return tuple(GroupSeen(row["number"], row["name"], row["retired"], tuple(row["subscriptions"])) for row in rows)


def _slot(row: asyncpg.Record) -> SlotSeen:
    """Make a slot of its row."""
    settled: dict[int, set[int]] = defaultdict(set)
    for group, position in zip(row["settled_groups"] or (), row["settled"] or (), strict=True):
        settled[group].add(position)
    found = marks_of(row, row if row["groups"] is not None else None)
    marks: Mapping[int, Mark] = {group: standing(mark, settled.get(group, ())) for group, mark in found.items()}
    return SlotSeen(row["slot"], row["head"], row["partition"], row["owner"], marks)
