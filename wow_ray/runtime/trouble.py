"""Trouble with our own store, told to the log as often as `policy.outcry` finds worth a line."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from wow_ray.policy.outcry import SETTLED, Outcry

if TYPE_CHECKING:
    from wow_ray.ports.clock import Cancellable, Clock

LATE = 0.01
"""Seconds after the time is over at which it is looked, so that it surely is."""


class Trouble:
    """One thing that may fail, in one partition."""

    def __init__(
        self, log: logging.Logger, clock: Clock, begun: str, over: str, levels: tuple[int, int] | None = None
    ) -> None:
        """Say `begun`, with `%s` for the error, and `over`, with `%.1f` for the seconds that it lasted.

        `levels` are those of the two lines: a warning, and an information that it is over, unless said otherwise.
        """
        self._log = log
        self._clock = clock
        self._begun = begun
        self._over = over
        self._levels = levels or (logging.WARNING, logging.INFO)
        self._outcry = Outcry()
        self._timer: Cancellable | None = None

    def failed(self, error: BaseException | str) -> None:
        """Take a failure into account."""
        self._forget()
        if self._outcry.failed(self._clock.monotonic()):
            self._log.log(self._levels[0], self._begun, error)

    def worked(self) -> None:
        """Take a success into account; costs next to nothing while all is well."""
        if not self._outcry.lasting or self._timer is not None:
            return
        now = self._clock.monotonic()
        self._outcry.worked(now)
        self._timer = self._clock.call_at(now + SETTLED + LATE, self._settled)

    def _settled(self) -> None:
        self._timer = None
        over = self._outcry.over(self._clock.monotonic())
        if over is not None:
            self._log.log(self._levels[1], self._over, over.seconds)

    def _forget(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
