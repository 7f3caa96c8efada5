"""Charts over time: drawn from what was kept, told in words and a table, and broken where nothing was."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from tests.unit.ops_window import GROUP, Window, a_window, is_problem
from tests.unit.test_console import Read, shown
from wow_ray.failure import Category
from wow_ray.ops.console.timeline import charts, number
from wow_ray.ops.history import HistoryView, PointView, gaps_of
from wow_ray.ports.samples import EVERY, Sample

NOW = datetime(2030, 1, 1, 12, 0, tzinfo=UTC)
STEP = 30.0


@pytest.fixture
async def window() -> AsyncIterator[Window]:
    """The app, running, and its console."""
    async with a_window() as opened:
        yield opened


def a_point(ago: float, lag: int, rate: float | None = 0.0, **failures: float) -> PointView:
    """A point so many seconds ago."""
    return PointView(NOW - timedelta(seconds=ago), lag, 0, 0, 0, rate, None if rate is None else failures)


def a_view(*points: PointView) -> HistoryView:
    """An hour of these points."""
    return HistoryView("1h", NOW, 3_600.0, STEP, points, gaps_of(points, STEP))


async def sampled(window: Window, *samples: Sample) -> None:
    """Keep samples, one each fifteen seconds."""
    kept = window.running.memory.client_stores().samples
    for each in samples:
        await kept.add([each])
        await window.running.clock.advance(EVERY)


def test_a_line_is_broken_where_nobody_took_samples() -> None:
    """A missing one falls between two stretches; more of them are a gap, which is not drawn over."""
    points = [a_point(ago, 5) for ago in (600, 570, 510, 480, 240, 210)]
    view = a_view(*points)
    assert view.gaps == ((NOW - timedelta(seconds=480), NOW - timedelta(seconds=240)),)
    (lag, *_) = charts(view)
    line = re.search(r'class="line line-0" d="([^"]+)"', lag.drawing)
    assert line is not None
    assert [part.count("L") for part in line[1].split("M")[1:]] == [3, 1]
    bands = re.findall(r'class="none" x="([\d.]+)" y="0" width="([\d.]+)"', lag.drawing)
    assert [float(x) for x, _ in bands] == [0.0, 525.0, 570.0]
    assert "1 gap in which nobody took samples" in lag.text


def test_what_is_not_known_is_neither_drawn_nor_told_as_nought() -> None:
    """The first sample of a process knows of no rate."""
    view = a_view(a_point(60, 5, None), a_point(30, 7, 2.5, recoverable=0.5))
    drawn = {each.id: each for each in charts(view)}
    assert drawn["throughput"].text == "handled: 2.5/s last, 2.5/s most, at 11:59"
    assert 'd="M595.0 3.0h0.1"' in drawn["throughput"].drawing
    assert "recoverable: 30/min last" in drawn["failures"].text
    assert charts(a_view(a_point(60, 5, None)))[2].text == "handled: not known"
    assert charts(a_view()) == ()


def test_a_line_of_noughts_lies_on_the_ground_and_the_highest_point_below_the_edge() -> None:
    """From zero up to the largest value, whatever that is."""
    (lag, *_) = charts(a_view(a_point(60, 0), a_point(30, 0)))
    assert 'd="M590.0 119.0L595.0 119.0"' in lag.drawing
    (lag, *_) = charts(a_view(a_point(60, 0), a_point(30, 1_000_000)))
    assert 'd="M590.0 119.0L595.0 3.0"' in lag.drawing
    assert "1,000,000 most" in lag.text


def test_a_coarse_step_without_any_sample_is_a_gap_as_well() -> None:
    """Over two days a step is 24 minutes: ninety samples that nobody took are not drawn over."""
    step = 1_440.0
    points = [a_point(ago * step, 5) for ago in (9, 8, 6, 5)]
    assert gaps_of(points, step) == ((points[1].at, points[2].at),)


@pytest.mark.parametrize(
    ("value", "told"), [(0, "0"), (0.25, "0.25"), (3, "3"), (12.4, "12"), (1234567, "1,234,567"), (None, "not known")]
)
def test_numbers_have_no_more_digits_than_it_takes(value: float | None, told: str) -> None:
    """Two of them below ten, none after the point above."""
    assert number(value) == told


async def test_the_history_of_all_and_of_one_group_is_told_by_the_api(window: Window) -> None:
    """Rates are per second of what was counted; a range that there is not is refused."""
    await window.place("o-1")
    happened = {Category.RECOVERABLE: 3}
    await sampled(window, Sample(1, 9, 1, 4, 2), Sample(1, 5, 1, 4, 2, EVERY, 150, happened))
    for path in ("/api/v1/history", f"/api/v1/subscriptions/{GROUP}/history?range=1h"):
        found = await window.seen(path)
        (point,) = found["points"]
        assert (point["lag"], point["parked"], point["exhausted"]) == (9, 4, 2)
        assert (point["rate"], point["failures"]) == (10.0, {"recoverable": 0.2})
        assert (found["range"], found["step"], found["gaps"]) == ("1h", 30.0, [])
    is_problem(await window.client.get("/api/v1/history?range=2h"), 422, "WOW-REQUEST")
    is_problem(await window.client.get("/api/v1/subscriptions/nobody/history"), 404, "WOW-NOT-FOUND")


async def test_pages_draw_tell_and_list_it(window: Window) -> None:
    """A title, a text and a table for who does not see it; the range is in the address."""
    await window.place("o-1")
    await sampled(window, *(Sample(1, lag, 0, 1, 1, EVERY, 30, {Category.SYSTEMIC: 1}) for lag in range(8)))
    for path in ("/", f"/subscriptions/{GROUP}"):
        text = await shown(window, path)
        found = Read(text).elements
        charts_ = [each for tag, each in found if tag == "svg" and each.get("class") == "time"]
        assert [each["role"] for each in charts_] == ["img"] * 4
        ids = {each.get("id") for _, each in found}
        for each in charts_:
            assert {each["aria-labelledby"], each["aria-describedby"]} <= ids
        assert 'desc id="chart-lag-text">not read: 7 last, 7 most' in text
        assert 'aria-label="Samples"' in text
        assert not [each for _, each in found if "style" in each]
        assert f'href="{path}?range=6h"' in text
    day = await shown(window, "/?range=24h")
    assert re.search(r'href="/\?range=24h" aria-current="true"', day)
    assert "31 Dec" in day


async def test_where_there_is_no_sample_a_page_says_so(window: Window) -> None:
    """An app that has just begun has no past."""
    assert "No sample was taken in the last 6h" in await shown(window, "/?range=6h")
