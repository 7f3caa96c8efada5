"""What a new owner finds in its slots."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime

import asyncpg

from wow_ray.adapters.postgres.connect import Session
from wow_ray.adapters.postgres.rows import row_of
from wow_ray.policy.parked import Row
from wow_ray.policy.progress import Mark, unpack
from wow_ray.policy.suspicion import Start, Trying
from wow_ray.ports.slots import Acquired, SlotLoaded


async def load(session: Session, slots: Sequence[int], crashed: Collection[int], starts: tuple[Start, ...]) -> Acquired:
    """Load slots whose rows the open transaction has locked.

    In statements after the lock, so that all commits before it are seen. The process of the former owner of `crashed`
    died; `starts` are those of the new owner's partition.
    """
    wanted = list(slots)
    loaded = await session.fetch("load_slots", wanted)
    begun_at = {row["slot"]: row for row in await session.fetch("load_starts", wanted)}
    settled: dict[int, dict[int, frozenset[int]]] = defaultdict(dict)
    for row in await session.fetch("load_settled", wanted):
        settled[row["slot"]][row["group_number"]] = frozenset(row["positions"])
    held: dict[int, list[tuple[str, str, str]]] = defaultdict(list)
    for slot, group, aggregate, aggregate_id in await session.fetch("load_held", wanted):
        held[slot].append((group, aggregate, aggregate_id))
    live: dict[int, list[Row]] = defaultdict(list)
    for record in await session.fetch("load_live", wanted):
        live[record["slot"]].append(row_of(record))
    trying: dict[int, list[Trying]] = defaultdict(list)
    for slot, *tried in await session.fetch("load_trying", wanted):
        trying[slot].append(Trying(*tried))
    found = {
        row["slot"]: SlotLoaded(
            slot=row["slot"],
            epoch=row["epoch"],
            marks=marks_of(row, begun_at.get(row["slot"])),
            settled=settled.get(row["slot"], {}),
            held=tuple(held.get(row["slot"], ())),
            live=tuple(live.get(row["slot"], ())),
            trying=tuple(trying.get(row["slot"], ())),
            crashed=row["slot"] in crashed,
        )
        for row in loaded
    }
    now: datetime = loaded[-1]["now"]
    return Acquired(tuple(found[slot] for slot in wanted), now, starts)


def marks_of(slot: asyncpg.Record, starts: asyncpg.Record | None) -> dict[int, Mark]:
    """Give every known group's mark.

    Its progress, or its start where it has none that was written since it was fixed.
    """
    if starts is None:
        return {}
    packed = unpack(slot["progress"])
    written_at = slot["progress_epoch"]
    marks: dict[int, Mark] = {}
    for group, position, epoch in zip(starts["groups"], starts["positions"], starts["epochs"], strict=True):
        stored = packed.get(group)
        marks[group] = stored if stored is not None and written_at > epoch else Mark(position)
    return marks
