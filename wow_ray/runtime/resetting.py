"""Letting a projection begin anew: the one operation that moves a group's progress back (L6, H13).

It stands still first: no call of the group begins, those under way end, everything is committed and no commit runs.
Then one transaction writes the new marks with a new generation, closes the rows, and calls the projection's own
`on_reset(connection)`; only when that is in the store does memory follow. A page asked for before is not handed out to
the group, since its progress is another object by then (H7).
"""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from wow_ray.errors import ConflictError, WowError
from wow_ray.policy.parked import OPEN
from wow_ray.policy.progress import Mark, Progress
from wow_ray.ports.ledger import RowFilter
from wow_ray.ports.slots import GroupReset, IntentDone, SlotWrite
from wow_ray.runtime.lane import Status, digest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from wow_ray.ports.clock import Clock
    from wow_ray.ports.ledger import Intent
    from wow_ray.ports.stores import ClientStores
    from wow_ray.runtime.partition import Partition

log = logging.getLogger("wow_ray.service")

STAND_STILL = 30.0
"""Seconds a reset waits for the group's calls under way."""
CHUNK = 1_000


class Hosting(Protocol):
    """Whoever has all partitions and the processors' instances."""

    client: ClientStores

    @property
    def processors(self) -> Mapping[type[Any], Any]:
        """The processors' instances, by class."""

    @property
    def partitions(self) -> Sequence[Partition]:
        """The partitions that run now."""


async def reset(host: Hosting, clock: Clock, intent: Intent) -> None:
    """Carry out an intent to reset a group to the beginning; its outcome is stored with the effect, or refused."""
    name = intent.request.group
    try:
        closed = await _reset(host, clock, name, intent)
    except Exception as error:  # noqa: BLE001 - the hook is the author's; whatever it raises is the answer
        code = error.code if isinstance(error, WowError) else "failed"
        log.warning("%s was not reset: %s", name, error)
        for partition in host.partitions[:1]:
            partition.intents.refuse(intent, code, f"nothing was changed: {type(error).__name__}: {error}")
        return
    log.warning("%s begins anew; %d ledger rows closed", name, closed)


async def _reset(host: Hosting, clock: Clock, name: str, intent: Intent) -> int:
    partitions = [partition for partition in host.partitions if name in partition.by_name]
    if not partitions:
        raise ConflictError(f"this program has no group {name!r}")
    spec = partitions[0].by_name[name].spec
    if spec.kind != "projection":
        raise ConflictError(f"{name} is a {spec.kind}; only a projection is reset, others would act on the world again")
    async with AsyncExitStack() as stack:
        for partition in partitions:
            partition.by_name[name].closed = True
            stack.callback(_reopen, partition, name)
        await _stand_still(partitions, clock, name)
        for partition in partitions:
            await stack.enter_async_context(partition.commits.alone())
        number = partitions[0].by_name[name].number
        hook: Callable[[Any], Awaitable[None]] | None = getattr(host.processors[spec.processor], "on_reset", None)
        said = {partition: partition.holdings.snapshot(everything=True) for partition in partitions}
        writes = [_anew(write, number, intent) for of_one in said.values() for write in of_one]
        try:
            closed = await host.client.slots.reset(writes, GroupReset(name, number), hook)
        except BaseException:
            for partition, of_one in said.items():
                partition.holdings.take_back(of_one)
            raise
        for partition in partitions:
            _follow(partition, name)
        await _hold_again(host, partitions, name)
    return closed


async def _stand_still(partitions: Sequence[Partition], clock: Clock, name: str) -> None:
    until = clock.monotonic() + STAND_STILL
    while any(partition.by_name[name].running for partition in partitions):
        if clock.monotonic() >= until:
            raise ConflictError(f"a call of {name} has not ended within {STAND_STILL:g} s; try again later")
        await clock.sleep(0.02)


def _anew(write: SlotWrite, number: int, intent: Intent) -> SlotWrite:
    """Put the group's new mark in place of the present one, and the outcome beside its effect."""
    marks = {**write.marks, number: Mark(0, (), write.marks[number].generation + 1)}
    if write.slot != intent.request.slot:
        return replace(write, marks=marks)
    done = IntentDone(intent.id, applied=True, code="done", text="", outcome={"to": 0})
    return replace(write, marks=marks, intents=(*write.intents, done))


def _follow(partition: Partition, name: str) -> None:
    """Let memory begin anew as well: no lanes, nothing held, nothing open."""
    group = partition.by_name[name]
    partition.holdings.batch_done()
    for lane in list(group.lanes.values()):
        partition.drains.active -= lane.from_ledger
        lane.ticket += 1
        lane.status = Status.GONE
    group.lanes.clear()
    group.outlook.forget()
    group.states.clear()
    group.open = group.settled = 0
    for slot in partition.slots.values():
        before = slot.progress[group.number]
        slot.progress[group.number] = Progress(0, (), before.generation + 1)
        slot.held[group.number] = set()
        slot.markers.pop(group.number, None)
        slot.acknowledged()


async def _hold_again(host: Hosting, partitions: Sequence[Partition], name: str) -> None:
    """Hold the aggregates whose rows the reset has left open: those that stopped before the place it began at."""
    after: str | None = None
    while rows := await host.client.ledger.rows(RowFilter(OPEN, group=name, after=after, limit=CHUNK)):
        for row in rows:
            for partition in partitions:
                slot = partition.slots.get(row.slot)
                if slot is not None:
                    slot.held[partition.by_name[name].number].add(digest((row.aggregate, row.aggregate_id)))
        after = rows[-1].id


def _reopen(partition: Partition, name: str) -> None:
    group = partition.by_name[name]
    group.closed = False
    partition.workers.activate(group)
    partition.feed.wake()
    partition.intents.nudge()
