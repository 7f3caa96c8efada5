"""The pages and forms for many aggregates at once: what would be done, doing it, and how it goes."""

from __future__ import annotations

from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from wow_ray.ops.bulk import VERBS
from wow_ray.ops.commands import Command
from wow_ray.ops.console.asked import Filters, Sent
from wow_ray.ops.console.pages import around
from wow_ray.ops.console.rendering import page
from wow_ray.ops.http.bulk import Many
from wow_ray.ops.http.door import Ops
from wow_ray.policy.parked import Verb

router = APIRouter(include_in_schema=False)

SHOWN = 100
"""Rows of a batch that its page lists."""


@router.post("/bulk")
async def preview(form: Sent, batches: Many) -> RedirectResponse:
    """Freeze what the list's address finds now."""
    verb = form.fields.get("verb", "")
    if verb not in VERBS:
        raise HTTPException(422, "the form does not say what to do with them")
    batch = await batches.preview(_filters(form.fields.get("query", "")).query(), Verb(verb))
    return RedirectResponse(f"/bulk/{batch.id}", 303)


@router.get("/bulk/{batch_id}")
async def batch(request: Request, batch_id: str, batches: Many, operations: Ops) -> HTMLResponse:
    """Show what a batch would do, or how far it has come."""
    found = batches.batch(batch_id)
    shared = await around(request, operations, "Several at once")
    return page("bulk.html", {**shared, "batch": found, "shown": found.rows[:SHOWN]}, request=request)


@router.post("/bulk/{batch_id}/start")
async def start(batch_id: str, form: Sent, batches: Many) -> RedirectResponse:
    """Begin."""
    batches.start(batch_id, Command(form.visitor.name, form.fields.get("reason", "")))
    return RedirectResponse(f"/bulk/{batch_id}", 303)


@router.post("/bulk/{batch_id}/stop")
async def stop(batch_id: str, form: Sent, batches: Many) -> RedirectResponse:
    """Ask for nothing more."""
    batches.stop(batch_id, form.visitor.name)
    return RedirectResponse(f"/bulk/{batch_id}", 303)


def _filters(query: str) -> Filters:
    """Read the address of a list; refuses a filter that there is not, which would select everything (P12)."""
    found = parse_qs(query, keep_blank_values=True, max_num_fields=50)
    given = {name: values if name == "state" else values[-1] for name, values in found.items()}
    try:
        return Filters.model_validate(given)
    except ValidationError as error:
        raise HTTPException(422, "the list's filter is not one of this console; open the list again") from error
