"""A program as those who deploy it look for it among an app's actors: which of them run it, and how they stand."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from wow_ray.actors.fleet import Fleet
from wow_ray.actors.site import Site
from wow_ray.policy.plan import Plan

PATIENCE = 3.0
"""Seconds within which an actor answers."""
LOOK = 0.2
"""Seconds between two looks at how far things have come."""

Standing = Mapping[str, Any]
"""What an actor's `status` says."""


@dataclass(frozen=True, slots=True)
class Program:
    """One program of an app, and the actors of all programs."""

    site: Site
    fleet: Fleet

    async def asked(self, names: Collection[str]) -> dict[str, Standing | None]:
        """Ask actors how they stand, all at once; `None` = it is away or does not answer."""

        async def one(name: str) -> Standing | None:
            try:
                return await self.fleet.status(name, PATIENCE)
            except TimeoutError:
                return None

        ordered = list(names)
        return dict(zip(ordered, await asyncio.gather(*map(one, ordered)), strict=True))

    @property
    def name(self) -> str:
        """What people are told of it."""
        return f"release {self.site.release}"

    def owns(self, plan: Plan) -> bool:
        """Tell whether a plan is for this program."""
        return plan.is_of(self.site.release, self.site.edition)

    def runs_in(self, found: Standing) -> bool:
        """Tell whether an actor runs this program."""
        return (found["release"], found["edition"]) == (self.site.release, self.site.edition)

    def is_hopeless_in(self, found: Standing) -> bool:
        """Tell whether a partition of this program has trouble that waiting does not end."""
        return self.runs_in(found) and bool(found.get("hopeless"))


def why(standing: Standing | None) -> str:
    """Say why a partition does not run."""
    if standing is None:
        return "there is no process of it; has the cluster room for one?"
    return str(standing["trouble"]) or "its slots are still somebody else's, or it has just begun"
