"""`wow-ray status`, and `wow-ray partitions list`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import typer
from rich.console import Console

from wow_ray.cli.asking import asks
from wow_ray.cli.scaling import moving, waiting
from wow_ray.cli.shown import facts, harmless, length, moment, table, times
from wow_ray.ops import LivePartition, MoveView, Operations, PartitionView, StatusView
from wow_ray.ops.progress import SizeView
from wow_ray.ops.views import View

LARGEST = 4
"""Kinds of things whose size is named."""
NOW = 3.0
"""Seconds that count as now."""

partitions = typer.Typer(help="The partitions: who owns the slots, and how they are.", no_args_is_help=True)


def show_status(status: StatusView, page: Console) -> None:
    """Write how the store stands, and who owns what."""
    facts(
        page,
        [
            ("context", status.context),
            ("server", f"{status.server}, schema version {status.schema_version}, at {moment(status.now)}"),
            ("ready", "yes" if status.ready else f"no: {times(len(status.unowned), 'slot')} of {status.slots} unowned"),
            ("plan", "" if status.plan is None else f"{status.plan}, release {status.release}"),
            ("to move", moving(status.moves)),
            ("waiting", waiting(status.absent)),
            ("lag", times(status.lag, "event")),
            ("running", f"{times(status.running, 'call')}, {rates(status.rate, status.failed_rate)}"),
            ("paused", ", ".join(status.paused)),
            ("trouble", "; ".join(status.troubles)),
            ("parked", f"{status.parked:,}{by_state(status.open_rows)}"),
            ("size", sizes(status.sizes)),
        ],
    )
    if status.partitions:
        page.print()
        table(
            page,
            ("PARTITION", "RELEASE", "HOST", "PROCESS", "SLOTS", "LEASE", "STATE", "RUNNING", "RATE", "SEEN"),
            [
                (
                    partition.partition,
                    "" if partition.live is None else partition.live.release,
                    partition.host,
                    str(partition.pid),
                    str(partition.slots),
                    _lease(partition),
                    *live_cells(partition.live),
                )
                for partition in status.partitions
            ],
        )


def show_partitions(found: Partitions, page: Console) -> None:
    """Write how each partition is."""
    if found.unowned:
        page.print(f"{times(len(found.unowned), 'slot')} of {found.slots} have no owner that lives")
    if found.moves:
        page.print(harmless(f"to move: {moving(found.moves)}"))
    for trouble in found.troubles:
        page.print(harmless(f"trouble: {trouble}"))
    if not found.partitions:
        page.print("no partition runs; `wow-ray dev` or `run` starts the app")
        return
    table(
        page,
        ("PARTITION", "SLOTS", "STATE", "RUNNING", "RATE", "SEEN", "UP", "COMMITTED", "LOOP LAG", "GROUPS"),
        [(each.partition, str(each.slots), *live_cells(each.live), *_inside(each.live)) for each in found.partitions],
    )


def _lease(partition: PartitionView) -> str:
    """Write how long the lease holds."""
    if not partition.alive:
        return "ended"
    return f"{length(partition.lease_left)} left" if math.isfinite(partition.lease_left) else "without end"


def live_cells(live: LivePartition | None) -> tuple[str, str, str, str]:
    """Write the state and why, calls under way, rates, and how long ago that was said."""
    if live is None:
        return "", "", "", "never"
    state = f"{live.state}: {live.why}" if live.why else live.state
    return state, str(live.running), rates(live.rate, live.failed_rate), seen(live.age)


def _inside(live: LivePartition | None) -> tuple[str, ...]:
    """Write what is of interest when something is odd."""
    if live is None:
        return "", "", "", ""
    waits = f", {length(live.uncommitted)} waiting" if live.uncommitted >= 1 else ""
    odd = [f"{name} {state}" for name, state in live.groups.items()]
    odd += [f"{live.replaced} calls that do not end"] if live.replaced else []
    return length(live.up), f"{seen(live.committed)}{waits}", length(live.loop_lag), ", ".join(odd)


def seen(age: float) -> str:
    """Write how long ago something was; what happens every other second is now."""
    return "now" if age < NOW else f"{length(age)} ago"


def rates(handled: float, failed: float) -> str:
    """Write how many events and failures a second there are."""
    return f"{handled:,.1f}/s" + (f", {failed:,.1f} failures/s" if failed else "")


def sizes(found: Sequence[SizeView]) -> str:
    """Write what takes most room."""
    most = [f"{each.name} {room(each.bytes)}" for each in found[:LARGEST] if each.bytes]
    return f"{room(sum(each.bytes for each in found))}: {', '.join(most)}" if most else ""


def room(size: int) -> str:
    """Write a number of bytes."""
    units = ("B", "kB", "MB", "GB", "TB")
    place = min(len(units) - 1, max(0, (size.bit_length() - 1) // 10))
    return f"{size / 1024**place:,.1f} {units[place]}" if place else f"{size} B"


def by_state(rows: Mapping[str, int]) -> str:
    """Write how many ledger rows there are of each state, nothing when there are none."""
    return f" ({', '.join(f'{count:,} {state}' for state, count in rows.items())})" if rows else ""


@dataclass(frozen=True, slots=True)
class Partitions(View):
    """The part of the status that is about partitions."""

    plan: int | None
    release: str | None
    slots: int
    unowned: tuple[int, ...]
    moves: tuple[MoveView, ...]
    running: int
    rate: float
    failed_rate: float
    troubles: tuple[str, ...]
    partitions: tuple[PartitionView, ...]


@asks(show_status)
async def status(operations: Operations) -> StatusView:
    """Show who owns the slots, what is left to do, what is parked, and what takes how much room."""
    return await operations.overview()


@partitions.command("list")
@asks(show_partitions)
async def list_(operations: Operations) -> Partitions:
    """List the partitions: how each of them is, and since when that is known."""
    found = await operations.status()
    return Partitions(**{each.name: getattr(found, each.name) for each in fields(Partitions)})
