"""The page over all services: what is wrong in any of them, each in numbers, and what most is parked for anywhere.

It needs no store: what is away is shown as away, and the others as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from wow_ray.ops.console.rendering import page
from wow_ray.ops.console.troubles import ORDER, Trouble, troubles
from wow_ray.ops.finding_views import AlikeView
from wow_ray.ops.http.services import glances
from wow_ray.ops.http.several import Directory
from wow_ray.ops.services import Glance, ServiceView

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

MOST = 12
"""Groups of errors that are shown, of all services together."""


@router.get("/services")
async def services(request: Request) -> HTMLResponse:
    """Show every service that whoever asks may look at."""
    directory: Directory = request.app.state.directory
    assert directory.clock is not None  # noqa: S101 - this page is there where it is
    found = await glances(request)
    values = {
        "title": "Services",
        "found": [each.view for each in found],
        "troubles": _troubles(found),
        "alike": _alike(found),
        "asked_at": directory.clock.now(),
    }
    return page("services.html", values, request=request)


def _troubles(found: Iterable[Glance]) -> Sequence[tuple[ServiceView, Trouble]]:
    """Find what is wrong anywhere, worst first."""
    wrong: list[tuple[ServiceView, Trouble]] = []
    for each in found:
        if each.seen is None:
            wrong.append((each.view, Trouble("bad", "away: it cannot be looked at", each.view.why, "/")))
        else:
            wrong += [(each.view, one) for one in troubles(each.seen.status, each.seen.groups, each.seen.calls)]
    return sorted(wrong, key=lambda one: ORDER[one[1].level])


def _alike(found: Iterable[Glance]) -> Sequence[tuple[ServiceView, AlikeView]]:
    """Give the groups of errors of most rows, each with its service."""
    rows = [(each.view, one) for each in found if each.seen is not None for one in each.seen.alike]
    return sorted(rows, key=lambda one: -one[1].rows)[:MOST]
