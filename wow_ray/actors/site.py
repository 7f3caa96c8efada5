"""What an actor's process is told of the app it works for, and what it opens with that."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from wow_ray.handlers.specs import AppSpec
from wow_ray.policy.autoscale import Bounds
from wow_ray.policy.classify import Asked
from wow_ray.policy.plan import Reading
from wow_ray.ports.clock import Clock
from wow_ray.ports.ledger import Ledger
from wow_ray.ports.overview import Overview
from wow_ray.ports.pauses import Pauses
from wow_ray.ports.plans import Plans
from wow_ray.runtime.call_service import CallService
from wow_ray.runtime.elsewhere import Elsewhere
from wow_ray.runtime.service import Service


async def _nothing_else() -> None:
    """Have no chores."""


@dataclass(frozen=True, slots=True)
class Control:
    """What steering an app takes of its store; `slots` is how many it has.

    `excuse(partition)` says that its process is about to be ended on purpose, see `SlotStore.excuse`. `chores()` does
    for ever what one process does for the whole store: notices are sent, and what is old is deleted.
    """

    plans: Plans
    ledger: Ledger
    overview: Overview
    slots: int
    excuse: Callable[[str], Awaitable[None]]
    pauses: Pauses
    autoscale: Bounds | None = None
    """Within which bounds the supervisor changes the number of partitions; `None` = it does not."""
    chores: Callable[[], Coroutine[Any, Any, None]] = _nothing_else


@dataclass(frozen=True, slots=True)
class Calling:
    """What a process takes that only makes calls; `modules` are the modules' classifiers.

    `overrides` are resources given from outside, by type, as for `Service`.
    """

    spec: AppSpec
    modules: Sequence[Asked]
    overrides: Mapping[Any, Any] | None = None


class Site(Protocol):
    """An app at one store, as names: it travels to every actor, where Ray's dashboard shows it, so no secrets.

    Each process finds the address of the store itself, in its own environment or in the state folder (api.md). Raises
    what finding, reaching and checking the store and the app raise.
    """

    @property
    def context(self) -> str:
        """The app's context."""
        ...

    @property
    def release(self) -> str:
        """Which program this is; a plan of another release is not for it."""
        ...

    @property
    def edition(self) -> str:
        """What differs when anything of this program does, also under the same release."""
        ...

    @property
    def callers(self) -> int:
        """How many actors run durable calls and nothing else; 0 = the partitions run them."""
        ...

    def clock(self) -> Clock:
        """Give the process's time."""
        ...

    async def rehearse(self) -> Reading:
        """Raise what `partition` would raise before it takes slots; opens everything and closes it again.

        Answers what the program reads.
        """
        ...

    def control(self) -> AbstractAsyncContextManager[Control]:
        """Open what steering takes."""
        ...

    def partition(
        self, name: str, slots: Sequence[int], elsewhere: Elsewhere | None
    ) -> AbstractAsyncContextManager[Service]:
        """Run one partition, without looking for due rows; waits until nobody else owns its slots."""
        ...

    def durable_calls(self, name: str) -> AbstractAsyncContextManager[CallService]:
        """Run durable calls under that lasting name."""
        ...

    def calling(self) -> AbstractAsyncContextManager[Calling]:
        """Load the app for a process that makes calls for a partition; handlers' `app.connect()` finds the store."""
        ...
