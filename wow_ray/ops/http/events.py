"""`GET /api/v1/events`: says when something has changed, and that it is there, so that a page knows when it is stale.

The id of an event names what was seen, not when: whoever comes back with the id of what is still the case is told
nothing anew, also by another process. All that listen share one look at the store.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from hashlib import blake2b
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse

from wow_ray.errors import WowError
from wow_ray.ops.http.door import Door, within
from wow_ray.ops.notifying import DeliveryQuery
from wow_ray.ops.operations import Operations
from wow_ray.ops.plain import plain

router = APIRouter()

EVERY = 1.0
"""Seconds between two looks."""
RESTLESS = frozenset(
    {
        *("now", "age", "lease_left", "up", "committed", "uncommitted", "loop_lag", "late", "next_probe"),
        *("rate", "failed_rate", "handled", "failed", "running", "waiting", "open", "probes_failed"),
    }
)
"""What is different at every look, so that it is no news; pages show it as of their last one."""
BEAT = 5
"""Looks after which it is said that all is as it was."""
LONGEST = 300
"""Looks after which the answer ends and the browser comes again: nothing that stops waits for a page longer."""


Look = Callable[[Operations], Awaitable[object]]
"""What is looked at, of which every change is told."""


async def whole(operations: Operations) -> object:
    """Look at the store as a whole."""
    status = (await within(operations.status())).to_json()
    return status, [group.to_json() for group in await within(operations.subscriptions())]


async def deliveries(operations: Operations) -> object:
    """Look at the deliveries of notices: how many there are in each state, and the newest as they stand."""
    found = await within(operations.notices.listed(DeliveryQuery(limit=50)))
    return found.counts, [(each.id, each.state, each.attempts, each.updated_at) for each in found.deliveries]


class Pulse:
    """Looks at the store for everybody who listens, once for all of them."""

    def __init__(self, look: Look = whole) -> None:
        """Nothing was seen yet."""
        self._look = look
        self._lock = asyncio.Lock()
        self._at = float("-inf")
        self._seen = ""

    async def seen(self, operations: Operations) -> str:
        """Name what there is to see; a name that was found just now is given again."""
        async with self._lock:
            now = operations.clock.monotonic()
            if now - self._at >= EVERY * 0.9:
                self._seen, self._at = named(await self._look(operations)), now
            return self._seen


@router.get("/events", response_class=StreamingResponse, responses={200: {"content": {"text/event-stream": {}}}})
async def events(
    request: Request,
    row: Annotated[str | None, Query(max_length=200, description="also say when this parked row changes")] = None,
    notices: Annotated[bool, Query(description="also say when deliveries of notices change")] = False,  # noqa: FBT002 - a query has no positions
    last: Annotated[str | None, Header(alias="Last-Event-ID", max_length=200)] = None,
) -> StreamingResponse:
    """Say `changed` when the store, or the row, is not what it was, and `beat` every five seconds."""
    door: Door = request.app.state.door
    pulse: Pulse = request.app.state.pulse
    also = request.app.state.notices_pulse if notices else None
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(told(door, pulse, row, last, also), media_type="text/event-stream", headers=headers)


async def told(
    door: Door, pulse: Pulse, row: str | None, last: str | None, also: Pulse | None = None
) -> AsyncIterator[str]:
    """Tell what happens, until nobody listens; while the store is away nothing is told, which a page notices."""
    yield f"retry: {EVERY * 2_000:.0f}\n\n"
    for look in range(LONGEST):
        try:
            operations = await door.operations()
        except WowError:
            return  # the browser comes again
        try:
            seen: str | None = await pulse.seen(operations)
            if also is not None:
                seen = named(seen, await also.seen(operations))
            if row is not None:
                found = (await within(operations.parked_row(row))).row
                seen = None if seen is None else named(seen, found.etag)
        except WowError:
            seen = None
        if seen is not None and seen != last:
            last = seen
            yield f"id: {seen}\nevent: changed\ndata: {{}}\n\n"
        elif seen is not None and look % BEAT == 0:
            yield f"id: {seen}\nevent: beat\ndata: {{}}\n\n"
        await operations.clock.sleep(EVERY)


def named(*seen: object) -> str:
    """Name what was seen; what only grows older is not looked at."""
    return blake2b(json.dumps(_lasting(plain(seen)), sort_keys=True).encode(), digest_size=12).hexdigest()


def _lasting(value: object) -> object:
    """Leave out what changes by itself."""
    if isinstance(value, dict):
        return {name: _lasting(each) for name, each in value.items() if name not in RESTLESS}
    return [_lasting(each) for each in value] if isinstance(value, list) else value
