"""`wow-ray parked …`: aggregates that stopped, and what a person does about them."""

from __future__ import annotations

import getpass
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from wow_ray.cli.asking import asks
from wow_ray.cli.shown import facts, harmless, moment, table, times, written
from wow_ray.errors import OperationError
from wow_ray.ops import (
    Applied,
    Command,
    Operations,
    ParkedDetail,
    ParkedQuery,
    ParkedView,
    Pending,
    sheets,
)
from wow_ray.ops.progress import SHOWN
from wow_ray.ops.views import View
from wow_ray.policy.parked import Reason, State

parked = typer.Typer(help="Parked aggregates: list, show, resume, skip, retry, park.", no_args_is_help=True)

RowId = Annotated[str, typer.Argument(metavar="ID", help="The row, as `parked list` shows it.")]
Why = Annotated[str, typer.Option("--reason", help="Why; kept as the audit. Required.")]
Who = Annotated[str | None, typer.Option("--actor", help="Who asks. Default: the user of this process.")]
Etag = Annotated[
    int | None, typer.Option("--etag", help="The row's etag as you saw it: refused when it has changed since.")
]
RequestId = Annotated[
    str | None,
    typer.Option("--request-id", help="Repeating a command with the same one asks once. Default: a new one."),
]
GroupFilter = Annotated[str | None, typer.Option("--group", help="Only this group.")]
SubscriptionFilter = Annotated[
    str | None, typer.Option("--subscription", help="Only this handler (Processor.handler).")
]
AggregateFilter = Annotated[
    str | None, typer.Option("--aggregate", help="Only this kind (order) or aggregate (order/o-42).")
]
StateFilter = Annotated[
    list[State] | None,
    typer.Option("--state", help="Only this state; repeatable. Default: parked, retrying, exhausted."),
]
ReasonFilter = Annotated[Reason | None, typer.Option("--reason", help="Only rows that stopped for this.")]
Csv = Annotated[bool, typer.Option("--csv", help="Write CSV: a heading, then all rows, or --limit of them.")]
FingerprintFilter = Annotated[str | None, typer.Option("--fingerprint", help="Only errors like this one.")]


@dataclass(frozen=True, slots=True)
class Listing(View):
    """A page of rows, and how many there are on all pages; not `exact` = at least so many."""

    rows: tuple[ParkedView, ...]
    next: str | None
    total: int
    exact: bool


def show_page(found: Listing, page: Console) -> None:
    """Write one line for each row, and how many there are."""
    if found.rows:
        table(page, ("ID", "GROUP", "AGGREGATE", "STATE", "WHY", "STOPPED", "NEXT", "ERROR"), map(_line, found.rows))
    for note in dict.fromkeys(row.note for row in found.rows if row.note):
        page.print(f"note: {harmless(note)}")
    total = f"{'' if found.exact else 'at least '}{found.total:,}"
    more = "" if found.next is None else f"; more: --after {found.next}"
    page.print(f"{len(found.rows):,} of {total}{more}")


def show_detail(detail: ParkedDetail, page: Console) -> None:
    """Write everything about one row."""
    row, held = detail.row, detail.held
    through = "" if held.through_version is None else f", versions {held.from_version} to {held.through_version}"
    facts(
        page,
        [
            ("row", f"{row.id}, etag {row.etag}"),
            ("aggregate", f"{row.aggregate}/{row.aggregate_id} in slot {row.slot}"),
            ("handler", f"{row.subscription} of group {row.group}"),
            ("state", f"{row.state}, for {row.reason}, since {moment(row.parked_at)}"),
            ("next", moment(row.next_due)),
            ("stopped at", f"{row.stopped_at} after {times(row.attempts, 'attempt')} and {row.retries} parked retries"),
            ("held", f"{'more than ' if held.more else ''}{times(held.events, 'event')}{through}"),
            ("skipping", "" if detail.skip_through is None else f"through {detail.skip_through}"),
            ("note", row.note),
            ("error", _error(row)),
            (
                "first error",
                "" if detail.first_cause is None else f"{detail.first_cause.type}: {detail.first_cause.message}",
            ),
        ],
    )
    if detail.traceback:
        page.print(Text("\n" + harmless(detail.traceback.rstrip(), lines=True)))
    if detail.history:
        page.print()
        table(
            page,
            ("WHEN", "KIND", "ERROR"),
            [
                (moment(each.at), each.kind, "" if each.error is None else f"{each.error.type}: {each.error.message}")
                for each in detail.history
            ],
        )


