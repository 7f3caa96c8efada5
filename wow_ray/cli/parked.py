"""`wow-ray parked …`: aggregates that stopped, and what a person does about them."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from wow_ray.cli.asking import asks
from wow_ray.cli.filters import PAGE, After, Csv, Limit, OfRows
from wow_ray.cli.given import GivenOnRow
from wow_ray.cli.parked_shown import (
    Events,
    Groups,
    Listing,
    show_answer,
    show_count,
    show_detail,
    show_events,
    show_groups,
    show_page,
)
from wow_ray.cli.shown import written
from wow_ray.errors import OperationError
from wow_ray.ops import (
    Applied,
    Count,
    Operations,
    ParkedDetail,
    Pending,
    sheets,
)

parked = typer.Typer(
    help="Parked aggregates: list, groups, count, show, events, resume, skip, retry, park.", no_args_is_help=True
)

RowId = Annotated[str, typer.Argument(metavar="ID", help="The row, as `parked list` shows it.")]
Sort = Annotated[Literal["oldest", "newest"], typer.Option("--sort", help="In which order.")]


@parked.command("list")
@asks(show_page)
async def list_(
    operations: Operations,
    which: OfRows,
    *,
    after: After = None,
    limit: Limit = None,
    sort: Sort = "oldest",
    csv: Csv = False,
) -> Listing | None:
    """List parked aggregates."""
    query = which.query(after, limit, sort)
    if csv:
        await written(sheets.parked(operations, query, limit))
        return None
    page, count = await operations.parked(query), await operations.count(query)
    return Listing(page.rows, page.next, count.rows, count.exact)


@parked.command("groups")
@asks(show_groups)
async def groups(operations: Operations, which: OfRows, *, limit: Limit = None) -> Groups:
    """Group parked aggregates by what went wrong with them alike, those of most rows first."""
    return Groups(await operations.alike(which.query(), PAGE if limit is None else limit))


@parked.command("count")
@asks(show_count)
async def count(operations: Operations, which: OfRows) -> Count:
    """Count parked aggregates; above 10,000 a finer filter's count says `at least`."""
    return await operations.count(which.query())


@parked.command("events")
@asks(show_events)
async def events(operations: Operations, row: RowId) -> Events:
    """Show the events around the one it stopped at, with what is in them, masked."""
    return Events(await operations.stream(row, payloads=True))


@parked.command("show")
@asks(show_detail)
async def show(operations: Operations, row: RowId) -> ParkedDetail:
    """Show one row: its errors, its history, and what it holds."""
    return await operations.parked_row(row)


@parked.command("resume")
@asks(show_answer)
async def resume(
    operations: Operations,
    row: RowId,
    given: GivenOnRow,
) -> Applied | Pending:
    """Handle it again from the event it stopped at, with a fresh budget."""
    return await operations.resume(row, given.command())


@parked.command("skip")
@asks(show_answer)
async def skip(
    operations: Operations,
    row: RowId,
    given: GivenOnRow,
    *,
    through_version: Annotated[
        int | None, typer.Option("--through-version", help="Through this version. Default: the last event held now.")
    ] = None,
    only: Annotated[bool, typer.Option("--only", help="Only the event it stopped at; go on behind it.")] = False,
) -> Applied | Pending:
    """Pass over held events for good; later ones are handled. Says exactly what was passed over."""
    command = given.command()
    return await operations.skip(row, command, through_version=through_version, only=only)


@parked.command("retry-now")
@asks(show_answer)
async def retry_now(
    operations: Operations,
    row: RowId,
    given: GivenOnRow,
) -> Applied | Pending:
    """Make its next automatic retry now."""
    return await operations.retry_now(row, given.command())


@parked.command("park")
@asks(show_answer)
async def park(
    operations: Operations,
    group: Annotated[str, typer.Argument(metavar="GROUP", help="The group, as `subscriptions list` shows it.")],
    aggregate: Annotated[str, typer.Argument(metavar="AGGREGATE", help="The aggregate, as in order/o-42.")],
    given: GivenOnRow,
) -> Applied | Pending:
    """Hold an aggregate in a group until it is resumed or skipped; also stops a drain of it."""
    kind, slash, identity = aggregate.partition("/")
    if not slash or not kind or not identity:
        raise OperationError(f"{aggregate!r} is no aggregate; write kind/id, as in order/o-42")
    return await operations.park(group, kind, identity, given.command())
