"""The actor that keeps partitions and callers: it starts who is missing, replaces who hangs, ends who is not needed.

It holds no truth. The plan is in the store, a partition takes its slots without being told, and a supervisor that was
killed begins again by looking at both.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Collection, Mapping
from typing import Any

from wow_ray.actors.autoscaling import Autoscaling
from wow_ray.actors.fleet import CALLER, LEDGER, SUPERVISOR, Fleet, callers_of
from wow_ray.actors.leaving_nodes import LeavingNodes
from wow_ray.actors.life import Life
from wow_ray.actors.site import Control, Site
from wow_ray.errors import StoreUnavailableError
from wow_ray.policy.concert import Concert, Standing
from wow_ray.policy.plan import Plan

log = logging.getLogger("wow_ray.actors")

ROUND = 1.0
"""Seconds between two rounds."""
PATIENCE = 3.0
"""Seconds within which an actor answers."""
SILENT = 15.0
"""Seconds without an answer after which an actor's process counts as hung: stopped, or starved for good."""
STRANGE = 180.0
"""Seconds after which an actor that has never run is not waited for any more: its plan would have come (H19)."""
STUCK = 60.0
"""Seconds after which a data loop that does not turn counts as hung.

Far above what a handler may block: the lease is renewed by another thread, so such an owner does no harm.
"""


