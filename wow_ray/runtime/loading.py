"""Taking over slots: from what the store holds to lanes, held aggregates and rows that go on by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wow_ray.runtime.lane import Cell, digest
from wow_ray.runtime.slot import Slot

if TYPE_CHECKING:
    from wow_ray.policy.parked import Row
    from wow_ray.ports.event_log import LogReader
    from wow_ray.ports.slots import Acquired
    from wow_ray.runtime.feed import Feed
    from wow_ray.runtime.holdings import Holdings
    from wow_ray.runtime.unparking import Unparking

LOAD_PAGE = 2_000
"""Single events read by one statement."""


async def take_over(
    holdings: Holdings, acquired: Acquired, reader: LogReader, feed: Feed, unparking: Unparking
) -> None:
    """Put the slots into memory, hand out what was left unfinished, and go on with rows that wait or run (P0, H5).

    After deaths of the process nothing of it begins before it is known who is to begin how (P15).
    """
    names = {group.number: group.name for group in holdings.groups.values()}
    going: list[tuple[Slot, Row]] = []
    for loaded in acquired.slots:
        slot = holdings.slots[loaded.slot] = Slot(loaded, names)
        for name, aggregate, aggregate_id in loaded.held:
            if name in holdings.by_name:
                slot.held[holdings.by_name[name].number].add(digest((aggregate, aggregate_id)))
        going.extend((slot, row) for row in loaded.live if row.group in holdings.by_name)
    await unparking.caution.begin(acquired, reader)
    await _unfinished(holdings, reader, feed)
    unparking.caution.convict()
    for slot, row in going:
        unparking.found(slot, row)


async def _unfinished(holdings: Holdings, reader: LogReader, feed: Feed) -> None:
    """Hand out again what the former owner had dispatched and not finished.

    By position, never from the low-water mark on, which may be hours back (H46).
    """
    wanted = {number: slot.take_unfinished() for number, slot in holdings.slots.items()}
    places = [
        (number, position)
        for number, by_group in wanted.items()
        for position in sorted(frozenset().union(*by_group.values()))
    ]
    for first in range(0, len(places), LOAD_PAGE):
        for row in await reader.at(places[first : first + LOAD_PAGE]):
            cell = Cell(row)
            for number, group in holdings.groups.items():
                if row.position in wanted[row.slot][number] and group.wants(row.aggregate, row.type):
                    feed.hand_over(group, holdings.slots[row.slot], cell)
