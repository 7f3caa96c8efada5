"""What a partition says of itself every two seconds, so that people see it without asking its process.

Best effort: while the store is away nothing is said, and nothing is said later of that time. It reads plain counters,
is in nobody's way, and what goes wrong in it is nobody's trouble but its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from datetime import UTC
from typing import TYPE_CHECKING, Protocol

from wow_ray.errors import StoreUnavailableError
from wow_ray.policy.report import GroupReport, PartitionReport, PauseReport
from wow_ray.runtime.waiting import within

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wow_ray.ports.clock import Cancellable, Clock
    from wow_ray.ports.reports import Reports
    from wow_ray.ports.slots import Owner
    from wow_ray.runtime.commits import Commits
    from wow_ray.runtime.feed import Feed
    from wow_ray.runtime.group import Group
    from wow_ray.runtime.intents import Intents
    from wow_ray.runtime.pace import Pace
    from wow_ray.runtime.probes import Pausing
    from wow_ray.runtime.slot import Slot
    from wow_ray.runtime.stops import Stops
    from wow_ray.runtime.workers import Workers

log = logging.getLogger("wow_ray.partition")

SOON = 0.25
"""Seconds between two reports at least, however many pauses begin and end."""
BOUND = 2.0
"""Seconds that the store is given for one; it is the ledger's session, for which others wait."""
SPAN = 10.0
"""Seconds over which rates are counted."""
BEATS = 8
"""How often the loop is listened to between two reports."""


class Loop(Protocol):
    """A loop of the partition that turns again and again."""

    due: float


class Reported(Protocol):
    """The partition, as it is seen here."""

    owner: Owner
    release: str
    pace: Pace
    ended: asyncio.Future[None]
    slots: dict[int, Slot]
    groups: dict[int, Group]
    workers: Workers
    commits: Commits
    feed: Feed
    intents: Intents
    stops: Stops


class Reporting:
    """Reports of one partition."""

    def __init__(self, reports: Reports, clock: Clock, partition: Reported) -> None:
        """Say nothing before `run`."""
        self._reports = reports
        self._clock = clock
        self._partition = partition
        self._every = partition.pace.report_interval
        self._began = clock.monotonic()
        self._rates = Rates(self._began)
        self._told = asyncio.Event()
        self._writing = asyncio.Lock()
        self._closed = self._troubled = False
        self._beat_at = self._began
        self._lag = 0.0
        self._timer: Cancellable | None = None

    def hurry(self) -> None:
        """Say it now: a pause has begun, has ended, or has learned something."""
        self._told.set()

    async def run(self) -> None:
        """Report for ever; ends by cancellation."""
        self._beat_at = self._clock.monotonic()
        self._beat()
        try:
            while True:
                self._told.clear()
                began = self._clock.monotonic()
                await self._say()
                await self._rest(began)
        finally:
            if self._timer is not None:
                self._timer.cancel()

    async def close(self) -> None:
        """Take the report away and say nothing ever after; raises what the store raises."""
        self._closed = True
        async with self._writing:
            await self._reports.withdraw(self._partition.owner)

    def _beat(self) -> None:
        """Listen how late the loop is."""
        now = self._clock.monotonic()
        self._lag = max(self._lag, now - self._beat_at)
        self._beat_at = now + self._every / BEATS
        self._timer = self._clock.call_at(self._beat_at, self._beat)

    async def _rest(self, began: float) -> None:
        """Wait until the next one is due, or somebody hurries."""
        timer = self._clock.call_at(began + self._every, self._told.set)
        try:
            await self._told.wait()
        finally:
            timer.cancel()
        early = began + SOON - self._clock.monotonic()
        if early > 0:
            await self._clock.sleep(early)

    async def _say(self) -> None:
        try:
            await within(self._clock, BOUND, self._write())
        except (StoreUnavailableError, TimeoutError) as error:
            log.debug("%s cannot report (%s)", self._partition.owner.partition, error)
        except Exception:
            if not self._troubled:
                log.exception("%s cannot report; trying on", self._partition.owner.partition)
            self._troubled = True

    async def _write(self) -> None:
        partition = self._partition
        async with self._writing:
            if not self._closed and partition.slots and not partition.ended.done():
                await self._reports.write(partition.owner, self._report())

    def _report(self) -> PartitionReport:
        """Put together how the partition is now."""
        partition, now = self._partition, self._clock.monotonic()
        groups = partition.groups.values()
        rates = self._rates.at(now, {group.name: (group.handled, group.failures) for group in groups})
        lag, self._lag = max(self._lag, now - self._beat_at), 0.0
        loops: Mapping[str, Loop] = {"feed": partition.feed, "intents": partition.intents, "stops": partition.stops}
        return PartitionReport(
            every=self._every,
            up=now - self._began,
            slots=len(partition.slots),
            committed=now - partition.commits.committed_at,
            uncommitted=partition.commits.waiting(now),
            loop_lag=lag,
            late={name: late for name, loop in loops.items() if (late := now - loop.due) > 0},
            gates=tuple(sorted(partition.workers.gates)),
            replaced=partition.workers.replaced,
            release=partition.release,
            groups={group.name: _group(group, rates[group.name], now) for group in groups},
        )


class Rates:
    """How much happens per second, by what was counted over the last ten of them."""

    def __init__(self, began: float) -> None:
        """Nothing had happened when it began."""
        self._counts: deque[tuple[float, Mapping[str, tuple[int, int]]]] = deque([(began, {})])

    def at(self, now: float, counts: Mapping[str, tuple[int, int]]) -> Mapping[str, tuple[float, float]]:
        """Give the rates by name, of counts that only grow; over a second at least."""
        found = self._counts
        while len(found) > 1 and found[1][0] <= now - SPAN:
            found.popleft()
        since, before = found[0]
        seconds = max(1.0, now - since)
        if now - found[-1][0] >= 1.0:
            found.append((now, counts))
        rates = {}
        for name, (handled, failed) in counts.items():
            handled_before, failed_before = before.get(name, (0, 0))
            rates[name] = round((handled - handled_before) / seconds, 1), round((failed - failed_before) / seconds, 1)
        return rates


def _group(group: Group, rates: tuple[float, float], now: float) -> GroupReport:
    """Say how one group is."""
    pause = group.pause
    return GroupReport(
        handled=group.handled,
        failed=group.failures,
        parked=group.parked,
        rate=rates[0],
        failed_rate=rates[1],
        running=group.running,
        limit=group.limit,
        share=group.ceiling,
        limited=group.limiter.cause,
        failing=len(group.outlook.failing),
        window=len(group.outlook.window),
        waiting=max(0, len(group.lanes) - group.running),
        open=group.open,
        stops=tuple(sorted(group.stops)),
        pause=None if pause is None else _pause(pause, group, now),
        failed_by=dict(group.failures_by),
    )


def _pause(pause: Pausing, group: Group, now: float) -> PauseReport:
    """Say how a pause stands."""
    return PauseReport(
        why=pause.why,
        since=pause.since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        handler="" if pause.subscription == group.name else pause.subscription,
        error=pause.error,
        next_probe=max(0.0, pause.next_probe - now),
        probe_error=pause.last_probe_error,
        probes=pause.probing.failures,
        needs=pause.probing.needs - len(pause.probing.proven),
    )
