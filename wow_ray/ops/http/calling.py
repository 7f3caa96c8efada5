"""Durable calls: listed, shown, retried, cancelled, discarded."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from wow_ray.ops import sheets
from wow_ray.ops.call_views import CallAnswer, CallDetail, CallPage
from wow_ray.ops.calling import MOST_LISTED, OPEN_CALLS, CallQuery
from wow_ray.ops.commands import Command
from wow_ray.ops.http.asking import NOBODY, Key, OnRow, Who
from wow_ray.ops.http.door import Ops, within
from wow_ray.ops.http.exporting import ANSWERS, Format, sheet, wants_csv
from wow_ray.ops.http.looking import may_read, shown
from wow_ray.policy.durable_asked import CallVerb
from wow_ray.policy.durable_call import CallState

router = APIRouter()


class Filters(BaseModel):
    """Which calls are wanted; a filter that there is not is refused, else it would select everything (P12)."""

    model_config = ConfigDict(extra="forbid")

    function: str | None = None
    state: list[CallState] = Field(sorted(OPEN_CALLS), description="any of these; what is not over by default")
    error: str | None = Field(None, description="the error's fingerprint")
    key: str | None = Field(None, description="the key it was submitted under")
    after: str | None = Field(None, description="the `next` of the page before")
    limit: int = Field(100, ge=1, le=MOST_LISTED)

    def query(self) -> CallQuery:
        """Give it in the words of `Operations`."""
        return CallQuery(frozenset(self.state), self.function, self.error, self.key, self.after, self.limit)


class Listed(Filters):
    """Which calls are listed, and how."""

    format: Format | None = Field(None, description="`csv`: all that fit, or `limit` where given; else `Accept` says")


@router.get("/calls", response_model=CallPage, responses={**ANSWERS})
async def calls(request: Request, filters: Annotated[Listed, Query()], operations: Ops) -> Response:
    """List durable calls, oldest first, and count what is not over by function and state."""
    if wants_csv(request, filters.format):
        most = filters.limit if "limit" in filters.model_fields_set else None
        return await sheet(sheets.calls(operations, filters.query(), most), "calls")
    return shown(await within(operations.calls.listed(filters.query())))


@router.get("/calls/{call_id}", response_model=CallDetail)
async def call(request: Request, call_id: str, operations: Ops) -> JSONResponse:
    """Show one call with its errors, its arguments and its result, masked.

    A viewer is shown no arguments, headers and result: they are null.
    """
    detail: dict[str, Any] = (await within(operations.calls.shown(call_id))).to_json()
    if not may_read(request):
        detail |= dict.fromkeys(("payload", "headers", "result"))
    return shown(detail)


@router.post("/calls/{call_id}/{verb}", response_model=CallAnswer)
async def ask(  # noqa: PLR0917 - what the path, the body and the headers say
    call_id: str, verb: CallVerb, body: OnRow, operations: Ops, key: Key = None, actor: Who = NOBODY
) -> JSONResponse:
    """Retry a call that waits or is exhausted, cancel one that is pending, or discard one that is exhausted."""
    command = Command(actor, body.reason, key, body.etag)
    return shown(await within(operations.calls.ask(verb, call_id, command)))
