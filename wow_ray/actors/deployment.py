"""Bringing an app's actors up and down, from outside: what `wow-ray run`, `up` and `down` do.

Another program is rolled over without a stop (H19): its partitions get processes under names of their own, which
rehearse their start while the old ones run. Only when all of them would start is the plan theirs, and slots move one by
one. What goes wrong before leaves the old program as it was. The plan in the store is the one truth of who is to own
what: whoever stores the next one has replaced whatever else was under way, also another `up`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet

from wow_ray.actors.fleet import CALLER, LEDGER, SUPERVISOR, Fleet, callers_of
from wow_ray.actors.getting_ready import REPLACED, GettingReady
from wow_ray.actors.program import LOOK, Program, Standing, why
from wow_ray.actors.site import Control, Site
from wow_ray.errors import ConflictError, StoreUnavailableError, WowError
from wow_ray.policy.plan import Plan, following, names_of, respread

DRAIN = 30.0
"""Seconds a partition may take to drain: 10 for calls under way, the rest for the last commit and resources."""
START = 120.0
"""Seconds until every partition has to run, with new processes for each of them."""
SLOW = 15.0
"""Seconds after which a start that says nothing is talked about."""

Told = Callable[[str], None]


class Deployment:
    """One program of an app on a cluster."""

    def __init__(self, site: Site, fleet: Fleet, tell: Told, patience: float = START) -> None:
        """`tell` is given a line about each step; `patience` is how long `up` waits for all partitions to run."""
        self._program = Program(site, fleet)
        self._ready = GettingReady(self._program, tell, patience)
        self._fleet = fleet
        self._clock = site.clock()
        self._tell = tell
        self._patience = patience
        self._said: dict[str, str] = {}

    async def up(self, control: Control, partitions: int) -> Plan:
        """Have the app run with so many partitions of this program; answers the plan once all of them run.

        Asked again it changes what differs, and nothing else. A program that runs here is rolled over. Raises
        `WowError` when a partition does not start, with its reason; `ConflictError` when another plan replaces this one
        meanwhile.
        """
        former = await control.plans.present()
        try:
            plan = await self._planned(control, partitions)
        finally:
            await self._ready.end(control)
        self._tell(f"plan {plan.number}: {len(plan.partitions)} partitions of release {plan.release}")
        plan = await self._running(control, plan)
        if former is not None:
            await self._left(control, former.partitions.keys() - plan.partitions.keys())
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

    async def standing(self, plan: Plan) -> Mapping[str, Standing | None]:
        """Ask every partition of a plan how it stands; `None` = it is away or does not answer."""
        return await self._program.asked(plan.partitions)

    # --- the plan

    async def _planned(self, control: Control, partitions: int) -> Plan:
        """Store the plan of this program; the present one, if it says the same."""
        partitions = min(partitions, control.slots)
        while True:
            present, still = await control.plans.present(), False
            owned: Mapping[str, tuple[int, ...]] = {}
            if present is not None and self._program.owns(present):
                owned, names = present.partitions, names_of(self._program.site.context, partitions, present.partitions)
            elif present is not None and present.partitions.keys() & await self._fleet.names():
                names = await self._ready.rehearsed(control, present, partitions)
                still = await self._ready.reads_more(names, present)
            else:
                names = await self._ready.free_names(partitions)
            wanted = respread(owned, names, control.slots)
            plan = following(present, self._program.site.release, wanted, self._program.site.edition, still=still)
            if plan is None or await control.plans.propose(plan):
                self._ready.planned(names)
                return present if plan is None and present is not None else _known(plan)

    # --- from the plan to what runs

    async def _running(self, control: Control, plan: Plan) -> Plan:
        """Wait until everybody owns what the plan names; follows plans of other numbers of partitions."""
        began, callers = self._clock.monotonic(), sorted(callers_of(self._program.site.callers))
        while True:
            plan = await self._still_ours(control, plan)
            found = await self._program.asked((SUPERVISOR, LEDGER, *callers, *plan.partitions))
            late = {name: each for name, each in found.items() if not self._is_whole(name, each)}
            if not late:
                return plan
            await self._completed(late)
            passed = self._clock.monotonic() - began
            for name, each in late.items():
                reason = why(each) if passed >= SLOW or (each and each["trouble"]) else ""
                if reason and self._said.get(name) != reason:
                    self._said[name] = reason
                    self._tell(f"{name} does not run yet: {reason}")
            hopeless = [name for name, each in late.items() if each is not None and self._program.is_hopeless_in(each)]
            if hopeless or passed >= self._patience:
                late = {name: late[name] for name in hopeless or late}
                reason = why(next(iter(late.values())))
                raise WowError(f"{', '.join(late)} did not start within {passed:.0f} s: {reason}", "WOW-RAY")
            await self._clock.sleep(LOOK)

    async def _still_ours(self, control: Control, plan: Plan) -> Plan:
        try:
            present = await control.plans.present()
        except StoreUnavailableError:
            return plan
        if present is None or present.number == plan.number:
            return plan
        if not self._program.owns(present) or not present.partitions:
            what = f"release {present.release}" if present.partitions else "nobody owns anything"
            raise ConflictError(f"plan {present.number} ({what}) has replaced plan {plan.number} meanwhile", REPLACED)
        return present

    async def _completed(self, late: Mapping[str, Standing | None]) -> None:
        """Start who is missing; an actor of another program that owns nothing makes room, to be started next time."""
        there = await self._fleet.names()
        await asyncio.gather(*(self._fleet.start(name) for name in late.keys() - there))
        for name, found in late.items():
            if found is not None and not self._program.runs_in(found) and not found.get("slots"):
                if name.startswith(CALLER):  # its calls end first
                    await self._fleet.drain(name, DRAIN)
                await self._fleet.end(name)

    async def _left(self, control: Control, names: AbstractSet[str]) -> None:
        """End partitions that have given up everything; the supervisor ends those that keep a call for longer (H25)."""
        until = self._clock.monotonic() + DRAIN
        while self._clock.monotonic() < until:
            found = await self._program.asked(names & await self._fleet.names())
            if not found:
                return
            for name, each in found.items():
                if each is not None and not each["slots"] and each["standing"] not in {"running", "draining"}:
                    await self._fleet.end(name)
                    await control.pauses.over(name, "the partition is not needed any more")
            await self._clock.sleep(LOOK)
        self._tell(f"{', '.join(sorted(found))} of the former release keeps calls that do not end yet")

    def _is_whole(self, name: str, found: Standing | None) -> bool:
        """Tell whether an actor runs this program; a partition's with all the slots that the plan gives it."""
        if found is None or not self._program.runs_in(found):
            return False
        return name in {SUPERVISOR, LEDGER} or (found["standing"] == "running" and not found["moves"]["joining"])

    # --- down

    async def _excused(self, control: Control, name: str) -> None:
        """Say that a process is ended on purpose, so that nothing of it is suspected of that (P15)."""
        try:
            await control.excuse(name)
        except StoreUnavailableError as error:
            self._tell(f"the next start of {name} may begin carefully ({error.message})")

    async def _nobody_owns(self, control: Control) -> None:
        """Store a plan in which nobody owns anything: an actor that cannot be reached gives its slots up by that."""
        try:
            while (present := await control.plans.present()) is not None and present.partitions:
                plan = following(present, present.release, {}, present.edition)
                if plan is not None and await control.plans.propose(plan):
                    return
        except StoreUnavailableError as error:
            self._tell(f"the plan cannot be changed ({error.message}); the actors are ended all the same")


def _known(plan: Plan | None) -> Plan:
    assert plan is not None  # noqa: S101 - without a present plan there is one to propose
    return plan
