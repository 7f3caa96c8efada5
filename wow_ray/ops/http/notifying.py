"""Notices: the log of their deliveries, sent again, and tried out."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from wow_ray.ops.commands import Command
from wow_ray.ops.http.asking import NOBODY, Key, Who, Why
from wow_ray.ops.http.door import Ops, within
from wow_ray.ops.http.looking import shown
from wow_ray.ops.notice_views import DeliveryDetail, DeliveryPage, NoticeAnswer
from wow_ray.ops.notifying import MOST_LISTED, MOST_NAME, STATES, DeliveryQuery
from wow_ray.ports.notices import DeliveryState

router = APIRouter()


class Filters(BaseModel):
    """Which deliveries are wanted."""

    model_config = ConfigDict(extra="forbid")

    webhook: str | None = Field(None, max_length=MOST_NAME)
    state: list[DeliveryState] = Field(sorted(STATES), description="any of these")
    before: str | None = Field(None, description="the `next` of the page before")
    limit: int = Field(100, ge=1, le=MOST_LISTED)


class TryOut(Why):
    """Which webhook to try out."""

    webhook: str = Field(min_length=1, max_length=MOST_NAME)


@router.get("/notices", response_model=DeliveryPage)
async def notices(filters: Annotated[Filters, Query()], operations: Ops) -> JSONResponse:
    """List deliveries of notices, newest first: what was sent, what was not and why, what is tried again when."""
    query = DeliveryQuery(frozenset(filters.state), filters.webhook, filters.before, filters.limit)
    return shown(await within(operations.notices.listed(query)))


@router.get("/notices/{delivery_id}", response_model=DeliveryDetail)
async def notice(delivery_id: str, operations: Ops) -> JSONResponse:
    """Show one delivery with what is sent."""
    return shown(await within(operations.notices.shown(delivery_id)))


@router.post("/notices/test", response_model=NoticeAnswer, status_code=202)
async def try_out(body: TryOut, operations: Ops, key: Key = None, actor: Who = NOBODY) -> JSONResponse:
    """Have a notice sent that only shows that notices arrive; 202, its delivery says how it went."""
    answer = await within(operations.notices.test(body.webhook, Command(actor, body.reason, key)))
    return shown(answer, 202)


@router.post("/notices/{delivery_id}/resend", response_model=NoticeAnswer, status_code=202)
async def resend(delivery_id: str, body: Why, operations: Ops, key: Key = None, actor: Who = NOBODY) -> JSONResponse:
    """Have a delivery that was sent or given up sent again, under its id; 202, the delivery says how it goes."""
    return shown(await within(operations.notices.resend(delivery_id, Command(actor, body.reason, key))), 202)
