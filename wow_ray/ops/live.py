"""From what partitions say of themselves to what operators are shown: which state that is, and what is not well.

A report counts while its owner is there: it holds its lease, or still stands in a slot. One that is older than ten
seconds, or whose owner's lease has ended, is stale.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import get_args

from wow_ray.ops.lags import Oldest, SlotLag
from wow_ray.ops.live_views import LiveGroup, LivePart, LivePartition, LivePause, State
from wow_ray.policy.report import GroupReport, PartitionReport, moment
from wow_ray.ports.overview import Snapshot
from wow_ray.ports.reports import ReportSeen

STALE = 10.0
"""Seconds without a report after which what was said last is not taken for the present, or five that were promised."""
LATE = 10.0
"""Seconds by which a loop of a partition may be overdue (H60)."""
UNCOMMITTED = 30.0
"""Seconds for which something may wait to be committed (H60)."""

GRAVITY: Mapping[State, int] = {state: place for place, state in enumerate(get_args(State))}
GATES = {
    "store": "our own store is away",
    "lease": "its lease is not sure",
    "stop": "it stops",
    "ended": "it is over",
    "caution": "its process died, events are tried one by one",
}
LIMITED = {
    "busy": "the other side is busy",
    "ramp": "the load comes back by and by after a pause",
    "ceiling": "all partitions together may do no more",
}


@dataclass(frozen=True, slots=True)
class Heard:
    """A report that counts. `stale` says why it is not taken for the present; empty = it is."""

    seen: ReportSeen
    report: PartitionReport
    alive: bool
    stale: str

    @property
    def partition(self) -> str:
        """The partition's lasting name."""
        return self.seen.partition


def heard_of(snapshot: Snapshot, reports: Iterable[ReportSeen]) -> tuple[Heard, ...]:
    """Pick the reports that count, by partition."""
    standing = {slot.owner for slot in snapshot.slots}
    leases = {owner.id: owner.lease_left for owner in snapshot.owners}
    found = []
    for seen in reports:
        alive = leases.get(seen.owner, 0.0) > 0
        if seen.report is not None and (alive or seen.owner in standing):
            found.append(Heard(seen, seen.report, alive, _stale(seen, seen.report, alive=alive)))
    return tuple(found)


def live_group(name: str, heard: Iterable[Heard], lags: Mapping[str, Lagging]) -> LiveGroup | None:
    """Sum a group up over its partitions; `lags` by partition. `None` = nobody says anything of it."""
    parts = [_part(each, name, each.report.groups[name], lags) for each in heard if name in each.report.groups]
    if not parts:
        return None
    state = max((part.state for part in parts), key=GRAVITY.__getitem__)
    there = [part for part in parts if part.state == state]
    fresh = [part for part in parts if part.state != "stale"]
    pauses = [part.pause for part in parts if part.pause is not None]
    return LiveGroup(
        state=state,
        why=there[0].why,
        where=tuple(part.partition for part in there),
        age=max(part.age for part in parts),
        handled=sum(part.handled for part in parts),
        failed=sum(part.failed for part in parts),
        parked=sum(part.parked for part in parts),
        rate=round(sum(part.rate for part in fresh), 1),
        failed_rate=round(sum(part.failed_rate for part in fresh), 1),
        running=sum(part.running for part in fresh),
        limit=sum(part.limit for part in parts),
        share=sum(part.share for part in parts),
        limited=tuple(sorted({part.limited for part in parts if part.limited})),
        failing=sum(part.failing for part in parts),
        waiting=sum(part.waiting for part in parts),
        open=sum(part.open for part in parts),
        pause=min(pauses, key=_begun, default=None),
        parts=tuple(parts),
    )


@dataclass(frozen=True, slots=True)
class Lagging:
    """What a partition has left to do of a group, by the store."""

    lag: int
    oldest: Oldest | None


def by_partition(snapshot: Snapshot, lags: Iterable[SlotLag]) -> Mapping[str, Sequence[SlotLag]]:
    """Put the slots with something left to do together by who owns them."""
    found: dict[str, list[SlotLag]] = {}
    for lag in lags:
        owner = snapshot.slots[lag.slot].partition
        if owner is not None:
            found.setdefault(owner, []).append(lag)
    return found


