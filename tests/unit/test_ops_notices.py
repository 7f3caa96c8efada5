"""The log of notices in the API and the console: what was sent, what was not and why; sent again, tried out (P13)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.unit.ops_window import Window, a_window, is_problem, operations_of
from wow_ray.ops import Operations
from wow_ray.ops.http import events
from wow_ray.ops.http.door import Door
from wow_ray.policy.notices import NewDelivery
from wow_ray.ports.notices import Attempted
from wow_ray.testing.clock import at_rest

HOSTILE = "<script>alert(1)</script>"


async def a_failed(window: Window, identity: str = "d-1", error: str = "answers 404") -> None:
    """Have a delivery that is given up."""
    outbox = window.running.memory.client_stores().outbox
    await outbox.route([], [NewDelivery(identity, "oncall", ("parked",), 1, f"parked {HOSTILE}", '{"a":1}')])
    await outbox.claim("oncall", 60.0)
    await outbox.attempted(Attempted(identity, 1, taken=False, status=404, error=error))


async def test_the_log_says_what_was_not_sent_and_why() -> None:
    """P13: by page, by webhook, by state, with counts."""
    async with a_window() as window:
        await a_failed(window)
        found = await window.seen("/api/v1/notices?state=failed&webhook=oncall")

        (one,) = found["deliveries"]
        assert (one["id"], one["state"], one["status"], one["error"]) == ("d-1", "failed", 404, "answers 404")
        assert (found["counts"], found["next"]) == ({"oncall": {"failed": 1}}, None)
        assert (await window.seen("/api/v1/notices?state=sent"))["deliveries"] == []
        assert (await window.seen("/api/v1/notices/d-1"))["body"] == '{"a":1}'
        for odd in ("/api/v1/notices?state=odd", "/api/v1/notices?limit=0", "/api/v1/notices?other=1"):
            is_problem(await window.client.get(odd), 422, "WOW-REQUEST")
        is_problem(await window.client.get("/api/v1/notices/d-9"), 404, "WOW-NOT-FOUND")
        is_problem(await window.client.get("/api/v1/notices/%00"), 404, "WOW-NOT-FOUND")


async def test_a_delivery_is_sent_again_once_for_each_request() -> None:
    """P10, P13: with a reason, in the audit; one that waits is not sent twice."""
    async with a_window() as window:
        await a_failed(window)
        path, why = "/api/v1/notices/d-1/resend", {"reason": "it is back"}

        first = await window.ask(path, why, Idempotency_Key="q-1", X_Actor="ann")
        again = await window.ask(path, why, Idempotency_Key="q-1", X_Actor="ann")

        assert (first.status_code, first.json()["delivery"]["state"], again.json()) == (202, "waiting", first.json())
        is_problem(await window.ask(path, why), 409, "WOW-CONFLICT")
        is_problem(await window.ask("/api/v1/notices/d-9/resend", why), 404, "WOW-NOT-FOUND")
        is_problem(await window.ask(path, {}), 422, "WOW-REQUEST")
        actions: list[dict[str, Any]] = (await window.seen("/api/v1/audit"))["actions"]
        assert ("ann", "resend_notice", "done") in {(each["actor"], each["verb"], each["state"]) for each in actions}


async def test_a_webhook_is_tried_out_once_for_each_request() -> None:
    """P13: stored for whoever sends notices."""
    async with a_window() as window:
        body = {"webhook": "oncall", "reason": "is it right?"}

        first = await window.ask("/api/v1/notices/test", body, Idempotency_Key="q-1")
        again = await window.ask("/api/v1/notices/test", body, Idempotency_Key="q-1")

        assert (first.status_code, first.json()["delivery"]["kinds"]) == (202, ["test"])
        assert again.json()["delivery"]["id"] == first.json()["delivery"]["id"]
        other = await window.ask("/api/v1/notices/test", body | {"webhook": "mail"}, Idempotency_Key="q-1")
        is_problem(other, 409, "WOW-CONFLICT")
        assert (await window.seen("/api/v1/notices"))["counts"] == {"oncall": {"waiting": 1}}
        for odd in ("x y", "Oncall", "-", HOSTILE[:30], "é"):
            refused = await window.ask("/api/v1/notices/test", body | {"webhook": odd})
            is_problem(refused, 422, "WOW-OPERATION")


async def test_the_page_shows_it_with_everything_inert_and_sends_it_again() -> None:
    """S108: what failed is seen at once, and the form leads back to what became of it."""
    async with a_window() as window:
        await a_failed(window, error=f"answers 404 {HOSTILE}")
        page = await window.client.get("/notices")
        assert page.status_code == 200
        assert HOSTILE not in page.text
        assert "answers 404 &lt;script&gt;" in page.text
        assert "Send again" in (await window.client.get("/notices/d-1")).text
        word = page.text.split('name="csrf" value="', 1)[1].split('"', 1)[0]

        form = {"csrf": word, "request_id": "q-7", "reason": "back"}
        done = await window.submit("/notices/d-1/resend", form)
        refused = await window.submit("/notices/d-1/resend", form | {"request_id": "q-8"})
        tried = await window.submit("/notices/test", form | {"request_id": "q-9", "webhook": "mail"})

        assert "Send a notice again: stored" in done.text
        assert "refused, nothing was changed" in refused.text
        assert "Test a webhook: stored" in tried.text
        assert (await window.client.get("/audit")).status_code == 200


async def test_a_page_of_notices_hears_of_their_own_changes() -> None:
    """A delivery that is made, tried and given up is news there, though nothing of the app has changed."""
    async with a_window() as window:
        door = Door(lambda: _opened(window))
        told = events.told(door, events.Pulse(), None, None, events.Pulse(events.deliveries))
        silent = events.told(door, events.Pulse(), None, None)
        for page in (told, silent):
            assert await anext(page) == "retry: 2000\n\n"
            assert "event: changed" in await anext(page)

        await a_failed(window)

        heard = [asyncio.ensure_future(anext(page)) for page in (told, silent)]
        await at_rest()
        await window.running.advance("6s")
        first, other = await heard[0], await heard[1]
        assert ("event: changed" in first, "event: beat" in other) == (True, True)
        for path in ("/notices", "/notices/d-1"):
            assert 'data-live-from="/api/v1/events?notices=true"' in (await window.client.get(path)).text


@asynccontextmanager
async def _opened(window: Window) -> AsyncIterator[Operations]:
    yield operations_of(window.running)
