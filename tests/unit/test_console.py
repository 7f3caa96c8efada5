"""The console on the store in memory: every page shows, every form asks, and no text of a stranger does anything."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from html.parser import HTMLParser

import httpx
import pytest

from tests.unit.ops_window import GROUP, Window, a_window, client_of
from wow_ray.errors import StoreUnavailableError
from wow_ray.ops.console.inert import MOST, cut, inert
from wow_ray.ops.console.words import age, classified, sentence, times
from wow_ray.policy.parked import Row

PAGES = ("/", "/parked", "/parked?view=groups", "/subscriptions", f"/subscriptions/{GROUP}", "/partitions", "/audit")
HOSTILE = (
    "<script>alert(1)</script>\" onmouseover=x '\u202egnp.exe\u2066 {{7*7}} \x1b[31m &amp; <img src=//evil.example>"
)


@pytest.fixture
async def window() -> AsyncIterator[Window]:
    """The app, running, and its console."""
    async with a_window() as opened:
        yield opened


class Read(HTMLParser):
    """What a browser would see of a page: elements, their attributes, ids."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep an element."""
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def fields(self, action: str) -> dict[str, str]:
        """Give the hidden fields of the form that leads there, or that has a button which does."""
        found: dict[str, str] = {}
        current: dict[str, str] = {}
        for tag, attributes in self.elements:
            if tag == "form":
                current = {}
                if attributes.get("action") == action:
                    found = current
            if tag == "input" and attributes.get("type") == "hidden":
                current[attributes["name"]] = attributes["value"]
            if tag == "button" and attributes.get("formaction") == action:
                found = current
        assert found, f"no form leads to {action}"
        return found


async def shown(window: Window, path: str) -> str:
    """Open a page."""
    answer = await window.client.get(path, headers=window.headers)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    return answer.text


async def acted(window: Window, page: str, action: str, reason: str = "the carrier is back", **more: str) -> str:
    """Fill in a form of a page and send it; gives the page that tells what became of it."""
    fields = Read(await shown(window, page)).fields(action)
    answer = await window.submit(action, {**fields, "reason": reason, **more})
    assert answer.status_code == 200, answer.text
    return answer.text


# --- showing


async def test_every_page_shows_a_healthy_app(window: Window) -> None:
    """Nothing is wrong, and that is said in words."""
    for path in (*PAGES, "/help", "/docs"):
        await shown(window, path)
    assert "Nothing: every slot has an owner" in await shown(window, "/")


async def test_the_overview_says_what_is_wrong_worst_first(window: Window) -> None:
    """H60: slots without an owner, what waits, what is paused; each leads to the page that tells more."""
    await window.park("o-1", "o-2")
    await window.ask(f"/api/v1/subscriptions/{GROUP}/pause", {"reason": "it moves house"}, X_Actor="ann")
    text = await shown(window, "/")
    assert "2 aggregates parked" in text
    assert f"{GROUP} is paused everywhere" in text
    assert "it moves house" in text
    assert "ValueError" in text
    await window.stop()
    text = await shown(window, "/")
    assert text.index("16 slots of 16 without an owner") < text.index("2 aggregates parked")
    assert "Not running" in text


