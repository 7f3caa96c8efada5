"""Another number of partitions by itself: looks how far behind and how busy they are, asks the policy, stores a plan.

A partition that finds no room in the cluster is an actor that waits for a place: Ray's own autoscaler sees that and
adds a node, and until then whoever has the slots keeps them. What stands still on purpose, or because its surroundings
fail, does not count: more partitions would not help it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from wow_ray.actors.site import Control
from wow_ray.errors import ConflictError
from wow_ray.ops.commands import Command
from wow_ray.ops.lags import behind
from wow_ray.ops.scaling import Scaling
from wow_ray.policy.autoscale import Bounds, Load, advise
from wow_ray.policy.plan import Plan
from wow_ray.ports.clock import Clock
from wow_ray.ports.overview import Snapshot

log = logging.getLogger("wow_ray.actors")

ACTOR = "autoscaler"
"""Who asks, in plans and in the audit."""

Seen = Mapping[str, Mapping[str, Any]]


class Autoscaling:
    """Changes one app's number of partitions, where its settings say so."""

    def __init__(self, context: str, clock: Clock) -> None:
        """Know of no plan yet: a supervisor that begins anew waits for a cool-down first."""
        self._context = context
        self._clock = clock
        self._plan = 0
        self._since = 0.0

    async def round(self, control: Control, plan: Plan, seen: Seen) -> None:
        """Look once, and store another plan if there should be another number; `seen` says how each partition is."""
        now = self._clock.monotonic()
        if plan.number != self._plan:
            self._plan, self._since = plan.number, now
        bounds = control.autoscale
        if bounds is None or now - self._since < bounds.cool_down or not _settled(plan, seen):
            return
        load = load_of(plan, seen, await control.overview.snapshot())
        bounds = Bounds(bounds.least, min(bounds.most, control.slots), bounds.target_lag, bounds.cool_down)
        advice = advise(load, bounds, now - self._since)
        if advice.partitions == load.partitions:
            return
        scaling = Scaling(self._context, control.plans, control.overview, self._clock)
        try:
            view = await scaling.scale(advice.partitions, Command(ACTOR, advice.why))
        except ConflictError as error:  # somebody else was quicker
            log.info("%s partitions are wanted, and not asked for: %s", advice.partitions, error)
        else:
            log.info("plan %d: %d partitions, since %s", view.plan, advice.partitions, advice.why)


def load_of(plan: Plan, seen: Seen, snapshot: Snapshot) -> Load:
    """Put together what the partitions of a plan have to do."""
    groups = [each["groups"] for name, each in seen.items() if name in plan.partitions]
    still = {name for each in groups for name, group in each.items() if group["still"]}
    lags = [
        sum(slot.lag + slot.unfinished for slot in behind(snapshot, group))
        for group in snapshot.groups
        if not group.retired and group.name not in still
    ]
    return Load(len(plan.partitions), max(lags, default=0), _busy(groups, still))


def _busy(groups: list[Mapping[str, Mapping[str, Any]]], still: set[str]) -> float:
    """Give the share of its calls at once that the busiest group uses over all partitions."""
    running: dict[str, int] = {}
    limits: dict[str, int] = {}
    for each in groups:
        for name, group in each.items():
            running[name] = running.get(name, 0) + group["running"]
            limits[name] = limits.get(name, 0) + group["limit"]
    shares = [min(1.0, running[name] / limits[name]) for name in limits if limits[name] and name not in still]
    return max(shares, default=0.0)


def _settled(plan: Plan, seen: Seen) -> bool:
    """Tell whether everybody has what the plan names."""
    found = [seen.get(name) for name in plan.partitions]
    return all(
        each is not None and each["standing"] == "running" and not each["moves"]["joining"] + each["moves"]["leaving"]
        for each in found
    )
