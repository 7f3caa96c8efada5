"""What Prometheus is told: how the store stands, with a bounded number of series (H60)."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from tests.unit.ops_window import GROUP, Placed, Window, a_window, client_of, is_problem, order
from wow_ray.errors import NotConnectedError
from wow_ray.ops.access import Access, Role, TokenSource, made_token
from wow_ray.testing.clock import VirtualClock

PLACE = Path(__file__).resolve().parent.parent.parent / "docs"
Found = dict[str, dict[tuple[str, ...], float]]


async def scraped(window: Window) -> Found:
    """Scrape: values by name and by the labels besides the context."""
    answer = await window.client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return parsed(answer.text)


async def reported(window: Window) -> None:
    """Let two seconds pass, in which every partition says how it is."""
    for partition in window.running.service.partitions:
        partition.reporting.hurry()
    await window.running.advance("2s")


def parsed(text: str) -> Found:
    """Read the text format with Prometheus's own parser."""
    found: Found = defaultdict(dict)
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = dict(sample.labels)
            assert labels.pop("context") == "shop"
            found[sample.name][tuple(labels.values())] = sample.value
    return dict(found)


async def test_what_stands_and_what_waits_is_told() -> None:
    """H60: readiness, lag, the oldest unfinished event, the ledger by state, what was handled and what failed."""
    async with a_window() as window:
        await window.park("o-1", "o-2")
        await window.place("o-3")
        await reported(window)

        found = await scraped(window)

        assert found["wow_ray_ready"] == {(): 1.0}
        assert found["wow_ray_healthy"] == {(): 1.0}
        assert found["wow_ray_slots_owned"] == found["wow_ray_slots"]
        assert found["wow_ray_oldest_snapshot_seconds"] == found["wow_ray_replication_kept_bytes"] == {(): 0.0}
        assert found["wow_ray_ledger_rows"] == {(GROUP, "parked"): 2.0}
        assert found["wow_ray_group_lag_events"] == {(GROUP,): 0.0}
        assert found["wow_ray_group_oldest_unfinished_seconds"] == {(GROUP,): 0.0}
        assert sum(found["wow_ray_handled_events_total"].values()) == 1.0
        assert sum(found["wow_ray_failed_attempts_total"].values()) == 4.0
        assert sum(found["wow_ray_parked_aggregates_total"].values()) == 2.0
        assert found["wow_ray_table_rows"]["events",] == 3.0
        assert all(age < 10 for age in found["wow_ray_partition_report_age_seconds"].values())


async def test_an_app_that_is_down_is_told_without_it() -> None:
    """H60: no actor is asked; nothing owned, and lag that grows."""
    async with a_window() as window:
        await window.place("o-1")
        await window.stop()
        await window.running.clock.advance(2.0)

        found = await scraped(window)

        assert (found["wow_ray_ready"][()], found["wow_ray_healthy"][()]) == (0.0, 0.0)
        assert found["wow_ray_slots_owned"] == {(): 0.0}


async def test_the_number_of_series_does_not_grow_with_what_happens() -> None:
    """H59: labels are names that the program declares, and fixed words."""
    async with a_window() as window:
        await window.park("o-1")
        before = await scraped(window)
        await window.park(*(f"p-{n}" for n in range(2, 20)))
        await window.running.advance("3s")

        after = await scraped(window)

        assert {name: set(values) for name, values in after.items()} == {
            name: set(values) for name, values in before.items()
        }


async def test_a_look_is_shared_for_a_second() -> None:
    """A dozen scrapers cost the store as much as one."""
    async with a_window() as window:
        await window.running.advance("3s")
        first = await scraped(window)
        await window.running.store.append(order("o-1"), [Placed()], expected_version=None)
        assert await scraped(window) == first
        await window.running.advance("3s")
        assert await scraped(window) != first


async def test_a_store_that_is_away_is_a_scrape_that_fails() -> None:
    """H60: `up` is 0 then; old values would lie."""
    async with client_of(NotConnectedError("none")) as client:
        assert (await client.get("/metrics")).status_code == 503


async def test_it_is_for_those_who_may_look() -> None:
    """S109: names of handlers are nobody else's business; a scraper sends a token."""
    token, holder = made_token("prometheus", Role.VIEWER)
    async with a_window(Access(TokenSource(None, holder.line()), VirtualClock())) as window:
        is_problem(await window.client.get("/metrics"), 401, "WOW-TOKEN")
        headers = {"Authorization": f"Bearer {token}"}
        assert (await window.client.get("/metrics", headers=headers)).status_code == 200


async def test_every_metric_is_in_the_manual_and_the_dashboard_asks_for_no_other() -> None:
    """A dashboard that shows nothing is worse than none."""
    async with a_window() as window:
        await window.park("o-1")
        await window.running.advance("3s")
        found = {name.removesuffix("_total") for name in await scraped(window)}
    manual = (PLACE / "observability.md").read_text(encoding="utf-8")
    text = (PLACE / "deploy" / "grafana-wow-ray.json").read_text(encoding="utf-8")

    assert not {name for name in found if f"`{name.removeprefix('wow_ray_')}" not in manual}
    asked = {word for word in _words(json.loads(text)) if word.startswith("wow_ray_")}
    seldom = {
        "wow_ray_group_pauses",
        "wow_ray_durable_calls",
        "wow_ray_notice_deliveries",
        "wow_ray_partition_gate_closed",
    }
    assert asked
    assert {word.removesuffix("_total") for word in asked} <= found | seldom


def _words(dashboard: Any) -> set[str]:  # noqa: ANN401 - JSON
    """Give the words of all queries."""
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    text = " ".join(expressions)
    return set("".join(each if each.isalnum() or each == "_" else " " for each in text).split())
