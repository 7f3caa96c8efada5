"""The operators' API over HTTP, on the store in memory: what it answers is what `Operations` answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx
import pytest

from tests.unit.ops_window import (
    GROUP,
    PROBLEM,
    Carrier,
    Window,
    a_window,
    client_of,
    is_problem,
    made_app,
    operations_of,
)
from wow_ray.errors import FencedError, NotConnectedError, SchemaError, StoreUnavailableError
from wow_ray.ops import Operations, StatusView
from wow_ray.ops.http import api, door
from wow_ray.runtime.pace import Pace
from wow_ray.testing import Scenario
from wow_ray.testing.clock import at_rest


@pytest.fixture
async def window() -> AsyncIterator[Window]:
    """The app, running, and its API."""
    async with a_window() as opened:
        yield opened


# --- looking


async def test_the_pages_show_the_app_its_groups_its_partitions_and_what_is_parked(window: Window) -> None:
    """Issue 3.5: one parked order is counted everywhere and is there with its error, its trace and what it holds."""
    (row,) = await window.park("o-1")
    await window.place("o-1")

    overview, shown = await window.seen("/api/v1/overview"), await window.seen(f"/api/v1/parked/{row['id']}")
    assert (overview["ready"], overview["parked"]) == (True, 1)
    assert (await window.seen("/api/v1/partitions"))["unowned"] == []
    (group,) = (await window.seen("/api/v1/subscriptions"))["groups"]
    assert (group["group"], group["parked"]) == (GROUP, 1)
    assert await window.seen(f"/api/v1/subscriptions/{GROUP}") == group
    assert (shown["row"]["error"]["message"], shown["held"]["events"]) == ("no carrier for o-1", 2)
    assert "ValueError" in shown["traceback"]


async def test_a_page_begins_behind_the_last_row_of_the_page_before(window: Window) -> None:
    """P12: five rows in pages of two are each shown once, in one order."""
    rows = await window.park(*(f"o-{number}" for number in range(5)))
    ids: list[str] = []
    path: str | None = "/api/v1/parked?limit=2"
    while path:
        page = await window.seen(path)
        ids += [row["id"] for row in page["rows"]]
        path = f"/api/v1/parked?limit=2&after={page['next']}" if page["next"] else None
    assert ids == sorted(row["id"] for row in rows)


@pytest.mark.parametrize(
    ("filters", "rows"),
    [
        ("group=Notifier.on_placed", 2),
        ("group=Another", 0),
        ("subscription=Notifier.on_placed&aggregate=order", 2),
        ("aggregate_id=o-2", 1),
        ("state=parked", 2),
        ("state=exhausted&state=retrying", 0),
        ("reason=budget_spent", 2),
        ("reason=operator", 0),
        ("error=other", 0),
    ],
)
async def test_filters_narrow_the_list(window: Window, filters: str, rows: int) -> None:
    """P12: each filter by itself and together."""
    await window.park("o-1", "o-2")
    assert len((await window.seen(f"/api/v1/parked?{filters}"))["rows"]) == rows


@pytest.mark.parametrize("filters", ["aggregateid=o-1", "state=", "state=broken", "limit=0", "limit=1001"])
async def test_a_filter_that_there_is_not_selects_nothing_instead_of_everything(window: Window, filters: str) -> None:
    """P12, S30: it is refused with its name."""
    found = is_problem(await window.client.get(f"/api/v1/parked?{filters}"), 422, "WOW-REQUEST")
    assert filters.partition("=")[0] in found["detail"]


async def test_what_there_is_not_is_a_404_that_names_what_is_near(window: Window) -> None:
    """Rows, subscriptions, addresses: each a problem."""
    is_problem(await window.client.get("/api/v1/parked/none"), 404, "WOW-NOT-FOUND")
    is_problem(await window.ask("/api/v1/parked/none/resume", {"etag": 1, "reason": "x"}), 404, "WOW-NOT-FOUND")
    is_problem(await window.ask("/api/v1/subscriptions/Nobody/reset", {"reason": "x"}), 404, "WOW-NOT-FOUND")
    found = is_problem(await window.client.get("/api/v1/subscriptions/Notifier.on_place"), 404, "WOW-NOT-FOUND")
    assert GROUP in found["detail"]
    is_problem(await window.client.get("/api/v2"), 404, "WOW-REQUEST")
    is_problem(await window.client.delete("/api/v1/parked"), 405, "WOW-REQUEST")


# --- asking


async def test_a_subscription_is_paused_shown_and_resumed(window: Window) -> None:
    """H44, S83: the answer says which handlers stand still; the page shows who, why and since when; then it goes on."""
    asked = {"reason": "the carrier moves house"}
    answer = await window.ask(f"/api/v1/subscriptions/{GROUP}/pause", asked, X_Actor="ann", Idempotency_Key="k-1")

    said = answer.json()
    assert (answer.status_code, said["state"], said["changed"]) == (200, "done", True)
    assert (said["group"], said["handlers"], said["partition"]) == (GROUP, [GROUP], None)
    (pause,) = (await window.seen(f"/api/v1/subscriptions/{GROUP}"))["pauses"]
    assert said["pauses"] == [pause]
    assert (pause["reason"], pause["actor"], pause["text"], pause["stops"]) == (
        "operator",
        "ann",
        asked["reason"],
        True,
    )
    assert pause["since"].startswith("20")
    assert (await window.seen("/api/v1/overview"))["paused"] == [GROUP]
    await window.place("o-1")
    assert window.carrier.told == []

    resumed = await window.ask(f"/api/v1/subscriptions/{GROUP}/resume", {"reason": "it has moved"}, X_Actor="bob")

    assert (resumed.status_code, resumed.json()["pauses"]) == (200, [])
    assert window.carrier.told == [("o-1", 1)]
    (over,) = (await window.seen(f"/api/v1/subscriptions/{GROUP}/pauses"))["pauses"]
    assert (over["actor"], over["ended_by"], over["ended_text"]) == ("ann", "bob", "it has moved")
    assert over["since"] < over["ended_at"]


async def test_a_pause_is_stored_when_the_app_is_down_and_holds_when_it_is_back(window: Window) -> None:
    """H44: nobody has to run for it; the key once more gives the same answer, and sets nothing again."""
    await window.stop()
    path = f"/api/v1/subscriptions/shop.{GROUP}/pause"
    first = await window.ask(path, {"reason": "before the deploy"}, Idempotency_Key="k-1")
    again = await window.ask(path, {"reason": "before the deploy"}, Idempotency_Key="k-1")
    assert first.status_code == again.status_code == 200
    assert first.json() == again.json()
    assert first.json()["pauses"][0]["request_id"] == "k-1"


async def test_a_key_of_another_command_is_a_conflict(window: Window) -> None:
    """P10: a pause, a resume and a command on a row do not answer for each other."""
    (row,) = await window.park("o-1")
    path = f"/api/v1/subscriptions/{GROUP}"
    await window.ask(f"{path}/pause", {"reason": "x"}, Idempotency_Key="k-1")
    for other, body in (
        (f"{path}/resume", {"reason": "x"}),
        (f"{path}/pause", {"reason": "x", "partition": "shop-0"}),
        (f"{path}/pause", {"reason": "x", "pause": "deploy"}),
        (f"{path}/reset", {"reason": "x"}),
        (f"/api/v1/parked/{row['id']}/resume", {"reason": "x", "etag": row["etag"]}),
    ):
        is_problem(await window.ask(other, body, Idempotency_Key="k-1"), 409, "WOW-CONFLICT")


@pytest.mark.parametrize(
    ("name", "body", "status", "code"),
    [
        ("Nobody", {"reason": "x"}, 404, "WOW-NOT-FOUND"),
        (GROUP, {"reason": "x", "partition": "shop-9"}, 404, "WOW-NOT-FOUND"),
        (GROUP, {}, 422, "WOW-REQUEST"),
        (GROUP, {"reason": ""}, 422, "WOW-REQUEST"),
        (GROUP, {"reason": "   "}, 422, "WOW-OPERATION"),
        (GROUP, {"reason": "x", "pause": "systemic"}, 422, "WOW-REQUEST"),
        (GROUP, {"reason": "x", "until": "tomorrow"}, 422, "WOW-REQUEST"),
        (GROUP, {"reason": "a\u0000b"}, 422, "WOW-OPERATION"),
    ],
)
async def test_a_pause_that_is_wrong_is_a_problem_and_stops_nobody(
    window: Window, name: str, body: dict[str, Any], status: int, code: str
) -> None:
    """S71, S30: what there is not is refused by name, and nothing was changed."""
    is_problem(await window.ask(f"/api/v1/subscriptions/{name}/pause", body), status, code)
    assert (await window.seen(f"/api/v1/subscriptions/{GROUP}"))["pauses"] == []


async def test_a_resume_is_answered_with_its_outcome_and_its_key_once_more_with_the_same(window: Window) -> None:
    """P9, P10: 200; the held events are called once each, whoever repeats the request; the audit has who and why."""
    (row,) = await window.park("o-1")
    await window.place("o-1")
    window.carrier.broken.clear()
    path, body = f"/api/v1/parked/{row['id']}/resume", {"etag": row["etag"], "reason": "the carrier is back"}

    first = await window.ask(path, body, Idempotency_Key="k-1", X_Actor="ann")
    again = await window.ask(path, body, Idempotency_Key="k-1", X_Actor="ann")

    assert (first.status_code, again.status_code) == (200, 200)
    assert (first.json()["state"], first.json()["request_id"], first.json()["verb"]) == ("done", "k-1", "resume")
    changing = {"row"}
    assert {k: v for k, v in first.json().items() if k not in changing} == {
        k: v for k, v in again.json().items() if k not in changing
    }
    assert window.carrier.told == [("o-1", 1), ("o-1", 2)]
    assert (await window.seen("/api/v1/parked"))["rows"] == []
    intent = await window.running.service.client.ledger.intent("k-1")
    assert intent is not None
    assert (intent.request.actor, intent.request.reason) == ("ann", "the carrier is back")
    used = await window.ask(f"/api/v1/parked/{row['id']}/skip", body, Idempotency_Key="k-1")
    assert "request_id" in is_problem(used, 409, "WOW-CONFLICT")["detail"]


async def test_twenty_resumes_at_once_are_one_drain(window: Window) -> None:
    """P10, S85: one is done; nineteen are told, as 409, what is the case instead."""
    (row,) = await window.park("o-1")
    window.carrier.broken.clear()
    path, body = f"/api/v1/parked/{row['id']}/resume", {"etag": row["etag"], "reason": "back"}
    asked = [asyncio.ensure_future(window.client.post(path, json=body)) for _ in range(20)]
    await at_rest()
    await window.running.advance("6s")
    answers = await asyncio.gather(*asked)
    assert sorted(answer.status_code for answer in answers) == [200, *[409] * 19]
    assert window.carrier.told == [("o-1", 1)]


async def test_a_stale_etag_is_a_409_with_the_row_as_it_is_now(window: Window) -> None:
    """P10: the operator sees in the answer what changed since, and asks with that etag."""
    (row,) = await window.park("o-1")
    path = f"/api/v1/parked/{row['id']}/retry-now"
    again = await window.ask(path, {"etag": row["etag"], "reason": "try"})
    assert again.status_code == 200
    found = is_problem(await window.ask(path, {"etag": row["etag"], "reason": "try"}), 409, "WOW-CONFLICT")
    assert found["row"]["etag"] > row["etag"]
    assert (await window.ask(path, {"etag": found["row"]["etag"], "reason": "try"})).status_code == 200


async def test_a_skip_says_what_it_passed_over(window: Window) -> None:
    """P9: through the version that the operator saw, or the stopped event only; later ones are handled."""
    one, other = await window.park("o-1", "o-2")
    await window.place("o-1", "o-2")
    await window.place("o-1", "o-2")
    window.carrier.broken.clear()
    through = {"etag": one["etag"], "reason": "gone", "through_version": 2}
    only = {"etag": other["etag"], "reason": "gone", "only": True}
    first = await window.ask(f"/api/v1/parked/{one['id']}/skip", through)
    second = await window.ask(f"/api/v1/parked/{other['id']}/skip", only)
    assert (first.status_code, second.status_code) == (200, 200)
    assert first.json()["outcome"]
    assert sorted(window.carrier.told) == [("o-1", 3), ("o-2", 2), ("o-2", 3)]
    both = await window.ask(f"/api/v1/parked/{one['id']}/skip", {**through, "only": True})
    assert "not both" in is_problem(both, 422, "WOW-OPERATION")["detail"]


async def test_a_reset_of_what_is_no_projection_is_refused_by_its_owner(window: Window) -> None:
    """L6: 409, of no row."""
    found = is_problem(await window.ask(f"/api/v1/subscriptions/{GROUP}/reset", {"reason": "x"}), 409, "WOW-CONFLICT")
    assert found["row"] is None


async def test_a_command_that_nobody_can_apply_now_is_accepted(window: Window) -> None:
    """P10, H5: 202 with the row and what it waits for; the key asks how it stands, and does not store it twice."""
    (row,) = await window.park("o-1")
    path, body = f"/api/v1/parked/{row['id']}/resume", {"etag": row["etag"], "reason": "back"}
    await window.stop()
    answer = await window.ask(path, body, Idempotency_Key="k-1")
    again = await window.ask(path, body, Idempotency_Key="k-1")
    assert answer.status_code == again.status_code == 202
    assert answer.json() == again.json()
    assert (answer.json()["state"], answer.json()["row"]["id"]) == ("pending", row["id"])
    assert "nobody owns slot" in answer.json()["note"]


@pytest.mark.parametrize(
    "body",
    [
        {"etag": 1},
        {"reason": "x"},
        {"etag": 1, "reason": ""},
        {"etag": 1, "reason": " "},
        {"etag": 1, "reason": "a\x00b"},
        {"etag": 1, "reason": "x" * 1_001},
        {"etag": "1", "reason": "x"},
        {"etag": 1, "reason": "x", "only": True},
    ],
)
async def test_a_command_without_an_etag_or_a_reason_is_refused(window: Window, body: dict[str, Any]) -> None:
    """P10: compare-and-set and audit are no choice; what a resume does not know is not passed over in silence."""
    (row,) = await window.park("o-1")
    answer = await window.ask(f"/api/v1/parked/{row['id']}/resume", body)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == PROBLEM
    assert answer.json()["code"] in {"WOW-REQUEST", "WOW-OPERATION"}


# --- who may ask


async def test_a_page_on_the_web_commands_nothing(window: Window) -> None:
    """A form of another site cannot send JSON, and a name that was made to point here is not ours."""
    (row,) = await window.park("o-1")
    path, text = f"/api/v1/parked/{row['id']}/resume", f'{{"etag": {row["etag"]}, "reason": "x"}}'
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        answer = await window.client.post(path, content=text, headers={"Content-Type": kind})
        is_problem(answer, 422, "WOW-REQUEST")
    elsewhere = {"Host": "evil.example"}
    is_problem(await window.client.get("/api/v1/parked", headers=elsewhere), 403, "WOW-REQUEST")
    is_problem(await window.client.post(path, json={"etag": 1, "reason": "x"}, headers=elsewhere), 403, "WOW-REQUEST")
    assert (await window.client.get("/readyz", headers=elsewhere)).status_code == 200
    assert (await window.seen(f"/api/v1/parked/{row['id']}"))["row"]["etag"] == row["etag"]


# --- health


async def test_it_is_ready_while_every_slot_has_a_living_owner(window: Window) -> None:
    """H60: 503 with the slots once they have none; health shows first how long the oldest event has waited."""
    ready, healthy = await window.seen("/readyz"), await window.seen("/healthz")
    assert ready["ready"]
    assert next(iter(healthy)) == "oldest_unfinished"
    await window.stop()
    for path in ("/readyz", "/healthz"):
        answer = await window.client.get(path)
        found = is_problem(answer, 503, "WOW-NOT-READY")
        assert len(found["unowned"]) == ready["slots"]
        assert "Retry-After" in answer.headers


# --- what the partitions say of themselves


@asynccontextmanager
async def lively(partitions: int = 2) -> AsyncIterator[Window]:
    """The app at the pace of a real one, so that its partitions report every two seconds."""
    carrier = Carrier()
    async with AsyncExitStack() as scenario:
        app = Scenario(made_app(), {Carrier: carrier}, partitions=partitions, pace=Pace())
        running = await scenario.enter_async_context(app)
        async with client_of(operations_of(running)) as client:
            yield Window(running, carrier, client, scenario.aclose)


async def test_the_pages_show_what_each_partition_does_and_all_of_them_together() -> None:
    """Architecture 8: counts, rates, limits and how old that is, in each partition and summed up."""
    async with lively() as window:
        await window.place(*(f"o-{number}" for number in range(20)))
        await window.running.advance("4s")

        live = (await window.seen(f"/api/v1/subscriptions/{GROUP}"))["live"]
        assert (live["state"], live["where"], live["handled"]) == ("running", ["shop-0", "shop-1"], 20)
        assert (live["limit"], live["share"], live["limited"], live["running"]) == (64, 64, [], 0)
        assert live["rate"] > 0
        assert live["age"] <= 2.0
        assert [part["partition"] for part in live["parts"]] == ["shop-0", "shop-1"]
        assert sum(part["handled"] for part in live["parts"]) == 20

        found = await window.seen("/api/v1/partitions")
        assert (found["running"], found["rate"] > 0, found["troubles"]) == (0, True, [])
        assert [each["live"]["state"] for each in found["partitions"]] == ["running", "running"]
        assert sum(each["live"]["handled"] for each in found["partitions"]) == 20
        assert found["partitions"][0]["live"]["uncommitted"] < 1
        assert found == {name: (await window.seen("/api/v1/overview"))[name] for name in found}


async def test_a_paused_group_is_shown_with_its_reason_its_next_probe_and_the_last_ones_error() -> None:
    """D3, W4: who wonders why nothing goes on reads what fails, since when, and when it is tried again."""
    async with lively(partitions=1) as window:
        window.carrier.away = True
        await window.place("o-1", "o-2")

        live = (await window.seen("/api/v1/subscriptions"))["groups"][0]["live"]
        assert (live["state"], live["where"]) == ("paused", ["shop-0"])
        assert live["why"].endswith("the carrier is away")
        pause = live["pause"]
        assert (pause["why"], pause["partition"], pause["subscription"]) == ("systemic", "shop-0", GROUP)
        assert pause["last_probe_error"].endswith("the carrier is away")
        assert pause["probes_failed"] >= 1
        assert pause["since"] < pause["next_probe"]
        (partition,) = (await window.seen("/api/v1/partitions"))["partitions"]
        assert partition["live"]["groups"] == {GROUP: "paused"}

        window.carrier.away = False
        await window.running.advance("1m")
        live = (await window.seen("/api/v1/subscriptions"))["groups"][0]["live"]
        assert (live["pause"], live["handled"]) == (None, 2)


async def test_health_is_red_for_a_partition_that_has_said_nothing_and_readiness_is_not() -> None:
    """H60: its lease is renewed by a thread of its own, so a loop that is stuck is seen by its silence alone."""
    async with lively(partitions=1) as window:
        assert (await window.client.get("/healthz")).status_code == 200
        async with window.running.memory.gate("reports.write"):
            await window.running.advance("13s")
            answer = await window.client.get("/healthz")
            found = is_problem(answer, 503, "WOW-UNHEALTHY")
            assert found["troubles"] == ["shop-0: no report for 13 s"]
            assert "shop-0" in found["detail"]
            assert (await window.client.get("/readyz")).status_code == 200
            live = (await window.seen(f"/api/v1/subscriptions/{GROUP}"))["live"]
            assert (live["state"], live["why"]) == ("stale", "no report for 13 s")
        await window.running.advance("3s")
        assert (await window.client.get("/healthz")).status_code == 200


async def test_health_is_red_for_a_commit_that_waits_for_half_a_minute() -> None:
    """H60: the store answers, the partition owns its slots, and what it has done is not in the store."""
    async with lively(partitions=1) as window, window.running.memory.gate("slots.commit"):
        await window.place("o-1")
        await window.running.advance("25s")
        assert (await window.client.get("/healthz")).status_code == 200
        await window.running.advance("10s")
        found = is_problem(await window.client.get("/healthz"), 503, "WOW-UNHEALTHY")
        assert "what it has to commit waits for 3" in found["detail"]


async def test_nobody_is_said_to_do_anything_once_the_app_has_ended(window: Window) -> None:
    """B4: the group is as the store knows it."""
    await window.stop()
    assert (await window.seen(f"/api/v1/subscriptions/{GROUP}"))["live"] is None
    assert (await window.seen("/api/v1/partitions"))["partitions"] == []


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (StoreUnavailableError("the store cannot be reached"), 503),
        (NotConnectedError("no store was found"), 503),
        (SchemaError("the schema is older"), 503),
        (FencedError("overtaken", (1,)), 503),
        (TimeoutError(), 503),
    ],
)
async def test_a_store_that_is_away_is_a_503_everywhere(error: Exception, status: int) -> None:
    """H60: and the program that serves this goes on, and opens it at a later request."""
    async with client_of(error) as client:
        for path in ("/readyz", "/healthz", "/api/v1/overview", "/api/v1/parked", "/api/v1/subscriptions"):
            answer = await client.get(path)
            is_problem(answer, status, getattr(error, "code", "WOW-STORE"))
        body = {"etag": 1, "reason": "x"}
        assert (await client.post("/api/v1/parked/r-1/resume", json=body)).status_code == status


async def test_a_store_that_was_lost_is_looked_for_anew(window: Window) -> None:
    """H60: it may be back at another address; what was opened at the old one is closed."""
    openings: list[str] = []

    class Lost(Operations):
        async def status(self) -> StatusView:
            raise StoreUnavailableError("the store cannot be reached")

    @asynccontextmanager
    async def opened() -> AsyncIterator[Operations]:
        openings.append("opened")
        found = operations_of(window.running, Lost if len(openings) == 1 else Operations)
        yield found
        openings.append("closed")

    transport = httpx.ASGITransport(api(opened))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        is_problem(await client.get("/readyz"), 503, "WOW-STORE")
        assert (await client.get("/readyz")).status_code == 200
        assert (await client.get("/readyz")).status_code == 200
    assert openings == ["opened", "closed", "opened"]


async def test_a_store_that_does_not_answer_is_a_503_in_time(window: Window, monkeypatch: pytest.MonkeyPatch) -> None:
    """H60: a probe waits for no store that hangs."""
    monkeypatch.setattr(door, "PATIENCE", 0.05)

    @asynccontextmanager
    async def opened() -> AsyncIterator[Operations]:
        await asyncio.Event().wait()
        yield operations_of(window.running)

    async with httpx.AsyncClient(transport=httpx.ASGITransport(api(opened)), base_url="http://localhost") as client:
        is_problem(await client.get("/readyz"), 503, "WOW-STORE")


async def test_what_nobody_foresaw_is_a_500_that_gives_nothing_away() -> None:
    """The text of such an error may hold anything."""
    async with client_of(RuntimeError("postgres://ann:secret@db")) as client:
        answer = await client.get("/api/v1/overview")
        is_problem(answer, 500, "WOW")
        assert "secret" not in answer.text


async def test_the_description_names_every_page_and_every_problem() -> None:
    """OpenAPI: the addresses that bind, and problems as what they are."""
    async with client_of(NotConnectedError("none")) as client:
        found = (await client.get("/openapi.json")).json()
    rows = "/api/v1/parked/{row_id}"
    group = "/api/v1/subscriptions/{name}"
    whole = ("overview", "partitions", "subscriptions", "parked", "audit", "events", "history")
    pages = [f"/api/v1/{each}" for each in whole]
    pages += [group, f"{group}/pauses", f"{group}/settings", f"{group}/history", f"{rows}/events"]
    pages += ["/api/v1/parked/groups", "/api/v1/parked/count"]
    for bulk in ("/api/v1/parked/bulk", "/api/v1/calls/bulk"):
        pages += [bulk, *(f"{bulk}/{each}" for each in ("preview", "start", "{batch_id}"))]
        pages += [f"{bulk}/{{batch_id}}/{verb}" for verb in ("resume", "stop")]
    function = "/api/v1/functions/{name}"
    pages += ["/api/v1/functions", f"{function}/pauses", f"{function}/pause", f"{function}/resume"]
    commands = [f"{rows}/{verb}" for verb in ("resume", "retry-now", "skip")]
    commands += [f"{group}/{verb}" for verb in ("pause", "reset", "resume")]
    commands += ["/api/v1/partitions/scale"]
    calls = ["/api/v1/calls", "/api/v1/calls/{call_id}", "/api/v1/calls/{call_id}/{verb}"]
    calls += [f"/api/v1/notices{each}" for each in ("", "/test", "/{delivery_id}", "/{delivery_id}/resend")]
    assert sorted(found["paths"]) == sorted([*pages, *calls, rows, *commands, "/healthz", "/metrics", "/readyz"])
    assert PROBLEM in found["paths"][f"{rows}/resume"]["post"]["responses"]["409"]["content"]
