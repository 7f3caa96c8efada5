"""The state of an aggregate as of an event, for handlers of `StateEvent`.

A group with such a handler reads every type of the aggregate, so as a lane goes on its state is folded one event at a
time. When there is none (a new lane, a retry, a drain that begins in the middle) the stream is read from its
beginning; reads of many lanes that ask in the same turn become one statement (H21). A handler that failed may have
changed the state object, so a retry folds anew.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from wow_ray.ports.event_log import StreamWant
from wow_ray.runtime.decoding import decode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wow_ray.events import Folds, StoredEvent
    from wow_ray.handlers.states import FoldSpec
    from wow_ray.ports.event_log import LogReader
    from wow_ray.runtime.lane import Cell, Lane

PAGE = 500
"""Events of one stream read at once."""


class States:
    """Folds states for the lanes of one partition."""

    def __init__(self, reader: LogReader, folds: Mapping[type[Any], FoldSpec]) -> None:
        """Read streams through `reader`; `folds` says which events each state class takes."""
        self._reader = reader
        self._folds = folds
        self._wanted: list[tuple[StreamWant, asyncio.Future[list[StoredEvent]]]] = []
        self._reading: set[asyncio.Task[None]] = set()

    async def at(self, lane: Lane, cell: Cell, cls: type[Any]) -> Any:  # noqa: ANN401 - the author's own class
        """Give the state of class `cls` with the cell's event applied.

        Raises `UndecodableError` when an event of the stream cannot be read, `StoreUnavailableError`, or what `apply`
        raised.
        """
        group, row = lane.group, cell.row
        place = (row.version, row.sequence)
        known = group.states.get((cls, lane.key))
        if known is not None and known[:2] == place:
            return known[2]
        if known is not None and place in ((known[0], known[1] + 1), (known[0] + 1, 0)):
            state = self._applied(cls, known[2], row)
        else:
            state = await self._folded(row, cls)
        group.remember_state(cls, lane.key, row.version, row.sequence, state)
        return state

    async def _folded(self, upto: StoredEvent, cls: type[Any]) -> Any:  # noqa: ANN401 - the author's own class
        """Fold the stream from its beginning up to and including `upto`."""
        state: Any = cls()
        version, sequence = 1, 0
        while True:
            want = StreamWant(upto.slot, upto.aggregate, upto.aggregate_id, version, sequence, upto.position)
            rows = await self._read(want)
            for row in rows:
                state = self._applied(cls, state, row)
            if len(rows) < PAGE:
                return state
            version, sequence = rows[-1].version, rows[-1].sequence + 1

    def _applied(self, cls: type[Any], state: Folds, row: StoredEvent) -> Any:  # noqa: ANN401 - the author's own class
        """Apply one event; a type that the state's `apply` does not take passes it by."""
        spec = self._folds[cls].events.get(row.type)
        return state if spec is None else state.apply(decode(row, spec))

    async def _read(self, want: StreamWant) -> list[StoredEvent]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[list[StoredEvent]] = loop.create_future()
        self._wanted.append((want, future))
        if len(self._wanted) == 1:
            loop.call_soon(self._start)
        return await future

    def _start(self) -> None:
        wanted, self._wanted = self._wanted, []
        task = asyncio.get_running_loop().create_task(self._answer(wanted))
        self._reading.add(task)
        task.add_done_callback(self._reading.discard)

    async def _answer(self, wanted: list[tuple[StreamWant, asyncio.Future[list[StoredEvent]]]]) -> None:
        try:
            answers = await self._reader.streams([want for want, _ in wanted], PAGE)
        except BaseException as error:  # noqa: BLE001 - handed to everyone who asked
            for _, future in wanted:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), rows in zip(wanted, answers, strict=True):
            if not future.done():
                future.set_result(rows)
