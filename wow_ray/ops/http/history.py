"""How all groups, or one, stood over the last hours."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse

from wow_ray.ops.history import HistoryView, Range
from wow_ray.ops.http.door import Ops, within
from wow_ray.ops.http.looking import shown

router = APIRouter()

Wanted = Annotated[Range, Query(alias="range", description="how far to look back")]


@router.get("/history", response_model=HistoryView)
async def history(operations: Ops, range_: Wanted = "1h") -> JSONResponse:
    """Show lag, parked rows, rates and failures by category over time, of all groups together.

    120 points at most, each the highest of its step; where nobody took a sample there is no point, and `gaps` says so.
    """
    return shown(await within(operations.history(range_)))


@router.get("/subscriptions/{name}/history", response_model=HistoryView)
async def group_history(name: str, operations: Ops, range_: Wanted = "1h") -> JSONResponse:
    """Show the same of one group, by its own name or by that of a subscription in it."""
    return shown(await within(operations.history(range_, name)))
