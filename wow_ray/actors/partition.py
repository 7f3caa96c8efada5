"""The actor that owns a partition: it takes the slots that the plan names for it, and ends when it loses them.

It needs nobody to start: a restarted one reads the plan and takes exactly its slots again, whether or not there is a
supervisor. A newer plan is followed slot by slot (`moving`). One that has lost all its slots takes nothing back by
itself: its process ends, and the next incarnation asks the plan (H18).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

from wow_ray.actors.fleet import Steering
from wow_ray.actors.isolation import Hire, Pools
from wow_ray.actors.life import Life
from wow_ray.actors.moving import NO_MOVES, PLAN_POLL, Moving, own_now
from wow_ray.actors.site import Control, Site
from wow_ray.actors.steered import Steered, groups_of
from wow_ray.errors import ConfigurationError, SchemaError, StoreUnavailableError
from wow_ray.policy.plan import Plan, Reading
from wow_ray.runtime.assembly import reading
from wow_ray.runtime.service import Service
from wow_ray.runtime.sweep import Sweep

log = logging.getLogger("wow_ray.actors")

SHARE_POLL = 0.25
"""Seconds between two looks at the plan while it gives nothing."""
FIRST_RETRY, LAST_RETRY = 0.2, 5.0
"""Seconds until a start that failed is tried again: doubled each time."""

LAST_WORDS = 2.0
"""Seconds the last words of a process that is ended in order may take."""

Standing = Literal["starting", "waiting", "rehearsing", "ready", "running", "draining", "drained"]
"""`waiting` for a plan that gives it something; `ready` says so after a rehearsal, while another program runs (H19)."""


class PartitionActor:
    """Hosts one partition. Nothing is opened when it is made: on Ray a constructor that raises is never tried again."""

    def __init__(
        self,
        name: str,
        site: Site,
        hire: Hire | None = None,
        steering: Steering | None = None,
        end: Callable[[int], Any] = os._exit,
    ) -> None:
        """Schedule the start of the partition of that lasting name; `end` ends the process.

        `hire` gives processes to processors declared `isolation="actor"`; without it they are called in this one.
        `steering` reaches the supervisor; without it the partition decides alone.
        """
        self.name = name
        self._site = site
        self._hire = hire
        self._clock = site.clock()
        self._steered = None if steering is None else Steered(name, self._clock, steering)
        self._standing: Standing = "starting"
        self._trouble = ""
        self._hopeless = False
        self._reads: Reading = {}
        self._past = False
        """Whether it has run: then it has nothing to rehearse."""
        self._plan = 0
        self._service: Service | None = None
        self._moving: Moving | None = None
        self._runs = asyncio.Event()
        self._asked = asyncio.Event()
        self._drained = asyncio.Event()
        self._nudging = asyncio.Lock()
        self.life = Life(name, self._clock, self._lived(), end)

    # --- asked from the control group's thread

    async def status(self) -> dict[str, Any]:
        """Tell how it stands, from plain values; answers also while the data loop is busy.

        `silence` is seconds since that loop last turned, `trouble` why it does not start, `hopeless` that this stays
        until somebody changes the program or its settings. `plan` is the number of the plan that it follows (0 = none),
        `moves` what has to come and to leave for it, `reads` what its program does; `past`: it has run before.
        """
        service, moving = self._service, self._moving
        return {
            "partition": self.name,
            "pid": os.getpid(),
            "standing": self._standing,
            "trouble": self._trouble,
            "plan": self._plan if moving is None else moving.plan,
            "reads": self._reads if service is None else reading(service.spec),
            "moves": NO_MOVES if moving is None else moving.view(),
            "release": self._site.release,
            "edition": self._site.edition,
            "past": self._past,
            "hopeless": self._hopeless,
            "silence": self.life.silence,
            "age": self._clock.monotonic() - self.life.began,
            "slots": [] if service is None else [slot for each in service.partitions for slot in list(each.slots)],
            "groups": {} if service is None else groups_of(service),
        }

    async def nudge_due(self) -> bool:
        """Begin parked retries that are due, as far as there is room; `True` = there may be more at once."""
        return await self.life.hop(self._nudged_due())

    async def nudge_intents(self) -> None:
        """Look for operators' intents now."""

        def nudge(service: Service) -> None:
            for partition in service.partitions:
                partition.intents.nudge()

        self._in_loop(nudge)

    async def wake(self) -> None:
        """Look for events now."""
        self._in_loop(lambda service: service.wake())

    async def direct(self, directive: Mapping[str, Any]) -> None:
        """Follow the supervisor: `hurry` names groups to probe at once, `ceilings` bounds the calls of groups (W7)."""
        steered = self._steered
        if steered is not None:
            self._in_loop(lambda service: steered.follow(service, directive))

    async def drain(self) -> None:
        """Let calls under way end, commit, give the slots up; answers when that is done and owns nothing any more."""
        await self.life.hop(self._drain())

    def __ray_shutdown__(self) -> None:
        """Called by Ray, in the main thread, when a signal or a node that leaves ends the process in order.

        That is no death (P15, S48): it is said here, since nothing else of this process can any more.
        """
        with contextlib.suppress(Exception):  # then it counts as a death of its own, which by itself costs nothing
            asyncio.run(asyncio.wait_for(self._excused(), LAST_WORDS))

    async def _excused(self) -> None:
        async with self._site.control() as control:
            await control.excuse(self.name)

    # --- in the data loop

    async def _lived(self) -> None:
        """Open, follow the plan; what goes wrong before the partition runs is tried again, for as long as it takes."""
        wait = FIRST_RETRY
        while not self._asked.is_set():
            try:
                async with self._site.control() as control:
                    while not self._asked.is_set():
                        await self._followed(control)
                        wait = FIRST_RETRY
            except Exception as error:  # noqa: BLE001 - whatever it is, the next try may get past it
                if str(error) != self._trouble:
                    log.warning("%s cannot start (%s); trying on", self.name, error)
                self._standing, self._trouble = "starting", str(error) or repr(error)
                self._hopeless = isinstance(error, (ConfigurationError, SchemaError))
                await self._first(self._asked.wait(), self._clock.sleep(wait))
                wait = min(wait * 2, LAST_RETRY)
        self._standing = "drained"
        self._drained.set()

    async def _followed(self, control: Control) -> None:
        """Own what plans give, until they give nothing or somebody asks for a drain."""
        plan = await control.plans.present()
        share = self._share(plan)
        self._plan = 0 if plan is None else plan.number
        if not share:
            await self._rehearsed(plan)
            await self._first(self._asked.wait(), self._clock.sleep(SHARE_POLL))
            return
        self._standing = "starting"
        self._runs.clear()
        leave = asyncio.Event()
        serving = asyncio.ensure_future(self._served(await own_now(control, self.name, share), leave))
        try:
            await self._first(asyncio.shield(serving), self._asked.wait(), self._moved(control, share))
        finally:
            leave.set()
            self._moving = None
            if self._service is None:  # it waits for somebody else to give the slots up
                serving.cancel()
            await asyncio.wait({serving})
        if not serving.cancelled():
            serving.result()

    async def _rehearsed(self, plan: Plan | None) -> None:
        """Wait for a plan; while another program runs, once it is known that this one would start (H19)."""
        if plan is not None and plan.partitions and self._of_another(plan) and not self._past:
            if self._standing != "ready":
                self._standing = "rehearsing"
                rehearsing = asyncio.ensure_future(self._site.rehearse())
                await self._first(rehearsing, self._asked.wait())
                if not rehearsing.cancelled():
                    self._reads = rehearsing.result()
                    self._standing, self._trouble = "ready", ""
        else:
            self._standing = "waiting"

    def _of_another(self, plan: Plan) -> bool:
        return not plan.is_of(self._site.release, self._site.edition)

    async def _served(self, share: Sequence[int], leave: asyncio.Event) -> None:
        """Run the partition in one task, as it wants to be; one that is over by itself takes the process with it."""
        try:
            async with (
                Pools(self._hire) as pools,
                self._site.partition(self.name, share, None if self._hire is None else pools) as service,
            ):
                self._service, self._standing, self._trouble, self._past = service, "running", "", True
                self._runs.set()
                if self._steered is not None:
                    self._steered.take(service)
                log.info("%s runs with %d slots", self.name, len(share))
                try:
                    await self._first(service.wait(), leave.wait())
                except Exception as error:
                    self.life.fails(error)
                    raise
                self._standing = "draining"
        finally:
            self._service = None
        log.info("%s has given its slots up", self.name)

    async def _moved(self, control: Control, share: Sequence[int]) -> None:
        """Have slots come and go once it runs; a start that still waits for slots is given up for another share."""
        await self._first(self._runs.wait(), self._changed(control, share))
        if self._service is not None:
            self._moving = Moving(self._share, self._clock, control, self._service, self._nudged_due)
            await self._moving.follow()

    async def _changed(self, control: Control, share: Sequence[int]) -> None:
        """Wait for a plan that gives this partition something else."""
        while True:
            await self._clock.sleep(PLAN_POLL)
            try:
                plan = await control.plans.present()
            except StoreUnavailableError:
                continue
            if self._share(plan) != share:
                return

    def _share(self, plan: Plan | None) -> tuple[int, ...]:
        return () if plan is None else plan.share(self.name, self._site.release, self._site.edition)

    async def _drain(self) -> None:
        self._asked.set()
        await self._drained.wait()

    async def _nudged_due(self) -> bool:
        service = self._service
        if service is None:
            return False
        async with self._nudging:
            sweep = Sweep(service.client.ledger, self._clock, service)
            return any([await sweep.once(partition) for partition in service.partitions])

    def _in_loop(self, tell: Callable[[Service], object]) -> None:
        def told() -> None:
            if self._service is not None:
                tell(self._service)

        self.life.loop.call_soon_threadsafe(told)

    @staticmethod
    async def _first(*waited: Awaitable[Any]) -> None:
        """Wait for the first of several to end, and raise what it raised; the others are cancelled."""
        tasks = [asyncio.ensure_future(each) for each in waited]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for task in done:
            if not task.cancelled():
                task.result()
