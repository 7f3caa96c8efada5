"""What operators look at."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from wow_ray.failure import Category
from wow_ray.ops import sheets
from wow_ray.ops.access import Role, Visitor
from wow_ray.ops.finding_views import ActionPage
from wow_ray.ops.http import answers
from wow_ray.ops.http.door import Ops, within
from wow_ray.ops.http.exporting import ANSWERS, Format, sheet, wants_csv
from wow_ray.ops.operations import MOST_LISTED, ParkedQuery
from wow_ray.ops.progress import SHOWN, GroupView, StatusView
from wow_ray.ops.views import Count, ParkedDetail, ParkedPage, plain
from wow_ray.policy.parked import Reason, State
from wow_ray.ports.ledger import ActionFilter

router = APIRouter()
OF_PARTITIONS = (
    *("plan", "release", "slots", "unowned", "moves"),
    *("running", "rate", "failed_rate", "troubles", "partitions"),
)
"""What of the status is about partitions."""


class Filters(BaseModel):
    """Which rows are wanted; a filter that there is not is refused, else it would select everything (P12)."""

    model_config = ConfigDict(extra="forbid")

    group: str | None = None
    subscription: str | None = None
    aggregate: str | None = None
    aggregate_id: str | None = None
    state: list[State] = Field(sorted(SHOWN), description="any of these; what people are shown as parked by default")
    reason: Reason | None = None
    error: str | None = Field(None, description="the error's fingerprint")
    after: str | None = Field(None, description="the `next` of the page before")
    limit: int = Field(100, ge=1, le=MOST_LISTED)
    category: Category | None = None
    error_type: str | None = Field(None, description="the whole name of the error's class")
    text: str | None = Field(None, description="a part of the error's type or message, in letters of either case")
    stopped_version: int | None = Field(None, ge=0, le=2**62)
    sort: Literal["oldest", "newest"] = "oldest"

    def query(self) -> ParkedQuery:
        """Give it in the words of `Operations`."""
        return ParkedQuery(
            frozenset(self.state),
            self.group,
            self.subscription,
            self.aggregate,
            self.aggregate_id,
            self.reason,
            self.error,
            self.after,
            self.limit,
            self.category,
            self.error_type,
            self.text,
            self.stopped_version,
            self.sort == "newest",
        )


class Listed(Filters):
    """Which rows are listed, and how."""

    format: Format | None = Field(None, description="`csv`: all that fit, or `limit` where given; else `Accept` says")


class Actions(BaseModel):
    """Which actions are wanted."""

    model_config = ConfigDict(extra="forbid")

    group: str | None = None
    aggregate: str | None = None
    aggregate_id: str | None = None
    actor: str | None = None
    before: int | None = Field(None, ge=1, le=2**62, description="the `next` of the page before")
    limit: int = Field(100, ge=1, le=MOST_LISTED)


def shown(value: object, status: int = 200) -> JSONResponse:
    """Answer with what is shown; it changes at any time, so nobody keeps it."""
    return JSONResponse(plain(value), status, {"Cache-Control": "no-store"})


def may_read(request: Request) -> bool:
    """Whether who asks may be shown payloads: those who may command (P4)."""
    visitor: Visitor = request.state.visitor
    return visitor.role.covers(Role.OPERATOR)


@router.get("/overview", response_model=StatusView)
async def overview(operations: Ops) -> JSONResponse:
    """Show the store as a whole: who owns what, the lag, how much is parked, what takes how much room."""
    return shown(await within(operations.overview()))


@router.get("/partitions", response_model=answers.Partitions)
async def partitions(operations: Ops) -> JSONResponse:
    """Show the owners of slots, how each is, the slots without one, the plan of an app on Ray, and what has to move."""
    status = await within(operations.status())
    return shown({name: getattr(status, name) for name in OF_PARTITIONS})


@router.get("/subscriptions", response_model=answers.Groups)
async def subscriptions(operations: Ops) -> JSONResponse:
    """Show every group ever registered: how far it has come, what is done of it at present, and why it is paused."""
    return shown({"groups": await within(operations.subscriptions())})


@router.get("/subscriptions/{name}", response_model=GroupView)
async def subscription(name: str, operations: Ops) -> JSONResponse:
    """Show a group, by its own name or by that of a subscription in it."""
    return shown(await within(operations.subscription(name)))


@router.get("/subscriptions/{name}/pauses", response_model=answers.Pauses)
async def pauses(name: str, operations: Ops, limit: Annotated[int, Query(ge=1, le=MOST_LISTED)] = 100) -> JSONResponse:
    """List the pauses of a group, present ones and those that are over, the newest first."""
    return shown({"pauses": await within(operations.pauses(name, limit))})


@router.get("/parked", response_model=ParkedPage, responses={**ANSWERS})
async def parked(request: Request, filters: Annotated[Listed, Query()], operations: Ops) -> Response:
    """List parked rows, oldest first; a page may be shorter than its limit and still have a next one."""
    if wants_csv(request, filters.format):
        most = filters.limit if "limit" in filters.model_fields_set else None
        return await sheet(sheets.parked(operations, filters.query(), most), "parked")
    return shown(await within(operations.parked(filters.query())))


@router.get("/parked/groups", response_model=answers.Alike)
async def alike(filters: Annotated[Filters, Query()], operations: Ops) -> JSONResponse:
    """Group parked rows by the fingerprint of their last error, those of most rows first, with first and last seen."""
    return shown({"groups": await within(operations.alike(filters.query(), filters.limit))})


@router.get("/parked/count", response_model=Count)
async def counted(filters: Annotated[Filters, Query()], operations: Ops) -> JSONResponse:
    """Count parked rows; above 10,000 a finer filter's count says that it is not exact."""
    return shown(await within(operations.count(filters.query())))


@router.get("/parked/{row_id}", response_model=ParkedDetail)
async def parked_row(row_id: str, operations: Ops) -> JSONResponse:
    """Show one row, open or ended, with its errors, what it holds, and the attempts that were kept."""
    detail: dict[str, Any] = (await within(operations.parked_row(row_id))).to_json()
    return shown(detail)


@router.get("/parked/{row_id}/events", response_model=answers.Events)
async def row_events(request: Request, row_id: str, operations: Ops) -> JSONResponse:
    """Show the aggregate's events around the stopped one, with what is in them, masked; to viewers that is null."""
    return shown({"events": await within(operations.stream(row_id, payloads=may_read(request)))})


@router.get("/subscriptions/{name}/settings", response_model=answers.Settings)
async def settings(name: str, operations: Ops) -> JSONResponse:
    """Show what each handler of a group runs under and where each setting comes from."""
    group = await within(operations.subscription(name))
    return shown({"settings": {each: await within(operations.settings(each)) for each in group.subscriptions}})


@router.get("/audit", response_model=ActionPage)
async def audit(wanted: Annotated[Actions, Query()], operations: Ops) -> JSONResponse:
    """Show who asked for what, when and why, and what became of it, the newest first."""
    return shown(await within(operations.actions(ActionFilter(**wanted.model_dump()))))
