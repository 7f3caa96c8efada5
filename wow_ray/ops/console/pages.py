"""The pages that show: each looks at the store once and leaves it as it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from wow_ray.ops.access import Role, Visitor
from wow_ray.ops.console.asked import ROWS, Asked, Filters
from wow_ray.ops.console.rendering import page
from wow_ray.ops.console.timeline import charts
from wow_ray.ops.console.troubles import troubles
from wow_ray.ops.http.door import Ops, within
from wow_ray.ops.http.history import Wanted
from wow_ray.ops.http.looking import may_read
from wow_ray.ops.operations import Operations
from wow_ray.policy.durable_call import CallState
from wow_ray.policy.parked import OPEN, Reason, State
from wow_ray.ports.ledger import ActionFilter

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

GROUPS = 50
Text = Annotated[str | None, Query(max_length=400)]


async def around(request: Request, operations: Operations, title: str) -> dict[str, Any]:
    """Give what every page shows: whose store this is, how it stands as a whole, and as of when."""
    status = await within(operations.status())
    visitor: Visitor = request.state.visitor
    return {
        "title": title,
        "status": status,
        "now": status.now,
        "may_act": visitor.role.covers(Role.OPERATOR),
        "may_reset": visitor.role.covers(Role.ADMIN),
        "new_id": operations.new_id,
    }


@router.get("/")
async def overview(request: Request, operations: Ops, range_: Wanted = "1h") -> HTMLResponse:
    """Show what is wrong now, how far everything has come, and what is parked for what."""
    shared = await around(request, operations, "Overview")
    groups = await within(operations.subscriptions())
    alike = await within(operations.alike(Filters().query(), 5))
    by_function = await within(operations.calls.counts())
    calls = sum(states.get(CallState.EXHAUSTED.value, 0) for states in by_function.values())
    ages = [group.oldest.age for group in groups if group.oldest is not None and not group.retired]
    history = await within(operations.history(range_))
    more = {
        "history": history,
        "drawn": charts(history),
        "troubles": troubles(replace(shared["status"], holders=await within(operations.holders())), groups, calls),
        "calls": calls,
        "groups": [group for group in groups if not group.retired],
        "oldest": max(ages, default=0.0),
        "categories": await within(operations.categories()),
        "alike": alike,
        "sizes": await within(operations.sizes()),
    }
    return page("overview.html", {**shared, **more}, request=request)


@router.get("/parked")
async def parked(request: Request, filters: Annotated[Filters, Query()], operations: Ops) -> HTMLResponse:
    """List parked rows, or the groups of errors that are alike, as the address says."""
    shared = await around(request, operations, "Parked")
    count = await within(operations.count(filters.query()))
    given = filters.given()
    more: dict[str, Any] = {"filters": filters, "given": given, "count": count, "rows": (), "next": None}
    more["narrowed"] = len(given.keys() - {"view", "sort"})
    more |= {"states": list(State), "reasons": list(Reason), "names": await _names(operations), "alike": ()}
    if filters.view == "groups":
        more["alike"] = await within(operations.alike(replace(filters.query(), after=None), GROUPS))
    else:
        found = await within(operations.parked(filters.query(ROWS)))
        more |= {"rows": found.rows, "next": found.next}
    return page("parked.html", {**shared, **more}, request=request)


@router.get("/parked/{row_id}")
async def parked_row(request: Request, row_id: str, operations: Ops, said: Text = None) -> HTMLResponse:
    """Show everything about one row, and with `said` what became of that request."""
    shared = await around(request, operations, "Parked aggregate")
    detail = await within(operations.parked_row(row_id))
    row = detail.row
    mine = ActionFilter(row.group, row.aggregate, row.aggregate_id, limit=20)
    more = {
        "detail": detail,
        "row": row,
        "open": State(row.state) in OPEN,
        "events": await within(operations.stream(row_id, payloads=may_read(request))),
        "settings": await within(operations.settings(row.subscription)),
        "actions": (await within(operations.actions(mine))).actions,
        "said": None if said is None else await within(operations.action(said)),
    }
    return page("row.html", {**shared, **more, "title": f"{row.aggregate}/{row.aggregate_id}"}, request=request)


@router.get("/subscriptions")
async def subscriptions(request: Request, operations: Ops) -> HTMLResponse:
    """Show every group: how far it has come, what it has parked, why it is paused."""
    shared = await around(request, operations, "Subscriptions")
    return page("subscriptions.html", {**shared, "groups": await within(operations.subscriptions())}, request=request)


@router.get("/subscriptions/{name}")
async def subscription(
    request: Request, name: str, operations: Ops, said: Text = None, range_: Wanted = "1h"
) -> HTMLResponse:
    """Show one group, its pauses past and present, and what its handlers run under."""
    shared = await around(request, operations, name)
    group = await within(operations.subscription(name))
    history = await within(operations.history(range_, name))
    more = {
        "group": group,
        "history": history,
        "drawn": charts(history),
        "pauses": await within(operations.pauses(name, 50)),
        "settings": {each: await within(operations.settings(each)) for each in group.subscriptions},
        "said": None if said is None else await within(operations.action(said)),
    }
    return page("subscription.html", {**shared, **more, "title": group.group}, request=request)


@router.get("/partitions")
async def partitions(request: Request, operations: Ops) -> HTMLResponse:
    """Show who owns the slots, and which have no owner."""
    return page("partitions.html", await around(request, operations, "Partitions"), request=request)


@router.get("/audit")
async def audit(request: Request, asked: Annotated[Asked, Query()], operations: Ops) -> HTMLResponse:
    """Show who asked for what, when and why, and what became of it."""
    shared = await around(request, operations, "Audit")
    given = {"actor": asked.actor or None, "group": asked.group or None, "aggregate_id": asked.aggregate_id or None}
    found = await within(operations.actions(ActionFilter(**given, before=asked.before, limit=ROWS)))
    more = {"found": found, "asked": given, "before": asked.before, "names": await _names(operations)}
    return page("audit.html", {**shared, **more}, request=request)


@router.get("/help")
async def help_(request: Request, operations: Ops) -> HTMLResponse:
    """Show the keys and what the words mean."""
    return page("help.html", await around(request, operations, "Help"), request=request)


@router.get("/docs")
async def docs(request: Request, operations: Ops) -> HTMLResponse:
    """Show the API as `/openapi.json` describes it, without a script from elsewhere."""
    shared = await around(request, operations, "API")
    found = request.app.openapi()
    calls = [
        (method.upper(), path, what) for path, methods in found["paths"].items() for method, what in methods.items()
    ]
    return page("docs.html", {**shared, "calls": calls}, request=request)


async def _names(operations: Operations) -> list[str]:
    """Name the groups and the subscriptions that there are."""
    groups = await within(operations.subscriptions())
    return sorted({name for group in groups for name in (group.group, *group.subscriptions)})