async def test_a_row_is_shown_with_everything_that_is_known(window: Window) -> None:
    """Why, classified how, what it holds, the stopped version marked, attempts, settings with their source."""
    (row,) = await window.park("o-1")
    await window.place("o-1")
    text = await shown(window, f"/parked/{row['id']}")
    assert "Every call of its budget failed." in text
    assert "Recoverable, because the handler&#39;s or its processor&#39;s own lists name this error" in text
    assert "2 events, versions 1 to 2" in text
    assert re.search(r'<li class="stopped"><span class="version">v1.*stopped here', text)
    assert re.search(r'<li class="held"><span class="version">v2', text)
    assert re.search(r"retry.max_attempts</code></th><td>2</td><td><b>class</b>", text)
    assert "Traceback (most recent call last)" in text


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("", 3),
        ("text=CARRIER+FOR+o-1", 1),
        ("text=%25", 0),
        ("error_type=ValueError", 3),
        ("error_type=KeyError", 0),
        ("category=recoverable&reason=budget_spent&state=parked&state=exhausted", 3),
        ("category=systemic", 0),
        ("version=1", 3),
        ("version=2", 0),
        (f"subscription={GROUP}&aggregate=order&aggregate_id=o-2", 1),
        ("state=resolved", 0),
        ("text=&state=&reason=&category=&version=&sort=&view=&subscription=", 3),
        ("after=row-", 3),
    ],
)
async def test_the_address_is_the_filter(window: Window, query: str, rows: int) -> None:
    """Deep links; a form with empty fields asks for any."""
    await window.park("o-1", "o-2", "o-3")
    text = await shown(window, f"/parked?{query}")
    assert text.count('<th scope="row"><a href="/parked/') == rows
    assert f"<b>{rows}</b>" in text


async def test_the_order_is_in_the_address(window: Window) -> None:
    """Oldest first unless asked otherwise, and pages go on in that order."""
    rows = await window.park("o-1", "o-2", "o-3")
    first, *_, last = sorted(rows, key=lambda row: str(row["id"]))
    oldest, newest = await shown(window, "/parked"), await shown(window, "/parked?sort=newest")
    assert oldest.index(first["id"]) < oldest.index(last["id"])
    assert newest.index(last["id"]) < newest.index(first["id"])
    page = await window.seen("/api/v1/parked?sort=newest&limit=2")
    after = await shown(window, f"/parked?sort=newest&after={page['next']}")
    assert first["id"] in after
    assert last["id"] not in after


@pytest.mark.parametrize("query", ["aggregateid=o-1", "state=broken", "version=x", "sort=sideways", "text=a%00b"])
async def test_a_filter_that_there_is_not_is_a_page_that_says_so(window: Window, query: str) -> None:
    """S30: it selects nothing instead of everything."""
    answer = await window.client.get(f"/parked?{query}")
    assert answer.status_code == 422
    assert "Not understood" in answer.text


async def test_errors_alike_are_one_group(window: Window) -> None:
    """With its number, its text, and a link to its rows."""
    (row, _) = await window.park("o-1", "o-2")
    text = await shown(window, "/parked?view=groups")
    assert f"fingerprint={row['error']['fingerprint']}" in text
    assert "Show 2 aggregates stopped by ValueError" in text
    (group,) = (await window.seen("/api/v1/parked/groups"))["groups"]
    assert (group["rows"], group["type"], group["fingerprint"]) == (2, "ValueError", row["error"]["fingerprint"])
    assert group["first_seen"] <= group["last_seen"]
    assert (await window.seen("/api/v1/parked/count?text=carrier")) == {"rows": 2, "exact": True}


async def test_what_there_is_not_is_a_page(window: Window) -> None:
    """With what to do next, and a way back."""
    for path in ("/parked/none", "/subscriptions/Nobody", "/nowhere", "/bulk/none", "/static/../x", "/parked/%00"):
        answer = await window.client.get(path)
        assert answer.status_code == 404, path
        assert "Not there" in answer.text


async def test_a_store_that_is_away_is_a_page_too() -> None:
    """503, and what to do."""
    async with client_of(StoreUnavailableError("the store cannot be reached")) as client:
        answer = await client.get("/")
        assert (answer.status_code, "The store does not answer" in answer.text) == (503, True)


# --- asking


async def test_a_resume_leads_back_and_says_what_became_of_it(window: Window) -> None:
    """P9: done, by whom and why; the page may be opened again; sent twice it was asked once (S85)."""
    (row,) = await window.park("o-1")
    window.carrier.broken.clear()
    page, action = f"/parked/{row['id']}", f"/parked/{row['id']}/resume"
    fields = Read(await shown(window, page)).fields(action)
    form = {**fields, "reason": "the carrier is back"}
    first, again = await window.submit(action, form), await window.submit(action, form)
    for answer in (first, again):
        assert answer.status_code == 200
        assert "Resume: done" in answer.text
        assert "the carrier is back" in answer.text
    assert window.carrier.told == [("o-1", 1)]
    assert len((await window.seen("/api/v1/audit"))["actions"]) == 1
    assert "Over: everything held was handled." in again.text
    assert "formaction" not in again.text


