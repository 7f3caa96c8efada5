"""Puts the operators' console and API on Ray Serve.

It talks to the store and to no actor: what it is asked for is stored there and applied by whoever owns the slot, so an
actor that is dead is a slot without an owner, which `/readyz` tells as a 503. It does its work when the app is down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import FastAPI
from ray import serve
from ray.serve import Application

from wow_ray.ops.access import Access
from wow_ray.ops.http import api
from wow_ray.ops.http.door import Opened
from wow_ray.ops.http.several import Several

NAME = "wow-ray-ops"
OPTIONS: Mapping[str, Any] = {
    # Sessions of browsers are signed with a key of its own; and it fits beside anything.
    "num_replicas": 1,
    "ray_actor_options": {"num_cpus": 0},
    # A command waits for its outcome, five seconds at most.
    "max_ongoing_requests": 200,
    "graceful_shutdown_timeout_s": 6,
}


def bound(
    opened: Opened,
    access: Callable[[], Access] = Access,
    several: Callable[[Access], Several] | None = None,
) -> Application:
    """Bind console and API for Serve; all arguments travel to the replica by name.

    There `opened` opens what it works with, `access` reads who is let in, and `several` which services stand beside it.
    """

    def built() -> FastAPI:
        admitted = access()
        return api(opened, admitted, None if several is None else several(admitted))

    return serve.deployment(name=NAME, **OPTIONS)(serve.ingress(built)()).bind()
