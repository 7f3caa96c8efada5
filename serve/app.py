"""The operators' API on Ray Serve: `serve run serve.app:app`, or `serve deploy serve/config.yaml` on a cluster.

The app is the one that `WOW_RAY_APP` names. Its store is found where the replica runs, as everywhere: in
`WOW_RAY_POSTGRES_DSN` or `WOW_RAY_POSTGRES_DSN_FILE`, in the settings, else in the app's state folder. The address of
the store is in no argument and no `runtime_env`: Ray's dashboard shows both.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from wow_ray.actors.ops import bound
from wow_ray.cli.options import Where, named
from wow_ray.cluster import open_operations
from wow_ray.ops import Operations


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


app = bound(OperationsOf(named(None)))
