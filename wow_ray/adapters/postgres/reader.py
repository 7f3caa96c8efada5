"""Reading the log for feeds and drains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from operator import attrgetter, itemgetter

from wow_ray.adapters.postgres.connect import Database, Sessions
from wow_ray.adapters.postgres.identity import identity_of
from wow_ray.adapters.postgres.rows import stored_events
from wow_ray.events import StoredEvent
from wow_ray.ports.event_log import Interest, Page, Range, StreamWant

PAGE_BYTES = 8_000_000

_BYTES_OF_A_CHARACTER = 4  # at most, in UTF-8
_SLOT = itemgetter(0)
_PLACE = itemgetter(0, 1)
_PAYLOAD = itemgetter(10)
_SLOT_OF_RANGE = attrgetter("slot")


class PostgresLogReader:
    """`ports.event_log.LogReader` on Postgres, on one connection of its own that is made anew after a loss."""

    def __init__(self, database: Database, role: str = "reader") -> None:
        """Open nothing yet; `role` tells a partition's readers apart."""
        self._database = database
        self._sessions = Sessions(database, role)
        self._largest: dict[int, tuple[int, int]] = {}

    @property
    def connections(self) -> int:
        """See the port."""
        return self._sessions.opened

    async def heads(self, slots: Sequence[int]) -> dict[int, int]:
        """See the port; what it says of sizes lets later pages do without counting bytes."""
        async with self._sessions.use() as session:
            rows = await session.fetch("heads", list(slots))
        self._largest.update((slot, (head, largest)) for slot, head, largest in rows)
        return {slot: head for slot, head, _ in rows}

    async def page(self, ranges: Sequence[Range], interest: Interest) -> Page:
        """See the port."""
        reached = {part.slot: part.to for part in ranges}
        if not ranges or not (interest.types or interest.aggregates):
            return Page([], reached)
        types = sorted({type_ for _, type_ in interest.types})
        args = (
            *map(list, zip(*map(_columns, sorted(ranges, key=_SLOT_OF_RANGE)), strict=True)),
            types,
            sorted(interest.aggregates),
        )
        small = sum(map(self._most_bytes, ranges)) < PAGE_BYTES
        async with self._sessions.use() as session:
            rows = await (session.fetch("page", *args) if small else session.fetch("bounded_page", *args, PAGE_BYTES))
        events = stored_events(rows)
        events.sort()
        return Page(events, _reached(events, ranges, reached))

    def _most_bytes(self, part: Range) -> int:
        """Bound what a range can hold, by the largest event there was when its head was last read."""
        head, largest = self._largest.get(part.slot, (-1, 0))
        return min(part.limit, part.to - part.after) * largest if part.to <= head else PAGE_BYTES

    async def at(self, places: Iterable[tuple[int, int]]) -> list[StoredEvent]:
        """See the port."""
        wanted = sorted(set(places))
        if not wanted:
            return []
        async with self._sessions.use() as session:
            rows = await session.fetch("at", [slot for slot, _ in wanted], [position for _, position in wanted])
        return stored_events(rows)

    async def streams(self, wants: Sequence[StreamWant], limit: int) -> list[list[StoredEvent]]:
        """See the port."""
        answers: list[list[StoredEvent]] = [[] for _ in wants]
        if not wants:
            return answers
        async with self._sessions.use() as session:
            rows = await session.fetch(
                "streams",
                [want.slot for want in wants],
                [want.aggregate for want in wants],
                [want.aggregate_id for want in wants],
                [want.version for want in wants],
                [want.sequence for want in wants],
                [want.to_position for want in wants],
                self._database.context,
                limit,
            )
        for *columns, place in rows:
            answers[place - 1].append(StoredEvent._make(columns))
        return answers

    async def identity(self) -> str:
        """See the port: the server's system identifier, its timeline, and the schema's own identity."""
        async with self._sessions.use() as session:
            return await identity_of(session)

    async def close(self) -> None:
        """End the session."""
        await self._sessions.close()


def _columns(part: Range) -> tuple[int, int, int, int]:
    """Give a range as the statements take it."""
    return part.slot, part.after, part.to, part.limit


def _reached(events: Sequence[StoredEvent], ranges: Sequence[Range], reached: dict[int, int]) -> dict[int, int]:
    """Say how far each range was read, given its end in `reached`.

    A range with as many rows as its limit ends at its last row, and so does one whose last row comes after the page
    was full: what followed may have been left out. A range without rows had none to give, since each gets its first.
    """
    counts = Counter(map(_SLOT, events))
    last = dict(map(_PLACE, events))
    for part in ranges:
        if counts[part.slot] >= part.limit:
            reached[part.slot] = last[part.slot]
    if sum(map(len, map(_PAYLOAD, events))) * _BYTES_OF_A_CHARACTER >= PAGE_BYTES:
        size = 0
        for event in events:
            size += len(event.payload.encode())
            if size >= PAGE_BYTES and event.position == last[event.slot]:
                reached[event.slot] = event.position
    return reached
