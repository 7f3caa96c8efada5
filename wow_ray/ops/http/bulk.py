"""Commands on many rows, parked aggregates and durable calls alike: preview, start, look, stop, resume."""

# Annotations are read by FastAPI when a route is made; those of a factory are of its own names, so they are no texts.

from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from wow_ray.ops.bulk import LEAST_RATE, MOST_RATE, Batches
from wow_ray.ops.bulk_views import Batch, BatchList
from wow_ray.ops.call_bulk import CallBatches
from wow_ray.ops.call_views import CallView
from wow_ray.ops.commands import Command
from wow_ray.ops.http import calling, looking
from wow_ray.ops.http.asking import NOBODY, Who, Why
from wow_ray.ops.http.looking import shown
from wow_ray.ops.parked_bulk import ParkedBatches
from wow_ray.ops.views import ParkedView
from wow_ray.policy.parked import Verb
from wow_ray.ports.durable_calls import VERBS


class OfParked(BaseModel):
    """What to do with which rows: a filter as of the list, taken as of now."""

    model_config = ConfigDict(extra="forbid")

    filter: looking.Filters
    verb: Literal[Verb.RESUME, Verb.SKIP_ONE] = Verb.RESUME


class OfCalls(BaseModel):
    """What to do with which calls: a filter as of the list, taken as of now."""

    model_config = ConfigDict(extra="forbid")

    filter: calling.Filters
    verb: Literal["retry", "discard"] = "retry"


class Resumed(Why):
    """Why to go on, and how fast."""

    rate: float | None = Field(
        None, ge=LEAST_RATE, le=MOST_RATE, description="rows a second at most; null = as they come"
    )


class Begun(Resumed):
    """Which batch to start."""

    id: str = Field(min_length=1, max_length=200)


def parked_batches(request: Request) -> ParkedBatches:
    """Give the batches of parked aggregates of the request's application."""
    batches: ParkedBatches = request.app.state.batches
    return batches


def call_batches(request: Request) -> CallBatches:
    """Give the batches of durable calls of the request's application."""
    batches: CallBatches = request.app.state.call_batches
    return batches


def routes(path: str, of: Callable[[Request], Any], wanted: type[BaseModel], view: Any) -> APIRouter:  # noqa: ANN401 - a model
    """Make the routes below `path` of the batches that `of` gives; `wanted` says what to freeze, `view` is a batch."""
    router = APIRouter()
    many = Annotated[Batches[Any, Any], Depends(of)]

    @router.get(path, response_model=BatchList)
    async def batches(batches: many, limit: Annotated[int, Query(ge=1, le=1_000)] = 50) -> JSONResponse:
        """List batches without their rows, the newest first; one whose process is gone is `interrupted`."""
        return shown(await batches.listed(limit))

    @router.post(f"{path}/preview", response_model=view)
    async def preview(body: wanted, batches: many) -> JSONResponse:  # type: ignore[valid-type] # given to the factory
        """Freeze what a filter finds now, each with its etag; nothing is asked of them yet."""
        asked: Any = body
        verb = VERBS.get(asked.verb, asked.verb)
        return shown(await batches.preview(asked.filter.query(), verb.value))

    @router.post(f"{path}/start", response_model=view, status_code=202)
    async def start(body: Begun, batches: many, actor: Who = NOBODY) -> JSONResponse:
        """Begin with three; when they fail alike it stops there, else the others follow, eight at a time."""
        return shown(await batches.start(body.id, Command(actor, body.reason), body.rate), 202)

    @router.get(f"{path}/{{batch_id}}", response_model=view)
    async def batch(batch_id: str, batches: many) -> JSONResponse:
        """Show how far a batch has come."""
        return shown(await batches.batch(batch_id))

    @router.post(f"{path}/{{batch_id}}/stop", response_model=view)
    async def stop(batch_id: str, batches: many, actor: Who = NOBODY) -> JSONResponse:
        """Ask for nothing more; what was asked for goes on."""
        return shown(await batches.stop(batch_id, actor))

    @router.post(f"{path}/{{batch_id}}/resume", response_model=view, status_code=202)
    async def resume(batch_id: str, body: Resumed, batches: many, actor: Who = NOBODY) -> JSONResponse:
        """Go on with the rows that were not asked for, of a batch that was interrupted or has stopped."""
        return shown(await batches.resume(batch_id, Command(actor, body.reason), body.rate), 202)

    return router


parked = routes("/parked/bulk", parked_batches, OfParked, Batch[ParkedView])
calls = routes("/calls/bulk", call_batches, OfCalls, Batch[CallView])
