r"""Lists as CSV, for people who count and sort elsewhere: a page of rows at a time, whatever the list's length.

A spreadsheet takes a cell that begins like a formula for one, and the texts of errors are anybody's. So `'` goes before
`=`, `+`, `-`, `@` and a tab where a cell begins with them, or what some program may take for a cell: after a quote, a
separator (a sheet that is opened with `;` splits elsewhere) or the end of a line. Controls and marks of direction are
shown as `⟨U+202E⟩`. Numbers and times are written as they are. For programs there is JSON, which is exact.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from wow_ray.ops.call_views import CallView
from wow_ray.ops.calling import CallQuery
from wow_ray.ops.console.inert import inert
from wow_ray.ops.finding import READ_PAGE, ParkedQuery
from wow_ray.ops.operations import Operations
from wow_ray.ops.views import ParkedView

PAGE = READ_PAGE - 1  # one more is read, to know whether there are more
"""Rows in memory at a time: each may carry 16 KB of an error's message."""
_FORMULA = re.compile(r"""(^|["'`;,|\t\n])([^\S\t\n]*)(?=[=+\-@\t\uff1d\uff0b\uff0d\uff20])""")
_ERROR = ("category", "type", "message", "fingerprint")
_PARKED = (
    *("id", "group", "subscription", "aggregate", "aggregate_id", "slot", "state", "reason", "attempts", "retries"),
    *("next_due", "parked_at", "updated_at", "etag", "missing", "note"),
)
_CALLS = (
    *("id", "function", "state", "reason", "key", "priority", "attempts", "busy", "due", "worker", "fallback"),
    *("created_at", "updated_at", "etag", "note"),
)

V = TypeVar("V")
Page = tuple[Sequence[V], str | None]
"""Some rows, and where the next page begins; `None` = there is none."""


def parked(operations: Operations, query: ParkedQuery, most: int | None) -> AsyncIterator[str]:
    """Give the rows of a filter as CSV, `most` in all (`None` = however many), each as it is when its page is read.

    Raises what `Operations.parked` does, at the first page before anything is given.
    """

    async def read(after: str | None, limit: int) -> Page[ParkedView]:
        page = await operations.parked(replace(query, after=after, limit=limit))
        return page.rows, page.next

    def line(row: ParkedView) -> list[object]:
        return [*_fields(row, _PARKED), *map(int, row.stopped_at.split(":")), *_fields(row.error, _ERROR)]

    return _sheet([*_PARKED, "stopped_version", "stopped_sequence"], line, read, query.after, most)


def calls(operations: Operations, query: CallQuery, most: int | None) -> AsyncIterator[str]:
    """Give the durable calls of a filter as CSV, without arguments and results; else as `parked`."""

    async def read(after: str | None, limit: int) -> Page[CallView]:
        return await operations.calls.some(replace(query, after=after, limit=limit))

    def line(call: CallView) -> list[object]:
        return [*_fields(call, _CALLS), *_fields(call.error, _ERROR)]

    return _sheet(_CALLS, line, read, query.after, most)


async def _sheet(
    columns: Sequence[str],
    line: Callable[[V], list[object]],
    read: Callable[[str | None, int], Awaitable[Page[V]]],
    after: str | None,
    most: int | None,
) -> AsyncIterator[str]:
    """Give the heading with the first page, then page after page."""
    text, given = _lines([[*columns, *(f"error_{name}" for name in _ERROR)]]), 0
    while most is None or given < most:
        rows, after = await read(after, PAGE if most is None else min(PAGE, most - given))
        given += len(rows)
        yield text + _lines(map(line, rows))
        text = ""
        if after is None:
            return


def _fields(value: object, names: Sequence[str]) -> list[Any]:
    """Give some fields of a value, of none as many times nothing."""
    return [None if value is None else getattr(value, name) for name in names]


def _lines(rows: Iterable[Sequence[object]]) -> str:
    """Write rows as RFC 4180 has them."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows([[cell(each) for each in row] for row in rows])
    return text.getvalue()


def cell(value: object) -> str:
    """Write one cell, so that no program takes it for a formula."""
    match value:
        case None:
            return ""
        case bool() | int() | float():
            return str(value)
        case datetime():
            return value.astimezone(UTC).isoformat()
        case _:
            return _FORMULA.sub(r"\1\2'", inert(str(value)))
