"""A durable function stands still while somebody wants that, and goes on: reasons beside each other, audited (H44)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from tests.unit.operating import operations_of
from wow_ray import App, CallState, ConflictError, Durable, NotFoundError, OperationError
from wow_ray.errors import StoreUnavailableError
from wow_ray.ops import Command, Operations
from wow_ray.ops.http.application import api
from wow_ray.policy.pauses import PauseReason
from wow_ray.ports.function_pauses import FunctionPauseAsked
from wow_ray.testing import Running, Scenario

app = App("shop")
called: list[int] = []
ANN = Command("ann", "the carrier moves house")


@app.retryable(durable=Durable(max_retries=2, initial_delay="1s"), aliases=["give"])
async def grant(user: int) -> int:
    """Note the call; fail for users below zero."""
    called.append(user)
    if user < 0:
        raise ValueError(user)
    return user


@app.retryable(durable=True)
async def other(user: int) -> int:
    """Be called beside it."""
    called.append(user)
    return user


@asynccontextmanager
async def world() -> AsyncIterator[tuple[Running, Operations]]:
    """Give the app in virtual time, and what operates it."""
    called.clear()
    async with Scenario(app) as running:
        yield running, operations_of(running, app)


async def test_no_call_of_a_paused_function_begins_and_others_go_on() -> None:
    """S83: pending ones wait, nothing is charged; after the resume they are called."""
    async with world() as (running, operations):
        answer = await operations.functions.pause("grant", ANN)
        assert (answer.changed, [pause.actor for pause in answer.pauses]) == (True, ["ann"])
        await running.advance("2s")
        first, second = await grant.submit(1), await other.submit(2)
        await running.advance("1m")
        assert called == [2]
        assert (await first.state(), await second.state()) == (CallState.WAITING, CallState.SUCCEEDED)
        assert (await operations.calls.shown(first.id)).call.attempts == 0
        assert (await operations.status()).paused == ("calls of grant",)

        await operations.functions.resume("grant", Command("bob", "it is there"))
        await running.advance("2s")
        assert called == [2, 1]
        (over,) = (await operations.functions.history("grant")).pauses
        assert (over.actor, over.ended_by, over.ended_text) == ("ann", "bob", "it is there")


async def test_retries_wait_too_and_a_pause_by_a_former_name_holds() -> None:
    """F4, H44: a call that has failed is not tried again; two reasons have to end both."""
    async with world() as (running, operations):
        await grant.submit(-1)
        await running.advance("100ms")
        assert called == [-1]
        await running.service.client.function_pauses.set(
            FunctionPauseAsked("tool-1", "give", PauseReason.DEPLOY, "tool", "a rollout")  # as of the release before
        )
        await operations.functions.pause("grant", ANN)
        await running.advance("10s")
        assert called in ([-1], [-1, -1])  # one that was due within the second before the look
        before = list(called)
        await operations.functions.resume("grant", ANN)
        await running.advance("10s")
        assert called == before
        await operations.functions.resume("give", ANN, PauseReason.DEPLOY)
        await running.advance("10s")
        assert called == [-1, -1, -1]


async def test_while_the_store_is_away_known_pauses_hold() -> None:
    """Nobody forgets what was asked for because it cannot be read just now."""
    async with world() as (running, operations):
        await operations.functions.pause("grant", ANN)
        await running.advance("2s")
        running.memory.fail_next("pauses.read", StoreUnavailableError("away"), 5)
        await grant.submit(1)
        await running.advance("4s")
        assert called == []
        await running.advance("3s")
        await operations.functions.resume("grant", ANN)
        await running.advance("2s")
        assert called == [1]


async def test_a_restart_does_not_forget_a_pause() -> None:
    """S83: it is a row, loaded before anything is claimed."""
    async with world() as (running, operations):
        await operations.functions.pause("grant", ANN)
        await running.advance("2s")
        await grant.submit(1)
    async with Scenario(app, memory=running.memory, clock=running.clock) as again:
        await again.advance("5s")
        assert called == []
        await again.service.client.function_pauses.end(
            FunctionPauseAsked("q", "grant", PauseReason.OPERATOR, "bob", "it is there")
        )
        await again.advance("2s")
        assert called == [1]


async def test_what_cannot_be_meant_is_refused() -> None:
    """A pause of a function that there is not would hold nobody back; ids of requests are of one command."""
    async with world() as (_, operations):
        functions = operations.functions
        with pytest.raises(NotFoundError, match="did you mean 'grant'"):
            await functions.pause("grnt", ANN)
        with pytest.raises(NotFoundError):
            await functions.history("grnt")
        with pytest.raises(OperationError, match="on purpose"):
            await functions.pause("grant", ANN, PauseReason.SYSTEMIC)
        with pytest.raises(OperationError):
            await functions.pause("grant", Command("ann", " "))
        await functions.pause("grant", Command("ann", "why", "r-1"))
        assert not (await functions.pause("grant", Command("bob", "why", "r-2"))).changed
        with pytest.raises(ConflictError):
            await functions.resume("grant", Command("ann", "why", "r-1"))
        assert not (await functions.resume("other", ANN)).changed


async def test_all_of_it_over_http() -> None:
    """Listed with counts, paused with key and reason, resumed; refusals are problems."""
    async with world() as (running, operations):
        await grant.options(delay="1h").submit(1)

        @asynccontextmanager
        async def opened() -> AsyncIterator[Operations]:
            yield operations

        transport = httpx.ASGITransport(api(opened))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            body, headers = {"reason": "moving"}, {"Idempotency-Key": "k-1", "X-Actor": "ann"}
            done = await http.post("/api/v1/functions/grant/pause", json=body, headers=headers)
            assert (done.status_code, done.json()["changed"]) == (200, True)
            again = await http.post("/api/v1/functions/grant/pause", json=body, headers=headers)
            assert again.json() == done.json()
            listed = {each["function"]: each for each in (await http.get("/api/v1/functions")).json()["functions"]}
            assert listed["grant"]["calls"] == {"waiting": 1}
            assert [pause["actor"] for pause in listed["grant"]["pauses"]] == ["ann"]
            assert (await http.post("/api/v1/functions/nobody/pause", json=body)).status_code == 404
            assert (await http.post("/api/v1/functions/grant/pause", json={})).status_code == 422
            resumed = await http.post("/api/v1/functions/grant/resume", json=body)
            assert resumed.json()["pauses"] == []
            history = (await http.get("/api/v1/functions/grant/pauses")).json()["pauses"]
            assert [bool(pause["ended_at"]) for pause in history] == [True]
        await running.advance("1s")
