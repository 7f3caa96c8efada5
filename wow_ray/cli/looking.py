"""`wow-ray status`."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console

from wow_ray.cli.asking import asks
from wow_ray.cli.shown import facts, length, moment, table, times
from wow_ray.ops import Operations, StatusView


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
            ("paused", ", ".join(status.paused)),
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


def by_state(rows: Mapping[str, int]) -> str:
    """Write how many ledger rows there are of each state, nothing when there are none."""
    return f" ({', '.join(f'{count:,} {state}' for state, count in rows.items())})" if rows else ""


@asks(show_status)
async def status(operations: Operations) -> StatusView:
    """Show who owns the slots, what is left to do, and what is parked."""
    return await operations.status()
