"""What is written where: results on standard output, everything else on standard error; foreign texts made harmless."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from wow_ray.durations import show

WIDE = 400
"""Columns of a page that nobody looks at: in a file or a pipe nothing is folded."""
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def harmless(text: str, *, lines: bool = False) -> str:
    r"""Show what a terminal would obey (escapes, marks of direction …) as `\x1b`; with `lines` keep `\n`."""
    kept = "\n\t" if lines else ""
    if text.isprintable():
        return text
    return "".join(
        character
        if character in kept or unicodedata.category(character) not in _UNSAFE
        else character.encode("unicode_escape", "backslashreplace").decode("ascii")
        for character in text
    )


def console(*, error: bool = False) -> Console:
    """Make the page to write on; Rich's markup is off, since most texts are somebody else's."""
    page = Console(stderr=error, markup=False, highlight=False, emoji=False, soft_wrap=False)
    if not page.is_terminal:
        page.width = WIDE
    return page


def say(text: str) -> None:
    """Write a line of progress of a program in the foreground."""
    # The stream is looked up for each line: a live display takes its place.
    sys.stdout.write(harmless(f"wow-ray: {text}") + "\n")
    sys.stdout.flush()


def document(value: Any) -> None:  # noqa: ANN401 - whatever JSON knows
    """Write the one JSON document of a command."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")
    sys.stdout.flush()


async def written(lines: AsyncIterator[str]) -> None:
    """Write what comes, as it comes; nobody reading on is an end like any other."""
    try:
        async for text in lines:
            sys.stdout.write(text)
            sys.stdout.flush()
    except BrokenPipeError:
        # Else the interpreter complains when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def table(page: Console, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write rows under headings; folded on a terminal, one line each elsewhere."""
    drawn = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for heading in headings:
        drawn.add_column(heading, overflow="fold", no_wrap=not page.is_terminal)
    for row in rows:
        drawn.add_row(*(Text(harmless(cell)) for cell in row))
    page.print(drawn)


def facts(page: Console, pairs: Iterable[tuple[str, str]]) -> None:
    """Write names and values, those without a value left out."""
    drawn = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    drawn.add_column(style="bold")
    drawn.add_column(overflow="fold")
    for name, value in pairs:
        if value:
            drawn.add_row(name, Text(harmless(value)))
    page.print(drawn)


def moment(at: datetime | None) -> str:
    """Write a time in UTC, to the second; empty for none."""
    return "" if at is None else at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def length(seconds: float) -> str:
    """Write a length of time as people read it, to the second from a second up."""
    return show(float(round(seconds)) if seconds >= 1 else seconds)


def times(count: int, noun: str) -> str:
    """Write `1 event`, `2 events`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
