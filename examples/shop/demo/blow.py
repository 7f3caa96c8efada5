"""A blow in the middle of the day: the process of one partition is killed, without a word to anybody."""

import os
import signal
from dataclasses import dataclass

from examples.shop.demo.crew import Crew
from examples.shop.demo.witness import Witness
from wow_ray.ports.clock import Clock

LOOK = 0.05
"""Seconds between two looks."""
BOUND = 30.0
"""Seconds within which another process has to handle again, on any machine."""


@dataclass(frozen=True, slots=True)
class Blow:
    """What was hit: a partition, its slots, its process, when; and who went on, so many seconds later.

    `meanwhile` counts the events that the other partitions handled in between. `successor` 0 = nobody did, in time.
    """

    partition: str
    slots: frozenset[int]
    pid: int
    at: float
    successor: int = 0
    seconds: float = BOUND
    meanwhile: int = 0


async def strike(crew: Crew, clock: Clock) -> Blow:
    """Kill the process of the plan's first partition (SIGKILL)."""
    partition, slots = next(iter(sorted(crew.plan.partitions.items())))
    while (pid := await crew.process(partition)) is None:
        await clock.sleep(LOOK)
    at = clock.monotonic()
    os.kill(pid, signal.SIGKILL)
    return Blow(partition, frozenset(slots), pid, at)


async def recovered(blow: Blow, crew: Crew, witness: Witness, clock: Clock) -> Blow:
    """Wait until another process of that partition calls handlers; answers what is known then."""
    while clock.monotonic() < blow.at + BOUND:
        pid = await crew.process(blow.partition)
        witness.look()
        if pid is not None and pid != blow.pid and (back := witness.appeared.get(pid)) is not None:
            meanwhile = witness.between(blow.at, back)
            return Blow(blow.partition, blow.slots, blow.pid, blow.at, pid, back - blow.at, meanwhile)
        await clock.sleep(LOOK)
    return blow
