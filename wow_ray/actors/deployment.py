"""Bringing an app's actors up and down, from outside: what `wow-ray run`, `up` and `down` do.

Another program is rolled over without a stop (H19): its partitions get processes under names of their own, which
rehearse their start while the old ones run. Only when all of them would start is the plan theirs, and slots move one by
one. What goes wrong before leaves the old program as it was. The plan in the store is the one truth of who is to own
what: whoever stores the next one has replaced whatever else was under way, also another `up`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from wow_ray.actors.fleet import LEDGER, SUPERVISOR, Fleet
from wow_ray.actors.site import Control, Site
from wow_ray.errors import ConflictError, StoreUnavailableError, WowError
from wow_ray.policy.plan import Plan, following, names_of, reads_more, respread

PATIENCE = 3.0
"""Seconds within which an actor answers."""
DRAIN = 30.0
"""Seconds a partition may take to drain: 10 for calls under way, the rest for the last commit and resources."""
START = 120.0
"""Seconds until every partition has to run, with new processes for each of them."""
SLOW = 15.0
"""Seconds after which a start that says nothing is talked about."""
LOOK = 0.2

REPLACED = "WOW-REPLACED"
"""The code of an `up` that somebody else's plan has overtaken."""

Told = Callable[[str], None]
Standing = Mapping[str, Any]


