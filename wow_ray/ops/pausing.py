"""Pausing and resuming a group for a person or a tool: stored as rows, obeyed by whoever owns the slots (H44)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from wow_ray.errors import ConflictError, NotFoundError, OperationError
from wow_ray.names import nearest
from wow_ray.ops.commands import Command, check_command
from wow_ray.ops.known import Known
from wow_ray.ops.pause_views import PauseAnswer, PauseView, pauses_of
from wow_ray.policy.parked import Verb
from wow_ray.policy.pauses import STOPS, PauseReason
from wow_ray.ports.ledger import Intent
from wow_ray.ports.overview import GroupSeen, Overview
from wow_ray.ports.pauses import PauseAsked, Pauses
from wow_ray.ports.plans import Plans

LIFTED = STOPS | {PauseReason.MASS_FAILURE}
"""What may be ended from outside; the other pauses end by themselves."""
MOST_LISTED = 1_000


class Pausing:
    """Pauses groups of one context."""

    def __init__(
        self, context: str, pauses: Pauses, overview: Overview, plans: Plans | None, new_id: Callable[[], str]
    ) -> None:
        """`new_id` gives ids of requests; `plans` also name partitions that have not run yet."""
        self._context = context
        self._pauses = pauses
        self._overview = overview
        self._plans = plans
        self._new_id = new_id

    async def pause(
        self, name: str, command: Command, known: Known, reason: PauseReason, partition: str | None
    ) -> PauseAnswer:
        """Have the group of that name stand still; raises `NotFoundError` for a group or partition there is not."""
        if reason not in STOPS:
            raise OperationError(f"nobody pauses for {reason.value!r} on purpose; one of {_listed(STOPS)}")
        group = await self._named(name, command)
        if partition is not None:
            await self._check_partition(partition)
        asked = self._asked(group, command, reason, partition)
        return await self._answered(await self._pauses.set(asked), asked, Verb.PAUSE, group, known)

    async def resume(
        self, name: str, command: Command, known: Known, reason: PauseReason, partition: str | None
    ) -> PauseAnswer:
        """End that one pause of the group; the others stay, and while one of them is there it stands still."""
        if reason not in LIFTED:
            raise OperationError(f"a pause for {reason.value!r} ends by itself; one of {_listed(LIFTED)}")
        if reason not in STOPS and partition is None:
            raise OperationError(f"a pause for {reason.value!r} is of one partition; name it")
        group = await self._named(name, command)
        asked = self._asked(group, command, reason, partition)
        return await self._answered(await self._pauses.end(asked), asked, Verb.END_PAUSE, group, known)

    async def history(self, name: str, limit: int) -> tuple[PauseView, ...]:
        """Give a group's pauses, present and over, the newest first: who, when and why, and who ended them."""
        if not 1 <= limit <= MOST_LISTED:
            raise OperationError(f"limit is {limit}; 1 to {MOST_LISTED} pauses are listed")
        group = group_named(await self._overview.groups(), name, self._context)
        return tuple(map(PauseView.of, await self._pauses.history(group.number, limit)))

    async def _named(self, name: str, command: Command) -> GroupSeen:
        check_command(command)
        return group_named(await self._overview.groups(), name, self._context)

    def _asked(self, group: GroupSeen, command: Command, reason: PauseReason, partition: str | None) -> PauseAsked:
        request_id = command.request_id or self._new_id()
        return PauseAsked(request_id, group.number, partition, reason, command.actor.strip(), command.reason.strip())

    async def _answered(
        self, action: Intent, asked: PauseAsked, verb: Verb, group: GroupSeen, known: Known
    ) -> PauseAnswer:
        """Answer with the action as it is stored, which may be that of an earlier request under the same id."""
        outcome = action.outcome
        stored = (action.request.verb, outcome.get("partition"), outcome.get("pause_reason"), action.request.group)
        if stored != (verb, asked.partition, asked.reason.value, group.name):
            text = f"request id {asked.request_id!r} was used for another command; take a new one"
            raise ConflictError(f"request_id: {text}")
        return PauseAnswer(
            request_id=asked.request_id,
            verb=verb,
            group=group.name,
            handlers=tuple(sorted(known.groups.get(group.name, group.subscriptions))),
            reason=asked.reason.value,
            partition=asked.partition,
            changed=bool(outcome["changed"]),
            pauses=pauses_of(await self._pauses.present(), group.number),
            asked_at=action.asked_at,
        )

    async def _check_partition(self, partition: str) -> None:
        """Refuse a partition that nobody has heard of: its pause would hold nobody back."""
        snapshot = await self._overview.snapshot()
        plan = None if self._plans is None else await self._plans.present()
        names = {slot.partition for slot in snapshot.slots if slot.partition is not None}
        names |= {owner.partition for owner in snapshot.owners} | set(() if plan is None else plan.partitions)
        if partition not in names:
            raise NotFoundError(
                f"there is no partition {partition!r}{nearest(partition, sorted(names))}; see `wow-ray status`"
            )


def group_named(groups: Sequence[GroupSeen], name: str, context: str) -> GroupSeen:
    """Find a group by its own name or that of a subscription in it, with or without the context before it.

    Raises `NotFoundError` naming what is near.
    """
    wanted = name.removeprefix(f"{context}.")
    for group in groups:
        if wanted == group.name or wanted in group.subscriptions:
            return group
    names = [each for group in groups for each in (group.name, *group.subscriptions)]
    raise NotFoundError(
        f"there is no subscription and no group {name!r}{nearest(wanted, names)}; see `wow-ray subscriptions list`"
    )


def _listed(reasons: Iterable[PauseReason]) -> str:
    """Write reasons in a row."""
    return ", ".join(sorted(reason.value for reason in reasons))
