"""All services at once, at the home's address: each by itself, also when the store of one is away.

Who asks is shown the services that their token, or their session, is let in to.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Annotated

from fastapi import APIRouter, Header, Request
from fastapi.responses import JSONResponse, StreamingResponse
from typing_extensions import TypedDict

from wow_ray.ops.http.events import BEAT, EVERY, LONGEST, named
from wow_ray.ops.http.looking import shown
from wow_ray.ops.http.several import Directory
from wow_ray.ops.services import Glance, Lookout, ServiceView, all_of
from wow_ray.ports.clock import Clock

router = APIRouter()


async def glances(request: Request) -> tuple[Glance, ...]:
    """Look at every service that whoever asks may look at."""
    directory: Directory = request.app.state.directory
    return await all_of(directory.watched(request))


class Services(TypedDict):
    """The services of a console, the home first."""

    services: list[ServiceView]


@router.get("/services", response_model=Services)
async def services(request: Request) -> JSONResponse:
    """List the services of this console in numbers, the home first; one that is away says why, within two seconds.

    `at` is the beginning of a service's addresses: `GET {at}/api/v1/parked` lists what it has parked.
    """
    return shown({"services": [each.view for each in await glances(request)]})


@router.get(
    "/services/events", response_class=StreamingResponse, responses={200: {"content": {"text/event-stream": {}}}}
)
async def service_events(
    request: Request, last: Annotated[str | None, Header(alias="Last-Event-ID", max_length=200)] = None
) -> StreamingResponse:
    """Say `changed` when any service is not what it was, and `beat` every five seconds."""
    directory: Directory = request.app.state.directory
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    assert directory.clock is not None  # noqa: S101 - this route is there where it is
    following = told(directory.watched(request), directory.clock, last)
    return StreamingResponse(following, media_type="text/event-stream", headers=headers)


async def told(lookouts: Sequence[Lookout], clock: Clock, last: str | None) -> AsyncIterator[str]:
    """Tell what happens, until nobody listens; a service that is away is news, and keeps no other from being told."""
    yield f"retry: {EVERY * 2_000:.0f}\n\n"
    for turn in range(LONGEST):
        found = await all_of(lookouts)
        seen = named([{**each.view.to_json(), "seen_at": None, "oldest": None} for each in found])
        if seen != last:
            last = seen
            yield f"id: {seen}\nevent: changed\ndata: {{}}\n\n"
        elif turn % BEAT == 0:
            yield f"id: {seen}\nevent: beat\ndata: {{}}\n\n"
        await clock.sleep(EVERY)
