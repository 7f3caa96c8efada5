"""The console's pages of durable calls and functions: everything is shown inert, every form asks, roles are kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from tests.unit.operating import operations_of
from tests.unit.ops_window import client_of
from tests.unit.test_console import HOSTILE, Read
from wow_ray import App, CallState, Durable
from wow_ray.ops import Operations
from wow_ray.ops.access import Access, Role, TokenSource, made_token
from wow_ray.testing import Running, Scenario
from wow_ray.testing.clock import at_rest

app = App("shop")
broken: list[str] = []


async def tell_team(error: Exception, order: str) -> None:  # noqa: ARG001 - the form of a fallback
    """Fail as well."""
    raise LookupError(HOSTILE)


@app.retryable(durable=Durable(max_retries=1, initial_delay="1s"), fallback=tell_team)
async def refund(order: str) -> int:
    """Fail while told to."""
    if broken:
        raise ValueError(broken[0])
    return len(order)


class Desk:
    """The running app, what operates it, and a browser."""

    def __init__(self, running: Running, operations: Operations, client: httpx.AsyncClient) -> None:
        self.running = running
        self.operations = operations
        self.client = client

    async def shown(self, path: str) -> str:
        """Open a page."""
        answer = await self.client.get(path)
        assert answer.status_code == 200, answer.text
        return answer.text

    async def acted(self, at: str, action: str, **more: str) -> httpx.Response:
        """Fill in a form of a page and send it, let some seconds pass; gives where it leads."""
        fields = {**Read(await self.shown(at)).fields(action), "reason": "the bank is back", **more}
        asked = asyncio.ensure_future(self.client.post(action, data=fields, follow_redirects=True))
        await at_rest()
        await self.running.advance("2s")
        return await asked

    async def exhausted(self, count: int = 1) -> list[str]:
        """Have calls exhausted; answers their ids."""
        broken[:] = ["password=hunter2"]
        ids = [(await refund.submit(f"order-{n}")).id for n in range(count)]
        await self.running.advance("10s")
        return ids

    async def state(self, call_id: str) -> CallState:
        """Look at a call."""
        return CallState((await self.operations.calls.shown(call_id)).call.state)


@asynccontextmanager
async def a_desk(role: Role | None = None) -> AsyncIterator[Desk]:
    """Give the app in virtual time and a browser of somebody of that role, or on this machine without tokens."""
    broken.clear()
    async with Scenario(app) as running:
        operations = operations_of(running, app, "r")
        token, holder = made_token("vic", role or Role.VIEWER)
        access = None if role is None else Access(TokenSource(None, holder.line()), running.clock)
        async with client_of(operations, access=access) as client:
            if role is not None:
                client.headers["Authorization"] = f"Bearer {token}"
            yield Desk(running, operations, client)


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    """Give a browser on this machine."""
    async with a_desk() as opened:
        yield opened


async def test_calls_are_listed_filtered_and_paged(desk: Desk) -> None:
    """P12: fifty a page, by id; the address is the filter; a filter that there is not is refused."""
    (dead,) = await desk.exhausted()
    for n in range(60):
        await refund.options(delay="1h", key=f"k-{n}").submit("t")
    first = await desk.shown("/calls?state=waiting")
    assert first.count('<th scope="row"><a href="/calls/') == 50
    following = next(each["href"] for tag, each in Read(first).elements if each.get("rel") == "next")
    assert (await desk.shown(following)).count('<th scope="row"><a href="/calls/') == 10
    assert "k-7" in await desk.shown("/calls?key=k-7")
    overview = await desk.shown("/")
    assert "1 durable call for a person to decide" in overview
    assert '<a href="/calls?state=exhausted">1</a>' in overview
    exhausted = await desk.shown("/calls?state=exhausted&function=refund&key=")
    assert dead in exhausted
    assert exhausted.count('<th scope="row"><a href="/calls/') == 1
    assert "There is no call that fits" in await desk.shown("/calls?state=running")
    assert (await desk.client.get("/calls?stat=waiting")).status_code == 422
    assert "60" in await desk.shown("/functions/refund")


async def test_a_call_is_explained_and_no_text_of_it_does_anything(desk: Desk) -> None:
    """S108, S109: why, both errors, what was passed; secrets are hidden, markup of strangers is text."""
    (dead,) = await desk.exhausted()
    text = await desk.shown(f"/calls/{dead}")
    for said in ("Every call of its budget failed.", "The fallback failed as well", "ValueError", "it failed as well"):
        assert said in text
    assert "hunter2" not in text
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in text
    assert (await desk.client.get("/calls/nobody", headers={"Accept": "text/html"})).status_code == 404


async def test_a_call_is_retried_cancelled_and_discarded_with_a_reason(desk: Desk) -> None:
    """F7, P10: as it was seen; the next page tells what became of it, and so does the audit."""
    (dead,) = await desk.exhausted()
    broken.clear()
    told = await desk.acted(f"/calls/{dead}", f"/calls/{dead}/retry")
    assert "Retry call: done" in told.text
    assert await desk.state(dead) is CallState.SUCCEEDED

    (other,) = await desk.exhausted()
    assert "Discard call: done" in (await desk.acted(f"/calls/{other}", f"/calls/{other}/discard")).text
    assert await desk.state(other) is CallState.DISCARDED

    waiting = (await refund.options(delay="1h").submit("t")).id
    page = await desk.shown(f"/calls/{waiting}")
    stale = Read(page).fields(f"/calls/{waiting}/cancel")
    assert "Cancel call: done" in (await desk.acted(f"/calls/{waiting}", f"/calls/{waiting}/cancel")).text
    refused = await desk.client.post(
        f"/calls/{waiting}/cancel", data={**stale, "reason": "again", "request_id": "r-x"}, follow_redirects=True
    )
    assert "refused, nothing was changed" in refused.text
    audit = await desk.shown("/audit")
    assert audit.count("the bank is back") == 3
    assert f'href="/calls/{other}"' in audit
    assert "/parked/" not in audit


async def test_a_form_without_its_word_or_its_etag_asks_nothing(desk: Desk) -> None:
    """S109: another site's form carries no word of this session; one that has not seen the call changes nothing."""
    (dead,) = await desk.exhausted()
    fields = {**Read(await desk.shown(f"/calls/{dead}")).fields(f"/calls/{dead}/retry"), "reason": "x"}
    for broken_form in ({**fields, "csrf": "another"}, {**fields, "etag": ""}, {**fields, "reason": " "}):
        answer = await desk.client.post(f"/calls/{dead}/retry", data=broken_form)
        assert answer.status_code in {403, 422}
    assert await desk.state(dead) is CallState.EXHAUSTED


