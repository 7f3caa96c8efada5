"""How a program that runs in the foreground is doing: read off the service, drawn, and shown for as long as it runs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from rich.live import Live
from rich.table import Table
from rich.text import Text

from wow_ray.cli.shown import console, harmless, say
from wow_ray.cluster import SystemClock
from wow_ray.errors import StoreUnavailableError
from wow_ray.ops import GroupView, Operations
from wow_ray.ops.views import View
from wow_ray.runtime.group import Group
from wow_ray.runtime.service import Service

PULSE = 1.0
"""Seconds between two looks at how it goes."""


@dataclass(frozen=True, slots=True)
class GroupVitals(View):
    """One group: calls that ended well here, and what the store says; `paused` says why, or is empty."""

    group: str
    handled: int
    lag: int
    parked: int
    paused: str


@dataclass(frozen=True, slots=True)
class Vitals(View):
    """The whole service; `troubles` are about our own store."""

    handled: int
    lag: int
    parked: int
    groups: tuple[GroupVitals, ...]
    troubles: tuple[str, ...]

    def line(self) -> str:
        """Write it in one line."""
        parts = [f"handled {self.handled:,}", f"lag {self.lag:,}", f"parked {self.parked:,}"]
        parts += [f"paused {group.group} ({group.paused})" for group in self.groups if group.paused]
        return harmless(", ".join([*parts, *self.troubles]))

    def drawn(self) -> Table:
        """Draw it as a table, one line a group."""
        table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
        for heading in ("GROUP", "HANDLED", "LAG", "PARKED", ""):
            table.add_column(heading, justify="left" if heading in ("GROUP", "") else "right")
        for group in self.groups:
            paused = Text(harmless(f"paused: {group.paused}"), style="red") if group.paused else Text("")
            parked = Text(f"{group.parked:,}", style="yellow" if group.parked else "")
            table.add_row(Text(group.group), f"{group.handled:,}", f"{group.lag:,}", parked, paused)
        for trouble in self.troubles:
            table.add_row(Text(harmless(trouble), style="red"))
        return table


class Taking(Protocol):
    """Whatever can tell how a program is doing."""

    async def take(self) -> Vitals:
        """Look now."""
        ...


async def follow(pulse: Taking, *, as_json: bool) -> None:
    """Show how it goes until cancelled: a table that stays in place on a terminal, elsewhere a line for each change.

    `as_json` keeps the terminal for the one document. Raises what looking raises.
    """
    clock, page, last = SystemClock(), console(), ""
    live = Live(console=page, auto_refresh=False) if page.is_terminal and not as_json else None
    with live or contextlib.nullcontext():
        while True:
            vitals = await pulse.take()
            if live is not None:
                live.update(vitals.drawn(), refresh=True)
            elif vitals.line() != last:
                last = vitals.line()
                say(last)
            await clock.sleep(PULSE)


class Pulse:
    """Takes the vitals of a running service; keeps what the store said last while it is away."""

    def __init__(self, service: Service, operations: Operations) -> None:
        """Watch this service."""
        self._service = service
        self._operations = operations
        self._stored: dict[str, GroupView] = {}

    async def take(self) -> Vitals:
        """Look now."""
        away = ""
        try:
            self._stored = {group.group: group for group in await self._operations.subscriptions()}
        except StoreUnavailableError as error:
            away = error.message
        troubles = {
            partition.commits.last_error for partition in self._service.partitions if partition.commits.down_since
        }
        groups = tuple(self._group(spec.name) for spec in self._service.spec.groups)
        return Vitals(
            handled=sum(group.handled for group in groups),
            lag=sum(group.lag for group in groups),
            parked=sum(group.parked for group in groups),
            groups=groups,
            troubles=tuple(sorted(text for text in troubles | {away} if text)),
        )

    def _group(self, name: str) -> GroupVitals:
        """Sum a group up over the partitions."""
        parts = [partition.by_name[name] for partition in self._service.partitions if name in partition.by_name]
        stored = self._stored.get(name)
        return GroupVitals(
            group=name,
            handled=sum(part.handled for part in parts),
            lag=0 if stored is None else stored.lag + stored.unfinished,
            parked=0 if stored is None else stored.parked,
            paused=next(_reasons(parts), ""),
        )


def _reasons(parts: list[Group]) -> Iterator[str]:
    """Give why the partitions of a group that are paused are."""
    for part in parts:
        if part.pause is not None:
            yield part.pause.error
