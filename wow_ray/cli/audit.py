"""`wow-ray audit`: who asked for what, when and why, and what became of it."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from wow_ray.cli.asking import asks
from wow_ray.cli.shown import moment, table
from wow_ray.ops import Operations
from wow_ray.ops.finding_views import ActionPage, ActionView
from wow_ray.ports.ledger import ActionFilter


def show_actions(found: ActionPage, page: Console) -> None:
    """Write one line for each action."""
    if not found.actions:
        page.print("nobody has asked for anything that fits")
        return
    table(page, ("ID", "WHEN", "WHO", "VERB", "OF", "STATE", "WHY", "REQUEST"), map(_line, found.actions))
    if found.next is not None:
        page.print(f"more: --before {found.next}")


@asks(show_actions)
async def audit(
    operations: Operations,
    *,
    group: Annotated[str | None, typer.Option("--group", help="Only of this group, or this durable function.")] = None,
    aggregate: Annotated[
        str | None, typer.Option("--aggregate", help="Only of this kind (order; call) or one of it (order/o-42).")
    ] = None,
    by: Annotated[str | None, typer.Option("--actor", help="Only what this one asked for.")] = None,
    before: Annotated[int | None, typer.Option("--before", help="Where the page before ended.", min=1)] = None,
    limit: Annotated[int, typer.Option("--limit", help="Actions on a page.", min=1, max=1_000)] = 100,
) -> ActionPage:
    """List what people asked for, the newest first, with their reasons and what became of it."""
    kind, _, identity = (aggregate or "").partition("/")
    return await operations.actions(ActionFilter(group, kind or None, identity or None, by, before, limit))


def _line(action: ActionView) -> tuple[str, ...]:
    """Write an action in one line."""
    of = f"{action.aggregate}/{action.aggregate_id}" if action.aggregate else action.group
    state = f"{action.state}: {action.text}" if action.text else action.state
    verb = action.verb.value.replace("_", " ")
    return (
        str(action.id),
        moment(action.asked_at),
        action.actor,
        verb,
        of,
        state,
        action.reason,
        action.request_id,
    )
