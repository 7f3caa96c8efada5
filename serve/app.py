"""The console and the API on Ray Serve: `serve run serve.app:app`, or `serve deploy serve/config.yaml` on a cluster.

The app is the one that `WOW_RAY_APP` names. Its store is found where the replica runs, as everywhere: in
`WOW_RAY_POSTGRES_DSN` or `WOW_RAY_POSTGRES_DSN_FILE`, in the settings, else in the app's state folder. The address of
the store is in no argument and no `runtime_env`: Ray's dashboard shows both. Nor are the tokens of those who are let
in: they stand in `ops.tokens_file` or in `WOW_RAY_OPS__TOKENS`; without any, this machine alone is answered. Other
services that the console shows are those of `ops.services`, read where the replica runs as well.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from wow_ray.actors.ops import bound
from wow_ray.cli.admitting import access_of
from wow_ray.cli.loading import load_app
from wow_ray.cli.options import Where, named
from wow_ray.cli.several import several_of
from wow_ray.cluster import open_operations, settings_of
from wow_ray.ops import Operations
from wow_ray.ops.access import Access
from wow_ray.ops.http.several import Several


@dataclass(frozen=True, slots=True)
class OperationsOf:
    """Opens the operations of an app that is named by its import string."""

    app: str

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[Operations]:
        """Import the app, find its store, connect."""
        found = Where(app=self.app).found()
        async with open_operations(found.database, found.spec) as operations:
            yield operations


@dataclass(frozen=True, slots=True)
class AccessTo:
    """Reads who is let in to the console of an app that is named by its import string."""

    app: str

    def __call__(self) -> Access:
        """Import the app, read its settings."""
        return access_of(settings_of(load_app(self.app).app))


@dataclass(frozen=True, slots=True)
class Beside:
    """Reads which services stand beside that of an app that is named by its import string."""

    app: str

    def __call__(self, access: Access) -> Several:
        """Import the app, read its settings."""
        app = load_app(self.app).app
        return several_of(settings_of(app), app.context, access)


app = bound(OperationsOf(named(None)), AccessTo(named(None)), Beside(named(None)))
