"""Bringing an app's actors up and down, from outside: what `wow-ray run`, `up` and `down` do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from wow_ray.actors.fleet import LEDGER, SUPERVISOR, Fleet, callers_of
from wow_ray.actors.site import Control, Site
from wow_ray.errors import StoreUnavailableError, WowError
from wow_ray.policy.plan import Plan, following, spread

PATIENCE = 3.0
"""Seconds within which an actor answers."""
DRAIN = 30.0
"""Seconds a partition may take to drain: 10 for calls under way, the rest for the last commit and resources."""
START = 120.0
"""Seconds until every partition has to run, with new processes for each of them."""
SLOW = 15.0
"""Seconds after which a start that says nothing is talked about."""
LOOK = 0.2

Told = Callable[[str], None]


class Deployment:
    """One release of an app on a cluster."""

    def __init__(self, site: Site, fleet: Fleet, tell: Told, patience: float = START) -> None:
        """`tell` is given a line about each step; `patience` is how long `up` waits for all partitions to run."""
        self._site = site
        self._fleet = fleet
        self._clock = site.clock()
        self._tell = tell
        self._patience = patience

    async def up(self, control: Control, partitions: int) -> Plan:
        """Have the app run with so many partitions of this release; answers the plan once all of them run.

        Asked again it changes what differs, and nothing else. Another release that runs is drained first: there is no
        time in which two programs own slots. Raises `WowError` when a partition does not start, with its reason.
        """
        await self._another_release_ended(control)
        # Processes take a second to start: all at once. A partition waits for the plan by itself.
        names = spread(self._site.context, partitions, control.slots)
        await asyncio.gather(*(self._fleet.start(name) for name in (SUPERVISOR, *names, LEDGER)))
        plan = await self._planned(control, partitions)
        self._tell(f"plan {plan.number}: {len(plan.partitions)} partitions of release {plan.release}")
        await self._running(plan)
        await self._calling()
        return plan

    async def down(self, control: Control | None) -> None:
        """Drain everything here and end the actors; what is stored stays, and so does what is parked.

        With `control` the plan says afterwards that nobody owns anything; without, another cluster on the same store
        goes on, or takes over.
        """
        await self._fleet.end(SUPERVISOR)
        if control is not None:
            await self._nobody_owns(control)
        there = await self._fleet.names() - {SUPERVISOR, LEDGER}
        drained = await asyncio.gather(*(self._fleet.drain(name, DRAIN) for name in sorted(there)))
        for name, done in zip(sorted(there), drained, strict=True):
            if not done:
                self._tell(
                    f"{name} did not drain within {DRAIN:g} s; its calls under way are repeated by the next start"
                )
                if control is not None:
                    await self._excused(control, name)
        for name in await self._fleet.names():
            await self._fleet.end(name)

    async def standing(self, plan: Plan) -> Mapping[str, Mapping[str, Any] | None]:
        """Ask every partition of a plan how it stands; `None` = it is away or does not answer."""
        names = list(plan.partitions)
        found = await asyncio.gather(*(self._asked(name) for name in names))
        return dict(zip(names, found, strict=True))

    async def _asked(self, name: str) -> Mapping[str, Any] | None:
        try:
            return await self._fleet.status(name, PATIENCE)
        except TimeoutError:
            return None

    async def _another_release_ended(self, control: Control) -> None:
        found = await self._asked(SUPERVISOR)
        if found is not None and found["release"] != self._site.release:
            self._tell(f"release {found['release']} runs; it is drained")
            await self.down(control)

    async def _planned(self, control: Control, partitions: int) -> Plan:
        until = self._clock.monotonic() + START
        while self._clock.monotonic() < until:
            try:
                number = await self._fleet.plan(partitions, PATIENCE)
            except TimeoutError:
                number = None
            plan = await control.plans.present()
            if number is not None and plan is not None and plan.number >= number:
                return plan
            await self._clock.sleep(LOOK)
        raise WowError(f"no supervisor answers within {START:g} s: {await self._trouble(SUPERVISOR)}", "WOW-RAY")

    async def _running(self, plan: Plan) -> None:
        began = self._clock.monotonic()
        said: dict[str, str] = {}
        while True:
            found = await self.standing(plan)
            late = {name: each for name, each in found.items() if each is None or not _is_whole(each)}
            if not late:
                return
            passed = self._clock.monotonic() - began
            for name, each in late.items():
                why = _why(each) if passed >= SLOW or (each and each["trouble"]) else ""
                if why and said.get(name) != why:
                    said[name] = why
                    self._tell(f"{name} does not run yet: {why}")
            if passed >= self._patience:
                why = _why(next(iter(late.values())))
                raise WowError(f"{', '.join(late)} did not start within {passed:.0f} s: {why}", "WOW-RAY")
            await self._clock.sleep(LOOK)

    async def _calling(self) -> None:
        """Wait until those run that run durable calls and nothing else, after the partitions."""
        began = self._clock.monotonic()
        late = sorted(callers_of(self._site.callers))
        while late:
            await asyncio.gather(*(self._fleet.start(name) for name in late))
            found = dict(zip(late, await asyncio.gather(*map(self._asked, late)), strict=True))
            late = [name for name, each in found.items() if each is None or each["standing"] != "running"]
            if late and self._clock.monotonic() - began >= self._patience:
                raise WowError(f"{', '.join(late)} did not start: {_why(found[late[0]])}", "WOW-RAY")
            await self._clock.sleep(LOOK if late else 0.0)

    async def _trouble(self, actor: str) -> str:
        found = await self._asked(actor)
        return "it is away" if found is None else str(found["trouble"]) or "no trouble"

    async def _excused(self, control: Control, name: str) -> None:
        """Say that a process is ended on purpose, so that nothing of it is suspected of that (P15)."""
        try:
            await control.excuse(name)
        except StoreUnavailableError as error:
            self._tell(f"the next start of {name} may begin carefully ({error.message})")

    async def _nobody_owns(self, control: Control) -> None:
        """Store a plan in which nobody owns anything: an actor that cannot be reached gives its slots up by that."""
        try:
            while (plan := following(await control.plans.present(), self._site.release, {})) is not None:
                if await control.plans.propose(plan):
                    return
        except StoreUnavailableError as error:
            self._tell(f"the plan cannot be changed ({error.message}); the actors are ended all the same")


def _is_whole(standing: Mapping[str, Any]) -> bool:
    """Tell whether a partition runs with all the slots that the plan gives it."""
    return standing["standing"] == "running" and not standing["moves"]["joining"]


def _why(standing: Mapping[str, Any] | None) -> str:
    """Say why a partition does not run."""
    if standing is None:
        return "there is no process of it; has the cluster room for one?"
    return str(standing["trouble"]) or "its slots are still somebody else's, or it has just begun"
