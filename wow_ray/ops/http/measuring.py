"""`GET /metrics`: the store for Prometheus. One look at it serves everybody who asks within a second."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST

from wow_ray.ops.http.door import Ops, within
from wow_ray.ops.metrics import exposed, seen
from wow_ray.ops.operations import Operations

router = APIRouter()

FRESH = 1.0
"""Seconds for which a look is given again."""


class Meter:
    """Looks at the store for everybody who asks."""

    def __init__(self) -> None:
        """Nothing was seen yet."""
        self._lock = asyncio.Lock()
        self._at = float("-inf")
        self._seen = b""

    async def read(self, operations: Operations) -> bytes:
        """Give what there is to see; raises what the store raises."""
        async with self._lock:
            now = operations.clock.monotonic()
            if now - self._at >= FRESH:
                self._seen, self._at = exposed(await within(seen(operations))), now
            return self._seen


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request, operations: Ops) -> Response:
    """Show what Prometheus scrapes; 503 while the store is away."""
    meter: Meter = request.app.state.meter
    return Response(await meter.read(operations), media_type=CONTENT_TYPE_LATEST)
