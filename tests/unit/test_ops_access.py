"""The guard before API and console: nobody without a token, nothing beyond a role, no form of another site (S109)."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import httpx
import pytest

from tests.unit.ops_window import GROUP, Window, a_window, is_problem
from wow_ray.ops.access import Access, Role, TokenSource, made_token
from wow_ray.ops.access.limiter import MOST
from wow_ray.testing.clock import VirtualClock

TOKENS = {
    role: made_token(name, role) for name, role in (("vic", Role.VIEWER), ("ann", Role.OPERATOR), ("ada", Role.ADMIN))
}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture
async def window() -> AsyncIterator[Window]:
    """The app and its window, with three tokens."""
    text = "\n".join(holder.line() for _, holder in TOKENS.values())
    async with a_window(Access(TokenSource(None, text), VirtualClock())) as opened:
        opened.headers = bearer(Role.VIEWER)
        yield opened


def bearer(role: Role) -> dict[str, str]:
    """Give the header of a token."""
    return {"Authorization": f"Bearer {TOKENS[role][0]}"}


async def signed_in(window: Window, role: Role) -> str:
    """Sign in as a browser does; gives the word of the session's forms."""
    answer = await window.client.post("/login", data={"token": TOKENS[role][0], "next": "/parked?state=parked"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/parked?state=parked")
    assert re.search(r"HttpOnly; SameSite=Strict\Z", answer.headers["set-cookie"])
    found = re.search(r'data-word="(\w+)"', (await window.client.get("/")).text)
    assert found is not None
    return found[1]


async def test_nobody_looks_without_a_token(window: Window) -> None:
    """Programs are told what to send, people where to sign in; probes and static files are open."""
    for path in ("/api/v1/overview", "/api/v1/parked", "/api/v1/events", "/openapi.json"):
        answer = await window.client.get(path)
        is_problem(answer, 401, "WOW-TOKEN")
        assert answer.headers["www-authenticate"].startswith("Bearer")
    for path in ("/", "/parked?state=parked", "/audit", "/docs", "/nowhere"):
        answer = await window.client.get(path)
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/login")
    assert (await window.client.get("/readyz")).status_code == 200
    assert (await window.client.get("/static/console.css")).status_code == 200
    assert (await window.client.post("/parked/r-1/resume", data={"reason": "x"})).headers["location"] == "/login"


async def test_a_wrong_token_is_refused_and_soon_not_even_looked_at(window: Window) -> None:
    """429 with the seconds to wait; the same at the page where people sign in."""
    wrong = {"Authorization": "Bearer wow_wrong"}
    codes = [(await window.client.get("/api/v1/overview", headers=wrong)).status_code for _ in range(MOST + 1)]
    assert codes == [*[401] * (MOST - 1), 429, 429]
    answer = await window.client.post("/login", data={"token": TOKENS[Role.ADMIN][0]})
    assert answer.status_code == 429
    assert int(answer.headers["retry-after"]) > 0
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("/api/v1/parked/{row}/resume", Role.OPERATOR),
        ("/api/v1/parked/{row}/retry-now", Role.OPERATOR),
        ("/api/v1/parked/{row}/skip", Role.OPERATOR),
        ("/api/v1/parked", Role.OPERATOR),
        ("/api/v1/parked/bulk/preview", Role.OPERATOR),
        ("/api/v1/parked/bulk/start", Role.OPERATOR),
        (f"/api/v1/subscriptions/{GROUP}/pause", Role.OPERATOR),
        (f"/api/v1/subscriptions/{GROUP}/resume", Role.OPERATOR),
        (f"/api/v1/subscriptions/{GROUP}/reset", Role.ADMIN),
    ],
)
async def test_a_role_that_is_too_small_is_told_which_it_takes(window: Window, path: str, role: Role) -> None:
    """403 for everybody below, whatever the body; nothing is stored."""
    for each in Role:
        if not each.covers(role):
            answer = await window.client.post(path.format(row="r-1"), json={}, headers=bearer(each))
            found = is_problem(answer, 403, "WOW-ROLE")
            assert f"takes an {role.value}" in found["detail"]
    assert (await window.seen("/api/v1/audit"))["actions"] == []


async def test_the_audit_has_the_name_of_the_token_whatever_the_request_says(window: Window) -> None:
    """P10: who asks is known, not claimed."""
    (row,) = await window.park("o-1")
    body = {"etag": row["etag"], "reason": "the carrier is back"}
    window.headers = bearer(Role.OPERATOR)
    answer = await window.ask(f"/api/v1/parked/{row['id']}/resume", body, X_Actor="somebody-else", Idempotency_Key="k")
    assert answer.status_code == 200
    (action,) = (await window.seen("/api/v1/audit"))["actions"]
    assert (action["actor"], action["reason"], action["request_id"]) == ("ann", "the carrier is back", "k")


async def test_a_browser_signs_in_looks_acts_and_signs_out(window: Window) -> None:
    """The cookie stands for the token; after signing out it is gone."""
    word = await signed_in(window, Role.OPERATOR)
    assert "ann, operator" in (await window.client.get("/")).text
    assert (await window.client.get("/api/v1/overview")).status_code == 200
    answer = await window.client.post("/logout", data={"csrf": word})
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert (await window.client.get("/")).status_code == 303


