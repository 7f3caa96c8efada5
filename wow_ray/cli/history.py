"""`wow-ray history`: how all groups, or one, stood over the last hours."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console

from wow_ray.cli.asking import asks
from wow_ray.cli.shown import length, moment, table
from wow_ray.ops import Operations
from wow_ray.ops.history import HistoryView, PointView, Range


class Back(StrEnum):
    """How far to look back."""

    HOUR = "1h"
    SHIFT = "6h"
    DAY = "24h"
    DAYS = "48h"


_RANGES: Mapping[Back, Range] = {Back.HOUR: "1h", Back.SHIFT: "6h", Back.DAY: "24h", Back.DAYS: "48h"}


def show_history(view: HistoryView, page: Console) -> None:
    """Write one line for each step, and where there is none."""
    headings = ("FROM", "LAG", "UNDER WAY", "PARKED", "FOR A PERSON", "HANDLED/S", "FAILED/MIN")
    table(page, headings, [_cells(point) for point in view.points])
    for since, until in view.gaps:
        page.print(f"nobody took samples from {moment(since)} for {length((until - since).total_seconds())}")


@asks(show_history)
async def history(
    operations: Operations,
    name: Annotated[str | None, typer.Argument(help="A group, or a subscription in it. Default: all together.")] = None,
    back: Annotated[Back, typer.Option("--range", help="How far to look back.")] = Back.HOUR,
) -> HistoryView:
    """Show lag, parked aggregates, throughput and failures over the last hours, from the samples that are kept."""
    return await operations.history(_RANGES[back], name)


def _cells(point: PointView) -> tuple[str, ...]:
    stood = (point.lag, point.unfinished, point.parked, point.exhausted)
    rate = "" if point.rate is None else f"{point.rate:.1f}"
    failed = ", ".join(f"{name} {count * 60:.1f}" for name, count in (point.failures or {}).items())
    return (moment(point.at), *(f"{number:,}" for number in stood), rate, failed)
