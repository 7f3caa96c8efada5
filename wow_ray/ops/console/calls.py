"""The pages and forms of durable calls and functions: lists, one of each, commands on one."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import BaseModel, ConfigDict, Field, field_validator

from wow_ray.errors import ConflictError
from wow_ray.ops.calling import OPEN_CALLS, CallQuery
from wow_ray.ops.console.acting import back, identified, pause_of
from wow_ray.ops.console.asked import ROWS, Sent
from wow_ray.ops.console.pages import Text, around
from wow_ray.ops.console.rendering import page
from wow_ray.ops.http.door import Ops, within
from wow_ray.ops.http.looking import may_read
from wow_ray.policy.durable_asked import CallVerb
from wow_ray.policy.durable_call import PENDING, CallState
from wow_ray.ports.ledger import ActionFilter

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


class Filters(BaseModel):
    """Which calls a page shows: the address is the state. An empty field of a form asks for any."""

    model_config = ConfigDict(extra="forbid")

    function: str | None = None
    state: list[CallState] = Field(default_factory=list)
    key: str | None = None
    fingerprint: str | None = None
    after: str | None = None

    @field_validator("*", mode="before")
    @classmethod
    def _empty_is_any(cls, value: Any) -> Any:  # noqa: ANN401 - whatever a form sends
        if isinstance(value, str) and not value.strip():
            return None
        return [each for each in value if each] if isinstance(value, list) else value

    def query(self) -> CallQuery:
        """Give it in the words of `Operations`."""
        states = frozenset(self.state) or OPEN_CALLS
        return CallQuery(states, self.function, self.fingerprint, self.key, self.after, ROWS)

    def given(self) -> dict[str, Any]:
        """Give what differs from nothing asked, as it stands in an address, without the place in the list."""
        return self.model_dump(mode="json", exclude_defaults=True, exclude_none=True, exclude={"after"})


@router.get("/calls")
async def calls(request: Request, filters: Annotated[Filters, Query()], operations: Ops) -> HTMLResponse:
    """List calls, and count them by function."""
    shared = await around(request, operations, "Durable calls")
    found = await within(operations.calls.listed(filters.query()))
    functions = (await within(operations.functions.listed())).functions
    given = filters.given()
    more = {"filters": filters, "given": given, "found": found, "functions": functions, "states": list(CallState)}
    return page("calls.html", {**shared, **more}, request=request)


@router.get("/calls/{call_id}")
async def call(request: Request, call_id: str, operations: Ops, said: Text = None) -> HTMLResponse:
    """Show everything about one call, and with `said` what became of that request; arguments to operators only."""
    shared = await around(request, operations, "Durable call")
    detail = await within(operations.calls.shown(call_id))
    mine = ActionFilter(detail.call.function, "call", call_id, limit=20)
    state = CallState(detail.call.state)
    more = {
        "detail": detail,
        "call": detail.call,
        "may_read": may_read(request),
        "pending": state in PENDING,
        "exhausted": state is CallState.EXHAUSTED,
        "running": state is CallState.RUNNING,
        "actions": (await within(operations.actions(mine))).actions,
        "said": None if said is None else await within(operations.action(said)),
    }
    return page("call.html", {**shared, **more}, request=request)


@router.post("/calls/{call_id}/{verb}")
async def on_call(call_id: str, verb: CallVerb, form: Sent, operations: Ops) -> RedirectResponse:
    """Command one call, as it was seen."""
    command = identified(form.command(), operations)
    try:
        await within(operations.calls.ask(verb, call_id, command))
    except ConflictError:
        # Refused, it stands in the audit with the reason; else the page could not tell it.
        if command.request_id is None or await operations.action(command.request_id) is None:
            raise
    return back(f"/calls/{quote(call_id, safe='')}", command)


@router.get("/functions/{name}")
async def function(request: Request, name: str, operations: Ops, said: Text = None) -> HTMLResponse:
    """Show one function: its calls by state, its pauses present and past."""
    shared = await around(request, operations, name)
    history = (await within(operations.functions.history(name, 50))).pauses
    listed = (await within(operations.functions.listed())).functions
    more = {
        "function": next((each for each in listed if each.function == name), None),
        "name": name,
        "history": history,
        "said": None if said is None else await within(operations.action(said)),
    }
    return page("function.html", {**shared, **more}, request=request)


@router.post("/functions/{name}/pause")
async def pause(name: str, form: Sent, operations: Ops) -> RedirectResponse:
    """Have a function stand still."""
    command = identified(form.command(etag=False), operations)
    await within(operations.functions.pause(name, command, pause_of(form)))
    return back(f"/functions/{quote(name, safe='')}", command)


@router.post("/functions/{name}/resume")
async def resume(name: str, form: Sent, operations: Ops) -> RedirectResponse:
    """End one of its pauses."""
    command = identified(form.command(etag=False), operations)
    await within(operations.functions.resume(name, command, pause_of(form)))
    return back(f"/functions/{quote(name, safe='')}", command)
