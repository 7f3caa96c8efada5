"""How owners have ended: judged by whoever takes their slots over, while it holds the rows of both (P15, H10)."""

from __future__ import annotations

from collections.abc import Sequence

import asyncpg

from wow_ray.adapters.postgres.connect import Session
from wow_ray.adapters.postgres.processes import is_dead
from wow_ray.policy.suspicion import Ending, Start
from wow_ray.ports.slots import Owner


async def judge(session: Session, former: Sequence[str], owner: Owner) -> frozenset[str]:
    """Note how these owners have ended, before their leases are deleted; answers those whose process died."""
    if not former:
        return frozenset()
    found = await session.fetch("former_owners", list(former))
    if found:
        endings = [_ending(row, owner).value for row in found]
        await session.fetch("end_starts", [row["owner"] for row in found], endings, [row["seen"] for row in found])
    return frozenset(row["owner"] for row in await session.fetch("unclean_owners", list(former)))


async def begin(session: Session, owner: Owner) -> tuple[Start, ...]:
    """Note the owner's start; answers how the starts of its partition before it ended, oldest first."""
    await session.fetch("begin_start", owner.id, owner.partition, owner.host, owner.pid, owner.process_started)
    await session.fetch("forget_starts", owner.partition)
    recent = await session.fetch("recent_starts", owner.partition, owner.id)
    return tuple(Start(row["started_at"], row["ended_at"], Ending(row["ending"])) for row in reversed(recent))


def _ending(former: asyncpg.Record, owner: Owner) -> Ending:
    """Judge one that still had slots.

    Without a lease it has ended that itself and let nobody have its slots: it failed. With one its process is dead if
    it is gone from this host, or if its session has left the server; a node that is lost leaves the session behind.
    """
    process = (former["host"], former["pid"], former["process_started"])
    if former["excused"] or process == (owner.host, owner.pid, owner.process_started):
        return Ending.EXCUSED
    if not former["leased"]:
        return Ending.UNCLEAN
    here = former["host"] == owner.host
    dead = is_dead(former["pid"], former["process_started"]) if here else former["session_gone"]
    return Ending.UNCLEAN if dead else Ending.EXCUSED
