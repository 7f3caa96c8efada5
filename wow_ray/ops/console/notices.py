"""The page of notices: what webhooks were told, what they were not and why; sent again, and tried out."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import BaseModel, ConfigDict, Field, field_validator

from wow_ray.errors import ConflictError
from wow_ray.ops.commands import Command
from wow_ray.ops.console.asked import ROWS, Form, Sent
from wow_ray.ops.console.pages import Text, around
from wow_ray.ops.console.rendering import page
from wow_ray.ops.http.door import Ops, within
from wow_ray.ops.notifying import STATES, DeliveryQuery
from wow_ray.ops.operations import Operations
from wow_ray.ports.notices import DeliveryState

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


class Wanted(BaseModel):
    """Which deliveries the page shows; an empty field of a form asks for any."""

    model_config = ConfigDict(extra="forbid")

    webhook: str | None = None
    state: DeliveryState | None = None
    before: str | None = None
    said: Text = Field(None)

    @field_validator("*", mode="before")
    @classmethod
    def _empty_is_any(cls, value: object) -> object:
        return None if isinstance(value, str) and not value.strip() else value


@router.get("/notices")
async def notices(request: Request, wanted: Annotated[Wanted, Query()], operations: Ops) -> HTMLResponse:
    """Show deliveries, newest first, and with `said` what became of that request."""
    shared = await around(request, operations, "Notices")
    states = STATES if wanted.state is None else frozenset({wanted.state})
    query = DeliveryQuery(states, wanted.webhook, wanted.before, ROWS)
    given = {"webhook": wanted.webhook, "state": wanted.state}
    said = None if wanted.said is None else await within(operations.action(wanted.said))
    more = {"found": await within(operations.notices.listed(query)), "given": given, "before": wanted.before}
    return page("notices.html", {**shared, **more, "said": said, "states": sorted(STATES)}, request=request)


@router.get("/notices/{delivery_id}")
async def notice(request: Request, delivery_id: str, operations: Ops) -> HTMLResponse:
    """Show one delivery with what is sent."""
    shared = await around(request, operations, "Notice")
    found = await within(operations.notices.shown(delivery_id))
    return page("notice.html", {**shared, "found": found, "one": found.delivery}, request=request)


@router.post("/notices/test")
async def try_out(form: Sent, operations: Ops) -> RedirectResponse:
    """Try a webhook out."""
    command = _command(form, operations)
    await within(operations.notices.test(form.fields.get("webhook", "").strip(), command))
    return _back(command)


@router.post("/notices/{delivery_id}/resend")
async def resend(delivery_id: str, form: Sent, operations: Ops) -> RedirectResponse:
    """Have a delivery sent again."""
    command = _command(form, operations)
    try:
        await within(operations.notices.resend(delivery_id, command))
    except ConflictError:
        # Refused, it stands in the audit with the reason; else the page could not tell it.
        if await operations.action(command.request_id or "") is None:
            raise
    return _back(command)


def _command(form: Form, operations: Operations) -> Command:
    """Read who asks and why, under a request id by which the next page finds it."""
    command = form.command(etag=False)
    return Command(command.actor, command.reason, command.request_id or operations.new_id())


def _back(command: Command) -> RedirectResponse:
    """Lead back to the page, which tells what became of it."""
    return RedirectResponse(f"/notices?said={quote(command.request_id or '', safe='')}#said", 303)
