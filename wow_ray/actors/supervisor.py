"""The actor that keeps partitions and callers: it proposes plans, starts who is missing, replaces who hangs.

It holds no truth. The plan is in the store, a partition takes its slots without being told, and a supervisor that was
killed begins again by looking at both.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Collection, Mapping
from typing import Any

from wow_ray.actors.fleet import CALLER, LEDGER, SUPERVISOR, Fleet, callers_of
from wow_ray.actors.life import Life
from wow_ray.actors.site import Control, Site
from wow_ray.errors import StoreUnavailableError
from wow_ray.policy.concert import Concert, Standing
from wow_ray.policy.plan import Plan, following, respread

log = logging.getLogger("wow_ray.actors")

ROUND = 1.0
"""Seconds between two rounds."""
PATIENCE = 3.0
"""Seconds within which an actor answers."""
SILENT = 15.0
"""Seconds without an answer after which an actor's process counts as hung: stopped, or starved for good."""
STRANGE = 60.0
"""Seconds after which an actor that no plan names is not waited for any more: its plan would have come."""
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

    async def plan(self, partitions: int) -> int:
        """Have every slot owned by one of so many partitions of this release; answers the number of the plan."""
        return await self.life.hop(self._planned(partitions))

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

    async def _planned(self, partitions: int) -> int:
        while (control := self._control) is None:
            await self._clock.sleep(0.1)
        while True:
            present = await control.plans.present()
            owned = {} if present is None else present.partitions
            wanted = respread(self._site.context, owned, partitions, control.slots)
            proposed = following(present, self._site.release, wanted)
            if proposed is None:
                assert present is not None  # noqa: S101 - without a present plan there is one to propose
                return present.number
            if await control.plans.propose(proposed):
                log.info("plan %d: %d partitions of release %s", proposed.number, len(wanted), proposed.release)
                return proposed.number

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
        if plan is None or plan.release != self._site.release:
            return
        callers = callers_of(self._site.callers)
        there = await self._started(plan.partitions.keys() | callers)
        await asyncio.gather(*(self._looked_after(name) for name in (*plan.partitions, *callers)))
        for name in self._unneeded(there - plan.partitions.keys() - callers):
            await self._dismissed(name)
        await self._bound(plan)

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

    def _unneeded(self, others: Collection[str]) -> list[str]:
        """Give the partitions' actors that no plan needs: known from a former one, or there for long without any.

        Whoever has just been started may be in the next plan; what a former supervisor has left is known by the time.
        """
        now = self._clock.monotonic()
        self._strange = {name: self._strange.get(name, now) for name in others if name not in {SUPERVISOR, LEDGER}}
        return [name for name, since in self._strange.items() if name in self._seen or now - since >= STRANGE]

    async def _looked_after(self, name: str) -> None:
        """Ask one how it stands; replace it when it has not answered for long, or its loop does not turn."""
        last = self._answered.setdefault(name, self._clock.monotonic())
        try:
            found = await self._fleet.status(name, PATIENCE)
        except TimeoutError:
            silent = self._clock.monotonic() - last
            if silent >= SILENT:
                await self._replaced(name, f"has not answered for {silent:.0f} s")
            return
        self._answered[name] = self._clock.monotonic()
        if found is None:  # Ray is starting it anew, or finds out that its node is gone
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

    async def _dismissed(self, name: str) -> None:
        """End an actor that the plan does not name any more, once it has given up its slots, or its calls."""
        if name.startswith(CALLER):
            await self._fleet.drain(name, PATIENCE)  # it goes on draining; the next round looks again
        try:
            found = await self._fleet.status(name, PATIENCE)
        except TimeoutError:
            return
        if found is None or found["standing"] in {"waiting", "drained"}:
            log.info("%s is not needed any more", name)
            await self._fleet.end(name)
            self._seen.pop(name, None)
            self._concert.gone(name)
            self._answered.pop(name, None)


def _standing(group: Mapping[str, Any]) -> Standing:
    """Read what a partition says of one of its groups."""
    return Standing(bool(group["paused"]), group["limit"], group["full"], group["cause"])