async def test_a_form_without_the_word_of_its_session_changes_nothing(window: Window) -> None:
    """S109: a cookie alone commands nothing, by a form or by a script, and no other origin asks at all."""
    word = await signed_in(window, Role.OPERATOR)
    path, form = f"/subscriptions/{GROUP}/pause", {"reason": "x"}
    assert (await window.client.post(path, data=form)).status_code == 403
    assert (await window.client.post(path, data={**form, "csrf": "0" * 64})).status_code == 403
    evil = {"Origin": "https://evil.example"}
    assert (await window.client.post(path, data={**form, "csrf": word}, headers=evil)).status_code == 403
    null = {"Origin": "null"}
    assert (await window.client.post(path, data={**form, "csrf": word}, headers=null)).status_code == 403
    is_problem(await window.client.post(f"/api/v1{path}", json=form), 403, "WOW-REQUEST")
    assert (await window.client.post(path, json={**form, "csrf": word})).status_code == 415
    assert (await window.client.post("/logout", data={"csrf": ""})).status_code == 403
    assert (await window.seen("/api/v1/audit"))["actions"] == []
    here = {"Origin": "http://127.0.0.1"}
    assert (await window.client.post(path, data={**form, "csrf": word}, headers=here)).status_code == 303
    (action,) = (await window.seen("/api/v1/audit"))["actions"]
    assert action["actor"] == "ann"


async def test_a_script_of_the_console_sends_the_word_in_a_header(window: Window) -> None:
    """The API takes a session with it."""
    word = await signed_in(window, Role.OPERATOR)
    window.headers = {}
    asked = await window.ask(f"/api/v1/subscriptions/{GROUP}/pause", {"reason": "x"}, X_CSRF_Token=word)
    assert asked.status_code == 200


async def test_a_viewer_is_shown_no_form_and_may_send_none(window: Window) -> None:
    """The page says what it takes; a form sent all the same is refused."""
    (row,) = await window.park("o-1")
    word = await signed_in(window, Role.VIEWER)
    text = (await window.client.get(f"/parked/{row['id']}")).text
    assert "takes an operator" in text
    assert "formaction" not in text
    form = {"csrf": word, "etag": str(row["etag"]), "reason": "x"}
    answer = await window.client.post(f"/parked/{row['id']}/resume", data=form)
    assert answer.status_code == 403
    assert "vic is a viewer; this takes an operator" in answer.text
    assert (await window.client.post("/logout", data={"csrf": word})).status_code == 303


async def test_an_operator_resets_nothing(window: Window) -> None:
    """An effect that no later command takes back is an admin's."""
    word = await signed_in(window, Role.OPERATOR)
    assert "/reset" not in (await window.client.get(f"/subscriptions/{GROUP}")).text
    answer = await window.client.post(f"/subscriptions/{GROUP}/reset", data={"csrf": word, "reason": "x"})
    assert answer.status_code == 403


@pytest.mark.parametrize("following", ["https://evil.example", "//evil.example", "/\\evil.example", "/a\r\nX: y", "x"])
async def test_signing_in_leads_nowhere_else(window: Window, following: str) -> None:
    """The address that is led to is one of the console."""
    answer = await window.client.post("/login", data={"token": TOKENS[Role.VIEWER][0], "next": following})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


async def test_without_tokens_this_machine_alone_is_answered() -> None:
    """S109: by the address that asks and by the name that is asked for; there is no page to sign in."""
    async with a_window() as window:
        transport = httpx.ASGITransport(window.client._transport.app, client=("10.1.2.3", 1))  # type: ignore[attr-defined] # noqa: SLF001 - the same app, asked from elsewhere
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as elsewhere:
            found = is_problem(await elsewhere.get("/api/v1/overview"), 403, "WOW-REQUEST")
            assert "ops.tokens_file" in found["next"]
            assert (await elsewhere.get("/")).status_code == 403
            assert (await elsewhere.get("/readyz")).status_code == 200
        assert (await window.client.get("/", headers={"Host": "evil.example"})).status_code == 403
        assert (await window.client.get("/login")).headers["location"] == "/"
        assert "this machine only" in (await window.client.get("/")).text


async def test_every_answer_carries_its_headers(window: Window) -> None:
    """No script, style or frame of others; pages are kept by nobody."""
    await signed_in(window, Role.OPERATOR)
    for path in ("/", "/login", "/nowhere", "/api/v1/overview", "/readyz", "/static/console.js"):
        headers = (await window.client.get(path)).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert headers["cache-control"] == ("public, max-age=86400" if "static" in path else "no-store")


async def test_nothing_changes_by_looking(window: Window) -> None:
    """S109: a GET of whatever commands is no address, and no page leaves anything in the audit."""
    (row,) = await window.park("o-1")
    await signed_in(window, Role.ADMIN)
    for path in (f"/parked/{row['id']}/resume", f"/subscriptions/{GROUP}/pause", "/logout", "/bulk/b-1/start"):
        assert (await window.client.get(path)).status_code == 405
    pages = ("/", "/parked", f"/parked/{row['id']}", "/subscriptions", "/partitions", "/audit", "/docs", "/help")
    for path in (*pages, "/bulk", "/calls/bulk", "/parked.csv", "/calls.csv"):
        assert (await window.client.get(path)).status_code == 200
    assert (await window.seen("/api/v1/audit"))["actions"] == []
    assert (await window.seen(f"/api/v1/parked/{row['id']}"))["row"] == row
