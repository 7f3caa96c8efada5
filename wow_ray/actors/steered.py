"""A partition's side of what the supervisor steers: permits to probe, hurried probes, ceilings (W7, D4).

All of it is advice. A permit that is not answered is one, and a ceiling that is not given again is none.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from wow_ray.actors.fleet import Steering
from wow_ray.ports.clock import Cancellable, Clock
from wow_ray.runtime.group import Group
from wow_ray.runtime.service import Service

log = logging.getLogger("wow_ray.actors")

PATIENCE = 1.0
"""Seconds within which the supervisor answers."""
CEILING_LIFE = 10.0
"""Seconds for which a ceiling holds that is not given again."""


class Steered:
    """Follows the supervisor, for the partition of that lasting name."""

    def __init__(self, name: str, clock: Clock, steering: Steering) -> None:
        """Reach the supervisor through `steering`."""
        self._name = name
        self._clock = clock
        self._steering = steering
        self._telling: set[asyncio.Task[None]] = set()
        self._expiry: Cancellable | None = None

    def take(self, service: Service) -> None:
        """Have the service's partitions ask before they probe, and tell how it went."""
        for partition in service.partitions:
            partition.outages.probes.permit = self._may_probe
            partition.outages.probes.told = self._tell

    def follow(self, service: Service, directive: Mapping[str, Any]) -> None:
        """Follow a directive; what it does not name stays as it is."""
        for partition in service.partitions:
            for name in directive.get("hurry", ()):
                if name in partition.by_name:
                    partition.outages.probes.hurry(partition.by_name[name])
        if "ceilings" in directive:
            self._bound(service, directive["ceilings"])

    def _bound(self, service: Service, ceilings: Mapping[str, int]) -> None:
        for partition in service.partitions:
            for name, group in partition.by_name.items():
                if group.limiter.ceiling != ceilings.get(name):
                    group.limiter.ceiling = ceilings.get(name)
                    group.relimit()
                    partition.workers.activate(group)
        if self._expiry is not None:
            self._expiry.cancel()
        at = self._clock.monotonic() + CEILING_LIFE
        self._expiry = self._clock.call_at(at, lambda: self._bound(service, {})) if ceilings else None

    async def _may_probe(self, group: str) -> bool:
        return await self._steering.may_probe(self._name, group, PATIENCE) is not False

    def _tell(self, group: Group, succeeded: bool) -> None:  # noqa: FBT001 - how the probe ended
        task = asyncio.get_running_loop().create_task(self._told(group.name, succeeded=succeeded))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _told(self, group: str, *, succeeded: bool) -> None:
        try:
            await self._steering.probed(self._name, group, PATIENCE, succeeded=succeeded)
        except Exception as error:  # noqa: BLE001 - its permit ends by itself, the others probe in their time
            log.debug("%s: the supervisor could not be told of a probe: %s", self._name, error)


def groups_of(service: Service) -> Mapping[str, Mapping[str, Any]]:
    """Give each group's plain counters, summed up over the partitions of this process."""
    found: dict[str, dict[str, Any]] = {}
    for partition in service.partitions:
        for name, group in partition.by_name.items():
            new = {
                "handled": 0,
                "failures": 0,
                "running": 0,
                "paused": False,
                "still": False,
                "limit": 0,
                "full": 0,
                "cause": "",
            }
            one = found.setdefault(name, new)
            one["handled"] += group.handled
            one["failures"] += group.failures
            one["running"] += group.running
            one["paused"] |= group.pause is not None
            one["still"] |= group.pause is not None or bool(group.stops)
            one["limit"] += group.limit
            one["full"] += group.ceiling
            one["cause"] = one["cause"] or group.limiter.cause
    return found
