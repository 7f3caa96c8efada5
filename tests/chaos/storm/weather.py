"""In which order things happen: two hands at once, each with a deck of faults that chance has shuffled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from tests.chaos.storm.faults import PROCESSES, SURROUNDINGS, Fault
from tests.chaos.storm.ground import Ground, lasting
from wow_ray.adapters.clock import monotonic

CALM = (0.3, 1.2)
"""Seconds between two faults of one hand, at least and at most, beside `BREATH`."""
ENOUGH = 20
"""Calls that are to end well after a fault before the next one of the same hand."""
BREATH = 15.0
"""Seconds that a hand waits, at most, for calls to end well again: the other one may strike meanwhile."""


async def _breath(ground: Ground) -> None:
    """Let some calls end well before the next fault, so that every fault meets a cluster at work."""
    wanted = ground.handled() + ENOUGH
    until = monotonic() + BREATH
    while ground.handled() < wanted and monotonic() < until:
        await lasting(0.2)


@dataclass(frozen=True)
class Struck:
    """One fault: when it began and when the ground was whole again, by the machine's monotonic time."""

    kind: str
    began: float
    ended: float


def deck(kinds: Mapping[str, tuple[Fault, int]], chance: Random) -> list[tuple[str, Fault]]:
    """Give one round's faults in an order by chance."""
    cards = [(kind, fault) for kind, (fault, times) in kinds.items() for _ in range(times)]
    chance.shuffle(cards)
    return cards


async def storm(ground: Ground, seed: int, rounds: int, tell: Callable[[Struck], None] | None = None) -> list[Struck]:
    """Let it blow for so many rounds; answers what happened, in the order it began."""
    struck: list[Struck] = []

    async def hand(kinds: Mapping[str, tuple[Fault, int]], chance: Random) -> None:
        for _ in range(rounds):
            for kind, fault in deck(kinds, chance):
                await lasting(chance.uniform(*CALM))
                began = monotonic()
                try:
                    await fault(ground)
                except Exception as error:
                    raise AssertionError(f"the fault {kind!r} could not be made: {error!r}") from error
                this = Struck(kind, began, monotonic())
                struck.append(this)
                await _breath(ground)
                if tell is not None:
                    tell(this)

    async with asyncio.TaskGroup() as group:
        group.create_task(hand(PROCESSES, Random(seed)))  # noqa: S311 - seeded, no secret
        group.create_task(hand(SURROUNDINGS, Random(seed + 1)))  # noqa: S311
    return sorted(struck, key=lambda each: each.began)