async def test_a_function_stands_still_and_goes_on_from_its_page(desk: Desk) -> None:
    """H44: paused with who and why, shown on every page of calls, resumed."""
    told = await desk.acted("/functions/refund", "/functions/refund/pause")
    assert "Pause: done" in told.text
    assert "No call of it begins." in told.text
    await desk.running.advance("2s")
    call = await refund.submit("t")
    await desk.running.advance("10s")
    assert await call.state() is CallState.WAITING
    assert "the bank is back" in await desk.shown("/calls")
    assert 'href="/functions/refund"' in await desk.shown("/audit")
    await desk.acted("/functions/refund", "/functions/refund/resume")
    await desk.running.advance("2s")
    assert await call.state() is CallState.SUCCEEDED
    assert (await desk.client.get("/functions/nobody")).status_code == 404


async def test_many_are_retried_by_filter_three_first(desk: Desk) -> None:
    """P12, S86, S87: frozen as seen; while the cause is there it stops after three, then all are done."""
    ids = await desk.exhausted(7)
    preview = await desk.acted("/calls?state=exhausted", "/calls/bulk", verb="retry")
    assert "Retry 7 calls" in preview.text
    at = preview.url.path
    assert await desk.state(ids[0]) is CallState.EXHAUSTED
    await desk.acted(at, f"{at}/start")
    await desk.running.advance("40s")
    stopped = await desk.shown(at)
    assert "the cause is not gone" in stopped
    assert "4 were not touched" in stopped

    broken.clear()
    again = (await desk.acted("/calls?state=exhausted", "/calls/bulk", verb="retry")).url.path
    await desk.acted(again, f"{again}/start")
    for _ in range(5):  # each looks for what was asked meanwhile
        await desk.running.advance("1s")
    assert {await desk.state(each) for each in ids} == {CallState.SUCCEEDED}
    assert "7" in await desk.shown(again)


async def test_many_are_discarded_over_http_and_only_what_was_seen(desk: Desk) -> None:
    """S86: what is exhausted later is not among them; twice is as good as once."""
    ids = await desk.exhausted(4)
    body = {"filter": {"function": "refund"}, "verb": "discard"}
    seen = (await desk.client.post("/api/v1/calls/bulk/preview", json=body)).json()
    assert (len(seen["rows"]), seen["stage"]) == (4, "preview")
    (later,) = await desk.exhausted()
    start = {"id": seen["id"], "reason": "test data"}
    for _ in range(2):
        assert (await desk.client.post("/api/v1/calls/bulk/start", json=start)).status_code == 202
    await desk.running.advance("2s")
    assert {await desk.state(each) for each in ids} == {CallState.DISCARDED}
    assert await desk.state(later) is CallState.EXHAUSTED
    done = (await desk.client.get(f"/api/v1/calls/bulk/{seen['id']}")).json()
    assert (done["stage"], done["recovered"]) == ("done", 4)
    assert (await desk.client.get("/api/v1/calls/bulk/nobody")).status_code == 404
    wrong = {"filter": {"functio": "refund"}, "verb": "discard"}
    assert (await desk.client.post("/api/v1/calls/bulk/preview", json=wrong)).status_code == 422


async def test_a_viewer_looks_and_asks_for_nothing() -> None:
    """Arguments are for operators; no form is there, and one that is sent is refused."""
    async with a_desk(Role.VIEWER) as desk:
        (dead,) = await desk.exhausted()
        text = await desk.shown(f"/calls/{dead}")
        assert "order-0" not in text
        assert '<form method="post" action="/calls' not in text
        for path in (f"/calls/{dead}/retry", "/functions/refund/pause", "/calls/bulk"):
            assert (await desk.client.post(path, data={"reason": "x", "etag": "1"})).status_code == 403
    async with a_desk(Role.OPERATOR) as desk:
        (dead,) = await desk.exhausted()
        assert "order-0" in await desk.shown(f"/calls/{dead}")
