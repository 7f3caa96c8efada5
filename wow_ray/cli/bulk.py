"""`wow-ray bulk …` and `wow-ray calls bulk …`: commands on many, straight on the store.

`start` and `resume` run a batch in this process until it ends; ended by Ctrl-C, or killed, it leaves a batch that is
interrupted, and any process resumes it.
"""

# Annotations of a factory's commands are of its own names, so they are no texts.

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from wow_ray.cli.asking import asks
from wow_ray.cli.exits import Exit
from wow_ray.cli.filters import OfCalls, OfRows
from wow_ray.cli.given import Options, Who, command_of
from wow_ray.cli.shown import facts, harmless, moment, table, times
from wow_ray.ops import Operations
from wow_ray.ops.bulk import Batches
from wow_ray.ops.bulk_run import Opening
from wow_ray.ops.bulk_views import Batch, BatchHead, BatchList
from wow_ray.ops.call_bulk import CallBatches
from wow_ray.ops.parked_bulk import ParkedBatches
from wow_ray.policy.batches import Stage
from wow_ray.ports.durable_calls import VERBS

Kind = Callable[[Opening], Batches[Any, Any]]

SHOWN = 20
"""Rows of a batch that are listed."""
LOOK_AGAIN = 0.5

BatchId = Annotated[str, typer.Argument(metavar="ID", help="The batch, as `preview` and `list` show it.")]
Most = Annotated[int, typer.Option("--limit", help="At most so many batches.", min=1, max=1_000)]


@dataclass(frozen=True, slots=True)
class Going(Options):
    """Who has a batch run, why, and how."""

    reason: Annotated[str, typer.Option("--reason", help="Why; kept as the audit. Required, but for a dry run.")] = ""
    actor: Who = None
    rate: Annotated[
        float | None, typer.Option("--rate", help="At most so many rows a second. Default: as they come.")
    ] = None
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be asked for, and ask for nothing.")] = (
        False
    )


def show_batch(batch: Batch[Any], page: Console) -> None:
    """Write how far a batch is, and the first rows of it."""
    counts = ("recovered", "failed", "changed", "under_way")
    came = ", ".join(f"{getattr(batch, name)} {name.replace('_', ' ')}" for name in counts if getattr(batch, name))
    facts(
        page,
        [
            ("batch", f"{batch.id}, frozen {moment(batch.seen_at)}"),
            (
                "asks",
                f"{batch.verb.replace('_', ' ')}, of {times(batch.size, 'row')}{', of more' if batch.more else ''}",
            ),
            ("stage", f"{batch.stage.value}{f': {batch.why}' if batch.why else ''}"),
            ("asked", f"{batch.asked} of {batch.size}{f': {came}' if came else ''}"),
            ("rate", "" if batch.rate is None else f"{batch.rate:g} a second at most"),
            ("by", f"{batch.actor}: {batch.reason}" if batch.actor else ""),
        ],
    )
    if batch.rows and batch.stage is Stage.PREVIEW:
        page.print()
        table(page, ("ID", "OF", "STATE", "ERROR"), map(_row, batch.rows[:SHOWN]))
        if batch.size > SHOWN:
            page.print(f"and {batch.size - SHOWN:,} more")


def show_batches(found: BatchList, page: Console) -> None:
    """Write one line for each batch."""
    if not found.batches:
        page.print("nothing was asked of several at once within the last week")
        return
    headings = ("BATCH", "ASKS", "STAGE", "ASKED", "FAILED", "FROZEN", "BY", "WHY")
    table(page, headings, map(_line, found.batches))


def ended_well(batch: Batch[Any]) -> Exit:
    """Give the exit code of a batch that was to be run to its end."""
    return Exit.FAILED if batch.stage in {Stage.STOPPED, Stage.INTERRUPTED} else Exit.DONE


