"""How far every group has come and who owns what: read off one snapshot of the store, and how it is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from wow_ray.ops.known import Known
from wow_ray.ops.lags import Oldest, SlotLag, behind
from wow_ray.ops.live import Heard, live_partition, troubles
from wow_ray.ops.live_views import LiveGroup, LivePartition
from wow_ray.ops.pause_views import PauseView
from wow_ray.ops.scaling import MoveView
from wow_ray.ops.views import View
from wow_ray.policy.parked import State
from wow_ray.ports.overview import GroupSeen, Snapshot

SHOWN = frozenset({State.PARKED, State.RETRYING, State.EXHAUSTED})
"""What people are shown as parked; `waiting` rows are long waits within the budget (P0)."""

Counts = Mapping[tuple[str, State], int]


@dataclass(frozen=True, slots=True)
class GroupView(View):
    """One group: `lag` positions not read yet, `unfinished` ones dispatched and not finished as of the last commit.

    `behind` lists the slots with either; `open_rows` counts ledger rows by state, `parked` those that people are shown.
    `pauses` are all that are present, oldest first. `live` is what the partitions say of it; `None` = nobody does.
    """

    group: str
    subscriptions: tuple[str, ...]
    retired: bool
    missing: bool
    lag: int
    unfinished: int
    oldest: Oldest | None
    parked: int
    open_rows: Mapping[str, int]
    behind: tuple[SlotLag, ...]
    pauses: tuple[PauseView, ...] = ()
    live: LiveGroup | None = None
    context: str = ""


@dataclass(frozen=True, slots=True)
class PartitionView(View):
    """One incarnation of a partition; `lease_left` in seconds, infinite = without end; `alive` = the lease holds.

    `live` is what it says of itself; `None` = it has said nothing.
    """

    partition: str
    owner: str
    host: str
    pid: int
    slots: int
    lease_left: float
    alive: bool
    live: LivePartition | None = None


@dataclass(frozen=True, slots=True)
class SizeView(View):
    """One kind of thing in the store: about so many rows, so many bytes with indexes (0 = in memory)."""

    name: str
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class HolderView(View):
    """What keeps the store from cleaning up (H47): the `seconds` of a snapshot, or the `bytes` of log that are kept."""

    name: str
    seconds: float
    bytes: int


@dataclass(frozen=True, slots=True)
class StatusView(View):
    """The store as a whole. `ready` = every slot has an owner whose lease holds (H60); `unowned` are the others.

    `plan` is the number of the plan that an app on Ray follows and `release` its program; `None` = it never ran there.
    """

    context: str
    now: datetime
    server: str
    schema_version: int
    slots: int
    ready: bool
    unowned: tuple[int, ...]
    partitions: tuple[PartitionView, ...]
    lag: int
    parked: int
    open_rows: Mapping[str, int]
    plan: int | None = None
    release: str | None = None
    paused: tuple[str, ...] = ()
    """Groups that somebody has stand still, everywhere or in a partition."""
    running: int = 0
    rate: float = 0.0
    failed_rate: float = 0.0
    """Calls under way, and events handled and failed calls per second, of the partitions that say so at present."""
    troubles: tuple[str, ...] = ()
    """What is not well with partitions that hold their lease (H60)."""
    moves: tuple[MoveView, ...] = ()
    """What has to move until everybody owns what the plan names."""
    absent: tuple[str, ...] = ()
    """Partitions of the plan without a process that runs."""
    sizes: tuple[SizeView, ...] = ()
    """What takes how much room, the largest first; empty = nobody has looked."""
    holders: tuple[HolderView, ...] = ()
    """What keeps the store from cleaning up, the oldest first; empty = nothing, or nobody has looked."""


def group_view(
    group: GroupSeen, lags: tuple[SlotLag, ...], oldest: Oldest | None, counts: Counts, known: Known
) -> GroupView:
    """Put together how a group stands; its handlers are those of the app where that is known."""
    return GroupView(
        group=group.name,
        subscriptions=tuple(sorted(known.groups.get(group.name, group.subscriptions))),
        retired=group.retired,
        missing=group.name not in known.groups,
        lag=sum(lag.lag for lag in lags),
        unfinished=sum(lag.unfinished for lag in lags),
        oldest=oldest,
        parked=_shown(counts, {group.name}),
        open_rows=_by_state(counts, {group.name}),
        behind=lags,
    )


def status_view(context: str, snapshot: Snapshot, counts: Counts, heard: Sequence[Heard]) -> StatusView:
    """Put together how the whole store stands; lag is that of the groups that are not retired."""
    leases = {owner.id: owner.lease_left for owner in snapshot.owners}
    unowned = tuple(slot.slot for slot in snapshot.slots if slot.owner is None or leases.get(slot.owner, 0.0) <= 0)
    running = [group for group in snapshot.groups if not group.retired]
    names = {group for group, _ in counts}
    live = {each.seen.owner: live_partition(each) for each in heard}
    fresh = [each for each in live.values() if each.state != "stale"]
    return StatusView(
        context=context,
        now=snapshot.now,
        server=snapshot.server,
        schema_version=snapshot.schema_version,
        slots=len(snapshot.slots),
        ready=not unowned,
        unowned=unowned,
        partitions=_partitions(snapshot, live),
        lag=sum(lag.lag for group in running for lag in behind(snapshot, group)),
        parked=_shown(counts, names),
        open_rows=_by_state(counts, names),
        running=sum(each.running for each in fresh),
        rate=round(sum(each.rate for each in fresh), 1),
        failed_rate=round(sum(each.failed_rate for each in fresh), 1),
        troubles=troubles(heard),
    )


def _partitions(snapshot: Snapshot, live: Mapping[str, LivePartition]) -> tuple[PartitionView, ...]:
    """Show the owners that hold a lease or still stand in a slot."""
    owned = Counter(slot.owner for slot in snapshot.slots if slot.owner is not None)
    return tuple(
        PartitionView(
            owner.partition,
            owner.id,
            owner.host,
            owner.pid,
            owned[owner.id],
            owner.lease_left,
            owner.lease_left > 0,
            live.get(owner.id),
        )
        for owner in snapshot.owners
        if owner.lease_left > 0 or owned[owner.id]
    )


def _shown(counts: Counts, groups: Collection[str]) -> int:
    """Count what people are shown as parked."""
    return sum(rows for (group, state), rows in counts.items() if group in groups and state in SHOWN)


def _by_state(counts: Counts, groups: Collection[str]) -> Mapping[str, int]:
    """Count open rows by state, in the order of the states; states without rows are left out."""
    found: dict[str, int] = {}
    for state in State:
        rows = sum(count for (group, each), count in counts.items() if group in groups and each is state)
        if rows:
            found[state.value] = rows
    return found