def show_answer(answer: Applied | Pending, page: Console) -> None:
    """Write what became of a command."""
    match answer:
        case Pending(request_id, verb, _, note):
            page.print(f"accepted, not applied yet: {verb.value}; {note} (request {harmless(request_id)})")
        case Applied(_, verb, row, outcome):
            page.print(
                f"done: {verb.value}{'' if row is None else f' of {row.aggregate}/{harmless(row.aggregate_id)}'}"
            )
            if (skipped := outcome.get("skipped")) is not None:
                first, last = outcome.get("from_version"), outcome.get("through_version")
                page.print(f"passed over: {times(int(skipped), 'event')}, versions {first} to {last}")
            if row is not None:
                page.print(f"it is {row.state} at {row.stopped_at} (row {row.id}, etag {row.etag})")


@parked.command("list")
@asks(show_page)
async def list_(
    operations: Operations,
    *,
    group: GroupFilter = None,
    subscription: SubscriptionFilter = None,
    aggregate: AggregateFilter = None,
    state: StateFilter = None,
    reason: ReasonFilter = None,
    fingerprint: FingerprintFilter = None,
    after: Annotated[str | None, typer.Option("--after", help="Begin behind this row.")] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", help="At most so many rows, 1 to 1000. Default: 100, as CSV all.")
    ] = None,
    csv: Csv = False,
) -> Listing | None:
    """List parked aggregates, oldest first."""
    kind, _, identity = (aggregate or "").partition("/")
    query = ParkedQuery(
        states=frozenset(state) if state else SHOWN,
        group=group,
        subscription=subscription,
        aggregate=kind or None,
        aggregate_id=identity or None,
        reason=reason,
        fingerprint=fingerprint,
        after=after,
        limit=100 if limit is None else limit,
    )
    if csv:
        await written(sheets.parked(operations, query, limit))
        return None
    page, count = await operations.parked(query), await operations.count(query)
    return Listing(page.rows, page.next, count.rows, count.exact)


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
    *,
    reason: Why,
    actor: Who = None,
    etag: Etag = None,
    request_id: RequestId = None,
) -> Applied | Pending:
    """Handle it again from the event it stopped at, with a fresh budget."""
    return await operations.resume(row, command_of(actor, reason, request_id, etag))


@parked.command("skip")
@asks(show_answer)
async def skip(
    operations: Operations,
    row: RowId,
    *,
    reason: Why,
    through_version: Annotated[
        int | None, typer.Option("--through-version", help="Through this version. Default: the last event held now.")
    ] = None,
    only: Annotated[bool, typer.Option("--only", help="Only the event it stopped at; go on behind it.")] = False,
    actor: Who = None,
    etag: Etag = None,
    request_id: RequestId = None,
) -> Applied | Pending:
    """Pass over held events for good; later ones are handled. Says exactly what was passed over."""
    command = command_of(actor, reason, request_id, etag)
    return await operations.skip(row, command, through_version=through_version, only=only)


@parked.command("retry-now")
@asks(show_answer)
async def retry_now(
    operations: Operations,
    row: RowId,
    *,
    reason: Why,
    actor: Who = None,
    etag: Etag = None,
    request_id: RequestId = None,
) -> Applied | Pending:
    """Make its next automatic retry now."""
    return await operations.retry_now(row, command_of(actor, reason, request_id, etag))


@parked.command("park")
@asks(show_answer)
async def park(
    operations: Operations,
    group: Annotated[str, typer.Argument(metavar="GROUP", help="The group, as `subscriptions list` shows it.")],
    aggregate: Annotated[str, typer.Argument(metavar="AGGREGATE", help="The aggregate, as in order/o-42.")],
    *,
    reason: Why,
    actor: Who = None,
    etag: Etag = None,
    request_id: RequestId = None,
) -> Applied | Pending:
    """Hold an aggregate in a group until it is resumed or skipped; also stops a drain of it."""
    kind, slash, identity = aggregate.partition("/")
    if not slash or not kind or not identity:
        raise OperationError(f"{aggregate!r} is no aggregate; write kind/id, as in order/o-42")
    return await operations.park(group, kind, identity, command_of(actor, reason, request_id, etag))


def command_of(actor: str | None, reason: str, request_id: str | None, etag: int | None) -> Command:
    """Put together who asks and why."""
    return Command(getpass.getuser() if actor is None else actor, reason, request_id, etag)


def _line(row: ParkedView) -> tuple[str, ...]:
    """Write a row in one line."""
    next_ = moment(row.next_due)
    return (
        row.id,
        row.group,
        f"{row.aggregate}/{row.aggregate_id}",
        row.state,
        row.reason,
        row.stopped_at,
        next_,
        _error(row),
    )


def _error(row: ParkedView) -> str:
    """Write a row's error, nothing when it has none."""
    return "" if row.error is None else f"{row.error.type}: {row.error.message}"
