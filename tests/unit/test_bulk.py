"""Commands on many: what was seen and nothing else, three first, few at once, stopped when they fail alike (P12)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.unit.ops_window import Window, a_window, is_problem
from wow_ray.ops.bulk_run import AT_ONCE
from wow_ray.policy.batches import CANARY
from wow_ray.testing.clock import at_rest

BULK = "/api/v1/parked/bulk"


@pytest.fixture
async def window() -> AsyncIterator[Window]:
    """The app, running, and its window."""
    async with a_window() as opened:
        yield opened


async def previewed(window: Window, filter_: dict[str, Any] | None = None, verb: str = "resume") -> dict[str, Any]:
    """Freeze what a filter finds."""
    answer = await window.client.post(f"{BULK}/preview", json={"filter": filter_ or {}, "verb": verb})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def ended(window: Window, batch: dict[str, Any], reason: str = "the carrier is back") -> dict[str, Any]:
    """Start a batch, and let time pass until it has ended."""
    answer = await window.client.post(f"{BULK}/start", json={"id": batch["id"], "reason": reason})
    assert answer.status_code == 202, answer.text
    for _ in range(60):
        await window.running.advance("1s")
        found: dict[str, Any] = await window.seen(f"{BULK}/{batch['id']}")
        if found["stage"] in {"done", "stopped"}:
            return found
    raise AssertionError(f"it goes on and on: {found}")


async def test_what_was_seen_is_resumed_and_nothing_else(window: Window) -> None:
    """S86: what is parked between looking and clicking is not among them; each is one action of the audit."""
    await window.park(*(f"o-{number}" for number in range(12)))
    batch = await previewed(window)
    await window.park("late")
    window.carrier.broken.clear()

    found = await ended(window, batch)

    assert (found["stage"], found["asked"], found["recovered"], found["failed"]) == ("done", 12, 12, 0)
    assert [row["aggregate_id"] for row in (await window.seen("/api/v1/parked"))["rows"]] == ["late"]
    actions = (await window.seen("/api/v1/audit"))["actions"]
    assert {(each["verb"], each["reason"]) for each in actions} == {("resume", "the carrier is back")}
    assert len(actions) == 12
    assert all(each["request_id"].startswith(batch["id"]) for each in actions)


async def test_it_stops_when_the_first_few_fail_alike(window: Window) -> None:
    """S87: the outage is not over; the others are not called at all, and it says so."""
    await window.park(*(f"o-{number}" for number in range(12)))
    batch = await previewed(window)

    found = await ended(window, batch)

    assert (found["stage"], found["asked"], found["failed"]) == ("stopped", CANARY, CANARY)
    assert "ValueError" in found["why"]
    assert len((await window.seen("/api/v1/audit"))["actions"]) == CANARY


async def test_what_has_changed_is_left_alone(window: Window) -> None:
    """P10: each is commanded with the etag that was seen."""
    rows = await window.park("o-1", "o-2")
    batch = await previewed(window)
    window.carrier.broken.clear()
    await window.ask(f"/api/v1/parked/{rows[0]['id']}/resume", {"etag": rows[0]["etag"], "reason": "mine"})

    found = await ended(window, batch)

    assert (found["stage"], found["recovered"], found["changed"]) == ("done", 1, 1)


async def test_stopped_events_are_skipped_and_later_ones_handled(window: Window) -> None:
    """P12: a skip of many is of the one event each stood at when it was seen."""
    await window.park("o-1", "o-2")
    await window.place("o-1")
    window.carrier.broken.clear()

    found = await ended(window, await previewed(window, verb="skip_one"))

    assert (found["stage"], found["recovered"]) == ("done", 2)
    assert window.carrier.told == [("o-1", 2)]


async def test_only_a_few_are_under_way_at_once(window: Window) -> None:
    """S87: live events keep most of the slots."""
    await window.park(*(f"o-{number}" for number in range(30)))
    batch = await previewed(window)
    await window.stop()
    await window.client.post(f"{BULK}/start", json={"id": batch["id"], "reason": "x"})
    await at_rest()
    assert (await window.seen(f"{BULK}/{batch['id']}"))["asked"] == CANARY
    await window.running.clock.advance(6.0)
    await at_rest()
    assert (await window.seen(f"{BULK}/{batch['id']}"))["asked"] == CANARY + AT_ONCE
    stopped = await window.client.post(f"{BULK}/{batch['id']}/stop", json={}, headers={"X-Actor": "ann"})
    assert (stopped.json()["stage"], stopped.json()["why"]) == ("stopped", "ann stopped it")
    await window.running.clock.advance(12.0)
    assert (await window.seen(f"{BULK}/{batch['id']}"))["asked"] == CANARY + AT_ONCE


async def test_an_empty_selection_selects_nothing(window: Window) -> None:
    """S30, P12: by a filter that finds nothing, by states that are over, by no state at all."""
    await window.park("o-1")
    nothing: list[dict[str, Any]] = [{"aggregate_id": "o-9"}, {"state": ["resolved"]}, {"state": []}]
    for filter_ in nothing:
        batch = await previewed(window, filter_)
        assert batch["rows"] == []
        assert (await ended(window, batch))["asked"] == 0
    assert (await window.seen("/api/v1/audit"))["actions"] == []


async def test_what_is_wrong_is_refused(window: Window) -> None:
    """A filter there is not, a verb that is not for many, no reason, a batch nobody knows."""
    for body in ({"filter": {"aggregateid": "o-1"}}, {"filter": {}, "verb": "reset"}, {}):
        is_problem(await window.client.post(f"{BULK}/preview", json=body), 422, "WOW-REQUEST")
    batch = await previewed(window)
    answer = await window.client.post(f"{BULK}/start", json={"id": batch["id"], "reason": "  "})
    is_problem(answer, 422, "WOW-OPERATION")
    is_problem(await window.client.get(f"{BULK}/none"), 404, "WOW-NOT-FOUND")
    is_problem(await window.client.post(f"{BULK}/start", json={"id": "none", "reason": "x"}), 404, "WOW-NOT-FOUND")


async def test_started_twice_it_begins_once(window: Window) -> None:
    """S85: two browsers, one batch."""
    await window.park("o-1")
    window.carrier.broken.clear()
    batch = await previewed(window)
    await asyncio.gather(
        *(window.client.post(f"{BULK}/start", json={"id": batch["id"], "reason": "x"}) for _ in range(20))
    )
    assert (await ended(window, batch))["asked"] == 1


async def test_the_console_previews_starts_and_shows_it(window: Window) -> None:
    """The list's address is what is frozen; the page tells how it goes."""
    await window.park("o-1", "o-2")
    window.carrier.broken.clear()
    word = (await window.client.get("/parked?aggregate_id=o-2")).text.partition('name="csrf" value="')[2][:64]
    form = {"csrf": word, "query": "aggregate_id=o-2&view=rows", "verb": "resume"}
    page = await window.submit("/bulk", form)
    assert page.status_code == 200
    assert "Resume 1 aggregate" in page.text
    assert "Nothing was asked for yet" in page.text
    assert "o-1" not in page.text
    begun = await window.submit(f"{page.url.path}/start", {"csrf": word, "reason": "it is back"})
    assert begun.status_code == 200
    await window.running.advance("6s")
    assert "<dd>1</dd>" in (await window.client.get(page.url.path)).text
    assert (await window.submit("/bulk", {**form, "query": "aggregateid=o-2"})).status_code == 422
    assert (await window.submit("/bulk", {**form, "verb": "reset"})).status_code == 422
    stopped = await window.submit(f"{page.url.path}/stop", {"csrf": word})
    assert stopped.status_code == 200
    text = (await window.client.get("/bulk")).text
    assert "Resume 1 aggregate" in text
    assert "it is back" in text
