"""Which database, and on which timeline, a session leads to (H14)."""

from __future__ import annotations

from wow_ray.adapters.postgres.connect import Session


async def identity_of(session: Session) -> str:
    """Name the server's data, its timeline, and the schema's own identity; see `LogReader.identity`."""
    return str((await session.one("identity"))[0])
