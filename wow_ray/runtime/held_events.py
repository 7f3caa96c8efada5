"""What an aggregate's row holds at the moment an operator's command is applied (P9, H41)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wow_ray.policy.parked import Row, Verb
from wow_ray.ports.event_log import StreamWant

if TYPE_CHECKING:
    from wow_ray.events import StoredEvent
    from wow_ray.ports.event_log import LogReader
    from wow_ray.ports.ledger import NewIntent
    from wow_ray.runtime.group import Group
    from wow_ray.runtime.slot import Slot

PAGE = 2_000
"""Events of the stream read by one statement."""


async def scan(
    reader: LogReader, group: Group, slot: Slot, row: Row | None, request: NewIntent
) -> tuple[StoredEvent | None, dict[str, Any]]:
    """Find the last event that the command concerns, and what a skip passes over.

    That is how many events, from and through which version. Everything up to the group's cursor is handled or held;
    what is handled while this reads belongs to it as well, so it reads on until the cursor has stood still during a
    read. Raises `StoreUnavailableError`.
    """
    progress = slot.progress[group.number]
    version, sequence = row.stopped if row is not None else (1, 0)
    through = request.through_version if request.verb is Verb.SKIP else None
    first: StoredEvent | None = None
    last: StoredEvent | None = None
    count = 0
    while True:
        to = progress.cursor
        want = StreamWant(slot.number, request.aggregate, request.aggregate_id, version, sequence, to)
        (rows,) = await reader.streams([want], PAGE)
        for found in rows:
            beyond = through is not None and found.version > through
            if beyond or (request.verb is Verb.SKIP_ONE and last is not None):
                break
            if group.wants(found.aggregate, found.type):
                first, last = first or found, found
                count += 1
        if rows:
            version, sequence = rows[-1].version, rows[-1].sequence + 1
        if len(rows) < PAGE and progress.cursor == to:
            break
    if first is None or last is None:
        return None, {"skipped": 0}
    return last, {"skipped": count, "from_version": first.version, "through_version": last.version}
