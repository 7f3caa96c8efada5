"""What the partitions do at present, as operators are shown it: of each one, of each group, and summed up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from wow_ray.ops.lags import Oldest
from wow_ray.ops.views import View

State = Literal["running", "slowed", "held", "stopped", "paused", "stale"]
"""How a group or a partition is, the gravest last.

`slowed`: less at once than its share. `held`: no call may begin in the partition. `stopped`: somebody has it stand
still. `paused`: its surroundings fail, or too many fail alike; it probes. `stale`: the partition has said nothing for
too long, and what is shown is what it said last.
"""


@dataclass(frozen=True, slots=True)
class LivePause(View):
    """A pause that a partition made by itself: why, since when, and when it probes next.

    `probes_failed` so far, the last one with `last_probe_error`. `healthy_needed` more aggregates that did not fail
    have to succeed.
    """

    partition: str
    why: str
    since: datetime | None
    subscription: str
    error: str
    next_probe: datetime
    last_probe_error: str
    probes_failed: int
    healthy_needed: int


@dataclass(frozen=True, slots=True)
class LivePart(View):
    """One group in one partition, `age` seconds ago. Counts are since the partition started, rates per second.

    `limit` of its `share` calls may run at once, because of `limited` (`busy`, `ramp`, `ceiling`; empty = all of it).
    `failing` aggregates fail at present, `window` of them count towards an outage; `waiting` have work and no call
    under way; `open` positions are handed out and not committed. `lag` and `oldest` are the store's.
    """

    partition: str
    state: State
    why: str
    age: float
    handled: int
    failed: int
    parked: int
    rate: float
    failed_rate: float
    running: int
    limit: int
    share: int
    limited: str
    failing: int
    window: int
    waiting: int
    open: int
    stops: tuple[str, ...]
    pause: LivePause | None
    lag: int
    oldest: Oldest | None


@dataclass(frozen=True, slots=True)
class LiveGroup(View):
    """One group in all partitions that have said something of it: the gravest state, `where` it is so, and why.

    `age` is that of the oldest report. Rates and `running` leave out partitions that are stale. `pause` is the one
    that has lasted longest.
    """

    state: State
    why: str
    where: tuple[str, ...]
    age: float
    handled: int
    failed: int
    parked: int
    rate: float
    failed_rate: float
    running: int
    limit: int
    share: int
    limited: tuple[str, ...]
    failing: int
    waiting: int
    open: int
    pause: LivePause | None
    parts: tuple[LivePart, ...]


@dataclass(frozen=True, slots=True)
class LivePartition(View):
    """One partition, `age` seconds ago; lengths of time in seconds.

    `up` since its start, `committed` since its last commit, `uncommitted` for how long something waits for one,
    `loop_lag` the longest that its loop kept anybody waiting, `late` how overdue its loops are. While one of `gates` is
    closed no call begins; `replaced` workers are lost to calls that do not end. `groups` names those that do not
    simply run, with their state; of `left_out` groups nothing was said. `release` names the program; it may be empty.
    """

    state: State
    why: str
    age: float
    up: float
    running: int
    handled: int
    failed: int
    parked: int
    rate: float
    failed_rate: float
    committed: float
    uncommitted: float
    loop_lag: float
    late: Mapping[str, float]
    gates: tuple[str, ...]
    replaced: int
    groups: Mapping[str, State]
    left_out: int
    release: str = ""
