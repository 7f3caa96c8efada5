"""Facts for the outbox: whoever writes one does so here, last in its transaction, since numbering locks out others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from wow_ray.adapters.postgres.connect import Session


class Told(NamedTuple):
    """What is to be told: about which row or call, in which state of it, after how many seconds at the earliest."""

    kind: str
    about: str
    etag: int
    after: float = 0.0


async def tell(session: Session, facts: Sequence[Told]) -> None:
    """Write facts, once for each state of what they are about (P13)."""
    if facts:
        await session.fetch("lock_notices")
        await session.fetch("add_notices", *map(list, zip(*facts, strict=True)))
