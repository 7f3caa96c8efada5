"""Pausing and resuming: stored at once, so each is answered with what is the case then."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import Field

from wow_ray.ops.commands import MOST_NAME, Command
from wow_ray.ops.http.asking import NOBODY, Key, Who, Why
from wow_ray.ops.http.door import Ops, within
from wow_ray.ops.http.looking import shown
from wow_ray.ops.pause_views import PauseAnswer
from wow_ray.policy.pauses import PauseReason

router = APIRouter()

OPERATOR: Literal[PauseReason.OPERATOR] = PauseReason.OPERATOR


class Pause(Why):
    """Which pause to set: of all partitions or of one, by a person, a deploy, or whoever has restored the store."""

    partition: str | None = Field(None, min_length=1, max_length=MOST_NAME)
    pause: Literal[PauseReason.OPERATOR, PauseReason.DEPLOY, PauseReason.RESTORED] = OPERATOR


class Resume(Why):
    """Which pause to end; the others stay. That of many failures alike is of one partition, which has to be named."""

    partition: str | None = Field(None, min_length=1, max_length=MOST_NAME)
    pause: Literal[PauseReason.OPERATOR, PauseReason.DEPLOY, PauseReason.RESTORED, PauseReason.MASS_FAILURE] = OPERATOR


@router.post("/subscriptions/{name}/pause", response_model=PauseAnswer)
async def pause(name: str, body: Pause, operations: Ops, key: Key = None, actor: Who = NOBODY) -> JSONResponse:
    """Have the group of a subscription stand still until this pause is ended; calls under way end."""
    command = Command(actor, body.reason, key)
    asked = operations.pause_subscription(name, command, partition=body.partition, pause=body.pause)
    return shown(await within(asked))


@router.post("/subscriptions/{name}/resume", response_model=PauseAnswer)
async def resume(name: str, body: Resume, operations: Ops, key: Key = None, actor: Who = NOBODY) -> JSONResponse:
    """End one pause; the group goes on once there is no other."""
    command = Command(actor, body.reason, key)
    asked = operations.resume_subscription(name, command, partition=body.partition, pause=body.pause)
    return shown(await within(asked))
