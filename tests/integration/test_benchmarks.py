"""The benchmarks work: short runs of their parts, judged by what no machine's load changes."""

from __future__ import annotations

import pytest

from benchmarks import isolation, window
from benchmarks.isolation import NO_POISON, POISONED, Kind
from benchmarks.outage import busy, carrier_down
from benchmarks.outage.desk import Call, at_once, rate_back, third_failure
from benchmarks.outage.downstream import downstream
from benchmarks.outage.found import Found
from benchmarks.report import COMPARISONS, Options
from benchmarks.servers import fresh_database
from benchmarks.window import desk
from benchmarks.window.filling import fill
from benchmarks.workload import CONTEXT, Bookings, load


def held(found: Found, *bars: str) -> bool:
    """Tell whether these bars of a run hold."""
    wanted = [found.bars[f"{found.run}_{bar}"] for bar in bars]
    return all(COMPARISONS[bar.comparison](found.figures[bar.figure], bar.value) for bar in wanted)


async def test_a_short_outage_of_the_other_side_costs_nothing() -> None:
    """D3, W4: every partition pauses and goes on, one call at a time meanwhile, nothing is parked."""
    async with downstream() as server:
        found = await carrier_down.run(Options(quick=True), server, "short", "refused", seconds=1.0)

    assert found.figures["short_pauses_count"] >= 1
    assert held(found, "parked", "lost", "out_of_order", "repeats", "calls_while_paused_at_once")


async def test_a_busy_other_side_halves_the_load_and_parks_nobody() -> None:
    """D4: a short log is read while it answers 429."""
    async with downstream() as server:
        found = await busy.run(Options(quick=True, events=3_000), server)

    assert held(found, "parked", "pauses", "lost", "out_of_order", "repeats", "limit_after_first_answer")


@pytest.mark.parametrize("kind", [NO_POISON, POISONED[0], POISONED[-1]], ids=lambda kind: kind.name)
async def test_healthy_aggregates_are_all_handled_beside_poison_ones(kind: Kind) -> None:
    """P1: in order, once, and none of them is held."""
    bookings = Bookings(1, 200)
    async with fresh_database(CONTEXT) as database:
        await load(database, bookings, 1_999)
        read = await isolation.catch_up(database, "Read", kind.poisoned(1, bookings.names), bookings.made)
        live = await isolation.live(database, "Live", kind, 1, 1.0)

    for healthy in (read, live):
        assert healthy.checker.seen == healthy.expected
        assert (healthy.checker.out_of_order, healthy.checker.duplicates, healthy.strangers) == (0, 0, 0)


def test_the_figures_are_taken_from_the_calls() -> None:
    """The third different account that fails, the most calls at once, and the first window at full rate."""
    calls = [Call(name, "p", at, at + 1.0, "Error") for name, at in (("a", 0.0), ("a", 0.5), ("b", 1.0), ("c", 5.0))]
    assert third_failure(calls, 0.0) == 6.0
    assert third_failure(calls, 1.2) == 6.0
    assert third_failure(calls, 1.6) is None
    assert at_once(calls) == 2
    # 10 a second: two within 0.2 s, the first two of which end 3.0 and 3.1 s after the beginning.
    good = [Call("a", "p", at, at, "") for at in (1.0, 3.0, 3.1, 3.2)]
    assert rate_back(good, 10.0, 0.0) == pytest.approx(3.1)
    assert rate_back(good, 100.0, 0.0) > 3.2


async def test_a_full_ledger_is_asked_in_every_way_and_answers_rightly() -> None:
    """P12: as many rows as the filters need to tell; what takes how long is the benchmark's to judge."""
    async with fresh_database(window.CONTEXT) as database:
        await fill(database, 10_000)
        figures = {**await desk.looks(database, 1), **await desk.claims(database, 2)}
        async with desk.window(database) as client:
            counts = {
                name: (await client.get("/api/v1/parked/count", params=given)).json()
                for name, given in desk.FILTERS.items()
            }
            groups = (await client.get("/api/v1/parked/groups", params={"limit": 1000})).json()["groups"]

    assert all(taken > 0 for taken in figures.values())
    assert counts["none"] == {"rows": 10_000, "exact": True}
    assert counts["state"] == {"rows": 800, "exact": True}
    assert counts["aggregate_id"] == {"rows": 1, "exact": True}
    assert (counts["version"]["rows"], counts["reason"]["rows"]) == (10, 10)
    assert counts["nothing"]["rows"] == counts["ended"]["rows"] == counts["text_nowhere"]["rows"] == 0
    assert (sum(each["rows"] for each in groups), all(each["exact"] for each in groups)) == (10_000, True)
