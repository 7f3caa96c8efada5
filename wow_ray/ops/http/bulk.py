"""Commands on many parked aggregates: preview, start, look, stop."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from wow_ray.ops.bulk import Batch, ParkedBatches
from wow_ray.ops.commands import Command
from wow_ray.ops.http.asking import NOBODY, Who, Why
from wow_ray.ops.http.looking import Filters, shown
from wow_ray.ops.views import ParkedView
from wow_ray.policy.parked import Verb

router = APIRouter()


def batches_of(request: Request) -> ParkedBatches:
    """Give the batches of the request's application."""
    batches: ParkedBatches = request.app.state.batches
    return batches


Many = Annotated[ParkedBatches, Depends(batches_of)]


class Wanted(BaseModel):
    """What to do with which rows: a filter as of the list, taken as of now."""

    model_config = ConfigDict(extra="forbid")

    filter: Filters
    verb: Literal[Verb.RESUME, Verb.SKIP_ONE] = Verb.RESUME


class Begun(Why):
    """Which batch to start."""

    id: str = Field(min_length=1, max_length=200)


@router.post("/parked/bulk/preview", response_model=Batch[ParkedView])
async def preview(body: Wanted, batches: Many) -> JSONResponse:
    """Freeze the rows that a filter finds now, with their etags; nothing is asked of them yet."""
    return shown(await batches.preview(body.filter.query(), body.verb))


@router.post("/parked/bulk/start", response_model=Batch[ParkedView], status_code=202)
async def start(body: Begun, batches: Many, actor: Who = NOBODY) -> JSONResponse:
    """Begin with three; when they fail alike it stops there, else the others follow, eight at a time."""
    return shown(batches.start(body.id, Command(actor, body.reason)), 202)


@router.get("/parked/bulk/{batch_id}", response_model=Batch[ParkedView])
async def batch(batch_id: str, batches: Many) -> JSONResponse:
    """Show how far a batch has come."""
    return shown(batches.batch(batch_id))


@router.post("/parked/bulk/{batch_id}/stop", response_model=Batch[ParkedView])
async def stop(batch_id: str, batches: Many, actor: Who = NOBODY) -> JSONResponse:
    """Ask for nothing more; what was asked for goes on."""
    return shown(batches.stop(batch_id, actor))
