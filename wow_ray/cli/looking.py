"""`wow-ray status`, and `wow-ray subscriptions list` and `reset`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.console import Console

from wow_ray.cli.asking import asks
from wow_ray.cli.parked import RequestId, Who, Why, command_of, show_answer
from wow_ray.cli.shown import facts, length, moment, table, times
from wow_ray.ops import GroupView, Operations, StatusView
from wow_ray.ops.views import Applied, Pending, View

subscriptions = typer.Typer(help="The groups of handlers and how far they have come.", no_args_is_help=True)


def show_status(status: StatusView, page: Console) -> None:
    """Write how the store stands, and who owns what."""
    facts(
        page,
        [
            ("context", status.context),
            ("server", f"{status.server}, schema version {status.schema_version}, at {moment(status.now)}"),
            ("ready", "yes" if status.ready else f"no: {times(len(status.unowned), 'slot')} of {status.slots} unowned"),
            ("plan", "" if status.plan is None else f"{status.plan}, release {status.release}"),
            ("lag", times(status.lag, "event")),
            ("parked", f"{status.parked:,}{by_state(status.open_rows)}"),
        ],
    )
    if status.partitions:
        page.print()
        table(
            page,
            ("PARTITION", "HOST", "PROCESS", "SLOTS", "LEASE"),
            [
                (
                    partition.partition,
                    partition.host,
                    str(partition.pid),
                    str(partition.slots),
                    f"{length(partition.lease_left)} left" if partition.alive else "ended",
                )
                for partition in status.partitions
            ],
        )


@dataclass(frozen=True, slots=True)
class Groups(View):
    """All groups ever registered."""

    groups: tuple[GroupView, ...]


def show_groups(found: Groups, page: Console) -> None:
    """Write one line for each group."""
    if not found.groups:
        page.print("nothing is registered; a program registers its handlers when it first runs")
        return
    table(
        page,
        ("GROUP", "LAG", "UNFINISHED", "OLDEST", "PARKED", "NOTE", "SUBSCRIPTIONS"),
        [
            (
                group.group,
                f"{group.lag:,}",
                f"{group.unfinished:,}",
                "" if group.oldest is None else f"{length(group.oldest.age)} ago, slot {group.oldest.slot}",
                f"{group.parked:,}{by_state(group.open_rows)}",
                "retired" if group.retired else "not in this app" if group.missing else "",
                ", ".join(group.subscriptions),
            )
            for group in found.groups
        ],
    )


def by_state(rows: Mapping[str, int]) -> str:
    """Write how many ledger rows there are of each state, nothing when there are none."""
    return f" ({', '.join(f'{count:,} {state}' for state, count in rows.items())})" if rows else ""


@asks(show_status)
async def status(operations: Operations) -> StatusView:
    """Show who owns the slots, what is left to do, and what is parked."""
    return await operations.status()


@subscriptions.command("reset")
@asks(show_answer)
async def reset(
    operations: Operations,
    group: Annotated[str, typer.Argument(metavar="GROUP", help="The projection, as `subscriptions list` shows it.")],
    *,
    reason: Why,
    actor: Who = None,
    request_id: RequestId = None,
) -> Applied | Pending:
    """Let a projection begin anew at the beginning of the log; its ledger rows close, its on_reset hook is called."""
    return await operations.reset(group, command_of(actor, reason, request_id, None))


@subscriptions.command("list")
@asks(show_groups)
async def list_(operations: Operations) -> Groups:
    """List every group: how far behind it is in each slot, and what it has parked."""
    return Groups(await operations.subscriptions())
