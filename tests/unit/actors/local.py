"""An app's actors without Ray: the plain classes in this loop, on the store in memory, in virtual time."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from tests.unit.runtime.desk import Desk
from wow_ray import App
from wow_ray.actors.caller import CallerActor
from wow_ray.actors.fleet import CALLER, LEDGER, SUPERVISOR
from wow_ray.actors.isolation import Hire
from wow_ray.actors.ledger import LedgerActor
from wow_ray.actors.partition import PartitionActor
from wow_ray.actors.site import Calling, Control
from wow_ray.actors.supervisor import SupervisorActor
from wow_ray.adapters.failures import MODULES, wants_jitter
from wow_ray.adapters.memory import MemoryStore
from wow_ray.errors import StoreUnavailableError
from wow_ray.policy.autoscale import Bounds
from wow_ray.policy.plan import Plan, Reading, following, names_of, respread, spread
from wow_ray.ports.clock import Clock
from wow_ray.ports.slots import Owner
from wow_ray.ports.stores import PartitionStores
from wow_ray.runtime.assembly import reading
from wow_ray.runtime.call_service import CallService
from wow_ray.runtime.elsewhere import Elsewhere
from wow_ray.runtime.pace import Pace
from wow_ray.runtime.rehearsal import rehearse
from wow_ray.runtime.service import Service
from wow_ray.settings import load

SLOTS = 8
_INCARNATIONS = itertools.count(1)


class LocalSite:
    """A `Site` whose processes are all this one."""

    def __init__(
        self, app: App, desk: Desk, *, release: str = "r1", edition: str = "", memory: MemoryStore | None = None
    ) -> None:
        """Run the app, whose processors take the desk, on its clock; `memory` is a store that is there already."""
        self.context = app.context
        self.release = release
        self.edition = edition
        self.desk = desk
        self.spec = app.resolved(load(app.settings, None, {}), overridden=(Desk,))
        self.memory = memory or MemoryStore(self.context, desk.clock, slots=SLOTS)
        self.client = self.memory.client_stores()
        self.plans = self.memory.plans()
        self.away: StoreUnavailableError | None = None
        self.broken: Exception | None = None
        self.autoscale: Bounds | None = None
        self.incarnations: list[Owner] = []
        self.callers = 0
        self.chores: list[str] = []
        self._rows = itertools.count(1)

    def clock(self) -> Clock:
        """See the protocol."""
        return self.desk.clock

    @asynccontextmanager
    async def control(self) -> AsyncIterator[Control]:
        """See the protocol; raises `away` if that is set."""
        if self.away is not None:
            raise self.away
        excuse = self.client.slots.excuse
        overview, pauses = self.memory.overview(), self.client.pauses
        store = (self.plans, self.client.ledger, overview, SLOTS, excuse, pauses)
        yield Control(*store, autoscale=self.autoscale, chores=self._kept)

    async def _kept(self) -> None:
        """Keep the house: say every second which round it is, and that it is over."""
        try:
            while True:
                self.chores.append("round")
                await self.desk.clock.sleep(1)
        finally:
            self.chores.append("over")

    async def rehearse(self) -> Reading:
        """See the protocol; raises `broken` if that is set, as everything does then that opens the app."""
        if self.broken is not None:
            raise self.broken
        await rehearse(self.spec, self.memory.client_stores(), overrides={Desk: self.desk})
        return reading(self.spec)

    @asynccontextmanager
    async def partition(self, name: str, slots: Sequence[int], elsewhere: Elsewhere | None) -> AsyncIterator[Service]:
        """See the protocol."""
        if self.broken is not None:
            raise self.broken
        service = Service(
            self.spec,
            self._stores,
            self.memory.client_stores(),
            owner=self._owner,
            clock=self.desk.clock,
            dice=lambda: 0.5,
            ids=lambda: f"row-{next(self._rows):09}",
            modules=MODULES,
            wants_jitter=wants_jitter,
            partitions={name: slots},
            sweeps=False,
            pace=Pace(idle_poll=0.5, intent_poll=3_600.0),
            overrides={Desk: self.desk},
            elsewhere=elsewhere,
        )
        async with service:
            yield service

    @asynccontextmanager
    async def durable_calls(self, name: str) -> AsyncIterator[CallService]:
        """See the protocol; raises `away` if that is set."""
        if self.away is not None:
            raise self.away
        stores = self.memory.partition_stores()
        service = CallService(
            self.spec,
            self.memory.client_stores(),
            stores.lease,
            stores.reports,
            owner=Owner(f"{name}-{next(_INCARNATIONS)}", name, "test", 1, None),
            clock=self.desk.clock,
            dice=lambda: 0.5,
            modules=MODULES,
            wants_jitter=wants_jitter,
            overrides={Desk: self.desk},
        )
        async with service:
            yield service

    @asynccontextmanager
    async def calling(self) -> AsyncIterator[Calling]:
        """See the protocol."""
        yield Calling(self.spec, MODULES, {Desk: self.desk})

    async def planned(self, partitions: int, release: str | None = None) -> Plan:
        """Store the next plan, as a supervisor does."""
        present = await self.plans.present()
        number = 1 if present is None else present.number + 1
        plan = Plan(number, release or self.release, spread(self.context, partitions, SLOTS), self.edition)
        assert await self.plans.propose(plan)
        return plan

    async def scaled(self, partitions: int) -> Plan:
        """Store the plan of so many partitions that moves the fewest slots."""
        present = await self.plans.present()
        owned = {} if present is None else present.partitions
        wanted = respread(owned, names_of(self.context, partitions, owned), SLOTS)
        plan = following(present, self.release, wanted, self.edition)
        if plan is None:
            assert present is not None
            return present
        assert await self.plans.propose(plan)
        return plan

    async def owned(self) -> Mapping[int, str | None]:
        """Give the partition that owns each slot; a slot whose owner is dead has none."""
        seen = await self.memory.overview().snapshot()
        alive = {owner.id for owner in seen.owners if owner.lease_left > 0}
        return {slot.slot: slot.partition if slot.owner in alive else None for slot in seen.slots}

    def _owner(self, name: str) -> Owner:
        owner = Owner(f"{name}-{next(_INCARNATIONS)}", name, "test", 1, None)
        self.incarnations.append(owner)
        return owner

    @asynccontextmanager
    async def _stores(self) -> AsyncIterator[PartitionStores]:
        yield self.memory.partition_stores()


class LocalFleet:
    """A `Fleet` of actors in this loop; `silent` ones do not answer, `ended` says which processes ended themselves."""

    def __init__(self, site: LocalSite, hire: Hire | None = None) -> None:
        """Start nobody."""
        self.site = site
        self.hire = hire
        self.actors: dict[str, Any] = {}
        self.silent: set[str] = set()
        self.homeless: set[str] = set()
        self.evacuated: set[str] = set()
        self.away: set[str] = set()
        self.ended: list[tuple[str, int]] = []
        self.replaced: list[str] = []
        self.nudges: list[str] = []
        self.on_end: Callable[[], object] = lambda: None

    async def start(self, actor: str) -> None:
        """See the port."""
        if actor in self.actors:
            return
        end = self._ending(actor)
        if actor == SUPERVISOR:
            self.actors[actor] = SupervisorActor(self.site, self, end)
        elif actor == LEDGER:
            self.actors[actor] = LedgerActor(self.site, self, end)
        elif actor.startswith(CALLER):
            self.actors[actor] = CallerActor(actor, self.site, end)
        else:
            self.actors[actor] = PartitionActor(actor, self.site, self.hire, self, end)

    async def status(self, actor: str, patience: float) -> Mapping[str, Any] | None:
        """See the port."""
        if actor in self.silent:
            await self.site.desk.clock.sleep(patience)
            raise TimeoutError
        if actor not in self.actors or actor in self.away:
            return None
        return dict(await self.actors[actor].status())

    async def nudge_due(self, partition: str, patience: float) -> None:
        """See the port."""
        del patience
        self.nudges.append(partition)
        if partition in self.actors:
            await self.actors[partition].nudge_due()

    async def nudge_intents(self, partition: str, patience: float) -> None:
        """See the port."""
        del patience
        if partition in self.actors:
            await self.actors[partition].nudge_intents()

    async def direct(self, partition: str, directive: Mapping[str, Any], patience: float) -> None:
        """See the port."""
        del patience
        if partition in self.actors:
            await self.actors[partition].direct(directive)

    async def may_probe(self, partition: str, group: str, patience: float) -> bool | None:
        """See `Steering`; a silent supervisor does not answer."""
        if SUPERVISOR in self.silent:
            await self.site.desk.clock.sleep(patience)
            raise TimeoutError
        return bool(await self.actors[SUPERVISOR].may_probe(partition, group)) if SUPERVISOR in self.actors else None

    async def probed(self, partition: str, group: str, patience: float, *, succeeded: bool) -> None:
        """See `Steering`."""
        del patience
        if SUPERVISOR in self.actors and SUPERVISOR not in self.silent:
            await self.actors[SUPERVISOR].probed(partition, group, succeeded)

    async def drain(self, partition: str, patience: float) -> bool:
        """See the port."""
        del patience
        await self.actors[partition].drain()
        return True

    async def leaving(self) -> frozenset[str]:
        """See the port; whoever is started anew lives elsewhere."""
        return frozenset(self.evacuated & self.actors.keys())

    async def replace(self, actor: str) -> None:
        """See the port."""
        self.replaced.append(actor)
        self.evacuated.discard(actor)
        self.silent.discard(actor)
        await self.kill(actor)
        await self.start(actor)

    async def end(self, actor: str) -> None:
        """See the port."""
        await self.kill(actor)

    async def waits(self, actor: str) -> bool:
        """See the port; whoever is silent because there is no room for it."""
        return actor in self.homeless

    async def names(self) -> frozenset[str]:
        """See the port."""
        return frozenset(self.actors)

    async def kill(self, actor: str) -> None:
        """Let an actor's process be gone, with whatever it was doing."""
        found = self.actors.pop(actor, None)
        if found is None:
            return
        service: Service | None = getattr(found, "_service", None)
        for partition in getattr(service, "partitions", []):
            await partition.abandon()
        site: LocalSite | None = getattr(found, "_site", None)
        for owner in [] if site is None else site.incarnations:
            if owner.partition == actor:
                self.site.memory.lose_lease(owner.id)
        await found.life.close()

    async def close(self) -> None:
        """Let all of them be gone."""
        for actor in list(self.actors):
            await self.kill(actor)

    def _ending(self, actor: str) -> Callable[[int], None]:
        def end(code: int) -> None:
            self.ended.append((actor, code))
            self.on_end()

        return end


@asynccontextmanager
async def fleet_of(
    app: App, desk: Desk, *, hire: Callable[[LocalSite], Hire] | None = None, memory: MemoryStore | None = None
) -> AsyncIterator[LocalFleet]:
    """Give a fleet without actors; they are ended with the block."""
    site = LocalSite(app, desk, memory=memory)
    fleet = LocalFleet(site, None if hire is None else hire(site))
    try:
        yield fleet
    finally:
        await fleet.close()
