"""How far a group is behind in each slot, and which of its events has waited longest: read off a snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from wow_ray.events import StoredEvent
from wow_ray.ops.views import View
from wow_ray.ports.overview import GroupSeen, Snapshot


@dataclass(frozen=True, slots=True)
class SlotLag(View):
    """One slot with something left to do: `lag` = head less cursor; `oldest` is the first position not finished."""

    slot: int
    head: int
    cursor: int
    lag: int
    unfinished: int
    oldest: int


@dataclass(frozen=True, slots=True)
class Oldest(View):
    """The longest waiting event of a group that nobody has finished; `age` in seconds by the store's clock."""

    slot: int
    position: int
    occurred_at: datetime
    age: float


def behind(snapshot: Snapshot, group: GroupSeen) -> tuple[SlotLag, ...]:
    """List the slots in which a group has something left to read or to finish."""
    found = []
    for slot in snapshot.slots:
        mark = slot.marks.get(group.number)
        if mark is None or (mark.cursor >= slot.head and not mark.unfinished):
            continue
        oldest = mark.unfinished[0] if mark.unfinished else mark.cursor + 1
        lag = max(0, slot.head - mark.cursor)
        found.append(SlotLag(slot.slot, slot.head, mark.cursor, lag, len(mark.unfinished), oldest))
    return tuple(found)


def oldest_of(lags: Iterable[SlotLag], events: Mapping[tuple[int, int], StoredEvent], now: datetime) -> Oldest | None:
    """Find the longest waiting event among the first unfinished ones of each slot; `None` when nothing waits."""
    waiting = [events[lag.slot, lag.oldest] for lag in lags if (lag.slot, lag.oldest) in events]
    if not waiting:
        return None
    first = min(waiting, key=lambda event: (event.occurred_at, event.slot))
    return Oldest(first.slot, first.position, first.occurred_at, max(0.0, (now - first.occurred_at).total_seconds()))


def first_places(lags: Sequence[SlotLag]) -> set[tuple[int, int]]:
    """Give the place of the first unfinished event of each slot."""
    return {(lag.slot, lag.oldest) for lag in lags}
