"""Whom to try next while a group is paused, and whether a success ends the pause (W4, H16, P16).

Failing and healthy aggregates alternate, a healthy one first: if the trouble is one aggregate's own, the first probe
says so (H12). A success of one that failed ends a pause at once. A success of a healthy one does too, unless the
last pause was ended like that and came back: then it takes several different ones, or, where there are not so many,
that healthy ones succeed for a minute (H16).

Who is ready when a pause begins is tried, and afterwards handled, in an order in which neighbours are far apart
(`spread`): many poison aggregates that came one after the other must not be all that is tried, nor fail all in a row
again when the pause is over.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from enum import Enum
from typing import Generic, TypeVar

from wow_ray.policy.budget import Systemic, jitter, wait

Key = TypeVar("Key", bound=Hashable)
T = TypeVar("T")

LONG_ENOUGH = 60.0
"""Seconds in which healthy aggregates succeed, and none of them fails, that end a pause with whatever there is."""


class Kind(Enum):
    """What kind of aggregate is tried."""

    HEALTHY = "healthy"
    FAILING = "failing"


class Probing(Generic[Key]):
    """The probes of one pause, one at a time. `needs` different healthy aggregates end it.

    With `in_a_row` a failure between them makes them count from the beginning, and no single aggregate's recovery
    ends it: for a pause because of many failures alike, which recoveries of others say little about (P16).
    """

    def __init__(self, needs: int, *, in_a_row: bool = False) -> None:
        """Begin with a healthy one."""
        self.needs = needs
        self.in_a_row = in_a_row
        self.failures = 0
        """Probes that failed so far."""
        self.proven: set[Key] = set()
        self._since: float | None = None
        self._next = Kind.HEALTHY

    def wait(self, rules: Systemic, dice: float) -> float:
        """Give the seconds until the next probe; `dice` is chance in [0, 1)."""
        if self.proven and self._next is Kind.HEALTHY:
            return jitter(rules.initial_probe, dice, rules.max_probe)
        return jitter(wait(rules.initial_probe, 2.0, rules.max_probe, self.failures + 1), dice, rules.max_probe)

    def kinds(self) -> tuple[Kind, Kind]:
        """Give which kind is tried now, and which when there is none of it."""
        other = Kind.FAILING if self._next is Kind.HEALTHY else Kind.HEALTHY
        return self._next, other

    def failed(self, kind: Kind) -> None:
        """Note that a probe of this kind ended in anything but a success."""
        self.failures += 1
        if self.in_a_row:
            self.proven.clear()
        if self.in_a_row or kind is Kind.HEALTHY:
            self._since = None
        self._turn(kind)

    def succeeded(self, key: Key, kind: Kind, now: float) -> bool:
        """Note a success at `now`, monotonic; `True` = the pause is over."""
        self._turn(kind)
        if kind is Kind.FAILING and not self.in_a_row:
            return True
        self.proven.add(key)
        if self._since is None:
            self._since = now
        return len(self.proven) >= self.needs or now - self._since >= LONG_ENOUGH

    def _turn(self, kind: Kind) -> None:
        self._next = Kind.FAILING if kind is Kind.HEALTHY else Kind.HEALTHY


def spread(things: Sequence[T]) -> list[T]:
    """Give all of them in another order: the first, the middle one, those at the quarters, the eighths, and so on."""
    bits = max(len(things) - 1, 0).bit_length()
    mirrored = (int(f"{place:0{bits}b}"[::-1], 2) for place in range(1 << bits)) if bits else range(len(things))
    return [things[place] for place in mirrored if place < len(things)]
