"""Whose trouble a failure is: the aggregate's own, or its surroundings' (contract section 5, W1 to W3, W5).

One `Outlook` per group and partition. It is told of failures and successes with their times and answers what a
failure says about the surroundings. It knows no clock: times are seconds on the caller's monotonic clock.

Two things speak for an outage: a failure that is systemic by its class, at once; and three different aggregates that
fail by default within the window with no success between (W1, W3). What speaks against it is a success of another
aggregate that began after a failure (W5): the failing one is then on its own until it succeeds or is parked. While a
group succeeds all the time, failures of some aggregates arrive in a row by chance, and calls that were under way when
the first one failed prove nothing. So in such a group an outage is believed only once as many calls *begun since*
have failed, of different aggregates and again with no success between; that takes milliseconds, or is not so. Where
some of the aggregates fail on their own all the time it takes more calls than that (`policy.usual`). Half a second in
which calls fail and none succeeds is enough whatever the number.

What was charged in the last ten seconds is given back when an outage is found, whether something succeeded meanwhile or
not: where some events do not touch what is down, something always does (H16).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum
from typing import Generic, NamedTuple, TypeVar

from wow_ray.policy.budget import Systemic
from wow_ray.policy.usual import Usual

Key = TypeVar("Key", bound=Hashable)
Mark = TypeVar("Mark")

LATELY = 0.5
"""Seconds after a success in which a group counts as one that succeeds all the time."""
RELAPSE = 60.0
"""Seconds after a pause that a healthy aggregate ended, in which another pause makes that end doubtful (H16)."""
CANARIES = 10
"""How many different healthy aggregates end a pause whose predecessor they ended too early (H16)."""
MOST_CHARGES = 10_000
"""How many charges can be given back, the newest; some more than a group charges in the window on one machine."""

NEVER = float("-inf")


class View(Enum):
    """What a failure says: the aggregate's `OWN` trouble, `DOUBTED` (wait, uncharged, and see), an `OUTAGE`."""

    OWN = 1
    DOUBTED = 2
    OUTAGE = 3


class Charge(NamedTuple, Generic[Key, Mark]):
    """One attempt that an aggregate was charged with at `at`, or, with a `mark`, that it was parked or spilled then."""

    at: float
    key: Key
    mark: Mark | None = None


@dataclass(slots=True)
class _Trial(Generic[Key]):
    since: float
    failed: set[Key]


class Outlook(Generic[Key, Mark]):
    """What the failures of one group in one partition look like together."""

    __slots__ = ("_charges", "_ended_at", "_trial", "_usual", "failing", "good_at", "good_began", "window")

    def __init__(self) -> None:
        """Know of nothing."""
        self.failing: dict[Key, float] = {}
        """Aggregates that fail at present, each since when: until it succeeds or is parked."""
        self.window: dict[Key, float] = {}
        """Aggregates whose failures count towards an outage, each with the last one's time (W1)."""
        self.good_at = NEVER
        """When the last success ended."""
        self.good_began = NEVER
        """When the last of the successful calls began: evidence against every failure before that (W5)."""
        self._charges: deque[Charge[Key, Mark]] = deque(maxlen=MOST_CHARGES)
        self._usual = Usual()
        self._trial: _Trial[Key] | None = None
        self._ended_at = NEVER

    @property
    def alert(self) -> bool:
        """Whether a success has to be told with `good`; otherwise setting `good_at` and `good_began` is enough."""
        return bool(self.failing or self.window)

    def good(self, key: Key, began: float, now: float) -> None:
        """Take a success of a live call into account: it empties the window (W3)."""
        self.good_at = now
        self.good_began = max(began, self.good_began)
        self.failing.pop(key, None)
        self.window.clear()
        self._trial = None
        self._usual.well(now)

    def failed(self, key: Key, began: float, now: float, rules: Systemic, *, by_class: bool) -> View:
        """Judge a failed live call that began at `began`: systemic `by_class`, or recoverable by default (W2).

        Exactly `rules.window` seconds apart counts, more does not (W1).
        """
        if self.own(key):
            return View.OWN
        if key not in self.failing:
            self.failing[key] = now
            self._usual.bad()
        self.window[key] = now
        for each in [each for each, at in self.window.items() if now - at > rules.window]:
            del self.window[each]
        trial = self._trial
        if trial is None:
            trial = self._trial = _Trial(now, set())
        elif began >= trial.since:
            trial.failed.add(key)
        if not by_class and len(self.window) < rules.aggregates:
            return View.OWN
        if (
            now - self.good_at > LATELY
            or now - trial.since > LATELY
            or len(trial.failed) >= self._usual.run(rules.aggregates)
        ):
            return View.OUTAGE
        return View.DOUBTED if by_class else View.OWN

    def own(self, key: Key) -> bool:
        """Whether others have succeeded since the aggregate began to fail, so that its trouble is its own (W5)."""
        since = self.failing.get(key)
        return since is not None and self.good_began >= since

    def begins_to_fail(self, key: Key, now: float) -> None:
        """Note a failure that says nothing about the surroundings, so that what others do can say something of it."""
        self.failing.setdefault(key, now)

    def charged(self, key: Key, now: float, rules: Systemic, mark: Mark | None = None) -> None:
        """Remember a charge that an outage would give back; with a `mark`, what the charge led to."""
        self._forget(now, rules.window)
        self._charges.append(Charge(now, key, mark))

    def left(self, key: Key) -> None:
        """Note that the aggregate was parked, or is gone: nothing of what it failed in counts against it any more."""
        self.failing.pop(key, None)

    def forget(self) -> None:
        """Know of no failure any more: everything begins anew."""
        self.failing.clear()
        self.window.clear()
        self._charges.clear()
        self._trial = None

    def paused(self, now: float, rules: Systemic) -> tuple[int, list[Charge[Key, Mark]]]:
        """Begin a pause: answer how many healthy aggregates are to end it, and what is given back (W1, H15, H16)."""
        relapsed = self.relapsed(now)
        self._forget(now, rules.window)
        back = list(self._charges)
        self._charges.clear()
        self.window.clear()
        self._trial = None
        return (CANARIES if relapsed else 1), back

    def ended(self, now: float, *, by_another: bool) -> None:
        """End a pause; `by_another` = not by a success of one of those that fail."""
        self._ended_at = now if by_another else NEVER

    def relapsed(self, now: float) -> bool:
        """Whether a pause that began now would show that the last one was ended too early (H16)."""
        return now - self._ended_at <= RELAPSE

    def _forget(self, now: float, window: float) -> None:
        """Forget the charges that no pause beginning now would give back."""
        since = self._ended_at if self.relapsed(now) else now - window
        while self._charges and self._charges[0].at < since:
            self._charges.popleft()
