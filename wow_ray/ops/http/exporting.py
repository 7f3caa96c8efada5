"""Lists answered as CSV, where somebody asks for that; what the API and the console have in common of it.

The first page is read before the answer begins, so that what is wrong is told as ever. When the store goes away later,
the answer ends without its end: a client sees that it is not whole.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Literal

from fastapi import Request
from fastapi.responses import StreamingResponse

from wow_ray.ops.http.door import within

MEDIA = "text/csv"
Format = Literal["json", "csv"]

ANSWERS: Mapping[int | str, dict[str, Any]] = {
    200: {"content": {MEDIA: {"schema": {"type": "string"}}}, "description": "as JSON, or as CSV where asked for"}
}
"""What OpenAPI says of a list that is given as either."""


def wants_csv(request: Request, asked: Format | None) -> bool:
    """Whether CSV is asked for: by `format`, else by an `Accept` that names it and no JSON."""
    if asked is not None:
        return asked == "csv"
    accepted = [each.partition(";") for each in request.headers.get("Accept", "").lower().split(",")]
    kinds = {kind.strip() for kind, _, weight in accepted if weight.replace(" ", "") not in {"q=0", "q=0.0"}}
    return MEDIA in kinds and "application/json" not in kinds


async def sheet(lines: AsyncIterator[str], name: str) -> StreamingResponse:
    """Answer with CSV, to be kept as a file of this name; raises what reading the first page does."""
    first = await within(anext(lines))
    headers = {
        "Cache-Control": "no-store",
        "Content-Disposition": f'attachment; filename="{name}.csv"',
        "Vary": "Accept",
    }
    return StreamingResponse(_all(first, lines), 200, headers, f"{MEDIA}; charset=utf-8; header=present")


async def _all(first: str, lines: AsyncIterator[str]) -> AsyncIterator[str]:
    """Give page after page; the store has its time for each."""
    while first:
        yield first
        first = await within(anext(lines, ""))
