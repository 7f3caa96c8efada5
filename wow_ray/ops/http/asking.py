"""What operators ask for: each a command of `Operations`, answered within seconds by its outcome or by 202."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Header
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from wow_ray.ops.commands import MOST_NAME, MOST_REASON, Command
from wow_ray.ops.http.answers import PendingOnRow
from wow_ray.ops.http.door import Ops
from wow_ray.ops.http.looking import shown
from wow_ray.ops.operations import Operations
from wow_ray.ops.views import Applied, Pending

router = APIRouter()

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=MOST_NAME,
        description="the same key again answers what became of the first request",
    ),
]
Who = Annotated[
    str,
    Header(
        alias="X-Actor",
        min_length=1,
        max_length=MOST_NAME,
        description="who asks, kept with the command; where tokens are configured, the token says so instead",
    ),
]
LATER: Mapping[int | str, dict[str, Any]] = {202: {"model": PendingOnRow, "description": "Stored, and not applied yet"}}
NOBODY = "http"
"""Who asks when the request does not say."""


class Why(BaseModel):
    """Why it is asked, which is kept for ever."""

    model_config = ConfigDict(extra="forbid")

    reason: str = Field(min_length=1, max_length=MOST_REASON)


class OnRow(Why):
    """The row as it was seen: the command is refused when it has changed since."""

    etag: int = Field(strict=True)


class Skip(OnRow):
    """What to pass over: all that is held when it is applied, or through a version, or the stopped event only."""

    through_version: int | None = Field(None, ge=1)
    only: bool = False


@router.post("/parked/{row_id}/resume", response_model=Applied, responses=dict(LATER))
async def resume(row_id: str, body: OnRow, operations: Ops, key: Key = None, actor: Who = NOBODY) -> JSONResponse:
    """Read on from the stopped event with a fresh budget and fresh retries."""
    command = Command(actor, body.reason, key, body.etag)
    return await _told(operations, await operations.resume(row_id, command), row_id)


@router.post("/parked/{row_id}/retry-now", response_model=Applied, responses=dict(LATER))
async def retry_now(row_id: str, body: OnRow, operations: Ops, key: Key = None, actor: Who = NOBODY) -> JSONResponse:
    """Make the next automatic retry due; it counts as one of them."""
    command = Command(actor, body.reason, key, body.etag)
    return await _told(operations, await operations.retry_now(row_id, command), row_id)


@router.post("/parked/{row_id}/skip", response_model=Applied, responses=dict(LATER))
async def skip(row_id: str, body: Skip, operations: Ops, key: Key = None, actor: Who = NOBODY) -> JSONResponse:
    """Pass over held events; the answer's `outcome` says exactly which."""
    command = Command(actor, body.reason, key, body.etag)
    answer = await operations.skip(row_id, command, through_version=body.through_version, only=body.only)
    return await _told(operations, answer, row_id)


class Park(Why):
    """Which aggregate to hold in which group, whether it has a row or not; with `etag` only as its row was seen."""

    group: str = Field(min_length=1, max_length=400)
    aggregate: str = Field(min_length=1, max_length=400)
    aggregate_id: str = Field(min_length=1, max_length=2_000)
    etag: int | None = Field(None, strict=True)


@router.post("/parked", response_model=Applied, responses=dict(LATER))
async def park(body: Park, operations: Ops, key: Key = None, actor: Who = NOBODY) -> JSONResponse:
    """Hold an aggregate in a group until somebody resumes or skips it."""
    command = Command(actor, body.reason, key, body.etag)
    return await _told(operations, await operations.park(body.group, body.aggregate, body.aggregate_id, command), None)


@router.post("/subscriptions/{name}/reset", response_model=Applied, responses=dict(LATER))
async def reset(name: str, body: Why, operations: Ops, key: Key = None, actor: Who = NOBODY) -> JSONResponse:
    """Let a projection's group begin anew at the beginning of the log."""
    return await _told(operations, await operations.reset(name, Command(actor, body.reason, key)), None)


async def _told(operations: Operations, answer: Applied | Pending, row_id: str | None) -> JSONResponse:
    """Answer 200 with the outcome, or 202 with the row as it is until its owner comes to it."""
    if isinstance(answer, Applied):
        return shown(answer)
    row = None if row_id is None else (await operations.parked_row(row_id)).row
    return shown({**answer.to_json(), "row": row}, 202)