async def test_a_skip_is_of_what_was_seen(window: Window) -> None:
    """S86: through the version on the page, or the stopped event; what came since is handled."""
    one, other = await window.park("o-1", "o-2")
    await window.place("o-1", "o-2")
    window.carrier.broken.clear()
    text = await acted(window, f"/parked/{one['id']}", f"/parked/{one['id']}/skip")
    assert "Passed over 2 events, versions 1 to 2" in text
    text = await acted(window, f"/parked/{other['id']}", f"/parked/{other['id']}/skip-one")
    assert "Passed over 1 event, versions 1 to 1" in text
    assert window.carrier.told == [("o-2", 2)]


async def test_a_retry_and_a_park_are_told(window: Window) -> None:
    """And a retry of one that is parked on purpose is no button."""
    (row,) = await window.park("o-1")
    page = f"/parked/{row['id']}"
    assert "Retry now: done" in await acted(window, page, f"{page}/retry-now")
    assert "Park: done" in await acted(window, page, f"{page}/park")
    assert re.search(r"retry-now\" disabled", await shown(window, page))


async def test_a_command_on_what_has_changed_is_refused_and_says_so(window: Window) -> None:
    """409: nothing was changed; the page shows the row as it is."""
    (row,) = await window.park("o-1")
    page, action = f"/parked/{row['id']}", f"/parked/{row['id']}/retry-now"
    fields = Read(await shown(window, page)).fields(action)
    await window.submit(action, {**fields, "reason": "one"})
    answer = await window.submit(action, {**fields, "reason": "two", "request_id": "another"})
    assert "refused, nothing was changed" in answer.text
    assert "the row has changed since" in answer.text


async def test_a_command_on_what_has_ended_is_a_409(window: Window) -> None:
    """It was never stored, so there is nothing to lead back to."""
    (row,) = await window.park("o-1")
    window.carrier.broken.clear()
    page, action = f"/parked/{row['id']}", f"/parked/{row['id']}/resume"
    fields = Read(await shown(window, page)).fields(action)
    await window.submit(action, {**fields, "reason": "one"})
    answer = await window.submit(action, {**fields, "reason": "two", "request_id": "another"})
    assert answer.status_code == 409
    assert "Not any more" in answer.text


async def test_a_command_that_nobody_can_apply_is_told_as_such(window: Window) -> None:
    """202: it is stored; the page follows it until somebody has."""
    (row,) = await window.park("o-1")
    await window.stop()
    text = await acted(window, f"/parked/{row['id']}", f"/parked/{row['id']}/resume")
    assert "Resume: stored, not applied yet" in text


@pytest.mark.parametrize(
    "form",
    [
        {"reason": ""},
        {"reason": "x", "etag": ""},
        {"reason": "x", "etag": "seven"},
        {"reason": "x", "etag": "9" * 30},
        {"reason": "x" * 1_001},
        {"reason": "a\x00b"},
        {"reason": "x", "request_id": "a" * 201},
    ],
)
async def test_a_form_that_is_wrong_asks_for_nothing(window: Window, form: dict[str, str]) -> None:
    """422 and the reason; the audit stays empty."""
    (row,) = await window.park("o-1")
    page, action = f"/parked/{row['id']}", f"/parked/{row['id']}/resume"
    fields = Read(await shown(window, page)).fields(action)
    answer = await window.submit(action, {**fields, **form})
    assert answer.status_code == 422, answer.text
    assert (await window.seen("/api/v1/audit"))["actions"] == []


