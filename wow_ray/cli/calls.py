"""`wow-ray calls …`: durable calls that wait, run or are exhausted, and what a person does about them."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from wow_ray.cli.asking import asks
from wow_ray.cli.filters import After, Csv, Limit, OfCalls
from wow_ray.cli.given import GivenOnRow
from wow_ray.cli.shown import facts, harmless, moment, table, written
from wow_ray.ops import CallAnswer, CallDetail, CallPage, CallView, Operations, sheets
from wow_ray.ops.views import ErrorView

calls = typer.Typer(help="Durable calls: list, show, retry, cancel, discard, bulk.", no_args_is_help=True)

CallId = Annotated[str, typer.Argument(metavar="ID", help="The call, as `calls list` shows it.")]


def show_page(found: CallPage, page: Console) -> None:
    """Write one line for each call, and how many there are."""
    if found.calls:
        table(
            page,
            ("CALL", "FUNCTION", "STATE", "REASON", "ATTEMPTS", "DUE", "KEY", "ERROR"),
            [_line(call) for call in found.calls],
        )
    for function, states in found.counts.items():
        page.print(harmless(f"{function}: {', '.join(f'{count:,} {state}' for state, count in states.items())}"))
    if not found.calls and not found.counts:
        page.print("no durable call waits, runs or is exhausted")
    if found.next is not None:
        page.print(harmless(f"more: --after {found.next}"))


def show_call(found: CallDetail, page: Console) -> None:
    """Write everything about one call."""
    call = found.call
    facts(
        page,
        [
            ("call", f"{call.id}, etag {call.etag}"),
            ("function", call.function),
            ("state", f"{call.state}{f': {call.reason}' if call.reason else ''}"),
            ("note", call.note),
            ("key", call.key or ""),
            ("attempts", f"{call.attempts}{f', and {call.busy} busy answers' if call.busy else ''}"),
            ("priority", str(call.priority)),
            ("due", moment(call.due)),
            ("worker", call.worker or ""),
            ("stored", moment(call.created_at)),
            ("ended", moment(found.ended_at)),
            ("arguments", found.payload or ""),
            ("headers", "; ".join(f"{key}: {value}" for key, value in (found.headers or {}).items())),
            ("result", found.result or ""),
            ("error", _error(call.error)),
            ("first error", _error(found.first_cause)),
            ("fallback", call.fallback),
            ("its error", _error(found.fallback_error)),
        ],
    )
    for trace in (found.traceback, found.fallback_traceback):
        if trace:
            page.print()
            page.print(Text(harmless(trace, lines=True)))


def show_answer(answer: CallAnswer, page: Console) -> None:
    """Write what became of a request."""
    page.print(harmless(f"done: {answer.verb.replace('_', ' of ', 1)} ({answer.request_id})"))
    if answer.call is not None:
        page.print(harmless(f"it is {answer.call.state} (call {answer.call.id}, etag {answer.call.etag})"))


@calls.command("list")
@asks(show_page)
async def list_(
    operations: Operations, which: OfCalls, *, after: After = None, limit: Limit = None, csv: Csv = False
) -> CallPage | None:
    """List durable calls, oldest first, and count those that are not over."""
    query = which.query(after, limit)
    if csv:
        await written(sheets.calls(operations, query, limit))
        return None
    return await operations.calls.listed(query)


@calls.command("show")
@asks(show_call)
async def show(operations: Operations, call: CallId) -> CallDetail:
    """Show one call with its errors, its arguments and its result, masked."""
    return await operations.calls.shown(call)


@calls.command("retry")
@asks(show_answer)
async def retry(
    operations: Operations,
    call: CallId,
    given: GivenOnRow,
) -> CallAnswer:
    """Have a call tried now; one that is exhausted gets a fresh budget."""
    return await operations.calls.ask("retry", call, given.command())


@calls.command("cancel")
@asks(show_answer)
async def cancel(
    operations: Operations,
    call: CallId,
    given: GivenOnRow,
) -> CallAnswer:
    """End a call that waits or runs; one that runs is ended within seconds."""
    return await operations.calls.ask("cancel", call, given.command())


@calls.command("discard")
@asks(show_answer)
async def discard(
    operations: Operations,
    call: CallId,
    given: GivenOnRow,
) -> CallAnswer:
    """Put an exhausted call aside for good."""
    return await operations.calls.ask("discard", call, given.command())


def _line(call: CallView) -> tuple[str, ...]:
    """Write a call in one line."""
    return (
        call.id,
        call.function,
        call.state,
        call.reason or "",
        str(call.attempts),
        moment(call.due),
        call.key or "",
        _error(call.error) or call.note,
    )


def _error(error: ErrorView | None) -> str:
    """Write an error in one line."""
    return "" if error is None else f"{error.type}: {error.message.splitlines()[0] if error.message else ''}"