def live_partition(heard: Heard) -> LivePartition:
    """View what one partition says of itself."""
    report, groups = heard.report, heard.report.groups.values()
    state, why = _state_of_partition(heard)
    states = {name: _state(heard, group)[0] for name, group in report.groups.items()}
    return LivePartition(
        state=state,
        why=why,
        age=round(heard.seen.age, 3),
        up=report.up,
        running=sum(group.running for group in groups),
        handled=sum(group.handled for group in groups),
        failed=sum(group.failed for group in groups),
        parked=sum(group.parked for group in groups),
        rate=round(sum(group.rate for group in groups), 1),
        failed_rate=round(sum(group.failed_rate for group in groups), 1),
        committed=report.committed,
        uncommitted=report.uncommitted,
        loop_lag=report.loop_lag,
        late=report.late,
        gates=report.gates,
        replaced=report.replaced,
        groups={name: each for name, each in states.items() if each not in {"running", state}},
        left_out=report.left_out,
        release=report.release,
    )


def troubles(heard: Iterable[Heard]) -> tuple[str, ...]:
    """Say what is not well with partitions that hold their lease: nothing heard, a loop late, a commit that waits."""
    found = []
    for each in heard:
        if not each.alive:
            continue
        if each.stale:
            found.append(f"{each.partition}: {each.stale}")
            continue
        late = {name: seconds for name, seconds in each.report.late.items() if seconds > LATE}
        found += [f"{each.partition}: its {name} is {seconds:.0f} s overdue" for name, seconds in sorted(late.items())]
        if each.report.uncommitted > UNCOMMITTED:
            found.append(f"{each.partition}: what it has to commit waits for {each.report.uncommitted:.0f} s")
    return tuple(found)


def _stale(seen: ReportSeen, report: PartitionReport, *, alive: bool) -> str:
    if not alive:
        return "its lease has ended"
    return f"no report for {seen.age:.0f} s" if seen.age > max(STALE, 5 * report.every) else ""


def _state_of_partition(heard: Heard) -> tuple[State, str]:
    if heard.stale:
        return "stale", heard.stale
    if heard.report.gates:
        return "held", ", ".join(GATES.get(gate, gate) for gate in heard.report.gates)
    return "running", ""


def _state(heard: Heard, group: GroupReport) -> tuple[State, str]:
    """Say how a group is in a partition, and why."""
    if heard.stale:
        return "stale", heard.stale
    if group.stops:
        return "stopped", ", ".join(group.stops)
    if group.pause is not None:
        return "paused", group.pause.error or group.pause.why
    if heard.report.gates:
        return _state_of_partition(heard)
    if group.limited:
        return "slowed", LIMITED.get(group.limited, group.limited)
    return "running", ""


def _part(heard: Heard, name: str, group: GroupReport, lags: Mapping[str, Lagging]) -> LivePart:
    state, why = _state(heard, group)
    left = lags.get(heard.partition, Lagging(0, None))
    return LivePart(
        partition=heard.partition,
        state=state,
        why=why,
        age=round(heard.seen.age, 3),
        handled=group.handled,
        failed=group.failed,
        parked=group.parked,
        rate=group.rate,
        failed_rate=group.failed_rate,
        running=group.running,
        limit=group.limit,
        share=group.share,
        limited=group.limited,
        failing=group.failing,
        window=group.window,
        waiting=group.waiting,
        open=group.open,
        stops=group.stops,
        pause=_pause(heard, name, group),
        lag=left.lag,
        oldest=left.oldest,
    )


def _begun(pause: LivePause) -> float:
    return math.inf if pause.since is None else pause.since.timestamp()


def _pause(heard: Heard, name: str, group: GroupReport) -> LivePause | None:
    pause = group.pause
    if pause is None:
        return None
    return LivePause(
        partition=heard.partition,
        why=pause.why,
        since=moment(pause.since),
        subscription=pause.handler or name,
        error=pause.error,
        next_probe=heard.seen.at + timedelta(seconds=pause.next_probe),
        last_probe_error=pause.probe_error,
        probes_failed=pause.probes,
        healthy_needed=pause.needs,
    )
