"""What operators see of a store: how far every group has come, who owns what, and what is declared.

Only for looking: nothing is decided by it, and what it shows may be over by the time it is read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from wow_ray.policy.progress import Mark


@dataclass(frozen=True, slots=True)
class GroupSeen:
    """A group as the store knows it. `retired`: the newest program does not declare it.

    `subscriptions` are all it ever had under their present names, also those whose handler is gone.
    """

    number: int
    name: str
    retired: bool
    subscriptions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SlotSeen:
    """One slot: its last position (0 = empty), the name and the id of its owner (`None` = given up, or never had).

    `marks` holds every group known to the store, by number. Calls that settled through a transaction of their own are
    out of `unfinished`, whether or not a commit has folded their markers yet.
    """

    slot: int
    head: int
    partition: str | None
    owner: str | None
    marks: Mapping[int, Mark]


@dataclass(frozen=True, slots=True)
class OwnerSeen:
    """One incarnation of a partition. `lease_left` in seconds by the store's clock; 0 or less = it has ended."""

    id: str
    partition: str
    host: str
    pid: int
    lease_left: float


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything as of one moment, the store's `now`; slots in order of their numbers.

    `server` names the kind of store and its version, `schema_version` is the number of the newest migration applied.
    """

    now: datetime
    server: str
    schema_version: int
    groups: tuple[GroupSeen, ...]
    slots: tuple[SlotSeen, ...]
    owners: tuple[OwnerSeen, ...]


@dataclass(frozen=True, slots=True)
class TableSeen:
    """What one kind of thing takes: `rows` as the store estimates them, `bytes` with indexes (0 = in memory)."""

    name: str
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class HolderSeen:
    """What keeps the store from cleaning up after changes (H47): an open snapshot, or a consumer of its log.

    `seconds` is the snapshot's age, 0 for a consumer; `bytes` of log are kept for a consumer, 0 for a snapshot.
    """

    name: str
    seconds: float
    bytes: int


def standing(mark: Mark, settled: Collection[int]) -> Mark:
    """Take out of a stored mark what calls with a transaction of their own have settled since."""
    unfinished = tuple(position for position in mark.unfinished if position not in settled)
    return Mark(mark.cursor, unfinished, mark.generation)


class Overview(Protocol):
    """Looking at a store as a whole. Raises `StoreUnavailableError`."""

    async def groups(self) -> Sequence[GroupSeen]:
        """Give all groups ever registered, by number."""
        ...

    async def sizes(self) -> Sequence[TableSeen]:
        """Say what takes how much room, the largest first."""
        ...

    async def holders(self) -> Sequence[HolderSeen]:
        """Say what keeps the store from cleaning up, the oldest first, as far as its rights let it see."""
        ...

    async def snapshot(self) -> Snapshot:
        """Look at everything at once: no head is older than a cursor beside it."""
        ...
