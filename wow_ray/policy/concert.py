"""What the partitions of an app do together while the same group is in trouble in several of them (W7).

One probe at a time per group goes out in the whole cluster, and the first success lets the others probe at once. A
group that meets busy answers in one partition is bounded in all of them, so that load that moves does not hit the
same busy side at full force. All of it is advice: a partition that hears nothing decides alone. Times are monotonic
seconds of whoever keeps this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PERMIT_LIFE = 10.0
"""Seconds after which a permit to probe is anybody's again: its holder may be dead, or its call may hang."""
FRESH = 15.0
"""Seconds for which a partition counts as it was seen last."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One group in one partition: paused or not, how many calls may run, how many its full share is, why it is less."""

    paused: bool
    limit: int
    full: int
    cause: str


@dataclass(frozen=True, slots=True)
class _Permit:
    holder: str
    until: float


class Concert:
    """What is known of all partitions. Rebuilt from what they say, so losing it loses nothing."""

    def __init__(self) -> None:
        """Know of nobody."""
        self._seen: dict[str, tuple[float, Mapping[str, Standing]]] = {}
        self._permits: dict[str, _Permit] = {}

    def seen(self, partition: str, groups: Mapping[str, Standing], now: float) -> None:
        """Take in how a partition stands."""
        self._seen[partition] = (now, groups)

    def gone(self, partition: str) -> None:
        """Forget a partition."""
        self._seen.pop(partition, None)
        for group in [group for group, permit in self._permits.items() if permit.holder == partition]:
            del self._permits[group]

    def may_probe(self, group: str, partition: str, now: float) -> bool:
        """Give the permit to probe, or say that another partition has it."""
        permit = self._permits.get(group)
        if permit is not None and permit.holder != partition and now < permit.until:
            return False
        self._permits[group] = _Permit(partition, now + PERMIT_LIFE)
        return True

    def probed(self, group: str, partition: str, now: float, *, succeeded: bool) -> tuple[str, ...]:
        """Take the end of a probe; answers who is to probe at once, because it succeeded."""
        permit = self._permits.get(group)
        if permit is not None and permit.holder == partition:
            del self._permits[group]
        if not succeeded:
            return ()
        return tuple(sorted(name for name, groups in self._fresh(now) if name != partition and _paused(groups, group)))

    def prober(self, group: str, now: float) -> str | None:
        """Name the partition whose probe is out, `None` = nobody's."""
        permit = self._permits.get(group)
        return permit.holder if permit is not None and now < permit.until else None

    def ceilings(self, now: float) -> dict[str, int]:
        """Give the most calls that any partition may run of each group that meets busy answers somewhere.

        Twice what the least restrained of the busy ones runs: they can climb, and the others start from there.
        """
        fresh = self._fresh(now)
        if len(fresh) < 2:  # noqa: PLR2004 - alone there is nobody to tell
            return {}
        busy: dict[str, int] = {}
        for _, groups in fresh:
            for name, standing in groups.items():
                if standing.cause == "busy":
                    busy[name] = max(busy.get(name, 0), standing.limit)
        return {name: 2 * limit for name, limit in busy.items()}

    def view(self, now: float) -> dict[str, dict[str, object]]:
        """Show each group over all partitions: where it is paused, who probes, how many calls may run of how many."""
        found: dict[str, dict[str, object]] = {}
        for name in sorted({name for _, groups in self._fresh(now) for name in groups}):
            standings = {each: groups[name] for each, groups in self._fresh(now) if name in groups}
            found[name] = {
                "paused": sorted(each for each, standing in standings.items() if standing.paused),
                "probing": self.prober(name, now),
                "limit": sum(standing.limit for standing in standings.values()),
                "full": sum(standing.full for standing in standings.values()),
                "causes": sorted({standing.cause for standing in standings.values() if standing.cause}),
            }
        return found

    def _fresh(self, now: float) -> list[tuple[str, Mapping[str, Standing]]]:
        return [(name, groups) for name, (at, groups) in self._seen.items() if now - at <= FRESH]


def _paused(groups: Mapping[str, Standing], group: str) -> bool:
    return group in groups and groups[group].paused