class SupervisorActor:
    """Keeps one app's partitions."""

    def __init__(self, site: Site, fleet: Fleet, end: Callable[[int], Any] = os._exit) -> None:
        """Schedule the rounds; `end` ends the process."""
        self._site = site
        self._fleet = fleet
        self._clock = site.clock()
        self._answered: dict[str, float] = {}
        self._seen: dict[str, Mapping[str, Any]] = {}
        self._strange: dict[str, float] = {}
        """Partitions' actors that are in no plan, and since when."""
        self._control: Control | None = None
        self._autoscaling = Autoscaling(site.context, self._clock)
        self._leaving_nodes = LeavingNodes(fleet, self._excused)
        self._trouble = ""
        self._concert = Concert()
        self._bounded: dict[str, int] = {}
        """The ceilings that were given out last, by group."""
        self.life = Life("supervisor", self._clock, self._lived(), end)

    async def status(self) -> dict[str, Any]:
        """Tell what the last round has seen; answers at any time."""
        return {
            "pid": os.getpid(),
            "release": self._site.release,
            "edition": self._site.edition,
            "trouble": self._trouble,
            "silence": self.life.silence,
            "partitions": dict(self._seen),
            "groups": self._concert.view(self._clock.monotonic()),
        }

    async def may_probe(self, partition: str, group: str) -> bool:
        """Give a partition the permit to probe a group, or say that another one's probe is out (W7)."""
        return await self.life.hop(self._may_probe(partition, group))

    async def probed(self, partition: str, group: str, succeeded: bool) -> None:  # noqa: FBT001 - one word of a message
        """Hear how a probe ended; after a success the others that are paused probe at once (W7)."""
        await self.life.hop(self._probed(partition, group, succeeded=succeeded))

    async def _may_probe(self, partition: str, group: str) -> bool:
        return self._concert.may_probe(group, partition, self._clock.monotonic())

    async def _probed(self, partition: str, group: str, *, succeeded: bool) -> None:
        others = self._concert.probed(group, partition, self._clock.monotonic(), succeeded=succeeded)
        await self._directed({each: {"hurry": [group]} for each in others})

    async def _directed(self, directives: Mapping[str, Mapping[str, Any]]) -> None:
        """Send directives; one that is lost is followed by another, or its partition decides alone."""
        sent = [self._fleet.direct(name, directive, PATIENCE) for name, directive in directives.items()]
        for answer in await asyncio.gather(*sent, return_exceptions=True):
            if isinstance(answer, Exception) and not isinstance(answer, TimeoutError):
                raise answer

    async def _lived(self) -> None:
        while True:
            try:
                async with self._site.control() as self._control:
                    while True:
                        await self.round(self._control)
                        self._trouble = ""
                        await self._clock.sleep(ROUND)
            except Exception as error:  # noqa: BLE001 - the partitions go on by themselves; the next round may do better
                if str(error) != self._trouble:
                    log.warning("the supervisor cannot do its round (%s); trying on", error)
                self._trouble = str(error) or repr(error)
                self._control = None
                await self._clock.sleep(ROUND)

    async def round(self, control: Control) -> None:
        """See that everybody in the plan is there and answers, and that nobody else is kept."""
        plan = await control.plans.present()
        if plan is None or not self._is_ours(plan):
            return
        callers = callers_of(self._site.callers)
        there = await self._started(plan.partitions.keys() | callers)
        await asyncio.gather(*(self._looked_after(name) for name in (*plan.partitions, *callers)))
        others = there - plan.partitions.keys() - callers - {SUPERVISOR, LEDGER}
        now = self._clock.monotonic()
        self._strange = {name: self._strange.get(name, now) for name in others}
        await asyncio.gather(*(self._judged(name) for name in others))
        await self._bound(plan)
        if await self._leaving_nodes.round(plan.partitions, {*callers, LEDGER, SUPERVISOR}) is not None:
            return  # its new process is waited for, and no plan is made meanwhile
        await self._autoscaling.round(control, plan, self._seen)

    def _is_ours(self, plan: Plan) -> bool:
        return plan.is_of(self._site.release, self._site.edition)

    def _is_of_us(self, found: Mapping[str, Any]) -> bool:
        return (found["release"], found["edition"]) == (self._site.release, self._site.edition)

    async def _bound(self, plan: Plan) -> None:
        """Tell all partitions how much of a group may run that meets busy answers somewhere, while it does (D4)."""
        ceilings = self._concert.ceilings(self._clock.monotonic())
        if ceilings or self._bounded:
            self._bounded = ceilings
            await self._directed({each: {"ceilings": ceilings} for each in plan.partitions})

    async def _started(self, wanted: Collection[str]) -> frozenset[str]:
        there = await self._fleet.names()
        for name in frozenset(wanted) - there:
            log.info("starting %s", name)
            await self._fleet.start(name)
        return there

    async def _looked_after(self, name: str) -> None:
        """Ask one how it stands; replace it when it has not answered for long, or its loop does not turn."""
        last = self._answered.setdefault(name, self._clock.monotonic())
        try:
            found = await self._fleet.status(name, PATIENCE)
        except TimeoutError:
            silent = self._clock.monotonic() - last
            if silent >= SILENT and not await self._fleet.waits(name):
                await self._replaced(name, f"has not answered for {silent:.0f} s")
            return
        self._answered[name] = self._clock.monotonic()
        if found is None:  # Ray is starting it anew, or finds out that its node is gone
            return
        if not self._is_of_us(found):
            if name.startswith(CALLER) and found["standing"] != "drained":
                await self._fleet.drain(name, PATIENCE)
            elif not found["slots"]:
                await self._dismissed(name, "is of another program")
            return
        self._seen[name] = found
        standings = {group: _standing(each) for group, each in found["groups"].items()}
        self._concert.seen(name, standings, self._clock.monotonic())
        if found["silence"] >= STUCK:
            await self._replaced(name, f"is stuck: its loop has not turned for {found['silence']:.0f} s")

    async def _replaced(self, name: str, why: str) -> None:
        log.error("%s %s; its process is ended and started anew", name, why)
        self._answered[name] = self._clock.monotonic()
        await self._excused(name)
        await self._fleet.replace(name)

    async def _excused(self, name: str) -> None:
        """Have this end suspect none of the events under way; the end itself waits for nothing (P15, H10)."""
        if self._control is None:
            return
        try:
            await self._control.excuse(name)
        except StoreUnavailableError as error:
            log.warning("the end of %s will count as a death of its own (%s)", name, error)

    async def _judged(self, name: str) -> None:
        """End an actor that no plan needs: it has nothing any more, or nothing has come for it for long.

        One that has never run may be rehearsing for the next plan, of whatever program; what a former supervisor has
        left has run, or is known by the time. One that runs durable calls drains first.
        """
        if name.startswith(CALLER):
            await self._fleet.drain(name, PATIENCE)  # it goes on draining; the next round looks again
        try:
            found = await self._fleet.status(name, PATIENCE)
        except TimeoutError:
            return
        strange = self._clock.monotonic() - self._strange[name] >= STRANGE
        if found is None:
            ended = name in self._seen or strange
        else:
            former = name in self._seen and self._is_of_us(found)
            over = found["standing"] == "drained" or found["past"] or former or strange
            ended = over and not found["slots"] and found["standing"] not in {"running", "draining"}
        if ended:
            await self._dismissed(name, "is not needed any more")

    async def _dismissed(self, name: str, why: str) -> None:
        """End an actor for good, and what it noted of itself: nobody of its name looks at that any more."""
        log.info("%s %s", name, why)
        await self._fleet.end(name)
        if self._control is not None:
            await self._control.pauses.over(name, f"the partition {why}")
        self._concert.gone(name)
        for known in (self._seen, self._answered, self._strange):
            known.pop(name, None)


def _standing(group: Mapping[str, Any]) -> Standing:
    """Read what a partition says of one of its groups."""
    return Standing(bool(group["paused"]), group["limit"], group["full"], group["cause"])
