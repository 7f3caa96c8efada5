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
    database_of,
    modules,
    open_control,
    open_service,
    settings_of,
)
from wow_ray.handlers.specs import AppSpec
from wow_ray.runtime.elsewhere import Elsewhere
from wow_ray.runtime.service import Service
from wow_ray.settings import Settings


@dataclass(frozen=True, slots=True)
class AppSite:
    """`actors.site.Site` for an import string.

    `data_dir` is the folder of the private server, `settings` the file in place of `wow-ray.toml`, `returning` says
    where a group goes on that was away. The address of a server of yours is in each process's own environment.
    """

    target: str
    context: str
    release: str
    data_dir: Path | None = None
    settings: Path | None = None
    returning: Literal["stored", "end"] | None = None

    def clock(self) -> SystemClock:
        """See the protocol."""
        return SystemClock()

    @asynccontextmanager
    async def control(self) -> AsyncIterator[Control]:
        """See the protocol."""
        _, settings, database = self._found()
        async with open_control(database, settings) as control:
            yield control

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
        ) as service:
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