class Deployment:
    """One program of an app on a cluster."""

    def __init__(self, site: Site, fleet: Fleet, tell: Told, patience: float = START) -> None:
        """`tell` is given a line about each step; `patience` is how long `up` waits for all partitions to run."""
        self._site = site
        self._fleet = fleet
        self._clock = site.clock()
        self._tell = tell
        self._patience = patience
        self._said: dict[str, str] = {}
        self._rehearsing: set[str] = set()
        """Actors of ours that no plan has named yet."""

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
            await self._unused_ended(control)
        self._tell(f"plan {plan.number}: {len(plan.partitions)} partitions of release {plan.release}")
        plan = await self._running(control, plan)
        if former is not None:
            await self._left(former.partitions.keys() - plan.partitions.keys())
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
        return await self._asked(plan.partitions)

    # --- the plan

    async def _planned(self, control: Control, partitions: int) -> Plan:
        """Store the plan of this program; the present one, if it says the same."""
        partitions = min(partitions, control.slots)
        while True:
            present, still = await control.plans.present(), False
            owned: Mapping[str, tuple[int, ...]] = {}
            if present is not None and self._is_ours(present):
                owned, names = present.partitions, names_of(self._site.context, partitions, present.partitions)
            elif present is not None and present.partitions.keys() & await self._fleet.names():
                names = await self._rehearsed(control, present, partitions)
                still = await self._reads_more(names, present)
            else:
                names = await self._free_names(partitions)
            wanted = respread(owned, names, control.slots)
            plan = following(present, self._site.release, wanted, self._site.edition, still=still)
            if plan is None or await control.plans.propose(plan):
                self._rehearsing -= set(names)
                return present if plan is None and present is not None else _known(plan)

    async def _reads_more(self, names: Sequence[str], running: Plan) -> bool:
        """Tell whether this program reads what the running one passes over; yes, if that one does not say (H19)."""
        new, old = await self._asked(names), await self._asked(running.partitions)
        mine = next((each["reads"] for each in new.values() if each is not None), None)
        return (
            mine is None or None in old.values() or reads_more(mine, (each["reads"] for each in old.values() if each))
        )

    async def _free_names(self, partitions: int, taken: Collection[str] = ()) -> list[str]:
        """Name partitions as nobody of another program is called here; those that rehearse for this one stay."""
        there = await self._asked(await self._fleet.names() - {SUPERVISOR, LEDGER})
        others = {name for name, found in there.items() if not self._may_be_ours(name, found)}
        return names_of(self._site.context, partitions, self._rehearsing - others, others | set(taken))

    async def _rehearsed(self, control: Control, running: Plan, partitions: int) -> list[str]:
        """Have processes that would start, while the other program runs; answers their names.

        Raises `WowError` with the reason when they would not, `ConflictError` when everything was brought down.
        """
        if not self._rehearsing:
            self._tell(f"release {running.release} runs; {self._named()} gets ready beside it")
        until = self._clock.monotonic() + self._patience
        while True:
            names = await self._free_names(partitions, running.partitions)
            self._rehearsing |= set(names)
            await asyncio.gather(*(self._fleet.start(name) for name in names))
            found = await self._asked(names)
            if all(
                each is not None and self._is_of_us(each) and each["standing"] == "ready" for each in found.values()
            ):
                return names
            present = await control.plans.present()
            if present is not None and not present.partitions:
                raise ConflictError(f"{self._site.context} was brought down while {self._named()} got ready", REPLACED)
            if present is not None and self._is_ours(present):  # another `up` of the same was quicker
                return names
            self._refuse_hopeless(running, found, late=self._clock.monotonic() >= until)
            await self._clock.sleep(LOOK)

    def _may_be_ours(self, name: str, found: Standing | None) -> bool:
        return name in self._rehearsing if found is None else self._is_of_us(found)

    async def _unused_ended(self, control: Control) -> None:
        """End what rehearsed for nothing; another `up` of the same program may have put it into its plan."""
        if self._rehearsing:
            present = await control.plans.present()
            for name in self._rehearsing - (set() if present is None else present.partitions.keys()):
                await self._fleet.end(name)

    def _refuse_hopeless(self, running: Plan, found: Mapping[str, Standing | None], *, late: bool) -> None:
        """Raise when this program will not start; say once what holds it up."""
        for name, each in found.items():
            trouble = "" if each is None else str(each["trouble"])
            if late or (each is not None and self._is_hopeless(each)):
                if each is not None and each["standing"] == "ready":
                    continue
                raise WowError(
                    f"{self._named()} does not start: {name}: {trouble or _why(each)}\n"
                    f"Release {running.release} runs on as before; mend this one and bring it up again",
                    "WOW-RAY",
                )
            if trouble and self._said.get(name) != trouble:
                self._said[name] = trouble
                self._tell(f"{name} is not ready yet: {trouble}")

    # --- from the plan to what runs

    async def _running(self, control: Control, plan: Plan) -> Plan:
        """Wait until everybody owns what the plan names; follows plans of other numbers of partitions."""
        began = self._clock.monotonic()
        while True:
            plan = await self._still_ours(control, plan)
            found = await self._asked((SUPERVISOR, LEDGER, *plan.partitions))
            late = {name: each for name, each in found.items() if not self._is_whole(name, each)}
            if not late:
                return plan
            await self._completed(late)
            passed = self._clock.monotonic() - began
            for name, each in late.items():
                why = _why(each) if passed >= SLOW or (each and each["trouble"]) else ""
                if why and self._said.get(name) != why:
                    self._said[name] = why
                    self._tell(f"{name} does not run yet: {why}")
            hopeless = [name for name, each in late.items() if each is not None and self._is_hopeless(each)]
            if hopeless or passed >= self._patience:
                late = {name: late[name] for name in hopeless or late}
                why = _why(next(iter(late.values())))
                raise WowError(f"{', '.join(late)} did not start within {passed:.0f} s: {why}", "WOW-RAY")
            await self._clock.sleep(LOOK)

    async def _still_ours(self, control: Control, plan: Plan) -> Plan:
        try:
            present = await control.plans.present()
        except StoreUnavailableError:
            return plan
        if present is None or present.number == plan.number:
            return plan
        if not self._is_ours(present) or not present.partitions:
            what = f"release {present.release}" if present.partitions else "nobody owns anything"
            raise ConflictError(f"plan {present.number} ({what}) has replaced plan {plan.number} meanwhile", REPLACED)
        return present

    async def _completed(self, late: Mapping[str, Standing | None]) -> None:
        """Start who is missing; an actor of another program that owns nothing makes room, to be started next time."""
        there = await self._fleet.names()
        await asyncio.gather(*(self._fleet.start(name) for name in late.keys() - there))
        for name, found in late.items():
            if found is not None and not self._is_of_us(found) and not found.get("slots"):
                await self._fleet.end(name)

    async def _left(self, names: AbstractSet[str]) -> None:
        """End partitions that have given up everything; the supervisor ends those that keep a call for longer (H25)."""
        until = self._clock.monotonic() + DRAIN
        while self._clock.monotonic() < until:
            found = await self._asked(names & await self._fleet.names())
            if not found:
                return
            for name, each in found.items():
                if each is not None and not each["slots"] and each["standing"] not in {"running", "draining"}:
                    await self._fleet.end(name)
            await self._clock.sleep(LOOK)
        self._tell(f"{', '.join(sorted(found))} of the former release keeps calls that do not end yet")

    async def _asked(self, names: Collection[str]) -> dict[str, Standing | None]:
        """Ask actors how they stand, all at once; `None` = it is away or does not answer."""

        async def asked(name: str) -> Standing | None:
            try:
                return await self._fleet.status(name, PATIENCE)
            except TimeoutError:
                return None

        ordered = list(names)
        return dict(zip(ordered, await asyncio.gather(*map(asked, ordered)), strict=True))

    def _named(self) -> str:
        return f"release {self._site.release}"

    def _is_ours(self, plan: Plan) -> bool:
        return plan.is_of(self._site.release, self._site.edition)

    def _is_of_us(self, found: Standing) -> bool:
        return (found["release"], found["edition"]) == (self._site.release, self._site.edition)

    def _is_hopeless(self, found: Standing) -> bool:
        """Tell whether a partition of this program has trouble that waiting does not end."""
        return self._is_of_us(found) and bool(found.get("hopeless"))

    def _is_whole(self, name: str, found: Standing | None) -> bool:
        """Tell whether an actor runs this program; a partition's with all the slots that the plan gives it."""
        if found is None or not self._is_of_us(found):
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


def _why(standing: Standing | None) -> str:
    """Say why a partition does not run."""
    if standing is None:
        return "there is no process of it; has the cluster room for one?"
    return str(standing["trouble"]) or "its slots are still somebody else's, or it has just begun"
