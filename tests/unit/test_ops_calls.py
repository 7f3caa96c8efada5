"""Operators and durable calls: what is shown, and what is asked with reason and audit (F7, P10); over HTTP, too."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from tests.unit.operating import operations_of
from wow_ray import App, CallState, ConflictError, Durable, NotFoundError, OperationError
from wow_ray.ops import CallQuery, Command, Operations
from wow_ray.ops.access import Access, Role, TokenSource, made_token
from wow_ray.ops.http.application import api
from wow_ray.testing import Running, Scenario

app = App("shop")
errors: list[Exception] = []


async def tell_team(error: Exception, token: str) -> None:  # noqa: ARG001 - the form of a fallback
    """Fail as well."""
    raise LookupError("nobody is there")


@app.retryable(durable=Durable(max_retries=1, initial_delay="1s"), fallback=tell_team)
async def refund(token: str) -> int:
    """Fail as told."""
    if errors:
        raise errors.pop(0)
    return len(token)


@asynccontextmanager
async def world() -> AsyncIterator[tuple[Running, Operations]]:
    """Give the app in virtual time, and what operates it."""
    errors.clear()
    async with Scenario(app) as running:
        yield running, operations_of(running)


async def exhausted(running: Running) -> str:
    """Have a call exhausted; answers its id."""
    errors.extend([ValueError("password=hunter2"), ValueError("no")])
    call = await refund.submit("password=hunter3")
    await running.advance("1h")
    return call.id


async def test_an_exhausted_call_is_shown_with_both_errors_and_no_secret() -> None:
    """F7: the error of the calls and that of the fallback; secrets in errors and arguments are hidden."""
    async with world() as (running, operations):
        call_id = await exhausted(running)
        page = await operations.calls.listed(CallQuery())
        assert [(call.id, call.state, call.reason, call.attempts) for call in page.calls] == [
            (call_id, "exhausted", "budget_spent", 2)
        ]
        assert page.counts == {"refund": {"exhausted": 1}}
        found = await operations.calls.shown(call_id)
        assert (found.call.error and found.call.error.message, found.call.fallback) == ("no", "failed")
        assert found.fallback_error is not None
        assert found.fallback_error.message == "nobody is there"
        assert "hunter" not in str(found.to_json())


async def test_a_retry_gives_a_fresh_budget_and_is_in_the_audit() -> None:
    """F7, P10: with who and why; the same request again changes nothing."""
    async with world() as (running, operations):
        call_id = await exhausted(running)
        command = Command("ann", "fixed", "r-1")

        answer = await operations.calls.ask("retry", call_id, command)
        assert (answer.verb, answer.call and answer.call.state) == ("retry_call", "waiting")
        await running.advance("1s")

        assert [row.state for row in await running.calls()] == [CallState.SUCCEEDED]
        again = await operations.calls.ask("retry", call_id, command)
        assert (again.outcome, again.call and again.call.state) == (answer.outcome, "succeeded")
        action = await running.service.client.ledger.intent("r-1")
        assert action is not None
        assert (action.request.actor, action.request.reason, action.request.row_id) == ("ann", "fixed", call_id)
        with pytest.raises(ConflictError, match="another command"):
            await operations.calls.ask("discard", call_id, command)


async def test_what_does_not_fit_is_refused() -> None:
    """P10: a stale etag, another state, an unknown call or function, no reason."""
    async with world() as (running, operations):
        call_id = await exhausted(running)
        for ask in (
            operations.calls.ask("cancel", call_id, Command("ann", "why")),
            operations.calls.ask("retry", call_id, Command("ann", "why", etag=1)),
        ):
            with pytest.raises(ConflictError):
                await ask
        for unknown in (
            operations.calls.ask("discard", "nobody", Command("ann", "why")),
            operations.calls.shown("nobody"),
            operations.calls.listed(CallQuery(function="refunds")),
        ):
            with pytest.raises(NotFoundError):
                await unknown
        with pytest.raises(OperationError):
            await operations.calls.ask("discard", call_id, Command("ann", " "))
        with pytest.raises(OperationError):
            await operations.calls.listed(CallQuery(limit=0))


async def test_pages_meet() -> None:
    """P12: every call once; no state selects nothing."""
    async with world() as (_, operations):
        for n in range(5):
            await refund.options(delay="1h").submit(str(n))
        seen: list[str] = []
        after = None
        while True:
            page = await operations.calls.listed(CallQuery(after=after, limit=2))
            seen += [call.id for call in page.calls]
            if (after := page.next) is None:
                break
        assert len(seen) == len(set(seen)) == 5
        assert not (await operations.calls.listed(CallQuery(states=frozenset()))).calls


async def test_all_of_it_over_http() -> None:
    """The same, for consoles and scripts: list, show, retry with etag and key, refusals as problems."""
    async with world() as (running, operations):
        call_id = await exhausted(running)

        @asynccontextmanager
        async def opened() -> AsyncIterator[Operations]:
            yield operations

        transport = httpx.ASGITransport(api(opened))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            listed = (await http.get("/api/v1/calls", params={"function": "refund", "state": "exhausted"})).json()
            assert [call["id"] for call in listed["calls"]] == [call_id]
            assert (await http.get("/api/v1/calls", params={"fnction": "x"})).status_code == 422
            shown = (await http.get(f"/api/v1/calls/{call_id}")).json()
            body = {"etag": shown["call"]["etag"], "reason": "fixed"}
            headers = {"Idempotency-Key": "k-1", "X-Actor": "ann"}
            first = await http.post(f"/api/v1/calls/{call_id}/retry", json=body, headers=headers)
            assert (first.status_code, first.json()["call"]["state"]) == (200, "waiting")
            stale = await http.post(f"/api/v1/calls/{call_id}/discard", json=body)
            assert stale.status_code == 409
            assert (await http.post("/api/v1/calls/nobody/cancel", json=body)).status_code == 404
            assert (await http.post(f"/api/v1/calls/{call_id}/explode", json=body)).status_code == 422


@pytest.mark.parametrize(("role", "shows"), [(Role.VIEWER, False), (Role.OPERATOR, True)])
async def test_a_viewer_is_shown_no_arguments(role: Role, shows: bool) -> None:  # noqa: FBT001 - what is to be told
    """Issue 7.1: payloads are for operators; a viewer is told everything else, and may ask for nothing."""
    token, holder = made_token("vic", role)
    async with world() as (running, operations):
        call_id = await exhausted(running)

        @asynccontextmanager
        async def opened() -> AsyncIterator[Operations]:
            yield operations

        transport = httpx.ASGITransport(api(opened, Access(TokenSource(None, holder.line()), running.clock)))
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as http:
            shown = (await http.get(f"/api/v1/calls/{call_id}")).json()
            assert (shown["payload"] is not None, shown["headers"] is not None) == (shows, shows)
            assert shown["call"]["error"]["type"]
            asked = await http.post(
                f"/api/v1/calls/{call_id}/retry", json={"etag": shown["call"]["etag"], "reason": "x"}
            )
            assert asked.status_code == (200 if shows else 403)
