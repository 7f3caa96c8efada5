"""An app at its store, as its actors are told: names only, from which each process finds the rest by itself."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from wow_ray.actors.site import Calling, Control
from wow_ray.cli.loading import load_app
from wow_ray.cluster import (
    Database,
    SystemClock,
    at_hand,
    checked,
    connect,
    database_of,
    modules,
    open_calls,
    open_control,
    open_service,
    settings_of,
)
from wow_ray.handlers.specs import AppSpec
from wow_ray.policy.plan import Reading
from wow_ray.runtime.assembly import reading
from wow_ray.runtime.call_service import CallService
from wow_ray.runtime.elsewhere import Elsewhere
from wow_ray.runtime.rehearsal import rehearse
from wow_ray.runtime.service import Service
from wow_ray.settings import Settings


@dataclass(frozen=True, slots=True)
class AppSite:
    """`actors.site.Site` for an import string.

    `data_dir` is the folder of the private server, `settings` the file in place of `wow-ray.toml`, `returning` says
    where a group goes on that was away, `callers` how many actors run durable calls and nothing else; `edition` as in
    the protocol. The address of a server of yours is in each process's own environment.
    """

    target: str
    context: str
    release: str
    data_dir: Path | None = None
    settings: Path | None = None
    returning: Literal["stored", "end"] | None = None
    callers: int = 0
    edition: str = ""

    def clock(self) -> SystemClock:
        """See the protocol."""
        return SystemClock()

    @asynccontextmanager
    async def control(self) -> AsyncIterator[Control]:
        """See the protocol."""
        _, settings, database = self._found()
        async with open_control(database, settings) as control:
            yield control

    async def rehearse(self) -> Reading:
        """See the protocol."""
        spec, _, database = self._found()
        with at_hand(await checked(database)):
            async with connect(load_app(self.target).app, None) as client:
                await rehearse(spec, client, self.returning)
        return reading(spec)

    @asynccontextmanager
    async def partition(self, name: str, slots: Sequence[int], elsewhere: Elsewhere | None) -> AsyncIterator[Service]:
        """See the protocol."""
        spec, settings, database = self._found()
        async with open_service(
            spec,
            settings,
            database,
            partitions={name: slots},
            sweeps=False,
            returning=self.returning,
            elsewhere=elsewhere,
            release=self.release,
            calls=self.callers == 0,
        ) as service:
            yield service

    @asynccontextmanager
    async def durable_calls(self, name: str) -> AsyncIterator[CallService]:
        """See the protocol."""
        spec, settings, database = self._found()
        async with open_calls(spec, settings, database, name) as service:
            yield service

    @asynccontextmanager
    async def calling(self) -> AsyncIterator[Calling]:
        """See the protocol."""
        spec, _, database = self._found()
        with at_hand(await checked(database)):
            yield Calling(spec, modules())

    def _found(self) -> tuple[AppSpec, Settings, Database]:
        """Load the app, read the settings, find the store, all of them as this process sees them."""
        app = load_app(self.target).app
        settings = settings_of(app, self.settings)
        spec = app.resolved(settings)
        return spec, settings, database_of(settings, spec.context, self.data_dir)
