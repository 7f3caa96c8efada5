"""Time and chance under a test's control: a clock that moves when it is told to, and dice that fall as written."""

from __future__ import annotations

import asyncio
import heapq
import types
from collections.abc import Awaitable, Callable, Generator
from datetime import UTC, datetime, timedelta
from itertools import count

START = datetime(2030, 1, 1, tzinfo=UTC)
"""Where the calendar begins, unless a test says otherwise."""

_RESTLESS = 100_000
_BLIND_TURNS = 100


@types.coroutine
def turn() -> Generator[None, None, None]:
    """Let the loop turn once."""
    yield


async def at_rest() -> None:
    """Let the loop turn until nothing is ready to run; what waits for time, threads or sockets does not count.

    Raises `RuntimeError` when it does not come to rest, as with two tasks that wake each other for ever.
    """
    # No public call tells whether anything is ready. A loop without this queue gets a fixed number of turns.
    ready = getattr(asyncio.get_running_loop(), "_ready", None)
    if ready is None:
        for _ in range(_BLIND_TURNS):
            await turn()
        return
    for _ in range(_RESTLESS):
        if not ready:
            return
        await turn()
    msg = f"the loop did not come to rest within {_RESTLESS} turns: something calls itself without waiting for time"
    raise RuntimeError(msg)


class VirtualTimer:
    """One call asked for at a later time; see `VirtualClock.call_at`."""

    __slots__ = ("_callback", "_clock", "when")

    def __init__(self, clock: VirtualClock, when: float, callback: Callable[[], None]) -> None:
        self._clock = clock
        self._callback: Callable[[], None] | None = callback
        self.when = when

    @property
    def pending(self) -> bool:
        """Tell whether the call is still to be made."""
        return self._callback is not None

    def cancel(self) -> None:
        """Take it back; does nothing once it was made."""
        self._callback = None

    def fire(self) -> None:
        """Make the call, unless it was made or taken back."""
        callback, self._callback = self._callback, None
        if callback is not None:
            callback()


class VirtualClock:
    """A `ports.clock.Clock` on which time passes only in `advance`.

    Nothing here waits for real: a day of retries is a loop over the timers that fall into it, in order, each with the
    monotonic time it asked for.
    """

    def __init__(self, start: datetime = START, monotonic: float = 1000.0) -> None:
        self._calendar = start
        self._origin = monotonic
        self._monotonic = monotonic
        self._timers: list[tuple[float, int, VirtualTimer]] = []
        self._order = count()

    def now(self) -> datetime:
        """Give the calendar time, aware and in UTC; `step` makes it jump."""
        return self._calendar + timedelta(seconds=self._monotonic - self._origin)

    def monotonic(self) -> float:
        """Give the seconds that only `advance` moves."""
        return self._monotonic

    def call_at(self, when: float, callback: Callable[[], None]) -> VirtualTimer:
        """Call `callback` once `advance` has reached `when`; at the loop's next turn when it has already."""
        timer = VirtualTimer(self, when, callback)
        if when <= self._monotonic:
            asyncio.get_running_loop().call_soon(timer.fire)
        else:
            heapq.heappush(self._timers, (when, next(self._order), timer))
        return timer

    async def sleep(self, seconds: float) -> None:
        """Wait until `advance` has moved that far; zero or less lets the loop turn once."""
        if seconds <= 0:
            await turn()
            return
        awake = asyncio.get_running_loop().create_future()
        timer = self.call_at(self._monotonic + seconds, lambda: _wake(awake))
        try:
            await awake
        finally:
            timer.cancel()

    def next_timer(self) -> float | None:
        """Give the monotonic time of the next call to be made, or `None` when nobody waits for time."""
        while self._timers and not self._timers[0][2].pending:
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    async def advance(self, seconds: float, settle: Callable[[], Awaitable[None]] | None = None) -> None:
        """Let `seconds` pass, timer by timer; calls that were asked for on the way are made at their own time.

        `settle` is awaited before the first, after each and at the end, and returns when nothing is left to do without
        more time; by default that is `at_rest`. A test with handlers on threads gives one that waits for those too.
        """
        if not seconds >= 0:
            msg = f"time does not go back: advance({seconds!r})"
            raise ValueError(msg)
        settle = settle or at_rest
        until = self._monotonic + seconds
        await settle()
        while (due := self.next_timer()) is not None and due <= until:
            self._monotonic = max(self._monotonic, due)
            _, _, timer = heapq.heappop(self._timers)
            asyncio.get_running_loop().call_soon(timer.fire)
            await settle()
        self._monotonic = max(self._monotonic, until)
        await settle()

    def step(self, wall_seconds: float) -> None:
        """Set the calendar clock forward (or back, below zero), as a time server does; no timer notices."""
        self._calendar += timedelta(seconds=wall_seconds)


def _wake(sleeper: asyncio.Future[None]) -> None:
    """End a sleep that nobody has cancelled meanwhile."""
    if not sleeper.done():
        sleeper.set_result(None)


class ScriptedDice:
    """A `ports.clock.Dice` made by `dice`; `rolls` counts how often it was thrown."""

    __slots__ = ("_values", "rolls")

    def __init__(self, values: tuple[float, ...]) -> None:
        self._values = values
        self.rolls = 0

    def __call__(self) -> float:
        """Give the next value as written; the last one again and again."""
        value = self._values[min(self.rolls, len(self._values) - 1)]
        self.rolls += 1
        return value


def dice(*values: float) -> ScriptedDice:
    """Make dice that fall as written, and go on with the last value: `dice(0.5)` always answers the middle.

    Raises `ValueError` without values, or for one outside [0, 1).
    """
    if not values or not all(0 <= value < 1 for value in values):
        msg = f"dice fall on numbers in [0, 1), at least one of them: {values!r}"
        raise ValueError(msg)
    return ScriptedDice(values)
