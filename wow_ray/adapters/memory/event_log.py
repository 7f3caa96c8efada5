"""The ports of the log, in memory."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel

from wow_ray.adapters.encoding import encoded_commit, own_ref
from wow_ray.adapters.memory.log import Appending
from wow_ray.events import AggregateRef, Commit, NewCommit, Scope, StoredEvent
from wow_ray.ports.event_log import Interest, Page, Range, StreamWant

if TYPE_CHECKING:
    from wow_ray.adapters.memory.server import Server

PAGE_BYTES = 8_000_000
_STREAM_PAGE = 500


class MemoryEventStore:
    """`ports.event_log.EventStore` in memory."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def append(
        self,
        ref: AggregateRef,
        events: Sequence[BaseModel],
        *,
        expected_version: int | None,
        scope: Scope | None = None,
        commit_id: str | None = None,
        headers: Mapping[str, str] | None = None,
        connection: Any = None,  # noqa: ANN401 - whatever the store's factory makes
    ) -> Commit:
        """See the port; `connection` is one of an open transaction of this store."""
        commit = NewCommit(ref, tuple(events), expected_version, scope, commit_id, headers)
        (done,) = await self.append_many([commit], connection=connection)
        return done

    async def append_many(self, commits: Sequence[NewCommit], *, connection: Any = None) -> tuple[Commit, ...]:  # noqa: ANN401 - as above
        """See the port."""
        server = self._server
        encoded = [encoded_commit(server.log.context, commit, server.max_event_bytes) for commit in commits]
        await server.faults.enter("events.append")
        if connection is not None:
            done = await server.appending_on(connection).append(encoded, server.now)
        else:
            appending = Appending(server.log)
            try:
                done = await appending.append(encoded, server.now)
                appending.publish()
            finally:
                appending.abandon()
        await server.faults.leave("events.append")
        return done

    async def stream(self, ref: AggregateRef, *, from_version: int = 1) -> AsyncIterator[StoredEvent]:
        """See the port."""
        ref = own_ref(self._server.log.context, ref)
        after = (from_version, -1)
        while True:
            await self._server.faults.enter("events.stream")
            rows = self._server.log.streams.get((ref.aggregate, ref.id), [])
            first = bisect_left(rows, after, key=_place_in_stream)
            page = rows[first : first + _STREAM_PAGE]
            await self._server.faults.leave("events.stream")
            for row in page:
                yield row
            if len(page) < _STREAM_PAGE:
                return
            after = (page[-1].version, page[-1].sequence + 1)


class MemoryLogReader:
    """`ports.event_log.LogReader` in memory; `part` tells faults which of a partition's readers it is."""

    def __init__(self, server: Server, part: Literal["reader", "drains"]) -> None:
        self._server = server
        self._part = part

    @property
    def connections(self) -> int:
        """See the port: a server that was set back is met over connections of its own."""
        return 1 + self._server.log.timeline

    async def heads(self, slots: Sequence[int]) -> dict[int, int]:
        """See the port."""
        log = self._server.log
        return await self._server.faults.run(f"{self._part}.heads", lambda: {slot: log.head(slot) for slot in slots})

    async def page(self, ranges: Sequence[Range], interest: Interest) -> Page:
        """See the port."""
        return await self._server.faults.run(f"{self._part}.page", lambda: self._page(ranges, interest))

    async def at(self, places: Iterable[tuple[int, int]]) -> list[StoredEvent]:
        """See the port."""
        wanted = sorted(set(places))
        return await self._server.faults.run(
            f"{self._part}.at", lambda: [row for place in wanted for row in self._at(*place)]
        )

    async def streams(self, wants: Sequence[StreamWant], limit: int) -> list[list[StoredEvent]]:
        """See the port."""
        return await self._server.faults.run(
            f"{self._part}.streams", lambda: [self._wanted(want, limit) for want in wants]
        )

    async def identity(self) -> str:
        """See the port; another answer after `MemoryStore.rewind`."""
        log = self._server.log
        return await self._server.faults.run(f"{self._part}.identity", lambda: f"memory-{id(log):x}/{log.timeline}")

    def _page(self, ranges: Sequence[Range], interest: Interest) -> Page:
        """Read the ranges by slot; every one of them gets at least one wanted row, whatever the size."""
        rows: list[StoredEvent] = []
        reached: dict[int, int] = {}
        room = PAGE_BYTES
        for part in sorted(ranges, key=_slot_of_range):
            reached[part.slot] = part.to
            count = 0
            for row in self._between(part.slot, part.after, part.to):
                if not ((row.aggregate, row.type) in interest.types or row.aggregate in interest.aggregates):
                    continue
                if count and (count == part.limit or room <= 0):
                    reached[part.slot] = rows[-1].position
                    break
                rows.append(row)
                count += 1
                room -= len(row.payload)
        return Page(rows, reached)

    def _between(self, slot: int, after: int, to: int) -> Iterable[StoredEvent]:
        """Give the slot's rows in (after, to]; the row at position n has index n - 1."""
        events = self._server.log.events.get(slot, [])
        return map(events.__getitem__, range(after, min(to, len(events))))

    def _at(self, slot: int, position: int) -> list[StoredEvent]:
        """Give the row of a position, in a list that is empty without one."""
        return self._server.log.events.get(slot, [])[position - 1 : position] if position > 0 else []

    def _wanted(self, want: StreamWant, limit: int) -> list[StoredEvent]:
        """Give the wanted part of one stream."""
        rows = self._server.log.streams.get((want.aggregate, want.aggregate_id), [])
        first = bisect_left(rows, (want.version, want.sequence), key=_place_in_stream)
        return [row for row in rows[first : first + limit] if row.position <= want.to_position]


def _place_in_stream(row: StoredEvent) -> tuple[int, int]:
    """Order the rows of one stream."""
    return row.version, row.sequence


def _slot_of_range(part: Range) -> int:
    """Order the ranges of one page."""
    return part.slot
