"""What an operator works with, on an app in virtual time."""

from __future__ import annotations

import itertools

from wow_ray import App
from wow_ray.ops import Known, Operations
from wow_ray.settings import Settings
from wow_ray.testing import Running


def operations_of(running: Running, known: App | None = None, requests: str = "request") -> Operations:
    """Open it; `known` is the operator's app, `requests` the beginning of the ids that it gives."""
    ids = itertools.count(1)
    return Operations(
        "shop",
        client=running.service.client,
        overview=running.memory.overview(),
        clock=running.clock,
        new_id=lambda: f"{requests}-{next(ids)}",
        known=None if known is None else Known.of_app(known.resolved(Settings())),
    )
