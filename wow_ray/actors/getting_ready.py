"""Getting a program ready beside the one that runs: processes that have rehearsed their start, or why not (H19).

Until a plan names them they own nothing, and whatever goes wrong here leaves the running program as it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence

from wow_ray.actors.fleet import LEDGER, SUPERVISOR
from wow_ray.actors.program import LOOK, Program, Standing, why
from wow_ray.actors.site import Control
from wow_ray.errors import ConflictError, WowError
from wow_ray.policy.pauses import STOPS
from wow_ray.policy.plan import Plan, names_of, reads_more

REPLACED = "WOW-REPLACED"
"""The code of an `up` that somebody else's plan has overtaken."""


class GettingReady:
    """The partitions' processes of one program that no plan names yet."""

    def __init__(self, program: Program, tell: Callable[[str], None], patience: float) -> None:
        """Begin with none; `tell` is given a line about each step, `patience` is in seconds."""
        self._program = program
        self._fleet = program.fleet
        self._clock = program.site.clock()
        self._tell = tell
        self._patience = patience
        self._said: dict[str, str] = {}
        self._rehearsing: set[str] = set()

    def planned(self, names: Collection[str]) -> None:
        """Hear that a plan names these."""
        self._rehearsing -= set(names)

    async def rehearsed(self, control: Control, running: Plan, partitions: int) -> list[str]:
        """Have processes that would start, while the other program runs; answers their names.

        Raises `WowError` with the reason when they would not, `ConflictError` when everything was brought down, or
        somebody has a group stand still in a partition.
        """
        await self._refuse_stops(control, running)
        if not self._rehearsing:
            self._tell(f"release {running.release} runs; {self._program.name} gets ready beside it")
        until = self._clock.monotonic() + self._patience
        while True:
            names = await self.free_names(partitions, running.partitions)
            self._rehearsing |= set(names)
            await asyncio.gather(*(self._fleet.start(name) for name in names))
            found = await self._program.asked(names)
            if all(
                each is not None and self._program.runs_in(each) and each["standing"] == "ready"
                for each in found.values()
            ):
                return names
            present = await control.plans.present()
            if present is not None and not present.partitions:
                raise ConflictError(
                    f"{self._program.site.context} was brought down while {self._program.name} got ready", REPLACED
                )
            if present is not None and self._program.owns(present):  # another `up` of the same was quicker
                return names
            self._refuse_hopeless(running, found, late=self._clock.monotonic() >= until)
            await self._clock.sleep(LOOK)

    async def reads_more(self, names: Sequence[str], running: Plan) -> bool:
        """Tell whether this program reads what the running one passes over; yes, if that one does not say (H19)."""
        new, old = await self._program.asked(names), await self._program.asked(running.partitions)
        mine = next((each["reads"] for each in new.values() if each is not None), None)
        return (
            mine is None or None in old.values() or reads_more(mine, (each["reads"] for each in old.values() if each))
        )

    async def free_names(self, partitions: int, taken: Collection[str] = ()) -> list[str]:
        """Name partitions as nobody of another program is called here; those that rehearse for this one stay."""
        there = await self._program.asked(await self._fleet.names() - {SUPERVISOR, LEDGER})
        others = {name for name, found in there.items() if not self._may_be_ours(name, found)}
        return names_of(self._program.site.context, partitions, self._rehearsing - others, others | set(taken))

    async def end(self, control: Control) -> None:
        """End what rehearsed for nothing; another `up` of the same program may have put it into its plan."""
        if self._rehearsing:
            present = await control.plans.present()
            for name in self._rehearsing - (set() if present is None else present.partitions.keys()):
                await self._fleet.end(name)

    def _may_be_ours(self, name: str, found: Standing | None) -> bool:
        return name in self._rehearsing if found is None else self._program.runs_in(found)

    async def _refuse_stops(self, control: Control, running: Plan) -> None:
        """Refuse while somebody has a group stand still in one partition: new ones have other names (H44)."""
        for pause in await control.pauses.present():
            if pause.partition in running.partitions and pause.reason in STOPS:
                said = f"{pause.reason.value}, by {pause.actor}: {pause.text}"
                raise ConflictError(
                    f"{pause.group} is paused in {pause.partition} ({said}), and the partitions of another "
                    "program have other names: pause it everywhere, or resume it there"
                )

    def _refuse_hopeless(self, running: Plan, found: Mapping[str, Standing | None], *, late: bool) -> None:
        """Raise when this program will not start; say once what holds it up."""
        for name, each in found.items():
            trouble = "" if each is None else str(each["trouble"])
            if late or (each is not None and self._program.is_hopeless_in(each)):
                if each is not None and each["standing"] == "ready":
                    continue
                raise WowError(
                    f"{self._program.name} does not start: {name}: {trouble or why(each)}\n"
                    f"Release {running.release} runs on as before; mend this one and bring it up again",
                    "WOW-RAY",
                )
            if trouble and self._said.get(name) != trouble:
                self._said[name] = trouble
                self._tell(f"{name} is not ready yet: {trouble}")
