"""`wow-ray functions …`: durable functions as a whole, and having one stand still and go on."""

from __future__ import annotations

from typing import Annotated, Literal

import typer
from rich.console import Console

from wow_ray.cli.asking import asks
from wow_ray.cli.given import Given
from wow_ray.cli.shown import harmless, moment, table
from wow_ray.ops import FunctionList, FunctionPauseAnswer, FunctionPauseList, FunctionPauseView, Operations
from wow_ray.policy.pauses import PauseReason

functions = typer.Typer(help="Durable functions: list, show, pause, resume.", no_args_is_help=True)

HISTORY = 20
"""Pauses that `show` lists."""

Name = Annotated[str, typer.Argument(metavar="FUNCTION", help="The function, as `functions list` shows it.")]
WhichPause = Annotated[Literal["operator", "deploy", "restored"], typer.Option("--pause", help="Which pause.")]


def show_functions(found: FunctionList, page: Console) -> None:
    """Write one line for each function."""
    if not found.functions:
        page.print("no durable function is declared here, and no call of one is stored")
        return
    lines = []
    for one in found.functions:
        counts = [f"{one.calls.get(state, 0):,}" for state in ("waiting", "running", "exhausted")]
        lines.append((one.function, *counts, "; ".join(map(_in_full, one.pauses))))
    table(page, ("FUNCTION", "WAITING", "RUNNING", "EXHAUSTED", "PAUSED"), lines)


def show_history(found: FunctionPauseList, page: Console) -> None:
    """Write one line for each pause, the newest first."""
    if not found.pauses:
        page.print("it was never paused")
        return
    rows = [
        (each.reason, moment(each.since), each.actor, each.text, moment(each.ended_at), each.ended_by, each.ended_text)
        for each in found.pauses
    ]
    table(page, ("PAUSE", "SINCE", "BY", "WHY", "ENDED", "BY", "WHY"), rows)


def show_answer(answer: FunctionPauseAnswer, page: Console) -> None:
    """Write what became of a request."""
    already = "" if answer.changed else ", and it was so already"
    page.print(harmless(f"done: {answer.verb.value.replace('_', ' of ', 1)} ({answer.request_id}){already}"))
    for each in answer.pauses:
        page.print(harmless(f"{answer.function} stands still: {_in_full(each)}"))
    if not answer.pauses:
        page.print(harmless(f"{answer.function} is not paused; workers go on within a second or two"))


@functions.command("list")
@asks(show_functions)
async def list_(operations: Operations) -> FunctionList:
    """List durable functions: their calls that are not over, and why they stand still."""
    return await operations.functions.listed()


@functions.command("show")
@asks(show_history)
async def show(operations: Operations, name: Name) -> FunctionPauseList:
    """Show who has paused and resumed a function; its calls are shown by `calls list --function`."""
    return await operations.functions.history(name, HISTORY)


@functions.command("pause")
@asks(show_answer)
async def pause(
    operations: Operations,
    name: Name,
    given: Given,
    *,
    which: WhichPause = "operator",
) -> FunctionPauseAnswer:
    """Have no call of a function begin, through restarts, until it is resumed; calls under way end."""
    return await operations.functions.pause(name, given.command(), PauseReason(which))


@functions.command("resume")
@asks(show_answer)
async def resume(
    operations: Operations,
    name: Name,
    given: Given,
    *,
    which: WhichPause = "operator",
) -> FunctionPauseAnswer:
    """End one pause of a function; it goes on when there is no other."""
    return await operations.functions.resume(name, given.command(), PauseReason(which))


def _in_full(pause: FunctionPauseView) -> str:
    """Name a pause, since when, and say who set it and why."""
    return f"{pause.reason} since {moment(pause.since)}, by {pause.actor}: {pause.text}"
