"""How many partitions an app on Ray should have, from how far it is behind and how busy it is.

More when it is further behind than its partitions are to be, at most twice as many at a time; one less when it is
nearly up to date and the others would carry the load with ease. After each change nothing changes for the cool-down:
slots have to move and what is behind has to be caught up before it is known what the change has brought.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

EASE = 0.5
"""Of their calls at once, what the partitions that stay may use for one to go; and of the lag, what may be left."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the host allows: from `least` to `most` partitions, each to be behind by at most `target_lag` events.

    `cool_down` in seconds.
    """

    least: int
    most: int
    target_lag: int
    cool_down: float


@dataclass(frozen=True, slots=True)
class Load:
    """What the partitions of the present plan have to do.

    `lag` is how many events the group that is furthest behind has not finished, in all; `busy` what share of the calls
    that may run at once does run, from 0 to 1.
    """

    partitions: int
    lag: int
    busy: float


@dataclass(frozen=True, slots=True)
class Advice:
    """So many partitions, and why; the present number = nothing is to change."""

    partitions: int
    why: str


def advise(load: Load, bounds: Bounds, since: float) -> Advice:
    """Say how many partitions there should be; `since` is how many seconds ago the number last changed."""
    present = load.partitions
    if since < bounds.cool_down:
        return Advice(present, "it has changed a moment ago")
    if present > bounds.most:
        return Advice(bounds.most, f"at most {bounds.most}")
    needed = math.ceil(load.lag / bounds.target_lag)
    if present < bounds.least or needed > present:
        wanted = min(max(bounds.least, min(needed, 2 * present)), bounds.most)
        return Advice(wanted, f"{load.lag} events behind, {bounds.target_lag} for each partition")
    if present > bounds.least and _at_ease(load, bounds):
        return Advice(present - 1, f"{load.lag} events behind, {load.busy:.0%} of the calls under way")
    return Advice(present, "enough")


def _at_ease(load: Load, bounds: Bounds) -> bool:
    """Tell whether one partition less would do."""
    left = load.partitions - 1
    return load.lag <= EASE * bounds.target_lag * left and load.busy * load.partitions <= EASE * left
