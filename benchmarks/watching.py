"""What is seen of a service from outside its handlers: its pauses, its limits, what it has charged, its ledger."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from benchmarks.servers import connected
from wow_ray.adapters.postgres import Database
from wow_ray.runtime.group import Group
from wow_ray.runtime.partition import Partition
from wow_ray.runtime.service import Service

NEVER = float("inf")
LOOK = 0.01
"""Seconds between two looks."""


@dataclass(slots=True)
class Seen:
    """One pause of a group in a partition; `ended` is inf while it lasts."""

    partition: str
    why: str
    began: float
    ended: float = NEVER

    @property
    def seconds(self) -> float:
        """How long it lasted, up to now."""
        return min(self.ended, time.monotonic()) - self.began


@dataclass(frozen=True, slots=True)
class Look:
    """One look at a partition's group: how many calls might run at once and did, how many commits there had been."""

    at: float
    partition: str
    limit: int
    running: int
    committed: int


class Watch:
    """Watches the pauses of a service from its start, its limits and commits while `looking`."""

    def __init__(self, service: Service) -> None:
        """Be told of every pause; a partition that is started anew is not followed."""
        self.pauses: list[Seen] = []
        self.looks: list[Look] = []
        self._service = service
        for partition in service.partitions:
            self._follow(partition)

    def of(self, partition: str) -> list[Seen]:
        """List one partition's pauses."""
        return [pause for pause in self.pauses if pause.partition == partition]

    def paused(self, partition: str, at: float) -> bool:
        """Tell whether the partition was paused at that time."""
        return any(pause.began < at < pause.ended for pause in self.of(partition))

    def surely_committed(self, partition: str) -> float:
        """Give a time up to which all that had been done is in the store, by the looks up to now.

        Commits follow one another, so the last one began after the one before it was acknowledged.
        """
        looks = [look for look in self.looks if look.partition == partition]
        return max((look.at for look in looks if look.committed <= looks[-1].committed - 2), default=0.0)

    def spent(self) -> int:
        """Count the attempts that are charged to aggregates at present, of whichever budget."""
        lanes = (lane for group in self._groups() for lane in group.lanes.values())
        return sum(lane.spent.attempts + lane.spent.backpressure for lane in lanes)

    def limited(self) -> bool:
        """Tell whether any group may run less than its full share."""
        return any(group.limited or group.pause is not None for group in self._groups())

    @asynccontextmanager
    async def looking(self) -> AsyncIterator[None]:
        """Look every few milliseconds."""

        async def look() -> None:
            while True:
                for partition in self._service.partitions:
                    for group in partition.groups.values():
                        seen = (partition.owner.partition, group.limit, group.running, partition.commits.committed)
                        self.looks.append(Look(time.monotonic(), *seen))
                await asyncio.sleep(LOOK)

        task = asyncio.ensure_future(look())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _groups(self) -> list[Group]:
        return [group for partition in self._service.partitions for group in partition.groups.values()]

    def _follow(self, partition: Partition) -> None:
        name, probes = partition.owner.partition, partition.outages.probes
        told = probes.changed
        open_now: dict[int, Seen] = {}

        def changed(group: Group) -> None:
            seen = open_now.get(group.number)
            if group.pause is not None and seen is None:
                open_now[group.number] = seen = Seen(name, group.pause.why, time.monotonic())
                self.pauses.append(seen)
            elif group.pause is None and seen is not None:
                open_now.pop(group.number).ended = time.monotonic()
            told(group)

        probes.changed = changed


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of the ledger: those that hold an aggregate that is parked now, those exhausted, and all there ever were."""

    parked: int
    exhausted: int
    ever: int
    held: frozenset[str]
    """The accounts whose events are held."""


async def rows_of(database: Database) -> Rows:
    """Count them."""
    sql = f"select aggregate_id, state, open from {database.schema}.parked"  # noqa: S608 - our own schema
    async with connected(database) as connection:
        rows = await connection.fetch(sql)
    states = Counter(row["state"] for row in rows)
    parked = states["parked"] + states["retrying"] + states["exhausted"]
    held = frozenset(row["aggregate_id"] for row in rows if row["open"])
    return Rows(parked, states["exhausted"], len(rows), held)
