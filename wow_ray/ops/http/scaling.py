"""Changing the number of partitions."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from wow_ray.ops.commands import MOST_REASON, Command
from wow_ray.ops.http.asking import NOBODY, Who
from wow_ray.ops.http.door import Ops, within
from wow_ray.ops.http.looking import shown
from wow_ray.ops.scaling import ScaleView

router = APIRouter()


class Scale(BaseModel):
    """How many partitions there are to be; `replace` also while slots wait to move for another number."""

    model_config = ConfigDict(extra="forbid")

    partitions: int = Field(strict=True, ge=1)
    replace: bool = False
    reason: str = Field("scale", min_length=1, max_length=MOST_REASON)


@router.post("/partitions/scale", response_model=ScaleView, responses={202: {"model": ScaleView}})
async def scale(body: Scale, operations: Ops, actor: Who = NOBODY) -> JSONResponse:
    """Store a plan of so many partitions, with the fewest moves; 202 while slots wait to move for it, then 200."""
    view = await within(operations.scaling.scale(body.partitions, Command(actor, body.reason), replace=body.replace))
    return shown(view, 202 if view.waiting else 200)
