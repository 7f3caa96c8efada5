"""What the demo shows while it works: a live table in a terminal, a line each second elsewhere."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from examples.shop.demo.proof import Finding
from wow_ray.ops import ParkedView


@dataclass
class Standing:
    """How far everything is: `wanted` and `handled` are events by subscription, `parked` aggregates now."""

    wanted: Mapping[str, int] = field(default_factory=dict)
    handled: Mapping[str, int] = field(default_factory=dict)
    calls: Mapping[str, int] = field(default_factory=dict)
    failed: Mapping[str, int] = field(default_factory=dict)
    parked: Mapping[str, int] = field(default_factory=dict)
    appended: int = 0
    seconds: float = 0.0


class Screen:
    """Shows how it goes on."""

    def __init__(self, console: Console) -> None:
        """Take the console."""
        self.console = console
        self._live: Live | None = None
        self._said = 0.0

    def say(self, text: str) -> None:
        """Tell one step of the story."""
        self.console.print(Text(text, style="bold"))

    def alarm(self, text: str) -> None:
        """Tell what happens meanwhile."""
        self.console.print(Text(text, style="bold yellow"))

    def line(self, text: str) -> None:
        """Print a line as it is."""
        self.console.print(Text(text), soft_wrap=True)

    @contextmanager
    def following(self) -> Iterator[None]:
        """Show the standings given to `show` until the block ends."""
        if not self.console.is_terminal:
            yield
            return
        with Live(console=self.console, refresh_per_second=8, transient=True, redirect_stdout=False) as self._live:
            yield
        self._live = None

    def show(self, standing: Standing) -> None:
        """Show a standing: at once in a terminal, else at most each second."""
        if self._live is not None:
            self._live.update(_picture(standing))
        elif standing.seconds - self._said >= 1.0 or standing.seconds < self._said:
            self._said = standing.seconds
            done, wanted = sum(standing.handled.values()), sum(standing.wanted.values())
            failed, parked = sum(standing.failed.values()), sum(standing.parked.values())
            self.console.print(
                f"  {standing.seconds:5.1f} s  {standing.appended:>5} events appended, {done:>6} of {wanted} handled, "
                f"{failed:>4} calls failed, {parked:>3} aggregates parked"
            )

    def parked(self, rows: Sequence[ParkedView], most: int = 8) -> None:
        """List parked aggregates, as `wow-ray parked list` does."""
        table = Table(box=None, pad_edge=False, show_header=False)
        for row in rows[:most]:
            error = "" if row.error is None else row.error.message
            place = f"{row.aggregate}/{row.aggregate_id} at {row.stopped_at}"
            table.add_row(" ", row.subscription, place, row.reason, Text(error))
        self.console.print(table)
        if len(rows) > most:
            self.console.print(f"  and {len(rows) - most} more")

    def findings(self, findings: Sequence[Finding]) -> None:
        """Show what the checker found."""
        table = Table(title="The checker", title_justify="left", box=None, pad_edge=False)
        for name in ("", "claim", "seen"):
            table.add_column(name)
        for finding in findings:
            mark = Text("holds", style="green") if finding.holds else Text("BROKEN", style="bold red")
            table.add_row(mark, finding.claim, finding.numbers)
        self.console.print(table)

    def summary(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str | int]]) -> None:
        """Show what happened, in one table whose last row is the sum."""
        table = Table(title=title, title_justify="left")
        for place, name in enumerate(columns):
            table.add_column(name, justify="left" if place == 0 else "right")
        for row in rows[:-1]:
            table.add_row(*map(_figure, row))
        table.add_section()
        table.add_row(*map(_figure, rows[-1]), style="bold")
        self.console.print(table)


def _figure(value: str | int) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _picture(standing: Standing) -> RenderableType:
    table = Table(box=None, pad_edge=False)
    for name in ("handler", "", "handled", "calls", "failed", "parked"):
        table.add_column(name, justify="left" if name in {"handler", ""} else "right")
    for subscription, wanted in standing.wanted.items():
        handled = standing.handled.get(subscription, 0)
        parked = standing.parked.get(subscription, 0)
        table.add_row(
            subscription,
            ProgressBar(total=max(wanted, 1), completed=handled, width=30),
            f"{handled:,}",
            f"{standing.calls.get(subscription, 0):,}",
            f"{standing.failed.get(subscription, 0):,}",
            Text(f"{parked:,}", style="bold red" if parked else ""),
        )
    return Group(Text(f"{standing.seconds:5.1f} s   {standing.appended:,} events appended"), table)
