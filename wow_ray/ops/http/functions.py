"""Durable functions as a whole: listed, paused, resumed; what is stored is answered as it is then."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse

from wow_ray.ops.commands import Command
from wow_ray.ops.functions import MOST_LISTED, FunctionList, FunctionPauseAnswer, FunctionPauseList
from wow_ray.ops.http.asking import NOBODY, Key, Who, Why
from wow_ray.ops.http.door import Ops, within
from wow_ray.ops.http.looking import shown
from wow_ray.ops.http.pausing import OPERATOR
from wow_ray.policy.pauses import PauseReason

router = APIRouter()


class FunctionPause(Why):
    """Which pause to set or to end: a person's, a deploy's, or that of whoever has restored the store."""

    pause: Literal[PauseReason.OPERATOR, PauseReason.DEPLOY, PauseReason.RESTORED] = OPERATOR


@router.get("/functions", response_model=FunctionList)
async def functions(operations: Ops) -> JSONResponse:
    """List durable functions: their calls that are not over by state, and why they stand still."""
    return shown(await within(operations.functions.listed()))


@router.get("/functions/{name}/pauses", response_model=FunctionPauseList)
async def pauses(name: str, operations: Ops, limit: Annotated[int, Query(ge=1, le=MOST_LISTED)] = 100) -> JSONResponse:
    """List a function's pauses, present and over, the newest first."""
    return shown(await within(operations.functions.history(name, limit)))


@router.post("/functions/{name}/pause", response_model=FunctionPauseAnswer)
async def pause(name: str, body: FunctionPause, operations: Ops, key: Key = None, actor: Who = NOBODY) -> JSONResponse:
    """Have no call of a function begin until this pause is ended; calls under way end."""
    command = Command(actor, body.reason, key)
    return shown(await within(operations.functions.pause(name, command, body.pause)))


@router.post("/functions/{name}/resume", response_model=FunctionPauseAnswer)
async def resume(name: str, body: FunctionPause, operations: Ops, key: Key = None, actor: Who = NOBODY) -> JSONResponse:
    """End one pause of a function; its calls begin again once there is no other."""
    command = Command(actor, body.reason, key)
    return shown(await within(operations.functions.resume(name, command, body.pause)))
