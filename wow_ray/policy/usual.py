"""How long a run of failures has to be in a group in which some aggregates fail on their own all the time (W3).

Told which of the aggregates called newly fail and which do well. In a group whose aggregates hardly ever fail three in
a row say much; where a tenth of them is poison three in a row come by chance every few seconds. Judged by what was
before the last ten seconds, as soon as there is enough of it: an outage that some events do not touch must not pass for
the usual while it is new (H16). Times are seconds on the caller's monotonic clock.
"""

from __future__ import annotations

from math import ceil, log

SUSPICIOUS = 1 / 3
"""Where more than this share of the aggregates newly fail, no longer run is asked for: that is suspicious by itself."""
CHANCE = 1e-8
"""How rarely a run that is long enough comes about by chance."""
CREDIT = 8
"""Aggregates that a group is credited with at first, so that its first failures are not taken for the usual."""
SPELL = 10.0
"""Seconds in which what happens becomes the usual."""
ENOUGH = 50
"""So many aggregates tell what is usual."""


class Usual:
    """What is usual in one group and partition: some numbers, whatever happens."""

    __slots__ = ("_bad", "_old_bad", "_old_well", "_run", "_since", "_well")

    def __init__(self) -> None:
        """Know of nothing."""
        self._well = self._bad = self._old_well = self._old_bad = 0
        self._run = 0
        """How many have newly failed since the last that did well; they are no chance yet."""
        self._since = 0.0

    def bad(self) -> None:
        """Count an aggregate that newly fails."""
        self._run += 1

    def well(self, now: float) -> None:
        """Count one that does well."""
        if now - self._since > SPELL:
            if self._well + self._bad >= ENOUGH:
                self._old_well = self._old_well // 2 + self._well
                self._old_bad = self._old_bad // 2 + self._bad
                self._well = self._bad = 0
            self._since = now
        self._well += 1
        self._bad += self._run
        self._run = 0

    @property
    def share(self) -> float:
        """Of the aggregates called, how many usually fail on their own: from 0 to 1."""
        if self._old_well + self._old_bad >= ENOUGH:
            return self._old_bad / (self._old_well + self._old_bad)
        return self._bad / (self._well + self._bad + CREDIT)

    def run(self, least: int) -> int:
        """Give how many have to fail one after the other for it to be no chance, at least `least`."""
        share = self.share
        return least if not 0 < share <= SUSPICIOUS else max(least, ceil(log(CHANCE) / log(share)))
