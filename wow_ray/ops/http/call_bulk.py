"""Commands on many durable calls: preview, start, look, stop."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict

from wow_ray.ops.bulk import Batch
from wow_ray.ops.call_bulk import CallBatches
from wow_ray.ops.call_views import CallView
from wow_ray.ops.commands import Command
from wow_ray.ops.http.asking import NOBODY, Who
from wow_ray.ops.http.bulk import Begun
from wow_ray.ops.http.calling import Filters
from wow_ray.ops.http.looking import shown

router = APIRouter()


def batches_of(request: Request) -> CallBatches:
    """Give the batches of calls of the request's application."""
    batches: CallBatches = request.app.state.call_batches
    return batches


ManyCalls = Annotated[CallBatches, Depends(batches_of)]


class Wanted(BaseModel):
    """What to do with which calls: a filter as of the list, taken as of now."""

    model_config = ConfigDict(extra="forbid")

    filter: Filters
    verb: Literal["retry", "discard"] = "retry"


@router.post("/calls/bulk/preview", response_model=Batch[CallView])
async def preview(body: Wanted, batches: ManyCalls) -> JSONResponse:
    """Freeze the calls that a filter finds now, with their etags; nothing is asked of them yet."""
    return shown(await batches.of_calls(body.filter.query(), body.verb))


@router.post("/calls/bulk/start", response_model=Batch[CallView], status_code=202)
async def start(body: Begun, batches: ManyCalls, actor: Who = NOBODY) -> JSONResponse:
    """Begin with three; when they fail alike it stops there, else the others follow, eight at a time."""
    return shown(batches.start(body.id, Command(actor, body.reason)), 202)


@router.get("/calls/bulk/{batch_id}", response_model=Batch[CallView])
async def batch(batch_id: str, batches: ManyCalls) -> JSONResponse:
    """Show how far a batch has come."""
    return shown(batches.batch(batch_id))


@router.post("/calls/bulk/{batch_id}/stop", response_model=Batch[CallView])
async def stop(batch_id: str, batches: ManyCalls, actor: Who = NOBODY) -> JSONResponse:
    """Ask for nothing more; what was asked for goes on."""
    return shown(batches.stop(batch_id, actor))