async def test_a_form_of_any_length_is_not_read(window: Window) -> None:
    """Nor a skip that does not say how far."""
    (row,) = await window.park("o-1")
    word = Read(await shown(window, f"/parked/{row['id']}")).fields(f"/parked/{row['id']}/resume")
    long = await window.client.post(f"/parked/{row['id']}/resume", data={**word, "reason": "x" * 300_000})
    assert long.status_code == 413
    bare = {"csrf": word["csrf"], "etag": word["etag"], "reason": "x"}
    assert (await window.submit(f"/parked/{row['id']}/skip", bare)).status_code == 422
    assert (await window.submit(f"/parked/{row['id']}/destroy", bare)).status_code == 422


async def test_a_subscription_is_paused_and_resumed(window: Window) -> None:
    """H44, S83: who, why and since when stand there; each pause has a form of its own to end it."""
    page = f"/subscriptions/{GROUP}"
    text = await acted(window, page, f"{page}/pause", "the carrier moves house", partition="")
    assert "Pause: done" in text
    assert "the carrier moves house" in text
    assert "paused" in await shown(window, "/subscriptions")
    await window.place("o-1")
    assert window.carrier.told == []
    text = await acted(window, page, f"{page}/resume", "it has moved")
    assert "Resume subscription: done" in text
    assert window.carrier.told == [("o-1", 1)]
    assert "it has moved" in await shown(window, page)
    answer = await window.submit(f"{page}/pause", {**Read(text).fields(f"{page}/pause"), "reason": "x", "pause": "y"})
    assert answer.status_code == 422


async def test_a_reset_of_what_is_no_projection_is_refused_in_words(window: Window) -> None:
    """L6: its owner says why."""
    page = f"/subscriptions/{GROUP}"
    assert "refused, nothing was changed" in await acted(window, page, f"{page}/reset")


async def test_the_audit_lists_who_did_what_and_why(window: Window) -> None:
    """Filtered by the address, the newest first."""
    (row,) = await window.park("o-1")
    await acted(window, f"/parked/{row['id']}", f"/parked/{row['id']}/retry-now", "first")
    await window.ask(f"/api/v1/subscriptions/{GROUP}/pause", {"reason": "second"}, X_Actor="ann")
    text = await shown(window, "/audit")
    assert text.index("second") < text.index("first")
    only = await shown(window, "/audit?actor=ann&group=&aggregate_id=")
    assert "second" in only
    assert "first" not in only
    assert "fits" in await shown(window, "/audit?actor=nobody%00")


async def test_an_aggregate_is_parked_on_purpose(window: Window) -> None:
    """Whether it has a row or not, through the API."""
    asked = {"group": GROUP, "aggregate": "order", "aggregate_id": "o-9", "reason": "the buyer has died"}
    answer = await window.ask("/api/v1/parked", asked)
    assert answer.status_code == 200
    row = answer.json()["row"]
    text = await shown(window, f"/parked/{row['id']}")
    assert "An operator parked it on purpose." in text
    assert "parked on purpose" in await shown(window, "/parked?view=groups")


# --- texts of strangers


async def hostile(window: Window, text: str) -> Row:
    """Park an aggregate whose error, reason and names are such a text."""
    (row,) = await window.park("o-1")
    rows = window.running.memory._server.rows  # noqa: SLF001 - no program writes such texts
    stored = rows.by_id[row["id"]]
    assert stored.failure is not None
    failure = replace(stored.failure, type=text, message=text, traceback=text, source=text)
    changed = replace(stored, aggregate_id=text, failure=failure, first_cause=replace(failure, fingerprint="x"))
    rows.by_id[row["id"]] = changed
    await window.ask(f"/api/v1/subscriptions/{GROUP}/pause", {"reason": text[:900].replace("\x00", "")})
    return changed


