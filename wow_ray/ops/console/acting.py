"""What the forms of the console ask for; each answers by leading back to a page that tells what became of it.

That page finds the command in the audit by its request id. So it may be opened again at will, a form that is sent twice
asks once, and a command that nobody could apply at once is followed until somebody has.
"""

from __future__ import annotations

from typing import Literal
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse
from starlette.exceptions import HTTPException

from wow_ray.errors import ConflictError
from wow_ray.ops.commands import Command
from wow_ray.ops.console.asked import Form, Sent
from wow_ray.ops.http.door import Ops, within
from wow_ray.ops.operations import Operations
from wow_ray.policy.pauses import PauseReason

router = APIRouter(include_in_schema=False)

Asked = Literal["resume", "retry-now", "skip", "skip-one", "park"]


@router.post("/parked/{row_id}/{verb}")
async def on_row(row_id: str, verb: Asked, form: Sent, operations: Ops) -> RedirectResponse:
    """Command one row, as it was seen."""
    command = identified(form.command(), operations)
    try:
        await _command(operations, row_id, verb, command, form)
    except ConflictError:
        # Refused by its owner, it stands in the audit with the reason; else the page could not tell it.
        if command.request_id is None or await operations.action(command.request_id) is None:
            raise
    return back(f"/parked/{quote(row_id, safe='')}", command)


@router.post("/subscriptions/{name}/{verb}")
async def on_subscription(
    name: str, verb: Literal["pause", "resume", "reset"], form: Sent, operations: Ops, request: Request
) -> RedirectResponse:
    """Have the group of a subscription stand still or go on; an admin has a projection begin anew."""
    del request
    command = identified(form.command(etag=False), operations)
    partition = form.fields.get("partition", "").strip() or None
    reason = pause_of(form)
    if verb == "pause":
        await within(operations.pause_subscription(name, command, partition=partition, pause=reason))
    elif verb == "resume":
        await within(operations.resume_subscription(name, command, partition=partition, pause=reason))
    else:
        try:
            await operations.reset((await operations.subscription(name)).group, command)
        except ConflictError:
            if command.request_id is None or await operations.action(command.request_id) is None:
                raise
    return back(f"/subscriptions/{quote(name, safe='')}", command)


async def _command(operations: Operations, row_id: str, verb: Asked, command: Command, form: Form) -> None:
    """Ask for it; raises what `Operations` raises."""
    match verb:
        case "resume":
            await operations.resume(row_id, command)
        case "retry-now":
            await operations.retry_now(row_id, command)
        case "skip-one":
            await operations.skip(row_id, command, only=True)
        case "skip":
            through = form.number("through_version")
            if through is None:
                raise HTTPException(422, "the form does not say through which version to skip; open the page again")
            await operations.skip(row_id, command, through_version=through)
        case "park":
            row = (await operations.parked_row(row_id)).row
            await operations.park(row.group, row.aggregate, row.aggregate_id, command)


def identified(command: Command, operations: Operations) -> Command:
    """Give the command a request id, by which the next page finds it."""
    if command.request_id is not None:
        return command
    return Command(command.actor, command.reason, operations.new_id(), command.etag)


def pause_of(form: Form) -> PauseReason:
    """Read which pause is meant."""
    given = form.fields.get("pause") or PauseReason.OPERATOR
    if given not in set(PauseReason):
        raise HTTPException(422, "there is no such pause")
    return PauseReason(given)


def back(path: str, command: Command) -> RedirectResponse:
    """Lead back to the page, which tells what became of it."""
    return RedirectResponse(f"{path}?said={quote(command.request_id or '', safe='')}#said", 303)
