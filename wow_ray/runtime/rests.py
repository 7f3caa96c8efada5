"""Rests: a group whose calls need our own store lets it be for a moment when it cannot be asked.

Without one each of its aggregates would ask for itself, thousands of times a second, and press on a server that has
trouble enough. Other groups go on; nothing is charged, and nothing is a pause that anybody has to see.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wow_ray.policy.budget import wait

if TYPE_CHECKING:
    from wow_ray.ports.clock import Clock
    from wow_ray.runtime.group import Group
    from wow_ray.runtime.workers import Workers

FIRST, LAST = 0.1, 1.0
"""Seconds of a rest: doubled with each that follows soon; never long, since nothing else ends it."""
SOON = 1.0
"""Seconds after a rest within which another one is of the same trouble."""


class Rests:
    """The rests of one partition's groups."""

    def __init__(self, clock: Clock, workers: Workers) -> None:
        """Begin with none."""
        self._clock = clock
        self._workers = workers
        self._lately: dict[int, tuple[int, float]] = {}
        """How many rests a group has had one after the other, and when the last one ended."""

    def begin(self, group: Group) -> None:
        """Take no lane of the group for a while; calls under way go on."""
        if group.resting:
            return
        now = self._clock.monotonic()
        times, ended = self._lately.get(group.number, (0, now))
        times = times + 1 if now - ended <= SOON else 1
        until = now + wait(FIRST, 2.0, LAST, times)
        self._lately[group.number] = (times, until)
        group.resting = True
        self._clock.call_at(until, lambda: self._over(group))

    def _over(self, group: Group) -> None:
        group.resting = False
        self._workers.activate(group)
