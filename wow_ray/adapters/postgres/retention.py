"""Deleting what is old, on Postgres."""

from __future__ import annotations

from datetime import datetime
from typing import assert_never

import asyncpg

from wow_ray.adapters.postgres.connect import Sessions
from wow_ray.ports.retention import Forgotten, Old


class PostgresRemains:
    """`ports.retention.Remains` on Postgres, on somebody else's sessions: each statement is short."""

    def __init__(self, sessions: Sessions) -> None:
        """Use these sessions; whoever made them closes them."""
        self._sessions = sessions

    async def forget(self, what: Old, older_than: float, most: int, after: datetime | None = None) -> Forgotten:
        """See the port."""
        asked = (older_than, most, after)
        async with self._sessions.use() as session:
            match what:
                case Old.ATTEMPTS:
                    found = await session.fetch("forget_attempts", *asked)
                case Old.ROWS:
                    found = await session.fetch("forget_rows", *asked)
                case Old.AUDIT:
                    found = await session.fetch("forget_audit", *asked)
                    found += await session.fetch("forget_pauses", *asked)
                case Old.NOTICES:
                    found = await session.fetch("forget_facts", *asked)
                    found += await session.fetch("forget_deliveries", *asked)
                case Old.SAMPLES:
                    found = await session.fetch("forget_samples", *asked)
                case _:
                    assert_never(what)
        return _forgotten(found, most, after)


def _forgotten(found: list[asyncpg.Record], most: int, before: datetime | None) -> Forgotten:
    """Say what was done; where all that was looked at is deleted, the next look begins at the same place."""
    deleted = sum(each["deleted"] for each in found)
    full = [each for each in found if each["looked"] >= most]
    kept = [each["last"] for each in full if each["deleted"] < each["looked"]]
    return Forgotten(deleted, bool(full), min(kept) if kept else before)
