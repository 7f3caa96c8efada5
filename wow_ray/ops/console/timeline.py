"""Lines over time, drawn as SVG without a script: what is drawn is also told, and stands in a table below.

The drawing is stretched to the width there is, so that it holds shapes alone; words and numbers are the page's own text
beside it, which keeps its size. Lines differ by colour and by dashes. Where there is no sample there is no line, and a
band says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup

from wow_ray.failure import Category
from wow_ray.ops.console.words import times
from wow_ray.ops.history import MISSING, HistoryView, PointView

WIDTH, HEIGHT = 600.0, 120.0
Value = Callable[[PointView], float | None]


@dataclass(frozen=True, slots=True)
class Line:
    """One line: what it is called, its number among the lines of its chart, what it draws of a point."""

    name: str
    number: int
    value: Value


@dataclass(frozen=True, slots=True)
class Chart:
    """Some lines to one scale, from zero to `top`; `unit` follows a number. `text` tells who does not see them."""

    id: str
    title: str
    unit: str
    lines: tuple[Line, ...]
    top: float
    text: str
    drawing: Markup


def charts(view: HistoryView) -> tuple[Chart, ...]:
    """Draw what there is to draw of a history; empty where there is no sample at all."""
    if not view.points:
        return ()
    failed = [Line(category.value, number, _failed(category)) for number, category in enumerate(Category)]
    return (
        _chart(view, "lag", "Lag", "", [Line("not read", 0, lambda one: one.lag), Line("under way", 1, _unfinished)]),
        _chart(view, "parked", "Parked", "", [Line("all", 0, _parked), Line("for a person", 1, _exhausted)]),
        _chart(view, "throughput", "Throughput", "/s", [Line("handled", 0, lambda one: one.rate)]),
        _chart(view, "failures", "Failures of calls by category", "/min", failed),
    )


def number(value: float | None, unit: str = "") -> str:
    """Write a number of a chart: no more digits than it takes."""
    if value is None:
        return "not known"
    text = f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.2g}"  # noqa: PLR2004 - digits enough
    return f"{text}{unit}"


def _chart(view: HistoryView, id_: str, title: str, unit: str, lines: Sequence[Line]) -> Chart:
    """Draw some lines."""
    values = [value for line in lines for point in view.points if (value := line.value(point)) is not None]
    top = max(values, default=0.0)
    told = [_told(line, view.points, unit) for line in lines]
    text = "; ".join(told) + (f"; {times(len(view.gaps), 'gap')} in which nobody took samples" if view.gaps else "")
    shapes = Markup("").join([*_bands(view), *(_path(line, view, top or 1.0) for line in lines)])
    drawing = Markup(
        '<svg class="time" viewBox="0 0 600 120" preserveAspectRatio="none" role="img" '
        'aria-labelledby="{id}-title" aria-describedby="{id}-text">'
        '<title id="{id}-title">{title} over time</title><desc id="{id}-text">{text}</desc>'
        '<path class="grid" d="M0 0.5H600M0 60H600M0 119.5H600"></path>{shapes}</svg>'
    ).format(id=f"chart-{id_}", title=title, text=text, shapes=shapes)
    return Chart(id_, title, unit, tuple(lines), top, text, drawing)


def _told(line: Line, points: Sequence[PointView], unit: str) -> str:
    """Tell a line in words: now, and its highest with the time."""
    known = [(value, point.at) for point in points if (value := line.value(point)) is not None]
    if not known:
        return f"{line.name}: not known"
    highest, at = max(known, key=lambda one: one[0])
    return f"{line.name}: {number(known[-1][0], unit)} last, {number(highest, unit)} most, at {at:%H:%M}"


def _path(line: Line, view: HistoryView, top: float) -> Markup:
    """Draw one line, broken where there is nothing; a point all alone is drawn as a dot."""
    parts = []
    for run in _runs(line, view):
        places = [f"{_x(view, at):.1f} {HEIGHT - value / top * (HEIGHT - 4) - 1:.1f}" for at, value in run]
        parts.append("M" + "L".join(places) + ("h0.1" if len(places) == 1 else ""))
    return Markup('<path class="line line-{}" d="{}"></path>').format(line.number, "".join(parts))


def _runs(line: Line, view: HistoryView) -> Iterator[list[tuple[datetime, float]]]:
    """Give the stretches of a line without a gap."""
    run: list[tuple[datetime, float]] = []
    for point in view.points:
        value = line.value(point)
        if run and (value is None or (point.at - run[-1][0]).total_seconds() > view.step + MISSING):
            yield run
            run = []
        if value is not None:
            run.append((point.at, value))
    if run:
        yield run


def _bands(view: HistoryView) -> Iterator[Markup]:
    """Mark where there is no sample: before the first, in gaps, after the last."""
    begin = view.until.timestamp() - view.seconds
    marks = [(one.timestamp() + view.step, next_.timestamp()) for one, next_ in view.gaps]
    first, last = view.points[0].at.timestamp(), view.points[-1].at.timestamp()
    marks = [(begin, first), *marks, (last + view.step, view.until.timestamp())]
    for since, until in marks:
        if until - since > MISSING:
            left, right = (max(0.0, at - begin) / view.seconds * WIDTH for at in (since, until))
            yield Markup('<rect class="none" x="{}" y="0" width="{}" height="120"></rect>').format(
                f"{left:.1f}", f"{right - left:.1f}"
            )


def _x(view: HistoryView, at: datetime) -> float:
    """Give the place of a time."""
    passed = view.seconds - (view.until - at).total_seconds()
    return min(WIDTH, max(0.0, passed / view.seconds * WIDTH))


def _unfinished(point: PointView) -> float:
    return point.unfinished


def _parked(point: PointView) -> float:
    return point.parked


def _exhausted(point: PointView) -> float:
    return point.exhausted


def _failed(category: Category) -> Value:
    """Give failures of a category in a minute."""
    return lambda one: None if one.failures is None else one.failures.get(category.value, 0.0) * 60
