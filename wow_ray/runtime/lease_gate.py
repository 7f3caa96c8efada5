"""No call begins while the lease is not sure (L3): the gate is closed until a renewal is seen."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from wow_ray.runtime.trouble import Trouble

if TYPE_CHECKING:
    from wow_ray.ports.clock import Clock
    from wow_ray.ports.slots import Lease
    from wow_ray.runtime.workers import Workers

log = logging.getLogger("wow_ray.partition")

RECHECK = 0.2
"""Seconds between two looks at a lease that was not sure."""


class LeaseGate:
    """Closes and opens the workers' gate `lease`."""

    def __init__(self, lease: Lease, clock: Clock, workers: Workers) -> None:
        """Watch this lease for these workers."""
        self._lease = lease
        self._clock = clock
        self._workers = workers
        self._looking = False
        self._trouble = Trouble(log, clock, "no call begins (%s)", "calls begin again, the lease was away for %.1f s")

    def lost(self) -> None:
        """Begin no call until the lease is renewed."""
        self._workers.close("lease")
        if not self._looking:
            self._looking = True
            self._trouble.failed("the lease is not sure; until it is renewed")
            self._clock.call_at(self._clock.monotonic() + RECHECK, self._look)

    def _look(self) -> None:
        if self._clock.monotonic() < self._lease.valid_until:
            self._looking = False
            self._trouble.worked()
            self._workers.open("lease")
        elif not self._workers.stopping:
            self._clock.call_at(self._clock.monotonic() + RECHECK, self._look)