@pytest.mark.parametrize(
    "text", [HOSTILE, "\x00\x07\u2028\u200b\ufeff", "</pre></script><!--", "x" * 1_000_000, "א" * 500]
)
async def test_no_text_does_anything(window: Window, text: str) -> None:
    """Markup, marks of direction, controls, a megabyte: shown, inert, and never as long as they are."""
    row = await hostile(window, text)
    for path in (*PAGES, f"/parked/{row.id}", "/parked?fingerprint=%3Cscript%3E&text=%22%3E%3Cscript%3E"):
        page = await shown(window, path)
        assert not set("\x00\x07\x1b\u202e\u2066\u2028\u200b\ufeff") & set(page), path
        assert len(page) < 400_000
        read = Read(page)
        scripts = [attributes for tag, attributes in read.elements if tag == "script"]
        assert [sorted(each) for each in scripts] == [["defer", "src"]]
        for tag, attributes in read.elements:
            assert not [name for name in attributes if name.startswith("on") or name == "style"], (path, tag)
            assert not attributes.get("href", "/").startswith(("javascript:", "//", "http")), (path, tag)
            assert not attributes.get("src", "/").startswith(("//", "http")), (path, tag)
            assert tag not in {"img", "style", "iframe", "base"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("plain ✓ naïve", "plain ✓ naïve"),
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("\ud800", "⟨U+D800⟩"),
        ("a\r\nb\tc", "a\nb\tc"),
    ],
)
def test_what_a_browser_would_obey_is_shown(text: str, said: str) -> None:
    """As a mark with its number."""
    assert inert(text) == said


def test_a_long_text_keeps_its_ends() -> None:
    """And says how much is left out."""
    found = cut("a" * 100 + "z" * 100, 40)
    assert found.startswith("a" * 30)
    assert found.endswith("z" * 10)
    assert "160 characters left out" in found
    assert len(inert("x" * 10_000_000)) < MOST + 100


# --- words


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.0, "now"),
        (0.4, "0.4 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (3_725, "1 h 2 min"),
        (200_000, "2 d 7 h"),
        (-5, "now"),
        (float("inf"), "without end"),
        (float("nan"), "without end"),
        (None, "without end"),
    ],
)
def test_a_length_of_time_is_told_by_its_two_largest_units(seconds: float | None, said: str) -> None:
    """Nobody needs the seconds of a day."""
    assert age(seconds) == said


def test_words_are_those_of_the_contract() -> None:
    """K1: who chose a category, by name where there is one; what nobody foresaw is told as it is."""
    assert classified("systemic", "module:postgres").startswith("systemic, because it is one of the errors that are")
    assert "(postgres)" in classified("systemic", "module:postgres")
    assert "as an outage" in classified("x", "as an outage")
    assert (times(1, "row"), times(1_234, "row"), times(2, "retry", "retries")) == ("1 row", "1,234 rows", "2 retries")
    assert sentence("a ValueError") == "A ValueError"
    assert sentence("") == ""


async def test_pages_need_no_script(window: Window) -> None:
    """Every form has a button that sends it and every control a label; the script is one file."""
    (row,) = await window.park("o-1")
    for path in (*PAGES, f"/parked/{row['id']}", "/help", "/docs"):
        read = Read(await shown(window, path))
        labels = {attributes.get("for") for tag, attributes in read.elements if tag == "label"}
        for tag, attributes in read.elements:
            if tag in {"input", "select"} and attributes.get("type") not in {"hidden", "checkbox"}:
                assert attributes.get("id") in labels, (path, attributes)
        ids = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
        assert len(ids) == len(set(ids)), path
        assert [tag for tag, _ in read.elements].count("h1") == 1, path


async def test_static_files_are_two_and_an_icon(window: Window) -> None:
    """And nothing else of the package is served."""
    for name, kind in (("console.css", "text/css"), ("console.js", "javascript"), ("icon.svg", "image/svg+xml")):
        answer: httpx.Response = await window.client.get(f"/static/{name}")
        assert answer.status_code == 200
        assert kind in answer.headers["content-type"]
    for name in ("rendering.py", "..%2Frendering.py", "%2e%2e/rendering.py"):
        assert (await window.client.get(f"/static/{name}")).status_code == 404
