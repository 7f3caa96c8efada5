"""Following the plan while a partition runs: single slots leave and come, and everything else goes on (L7, H18).

A slot is given up only to a partition that lives: whoever has it keeps it until its next owner is there to take it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from wow_ray.actors.site import Control
from wow_ray.errors import StoreUnavailableError
from wow_ray.policy.plan import Plan
from wow_ray.ports.clock import Clock
from wow_ray.runtime.partition import Partition
from wow_ray.runtime.service import Service

PLAN_POLL = 0.25
"""Seconds between two looks at the plan; what one partition has given up waits so long for the next one to know."""
SWEEP = 1.0
"""Seconds between two looks for due rows in slots that others are to own, whom the ledger's actor tells."""

NO_MOVES: Mapping[str, object] = {"joining": 0, "leaving": 0, "kept": [], "stood": 0.0, "took": 0.0}
"""The moves of a partition that does not run."""


class Moving:
    """The moves of one partition."""

    def __init__(
        self,
        share: Callable[[Plan], tuple[int, ...]],
        clock: Clock,
        control: Control,
        service: Service,
        swept: Callable[[], Awaitable[object]],
    ) -> None:
        """Move slots of the one partition, whose part of a plan is `share(plan)`; `swept()` looks for due rows."""
        self._share_of = share
        self._clock = clock
        self._control = control
        self._service = service
        self._swept = swept
        self._next_sweep = 0.0
        self._share: frozenset[int] | None = None
        self.plan = 0
        """The number of the plan that is followed; 0 = none seen yet."""

    @property
    def _partition(self) -> Partition:
        return self._service.partitions[0]

    async def follow(self) -> None:
        """Follow plans until the partition is to own nothing and has given up what can be given up (H25).

        To a partition of another program than the plan's it gives nothing: another one takes its slots over, one by
        one (H19). Where nobody is to own anything everything is drained.
        """
        while True:
            try:
                plan = await self._control.plans.present()
                if plan is None or not plan.partitions:
                    return
                if await self._followed(plan):
                    return
            except StoreUnavailableError:
                pass
            await self._clock.sleep(PLAN_POLL)

    async def _followed(self, plan: Plan) -> bool:
        """Have slots come and go as the plan says; `True` = there is nothing left to do here."""
        partition = self._partition
        share, owned = frozenset(self._share_of(plan)), frozenset(partition.slots)
        self.plan, self._share = plan.number, share
        partition.joining.joined = self._look_soon
        partition.joining.want(share)
        leaving = owned - share
        going: list[int] = []
        if leaving:
            owners, living = plan.owners(), await self._living()
            going = [slot for slot in leaving if owners.get(slot) in living]
        partition.leaving.want(going)
        partition.feed.still = plan.still and not share and bool(going)
        if (leaving or self._next_sweep == 0.0) and self._clock.monotonic() >= self._next_sweep:
            self._next_sweep = self._clock.monotonic() + SWEEP
            await self._swept()
        return not share and owned <= partition.leaving.kept

    async def _living(self) -> frozenset[str]:
        """Name the other partitions whose lease holds; on another cluster there may be one of this one's name."""
        seen, own = await self._control.overview.snapshot(), self._partition.owner.id
        return frozenset(owner.partition for owner in seen.owners if owner.lease_left > 0 and owner.id != own)

    def _look_soon(self) -> None:
        """Look for due rows with the next look at the plan: what came may have been due while nobody had it."""
        self._next_sweep = 0.0

    def view(self) -> dict[str, object]:
        """Show what has to move: how many slots are to come, how many to leave, and which of these cannot for now.

        `stood` and `took` are the longest times, in seconds, for which a slot stood still here before it was given up,
        and which taking slots over took.
        """
        partition = self._partition
        return {
            "joining": len(partition.joining.missing),
            "leaving": 0 if self._share is None else len(partition.slots.keys() - self._share),
            "kept": sorted(partition.leaving.kept),
            "stood": round(partition.leaving.longest, 3),
            "took": round(partition.joining.longest, 3),
        }


async def own_now(control: Control, name: str, share: tuple[int, ...]) -> list[int]:
    """Give the slots of a share that a partition may take as it starts: those that no other one owns and lives.

    The others come once they are given up.
    """
    seen = await control.overview.snapshot()
    others = {owner.id for owner in seen.owners if owner.lease_left > 0 and owner.partition != name}
    return [slot.slot for slot in seen.slots if slot.slot in set(share) and slot.owner not in others]
