"""The pages and forms for many rows at once, parked aggregates and durable calls alike."""

# Annotations are read by FastAPI when a route is made; those of a factory are of its own names, so they are no texts.

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException

from wow_ray.ops.bulk import Batches
from wow_ray.ops.commands import Command
from wow_ray.ops.console import asked, calls
from wow_ray.ops.console.asked import Form, Sent
from wow_ray.ops.console.pages import around
from wow_ray.ops.console.rendering import page
from wow_ray.ops.http.bulk import call_batches, parked_batches
from wow_ray.ops.http.door import Ops
from wow_ray.policy.parked import Verb

SHOWN = 100
"""Rows of a batch that its page lists."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What is said of one kind of rows: its addresses without the first `/`, `verbs` by what a form sends."""

    base: str
    back: str
    title: str
    noun: str
    verbs: dict[str, tuple[Verb, str]]
    good: dict[Verb, str]
    failed: str
    since: str
    again: str


PARKED = Kind(
    base="bulk",
    back="parked",
    title="Parked",
    noun="aggregate",
    verbs={"resume": (Verb.RESUME, "Resume"), "skip_one": (Verb.SKIP_ONE, "Skip the stopped event of")},
    good={},
    failed="Stopped again",
    since="parked",
    again="stop again",
)
CALLS = Kind(
    base="calls/bulk",
    back="calls",
    title="Durable calls",
    noun="call",
    verbs={"retry": (Verb.RETRY_CALL, "Retry"), "discard": (Verb.DISCARD_CALL, "Discard")},
    good={Verb.RETRY_CALL: "Succeeded", Verb.DISCARD_CALL: "Discarded"},
    failed="Exhausted again",
    since="stored",
    again="are exhausted again",
)


def pages(kind: Kind, of: Callable[[Request], Any], filters: type[BaseModel]) -> APIRouter:
    """Make the pages of one kind of rows, for the batches that `of` gives; `filters` read the address of their list."""
    router = APIRouter(include_in_schema=False)
    many = Annotated[Batches[Any, Any], Depends(of)]
    says = {verb.value: said for verb, said in kind.verbs.values()}

    @router.get(f"/{kind.base}")
    async def listed(request: Request, batches: many, operations: Ops) -> HTMLResponse:
        """List batches, the newest first."""
        shared = await around(request, operations, "Several at once")
        found = (await batches.listed()).batches
        return page("bulks.html", {**shared, "kind": kind, "says": says, "batches": found}, request=request)

    @router.post(f"/{kind.base}")
    async def preview(form: Sent, batches: many) -> RedirectResponse:
        """Freeze what the list's address finds now."""
        verb = kind.verbs.get(form.fields.get("verb", ""))
        if verb is None:
            raise HTTPException(422, "the form does not say what to do with them")
        query: Any = _read(filters, form.fields.get("query", ""))
        batch = await batches.preview(query.query(), verb[0].value)
        return RedirectResponse(f"/{kind.base}/{batch.id}", 303)

    @router.get(f"/{kind.base}/{{batch_id}}")
    async def batch(request: Request, batch_id: str, batches: many, operations: Ops) -> HTMLResponse:
        """Show what a batch would do, or how far it has come."""
        found = await batches.batch(batch_id)
        shared = await around(request, operations, "Several at once")
        more = {"kind": kind, "batch": found, "what": says.get(found.verb, found.verb), "shown": found.rows[:SHOWN]}
        more["good"] = next((said for verb, said in kind.good.items() if verb.value == found.verb), "Recovered")
        return page("bulk.html", {**shared, **more}, request=request)

    @router.post(f"/{kind.base}/{{batch_id}}/start")
    async def start(batch_id: str, form: Sent, batches: many) -> RedirectResponse:
        """Begin."""
        await batches.start(batch_id, _command(form), _rate(form))
        return RedirectResponse(f"/{kind.base}/{batch_id}", 303)

    @router.post(f"/{kind.base}/{{batch_id}}/resume")
    async def resume(batch_id: str, form: Sent, batches: many) -> RedirectResponse:
        """Go on with the rows that were not asked for."""
        await batches.resume(batch_id, _command(form), _rate(form))
        return RedirectResponse(f"/{kind.base}/{batch_id}", 303)

    @router.post(f"/{kind.base}/{{batch_id}}/stop")
    async def stop(batch_id: str, form: Sent, batches: many) -> RedirectResponse:
        """Ask for nothing more."""
        await batches.stop(batch_id, form.visitor.name)
        return RedirectResponse(f"/{kind.base}/{batch_id}", 303)

    return router


def _command(form: Form) -> Command:
    """Give who asks, and why."""
    return Command(form.visitor.name, form.fields.get("reason", ""))


def _rate(form: Form) -> float | None:
    """Read how many rows a second there may be, `None` = as they come; refuses what is no number."""
    text = form.fields.get("rate", "").strip()
    try:
        return float(text) if text else None
    except ValueError as error:
        raise HTTPException(422, "rate is no number") from error


def _read(filters: type[BaseModel], query: str) -> BaseModel:
    """Read the address of a list; refuses a filter that there is not, which would select everything (P12)."""
    found = parse_qs(query, keep_blank_values=True, max_num_fields=50)
    given = {name: values if name == "state" else values[-1] for name, values in found.items()}
    try:
        return filters.model_validate(given)
    except ValidationError as error:
        raise HTTPException(422, "the list's filter is not one of this console; open the list again") from error


parked = pages(PARKED, parked_batches, asked.Filters)
of_calls = pages(CALLS, call_batches, calls.Filters)
