"""Changing the number of partitions of an app on Ray: a new plan, stored; who owns slots follows it by itself (L7).

One plan at a time: while slots wait to move for the present one, another number is refused, unless it is to replace it.
Two requests at once make one plan, since a plan is stored only behind the one it was made from (H18).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from wow_ray.errors import ConflictError, OperationError
from wow_ray.ops.commands import Command, check_command
from wow_ray.ops.views import View
from wow_ray.policy.plan import Move, Plan, following, moves, names_of, respread
from wow_ray.ports.clock import Clock
from wow_ray.ports.overview import Overview, Snapshot
from wow_ray.ports.plans import Plans

MOVING = "WOW-MOVING"
"""The code of a request that another plan is in the way of."""
NO_PLAN = "WOW-NO-PLAN"
"""The code of a request for an app that does not run on Ray."""
NOBODY = Command("", "")
"""A command of which neither is said."""
LOOK = 0.5
"""Seconds between two looks at how far the moves have come."""


@dataclass(frozen=True, slots=True)
class MoveView(View):
    """So many slots wait to move; `source` is `None` where nobody owns them."""

    source: str | None
    target: str
    slots: int


@dataclass(frozen=True, slots=True)
class ScaleView(View):
    """The plan: how many slots each partition is to own, and what has to move until it does.

    `changed`: this request made it. `absent` are partitions without a process that runs: it starts, or the cluster or
    the store (`max_connections`) has no room for it yet, as its log says.
    `actor` asked for the plan, for that `reason`; empty = nobody said.
    """

    plan: int
    release: str
    partitions: Mapping[str, int]
    changed: bool
    waiting: int
    moves: tuple[MoveView, ...]
    absent: tuple[str, ...] = ()
    actor: str = ""
    reason: str = ""


class Scaling:
    """Plans for one context."""

    def __init__(self, context: str, plans: Plans | None, overview: Overview, clock: Clock) -> None:
        """Without `plans` there is nothing to scale."""
        self._context = context
        self._plans = plans
        self._overview = overview
        self._clock = clock

    async def scale(self, partitions: int, command: Command = NOBODY, *, replace: bool = False) -> ScaleView:
        """Have every slot owned by one of so many partitions, with the fewest moves; answers before they are made.

        Who asked, and why, is kept with the plan and in the audit.

        The same number again changes nothing. Raises `ConflictError` while slots wait to move for another plan (not
        with `replace`) and where the app does not run on Ray; `OperationError` for a number that cannot be.
        """
        if command is not NOBODY:
            check_command(command)
        while True:
            plan, seen = await self._present()
            slots = len(seen.slots)
            if isinstance(partitions, bool) or not 1 <= partitions <= slots:
                raise OperationError(f"partitions is {partitions}; it is at least 1 and at most the {slots} slots")
            waiting = moves_of(plan, seen)
            if len(plan.partitions) == partitions:
                return scale_view(plan, seen, changed=False)
            if waiting and not replace:
                count = sum(len(move.slots) for move in waiting)
                raise ConflictError(
                    f"plan {plan.number} ({len(plan.partitions)} partitions) is under way: {count} slots wait to move; "
                    "ask again once they have, or have this one replace it",
                    MOVING,
                )
            # A name that somebody bears who is not in the plan is not free yet.
            taken = {owner.partition for owner in seen.owners if owner.lease_left > 0}
            names = names_of(self._context, partitions, plan.partitions, taken)
            wanted = respread(plan.partitions, names, slots)
            actor, reason = command.actor.strip(), command.reason.strip()
            proposed = following(plan, plan.release, wanted, plan.edition, actor=actor, reason=reason)
            if proposed is not None and self._plans is not None and await self._plans.propose(proposed):
                return scale_view(proposed, seen, changed=True)

    async def settled(self, tell: Callable[[ScaleView], object], patience: float) -> ScaleView:
        """Wait until nothing has to move any more, `patience` seconds at most; `tell` is given each change."""
        until, said = self._clock.monotonic() + patience, -1
        while True:
            plan, seen = await self._present()
            view = scale_view(plan, seen, changed=False)
            if not view.waiting or self._clock.monotonic() >= until:
                return view
            if view.waiting != said:
                said = view.waiting
                tell(view)
            await self._clock.sleep(LOOK)

    async def _present(self) -> tuple[Plan, Snapshot]:
        """Give the plan that is followed; raises `ConflictError` when there is none."""
        plan = None if self._plans is None else await self._plans.present()
        if plan is None:
            text = "no plan is followed here: the app has not run on Ray (`wow-ray up`); `dev` takes --partitions"
            raise ConflictError(text, NO_PLAN)
        if not plan.partitions:
            raise ConflictError(
                f"{self._context} is down; `wow-ray up --partitions` brings it up with a number", NO_PLAN
            )
        return plan, await self._overview.snapshot()


def moves_of(plan: Plan, seen: Snapshot) -> tuple[Move, ...]:
    """Give what has to move until everybody owns what the plan names; an owner whose lease has ended owns nothing."""
    alive = {owner.id for owner in seen.owners if owner.lease_left > 0}
    return moves(plan, {slot.slot: slot.partition if slot.owner in alive else None for slot in seen.slots})


def move_views(waiting: tuple[Move, ...]) -> tuple[MoveView, ...]:
    """Show moves."""
    return tuple(MoveView(move.source, move.target, len(move.slots)) for move in waiting)


def absent_of(plan: Plan, seen: Snapshot) -> tuple[str, ...]:
    """Name the partitions of a plan that hold no lease."""
    living = {owner.partition for owner in seen.owners if owner.lease_left > 0}
    return tuple(name for name in plan.partitions if name not in living)


def scale_view(plan: Plan, seen: Snapshot, *, changed: bool) -> ScaleView:
    """Show a plan and what has to move for it."""
    waiting = moves_of(plan, seen)
    return ScaleView(
        plan=plan.number,
        release=plan.release,
        partitions={name: len(share) for name, share in plan.partitions.items()},
        changed=changed,
        waiting=sum(len(move.slots) for move in waiting),
        moves=move_views(waiting),
        absent=absent_of(plan, seen),
        actor=plan.actor,
        reason=plan.reason,
    )