def commands(kind: Kind, filters: type[Options], verbs: Any, default: str, what: str) -> typer.Typer:  # noqa: ANN401 - a type
    """Make the commands on batches of one kind of rows; `verbs` are those that may be asked of many."""
    group = typer.Typer(help=f"Many {what} at once: preview, start, status, stop, resume.", no_args_is_help=True)
    which = Annotated[verbs, typer.Option("--verb", help="What to ask of each.")]

    @group.command("list")
    @asks(show_batches)
    async def list_(operations: Operations, *, limit: Most = 50) -> BatchList:
        """List the batches of the last week, the newest first."""
        async with _opened(kind, operations) as batches:
            return await batches.listed(limit)

    @group.command("preview")
    @asks(show_batch)
    async def preview(operations: Operations, which_rows: filters, *, verb: which = default) -> Batch[Any]:  # type: ignore[valid-type] # given here
        """Freeze what the filters find now, a thousand at most; nothing is asked of them yet."""
        rows: Any = which_rows
        async with _opened(kind, operations) as batches:
            return await batches.preview(rows.query(), str(VERBS.get(verb, verb)))

    @group.command("status")
    @asks(show_batch)
    async def status(operations: Operations, batch: BatchId) -> Batch[Any]:
        """Show how far a batch is."""
        async with _opened(kind, operations) as batches:
            return await batches.batch(batch)

    _add_running(group, kind)
    return group


def _add_running(group: typer.Typer, kind: Kind) -> None:
    """Add the commands that have a batch run, and stop."""

    @group.command("start")
    @asks(show_batch, ended_well)
    async def start(operations: Operations, batch: BatchId, going: Going) -> Batch[Any]:
        """Ask it of three rows, then of the others, and stay until it has ended; exit 1 when it has stopped."""
        return await _run(kind, operations, batch, going, again=False)

    @group.command("resume")
    @asks(show_batch, ended_well)
    async def resume(operations: Operations, batch: BatchId, going: Going) -> Batch[Any]:
        """Go on with the rows that were not asked for, of a batch that was interrupted or has stopped."""
        return await _run(kind, operations, batch, going, again=True)

    @group.command("stop")
    @asks(show_batch)
    async def stop(operations: Operations, batch: BatchId, *, actor: Who = None) -> Batch[Any]:
        """Ask for nothing more, whichever process runs it; what was asked for goes on."""
        async with _opened(kind, operations) as batches:
            return await batches.stop(batch, command_of(actor, "stop", None, None).actor)


async def _run(kind: Kind, operations: Operations, batch_id: str, going: Going, *, again: bool) -> Batch[Any]:
    """Run a batch to its end, or follow whoever does."""
    async with _opened(kind, operations) as batches:
        batch = await batches.batch(batch_id)
        if going.dry_run:
            return batch
        begin = batches.resume if again else batches.start
        batch = await begin(batch_id, command_of(going.actor, going.reason, None, None), going.rate)
        while not batch.ended and batch.stage is not Stage.PREVIEW:
            sys.stderr.write(harmless(f"{batch.stage.value}: asked {batch.asked} of {batch.size}") + "\n")
            await operations.clock.sleep(LOOK_AGAIN)
            batch = await batches.batch(batch_id)
        await batches.ended(batch_id)
        return await batches.batch(batch_id)


@asynccontextmanager
async def _opened(kind: Kind, operations: Operations) -> AsyncIterator[Batches[Any, Any]]:
    """Open the batches of a kind; on leaving, what runs here is left for others to resume."""

    async def opening() -> Operations:
        return operations

    batches = kind(opening)
    try:
        yield batches
    finally:
        await batches.close()


def _row(row: Any) -> tuple[str, ...]:  # noqa: ANN401 - a view of either kind
    """Write a row in one line."""
    of = getattr(row, "function", None) or f"{row.aggregate}/{row.aggregate_id}"
    return row.id, of, row.state, "" if row.error is None else f"{row.error.type}: {row.error.message}"


def _line(batch: BatchHead) -> tuple[str, ...]:
    """Write a batch in one line."""
    asks_, asked = f"{batch.verb.replace('_', ' ')} {batch.size}", f"{batch.asked} of {batch.size}"
    came = (batch.stage.value, asked, str(batch.failed), moment(batch.seen_at))
    return batch.id, asks_, *came, batch.actor, batch.reason


bulk = commands(ParkedBatches, OfRows, Literal["resume", "skip_one"], "resume", "parked aggregates")
of_calls = commands(CallBatches, OfCalls, Literal["retry", "discard"], "retry", "durable calls")
