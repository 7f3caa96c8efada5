"""Taking over slots: from what the store holds to lanes, held aggregates and rows that go on by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from wow_ray.runtime.lane import Cell, digest
from wow_ray.runtime.slot import Slot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wow_ray.ports.event_log import LogReader
    from wow_ray.ports.slots import Acquired
    from wow_ray.runtime.feed import Feed
    from wow_ray.runtime.holdings import Holdings
    from wow_ray.runtime.unparking import Unparking
    from wow_ray.runtime.workers import Workers

LOAD_PAGE = 2_000
"""Single events read by one statement."""


class Taking(Protocol):
    """The partition, as it is seen here."""

    holdings: Holdings
    workers: Workers
    stopping: bool


async def take_over(
    partition: Taking, acquired: Acquired, reader: LogReader, feed: Feed, unparking: Unparking, *, joins: bool
) -> None:
    """Put the slots into memory, hand out what was left unfinished, and go on with rows that wait or run (P0, H5).

    Everything is read first; then it all happens in one turn, since a commit that saw a slot without what is unfinished
    in it would lose that. `joins`: the partition runs already. After deaths of the process nothing of it begins before
    it is known who is to begin how (P15).
    """
    holdings = partition.holdings
    names = {group.number: group.name for group in holdings.groups.values()}
    slots = {loaded.slot: Slot(loaded, names) for loaded in acquired.slots}
    await unparking.caution.begin(acquired, slots, reader, joins=joins)
    wanted = {number: slot.take_unfinished() for number, slot in slots.items()}
    cells = await _unfinished(wanted, reader)
    if partition.stopping:
        return
    holdings.slots.update(slots)
    _hold(holdings, acquired)
    for cell in cells:
        event = cell.row
        for number, group in holdings.groups.items():
            if event.position in wanted[event.slot][number] and group.wants(event.aggregate, event.type):
                feed.hand_over(group, slots[event.slot], cell)
    for group in holdings.groups.values():
        partition.workers.activate(group)
    unparking.caution.convict(slots.values())
    for loaded in acquired.slots:
        for row in loaded.live:
            if row.group in holdings.by_name:
                unparking.found(slots[loaded.slot], row)


def _hold(holdings: Holdings, acquired: Acquired) -> None:
    """Hold the aggregates that have an open row, in the groups of this program."""
    for loaded in acquired.slots:
        held = holdings.slots[loaded.slot].held
        for name, aggregate, aggregate_id in loaded.held:
            if name in holdings.by_name:
                held[holdings.by_name[name].number].add(digest((aggregate, aggregate_id)))


async def _unfinished(wanted: Mapping[int, Mapping[int, frozenset[int]]], reader: LogReader) -> list[Cell]:
    """Read again what the former owner had dispatched and not finished.

    By position, never from the low-water mark on, which may be hours back (H46).
    """
    places = [
        (number, position)
        for number, by_group in wanted.items()
        for position in sorted(frozenset().union(*by_group.values()))
    ]
    cells: list[Cell] = []
    for first in range(0, len(places), LOAD_PAGE):
        cells += [Cell(row, (row.aggregate, row.type)) for row in await reader.at(places[first : first + LOAD_PAGE])]
    return cells
