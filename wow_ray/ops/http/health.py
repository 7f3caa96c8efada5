"""Health and readiness that mean it (H60): of the app whose store this is, not of the process that answers."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from wow_ray.ops.http.answers import Healthy, Ready
from wow_ray.ops.http.door import Ops, within
from wow_ray.ops.http.looking import shown
from wow_ray.ops.http.problems import problem
from wow_ray.ops.progress import StatusView

router = APIRouter()
NAMED = 8
"""Slots, or troubles, that are named in a text."""


@router.get("/readyz", response_model=Ready)
async def readyz(operations: Ops) -> JSONResponse:
    """Answer 200 when the store answers and every slot has an owner whose lease holds, else a 503."""
    status = await within(operations.status())
    if not status.ready:
        return _not_ready(status)
    return shown({"ready": True, "slots": status.slots, "plan": status.plan, "release": status.release})


@router.get("/healthz", response_model=Healthy)
async def healthz(operations: Ops) -> JSONResponse:
    """Answer as `/readyz` does, with the age in seconds of the oldest event that nobody has finished, first.

    Also a 503 when a partition has said nothing for ten seconds, or says that a loop of it is that late or that
    something has waited to be committed for thirty.
    """
    status = await within(operations.status())
    if not status.ready:
        return _not_ready(status)
    if status.troubles:
        following = "see `wow-ray partitions list`; a process that is stuck keeps its slots until it is ended"
        detail = "; ".join(status.troubles[:NAMED]) + ("; …" if len(status.troubles) > NAMED else "")
        return problem(503, "WOW-UNHEALTHY", detail, following, {"troubles": status.troubles})
    groups = [group for group in await within(operations.subscriptions()) if not group.retired]
    ages = [group.oldest.age for group in groups if group.oldest is not None]
    oldest = max(ages, default=0.0)
    return shown({"oldest_unfinished": oldest, "healthy": True, "lag": status.lag, "parked": status.parked})


def _not_ready(status: StatusView) -> JSONResponse:
    """Say which slots nobody works on, and who was to."""
    some = ", ".join(map(str, status.unowned[:NAMED])) + (", …" if len(status.unowned) > NAMED else "")
    gone = sorted({each.partition for each in status.partitions if not each.alive})
    lost = f"; the lease of {', '.join(gone)} has ended" if gone else ""
    detail = f"{len(status.unowned)} of {status.slots} slots have no owner that lives: {some}{lost}"
    following = "start the app (`wow-ray run` or `up`), or wait: a partition that died is back in seconds"
    return problem(503, "WOW-NOT-READY", detail, following, {"unowned": status.unowned})
