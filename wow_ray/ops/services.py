"""Several services side by side: each is looked at by itself, and one that is away keeps nobody from the others.

A service is one context with a store of its own: another schema, or another database. What is looked at once serves
everybody who asks meanwhile; who asks waits `PATIENCE` at most and is told then that there is no answer yet. Nothing of
one service passes to another here: a look holds what its own `Operations` say.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from wow_ray.errors import StoreUnavailableError, WowError
from wow_ray.ops.finding import ParkedQuery
from wow_ray.ops.finding_views import AlikeView
from wow_ray.ops.operations import Operations
from wow_ray.ops.plain import View
from wow_ray.ops.progress import GroupView, StatusView
from wow_ray.policy.durable_call import CallState
from wow_ray.ports.clock import Clock
from wow_ray.redaction import safe

log = logging.getLogger("wow_ray.ops")

PATIENCE = 2.0
"""Seconds that somebody who asks waits for one service."""
LONGEST = 6.0
"""Seconds after which a look is given up."""
FRESH = 1.0
"""Seconds for which a look is given again."""
ALIKE = 5
"""Groups of errors of one service that an overview over all of them shows."""

State = Literal["running", "unwell", "not_running", "away"]
"""How a service is: `unwell` = a partition is in trouble, `not_running` = a slot has no owner, `away` = no answer."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of one service at once; `calls` are durable calls that wait for a person."""

    status: StatusView
    groups: Sequence[GroupView]
    alike: Sequence[AlikeView]
    calls: int


@dataclass(frozen=True, slots=True)
class ServiceView(View):
    """One service in numbers. `at` is the beginning of its addresses; `why` says of one that is away what is wrong.

    `seen_at` is when it answered last by its own clock, `None` = never. The numbers are those of now: of one that is
    away there are none. `oldest` is the age in seconds of the event that has waited longest, 0 = none waits.
    """

    service: str
    at: str
    state: State
    why: str
    seen_at: datetime | None
    context: str | None = None
    lag: int | None = None
    oldest: float | None = None
    parked: int | None = None
    exhausted: int | None = None
    exhausted_calls: int | None = None
    paused: tuple[str, ...] | None = None
    slots: int | None = None
    unowned: int | None = None
    rate: float | None = None
    failed_rate: float | None = None
    open_rows: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Glance:
    """One look at a service: what was seen of it, or why nothing was."""

    view: ServiceView
    seen: Seen | None


async def look(operations: Operations) -> Seen:
    """Look at one service as a whole; raises what its store raises."""
    calls = await operations.calls.counts()
    return Seen(
        await operations.status(),
        await operations.subscriptions(),
        await operations.alike(ParkedQuery(), ALIKE),
        sum(states.get(CallState.EXHAUSTED.value, 0) for states in calls.values()),
    )


class Lookout:
    """Looks at one service for everybody who asks, one look at a time."""

    def __init__(
        self,
        name: str,
        at: str,
        opened: Callable[[], Awaitable[Operations]],
        lost: Callable[[], Awaitable[None]],
        clock: Clock,
    ) -> None:
        """`opened` gives its operations, `lost` is told that they are no good any more."""
        self.name = name
        self.at = at
        self._clock = clock
        self._opened = opened
        self._lost = lost
        self._task: asyncio.Task[Glance] | None = None
        self._done_at = float("-inf")
        self._seen_at: datetime | None = None

    async def glance(self) -> Glance:
        """Give what is to be seen; never raises, and waits no longer than `PATIENCE`."""
        if self._task is None or (self._task.done() and self._clock.monotonic() - self._done_at >= FRESH):
            self._task = asyncio.create_task(self._look())
        # Who goes away ends their waiting, not the look that others wait for.
        done, _ = await asyncio.wait({self._task}, timeout=PATIENCE)
        return self._task.result() if done else self._away(f"it has not answered for {PATIENCE:g} s")

    async def close(self) -> None:
        """Give up a look under way."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _look(self) -> Glance:
        try:
            seen = await asyncio.wait_for(self._look_once(), LONGEST)
        except TimeoutError:
            found = self._away(f"it has not answered for {LONGEST:g} s")
        except WowError as error:
            if isinstance(error, StoreUnavailableError):
                await self._let_go()
            found = self._away(f"{error.code} {error.message}")
        except Exception as error:  # one service that is broken keeps nobody from the others
            log.warning("the service %s cannot be looked at", self.name, exc_info=True)
            found = self._away(f"{type(error).__name__}, unexpected")
        else:
            self._seen_at = seen.status.now
            found = Glance(_viewed(self.name, self.at, seen), seen)
        self._done_at = self._clock.monotonic()
        return found

    async def _look_once(self) -> Seen:
        return await look(await self._opened())

    async def _let_go(self) -> None:
        """Have the store found anew by the next look; what is left of a broken connection may break again."""
        try:
            await self._lost()
        except Exception:
            log.warning("what was open to the service %s cannot be closed", self.name, exc_info=True)

    def _away(self, why: str) -> Glance:
        return Glance(ServiceView(self.name, self.at, "away", safe(why), self._seen_at), None)


async def all_of(lookouts: Sequence[Lookout]) -> tuple[Glance, ...]:
    """Look at several at once, in their order."""
    return tuple(await asyncio.gather(*(each.glance() for each in lookouts)))


def _viewed(name: str, at: str, seen: Seen) -> ServiceView:
    status = seen.status
    state: State = "not_running" if not status.ready else "unwell" if status.troubles else "running"
    ages = [group.oldest.age for group in seen.groups if group.oldest is not None and not group.retired]
    return ServiceView(
        name or status.context,
        at,
        state,
        "; ".join(status.troubles),
        status.now,
        context=status.context,
        lag=status.lag,
        oldest=max(ages, default=0.0),
        parked=status.parked,
        exhausted=status.open_rows.get("exhausted", 0),
        exhausted_calls=seen.calls,
        paused=status.paused,
        slots=status.slots,
        unowned=len(status.unowned),
        rate=status.rate,
        failed_rate=status.failed_rate,
        open_rows=status.open_rows,
    )
