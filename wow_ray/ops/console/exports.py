"""The lists of the console as files: what its filters find, all of it, as CSV."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from wow_ray.ops import sheets
from wow_ray.ops.console import asked, calls
from wow_ray.ops.http.door import Ops
from wow_ray.ops.http.exporting import sheet

router = APIRouter(include_in_schema=False)


@router.get("/parked.csv")
async def parked(filters: Annotated[asked.Filters, Query()], operations: Ops) -> StreamingResponse:
    """Give the aggregates that the filter finds."""
    return await sheet(sheets.parked(operations, replace(filters.query(), after=None), None), "parked")


@router.get("/calls.csv")
async def of_calls(filters: Annotated[calls.Filters, Query()], operations: Ops) -> StreamingResponse:
    """Give the durable calls that the filter finds."""
    return await sheet(sheets.calls(operations, replace(filters.query(), after=None), None), "calls")
