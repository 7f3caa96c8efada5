"""`wow-ray scale N`: another number of partitions, while the app runs."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console

from wow_ray.cli.asking import asks
from wow_ray.cli.given import Who, command_of
from wow_ray.cli.shown import console, harmless, times
from wow_ray.errors import WowError
from wow_ray.ops import MoveView, Operations, ScaleView

PATIENCE = 120.0
"""Seconds that `--wait` waits; processes that have to start take some of them."""


def show_scale(view: ScaleView, page: Console) -> None:
    """Write the plan, and what has to move for it."""
    shares = sorted(view.partitions.values())
    each = f"{shares[0]}" if shares[0] == shares[-1] else f"{shares[0]} or {shares[-1]}"
    said = "" if view.changed else ", as before"
    count = times(len(view.partitions), "partition")
    page.print(harmless(f"plan {view.plan}, release {view.release}: {count} of {each} slots{said}"))
    page.print(harmless(f"to move: {moving(view.moves)}") if view.moves else "nothing has to move")
    if view.absent:
        page.print(harmless(f"waiting: {waiting(view.absent)}"))


def waiting(absent: tuple[str, ...]) -> str:
    """Write which partitions of the plan have no process; empty when all of them have one."""
    return f"{', '.join(absent)}: starting, or waiting for room in the cluster or in Postgres" if absent else ""


def moving(moves: tuple[MoveView, ...]) -> str:
    """Write what has to move; empty when nothing has."""
    total = sum(move.slots for move in moves)
    parts = (f"{move.source or 'nobody'} → {move.target} {move.slots}" for move in moves)
    return f"{times(total, 'slot')}: {', '.join(parts)}" if moves else ""


def _told(view: ScaleView) -> None:
    held = f"; waiting: {waiting(view.absent)}" if view.absent else ""
    console(error=True).print(harmless(f"to move: {moving(view.moves)}{held}"))
    sys.stderr.flush()


@asks(show_scale)
async def scale(
    operations: Operations,
    partitions: Annotated[int, typer.Argument(metavar="N", min=1, help="How many partitions there are to be.")],
    *,
    replace: Annotated[
        bool, typer.Option("--replace", help="Also while slots wait to move for another number, which is given up.")
    ] = False,
    reason: Annotated[str | None, typer.Option("--reason", help="Why; kept with the plan.")] = None,
    actor: Who = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Answer once nothing has to move any more, within 2 minutes.")
    ] = False,
) -> ScaleView:
    """Have the slots of an app that runs on Ray owned by so many partitions, with the fewest moves."""
    command = command_of(actor, reason or "scale", None, None)
    view = await operations.scaling.scale(partitions, command, replace=replace)
    if not wait or not view.waiting:
        return view
    settled = await operations.scaling.settled(_told, PATIENCE)
    if settled.waiting:
        held = f"; waiting: {waiting(settled.absent)}" if settled.absent else ""
        moves = f"{moving(settled.moves)}{held}"
        text = f"after {PATIENCE:g} s still to move: {moves}; the plan stays, see `wow-ray status`"
        raise WowError(text, "WOW-MOVING")
    return settled
