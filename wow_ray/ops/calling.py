"""What an operator may do about durable calls: look, retry, cancel, discard; with reason and audit (F7, P10)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from wow_ray.errors import ConflictError, NotFoundError, OperationError
from wow_ray.names import nearest
from wow_ray.ops.call_views import CallAnswer, CallDetail, CallPage, CallView, Shown
from wow_ray.ops.commands import Command, check_command
from wow_ray.ops.masking import Masked
from wow_ray.policy.durable_asked import CallAsked, CallVerb
from wow_ray.policy.durable_call import CallRow, CallState
from wow_ray.policy.masking import MASK
from wow_ray.ports.durable_calls import VERBS, CallFilter, DurableCalls

OPEN_CALLS = frozenset({CallState.WAITING, CallState.RUNNING, CallState.EXHAUSTED})
"""What is listed unless somebody asks for more: what is not over."""
MOST_LISTED = 1_000


@dataclass(frozen=True, slots=True)
class CallQuery:
    """Which calls are wanted; `None` = any, no state = no call (P12). `after` is the `next` of the page before."""

    states: frozenset[CallState] = OPEN_CALLS
    function: str | None = None
    fingerprint: str | None = None
    key: str | None = None
    after: str | None = None
    limit: int = 100


class CallOperations:
    """Looks at one context's durable calls, and asks things of them."""

    def __init__(self, calls: DurableCalls, new_id: Callable[[], str], masked: Masked) -> None:
        """Work on one store; `new_id` gives ids of requests, payloads are shown as `masked` gives them."""
        self._calls = calls
        self._masked = masked
        self._new_id = new_id

    async def listed(self, query: CallQuery) -> CallPage:
        """List calls by id; raises `NotFoundError` for a function of which nothing is stored that is not over."""
        page, following = await self.some(query)
        counts = await self.counts()
        if not page and query.function is not None and query.after is None and query.function not in counts:
            hint = nearest(query.function, counts)
            if hint:
                raise NotFoundError(f"no calls of {query.function!r} are stored{hint}")
        return CallPage(page, counts, following)

    async def some(self, query: CallQuery) -> tuple[tuple[CallView, ...], str | None]:
        """List calls by id, and say where the next page begins, `None` = there is none; raises `OperationError`."""
        if not 1 <= query.limit <= MOST_LISTED:
            raise OperationError(f"limit is {query.limit}; from 1 to {MOST_LISTED:,}")
        wanted = CallFilter(query.states, query.function, query.fingerprint, query.key, query.after, query.limit + 1)
        rows = await self._calls.rows(wanted)
        page = tuple(map(CallView.of, rows[: query.limit]))
        return page, page[-1].id if len(rows) > query.limit else None

    async def counts(self) -> Mapping[str, Mapping[str, int]]:
        """Count the calls that are not over, by function and state."""
        counts: dict[str, dict[str, int]] = {}
        for (function, state), count in sorted((await self._calls.counts()).items()):
            counts.setdefault(function, {})[state.value] = count
        return counts

    async def shown(self, call_id: str) -> CallDetail:
        """Show one call with everything known about it; raises `NotFoundError`."""
        row = await self._row(call_id)
        headers = [(f"{row.function}:headers", json.dumps({key: value})) for key, value in row.headers.items()]
        texts = [(row.function, _arguments(row.payload)), (f"{row.function}:result", row.result or "null"), *headers]
        payload, result, *each = await self._masked.of(texts)
        return CallDetail.of(row, Shown(payload, None if row.result is None else result, _pairs(each)))

    async def view(self, call_id: str) -> CallView:
        """Show one call as in a list; raises `NotFoundError`."""
        return CallView.of(await self._row(call_id))

    async def _row(self, call_id: str) -> CallRow:
        row = await self._calls.get(call_id)
        if row is None:
            raise NotFoundError(f"there is no call {call_id!r}; see `wow-ray calls list`")
        return row

    async def ask(self, verb: CallVerb, call_id: str, command: Command) -> CallAnswer:
        """Ask something of a call, and say what became of it.

        Retry makes a waiting call due and gives an exhausted one a fresh budget; cancel ends one that is pending;
        discard ends one that is exhausted. Raises `NotFoundError`, `ConflictError` with what is the case instead.
        """
        check_command(command)
        request_id = command.request_id or self._new_id()
        asked = CallAsked(request_id, verb, call_id, command.etag, command.actor.strip(), command.reason.strip())
        action = await self._calls.ask(asked)
        if (action.request.verb, action.request.row_id) != (VERBS[verb], call_id):
            raise ConflictError(f"request_id: request id {request_id!r} was used for another command; take a new one")
        if action.state == "refused":
            error = NotFoundError if action.code == "not_found" else ConflictError
            raise error(f"{action.code}: {action.text}")
        return CallAnswer.of(action, await self._calls.get(call_id))


def _arguments(payload: str) -> str:
    """Give the arguments alone, as JSON; a payload of another form as it is."""
    try:
        found = json.loads(payload)
    except (ValueError, RecursionError):
        return payload
    return json.dumps(found["a"]) if isinstance(found, dict) and found.keys() == {"v", "a"} else payload


def _pairs(headers: Sequence[str]) -> dict[str, str]:
    """Give masked headers as pairs again; one of which nothing may be shown stands there as such."""
    found: dict[str, str] = {}
    for text in headers:
        pair = json.loads(text) if text.endswith("}") else None
        found |= {key: str(value) for key, value in pair.items()} if isinstance(pair, dict) else {MASK: MASK}
    return found
