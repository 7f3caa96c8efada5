"""The newest state of an aggregate's row, wherever it is: in a lane, on its way to the store, or in the store (P10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wow_ray.policy.parked import OPEN, Row

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from wow_ray.ports.ledger import Ledger, NewIntent
    from wow_ray.runtime.lane import Lane
    from wow_ray.runtime.slot import Slot


class NewestRows:
    """Finds the row that a command is about."""

    def __init__(self, ledger: Ledger, now: Callable[[], datetime]) -> None:
        """Read what memory does not have through `ledger`; `now` is the store's time."""
        self._ledger = ledger
        self._now = now

    async def row(self, slot: Slot, lane: Lane | None, request: NewIntent) -> Row | None:
        """Give the row that a command names, or the aggregate's open one; raises `StoreUnavailableError`."""
        row = self._in_memory(slot, lane, request)
        if row is None:
            row = await self._ledger.open_row(request.group, request.aggregate, request.aggregate_id)
            if row is not None and slot.ended_unwritten(row.id):
                row = None
        if request.row_id is not None and (row is None or row.id != request.row_id):
            return slot.in_memory(request.row_id) or await self._ledger.row(request.row_id)
        return row

    def same(self, slot: Slot, lane: Lane | None, row: Row | None, request: NewIntent) -> bool:
        """Tell whether a row that was read is still how the aggregate stands."""
        if row is not None and row.state not in OPEN:
            return True
        newest = self._in_memory(slot, lane, request)
        if newest is not None:
            return row is not None and (row.id, row.etag) == (newest.id, newest.etag)
        return row is None or not slot.outdated(row)

    def _in_memory(self, slot: Slot, lane: Lane | None, request: NewIntent) -> Row | None:
        if lane is not None and lane.row is not None:
            return lane.caught_up(self._now())
        return slot.unwritten(request.group, request.aggregate, request.aggregate_id)
