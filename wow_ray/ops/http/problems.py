"""What went wrong, as `application/problem+json` (RFC 9457): the error's code, its text, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from wow_ray.errors import (
    ConflictError,
    FencedError,
    NotConnectedError,
    NotFoundError,
    OperationError,
    SchemaError,
    StoreDataError,
    StoreUnavailableError,
    WowError,
)
from wow_ray.ops.console.rendering import refusal
from wow_ray.ops.http.door import Door
from wow_ray.ops.scaling import MOVING, NO_PLAN

MEDIA = "application/problem+json"
PLANNED = "see the plan and its `moves` in /api/v1/partitions; do what the text names"


class Problem(BaseModel):
    """How a problem looks; a 409 carries the present `row`, a 422 of the request's form the `errors`."""

    status: int
    title: str
    code: str
    detail: str
    next: str = Field(description="what to do now")


DOCUMENTED: Mapping[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": HTTPStatus(status).phrase, "content": {MEDIA: {}}}
    for status in (400, 401, 403, 404, 409, 422, 429, 503)
}
"""The problems that any request may be answered with, for OpenAPI."""


def problem(status: int, code: str, detail: str, following: str, more: Mapping[str, Any] | None = None) -> JSONResponse:
    """Answer with a problem."""
    said = Problem(status=status, title=HTTPStatus(status).phrase, code=code, detail=detail, next=following)
    headers = {"Retry-After": "2"} if status == HTTPStatus.SERVICE_UNAVAILABLE else None
    return JSONResponse({**said.model_dump(), **(more or {})}, status, headers, MEDIA)


def judged(error: WowError) -> tuple[int, str]:
    """Give the status of an error of ours, and the next step."""
    match error:
        case NotFoundError():
            return 404, "look it up in the list again; ended rows are listed with ?state=resolved&state=skipped"
        case ConflictError():
            row = "look at the row again and, if it is still what you want, ask with its present etag"
            return 409, PLANNED if error.code in {MOVING, NO_PLAN} else row
        case OperationError() | StoreDataError():
            return 422, "correct what the text names and ask again"
        case StoreUnavailableError() | NotConnectedError() | FencedError():
            return 503, "ask again with the same Idempotency-Key: a command that was stored is not stored twice"
        case SchemaError():
            return 503, "run `wow-ray migrate`, or serve this with the release that migrated"
        case _:
            return 500, "see the errors by code in the manual"


async def of_ours(request: Request, error: Exception) -> Response:
    """Answer for an error of this package."""
    assert isinstance(error, WowError)  # noqa: S101 - registered for these
    status, following = judged(error)
    if isinstance(error, StoreUnavailableError):
        door: Door = request.app.state.door
        await door.close()
    if is_of_a_browser(request):
        return refusal(status, error.message, following, at=request.app.state.at)
    more = {"row": await _present_row(request)} if isinstance(error, ConflictError) else None
    return problem(status, error.code, error.message, following, more)


async def of_the_form(request: Request, error: Exception) -> Response:
    """Answer for a request that has not the form of one."""
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for these
    found = [{"where": ".".join(map(str, each["loc"])), "what": each["msg"]} for each in error.errors()]
    said = "; ".join(f"{each['where']}: {each['what']}" for each in found)
    if is_of_a_browser(request):
        return refusal(422, said, "correct the address, or begin at the overview", at=request.app.state.at)
    return problem(422, "WOW-REQUEST", said, "correct the request; /openapi.json has its form", {"errors": found})


async def of_the_address(request: Request, error: Exception) -> Response:
    """Answer for an address or a method that there is not."""
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for these
    if is_of_a_browser(request):
        return refusal(
            error.status_code, str(error.detail), "go back, or begin at the overview", at=request.app.state.at
        )
    if error.status_code == HTTPStatus.BAD_REQUEST:
        said, following = "the body cannot be read as JSON in UTF-8", "correct the body; /openapi.json has its form"
        return problem(400, "WOW-REQUEST", said, following)
    return problem(error.status_code, "WOW-REQUEST", str(error.detail), "see /openapi.json for what there is")


async def of_the_program(request: Request, error: Exception) -> Response:
    """Answer for what nobody foresaw, without telling its text: that goes to the log."""
    said, following = f"{type(error).__name__}, unexpected", "see the log of the process that serves this"
    if is_of_a_browser(request):
        return refusal(500, said, following, at=request.app.state.at)
    return problem(500, "WOW", said, following)


def is_of_a_browser(request: Request) -> bool:
    """Whether a page is wanted rather than a problem: what is no part of the API, and no probe."""
    return not request.url.path.startswith(("/api/", "/openapi.json", "/healthz", "/readyz", "/metrics"))


def tell_problems(app: FastAPI) -> None:
    """Have every error answered with a problem."""
    app.add_exception_handler(WowError, of_ours)
    app.add_exception_handler(RequestValidationError, of_the_form)
    app.add_exception_handler(HTTPException, of_the_address)
    app.add_exception_handler(Exception, of_the_program)


async def _present_row(request: Request) -> dict[str, Any] | None:
    """Give the row that a command was about as it is now; `None` = it was about none, or it cannot be read."""
    row_id: str | None = request.path_params.get("row_id")
    if row_id is None:
        return None
    door: Door = request.app.state.door
    try:
        return (await (await door.operations()).parked_row(row_id)).row.to_json()
    except WowError:
        return None
