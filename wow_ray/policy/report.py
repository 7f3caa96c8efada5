"""What a partition says of itself for people to look at, and how that is written: plain JSON of a bounded size.

Nothing is decided by a report. What is 0, empty or absent is not written, and what a reader does not find is that, so
a report of another release is read as far as it goes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

MOST = 65_000
"""Characters of a report at most; all of them are ASCII."""
TEXTS = (200, 80, 24, 0)
"""How long texts of errors may be: the first of these with which the report is small enough."""
SPARED = frozenset({"failed_rate", "failing", "window", "waiting", "open", "failed_by"})
"""What is said of no group when there is no room for all of them with it."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PauseReport:
    """A pause that the partition made by itself; `next_probe` in seconds from the report on.

    `error` of `handler` (empty = the group's only one) began it; `probes` have failed, the last with `probe_error`. It
    is over when `needs` more different aggregates have succeeded that did not fail.
    """

    why: str = ""
    since: str = ""
    handler: str = ""
    error: str = ""
    next_probe: float = 0.0
    probe_error: str = ""
    probes: int = 0
    needs: int = 0


@dataclass(frozen=True, slots=True)
class GroupReport:
    """One group in one partition. Counts are since the partition started, rates per second of the last ten.

    `limit` of its `share` calls may run at once at present, for the reason `limited` (see `policy.limiter`; empty =
    all of it). `failing` aggregates fail at present, of which `window` count towards an outage. `waiting` aggregates
    have work and no call under way; `open` positions are handed out and not committed. `failed_by` counts failures by
    category.
    """

    handled: int = 0
    failed: int = 0
    parked: int = 0
    rate: float = 0.0
    failed_rate: float = 0.0
    running: int = 0
    limit: int = 0
    share: int = 0
    limited: str = ""
    failing: int = 0
    window: int = 0
    waiting: int = 0
    open: int = 0
    stops: tuple[str, ...] = ()
    pause: PauseReport | None = None
    failed_by: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PartitionReport:
    """One partition. Lengths of time in seconds; a report is promised every `every` of them.

    `committed` = since the last commit, `uncommitted` = for how long something waits to be committed. `loop_lag` is the
    longest that the event loop kept anybody waiting since the report before; `late` says of each loop of the
    partition how long its next turn is overdue. While a gate is closed no call begins. `replaced` workers are lost to
    calls that do not end. `left_out` groups found no room; they had least to say. `release` is its program.
    """

    every: float = 0.0
    up: float = 0.0
    slots: int = 0
    committed: float = 0.0
    uncommitted: float = 0.0
    loop_lag: float = 0.0
    late: Mapping[str, float] = field(default_factory=dict)
    gates: tuple[str, ...] = ()
    replaced: int = 0
    left_out: int = 0
    release: str = ""
    groups: Mapping[str, GroupReport] = field(default_factory=dict)


def written(report: PartitionReport, most: int = MOST) -> str:
    """Write a report in at most `most` characters.

    Texts are cut first, then facts are left out that people can do without, then groups that have least to say.
    """
    groups = {name: _said(group) for name, group in report.groups.items()}
    texts = {name: _json(group) for name, group in groups.items()}
    rest = {name: _plain(value) for name, value in _said(report).items() if name != "groups"}
    room = most - len(_json({**rest, "left_out": 10**9, "groups": {}}))
    for spare in _SPARING:
        for name, group in groups.items():
            if spare(group):
                texts[name] = _json(group)
        if sum(len(name) + len(text) + 4 for name, text in texts.items()) <= room:
            return _json(rest | {"groups": groups})
    kept = {}
    for name in sorted(groups, key=lambda name: _weight(report.groups[name]), reverse=True):
        room -= len(name) + len(texts[name]) + 4
        if room >= 0:
            kept[name] = groups[name]
    return _json(rest | {"left_out": report.left_out + len(groups) - len(kept), "groups": kept})


def read(text: str) -> PartitionReport | None:
    """Read a report; `None` = it was written by a program that says other things under the same names."""
    try:
        found = json.loads(text)
        groups = found.get("groups", {})
        late = {str(name): float(seconds) for name, seconds in found.get("late", {}).items()}
        return replace(_read(PartitionReport, found), late=late, groups={name: _group(groups[name]) for name in groups})
    except (ValueError, TypeError, AttributeError):
        return None


def _group(found: Any) -> GroupReport:  # noqa: ANN401 - JSON
    pause = found.get("pause")
    failed_by = {str(name): int(count) for name, count in found.get("failed_by", {}).items()}
    own = _read(GroupReport, found)
    return replace(own, pause=None if pause is None else _read(PauseReport, pause), failed_by=failed_by)


def _read(kind: type[T], found: Mapping[str, Any]) -> T:
    """Make a value of what is said of its plain fields; what is not said is as by default."""
    told = {}
    for each in fields(kind):  # type: ignore[arg-type] # a dataclass
        if each.name in found and isinstance(each.default, int | float | str | tuple):
            value = found[each.name]
            told[each.name] = tuple(map(str, value)) if each.default == () else type(each.default)(value)
    return kind(**told)


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _said(value: PauseReport | GroupReport | PartitionReport) -> dict[str, Any]:
    """Give what differs from the defaults, as JSON knows it."""
    told = {}
    for name, default in _DEFAULTS[type(value)]:
        found = getattr(value, name)
        if found != default:
            told[name] = _said(found) if isinstance(found, PauseReport) else _plain(found)
    return told


_DEFAULTS = {
    kind: [(each.name, {} if each.default is MISSING else each.default) for each in fields(kind)]
    for kind in (PauseReport, GroupReport, PartitionReport)
}


def _plain(value: object) -> object:
    """Give what JSON knows of a field, lengths of time to the millisecond."""
    match value:
        case float():
            return round(value, 3)
        case tuple():
            return list(value)
        case Mapping():
            return {name: _plain(each) for name, each in value.items()}
        case _:
            return value


def _cut(group: dict[str, Any], length: int) -> bool:
    """Cut the texts of a group's pause in place; `False` = they were short enough."""
    pause = group.get("pause", {})
    long = [name for name in ("error", "probe_error") if len(pause.get(name, "")) > length]
    for name in long:
        pause[name] = pause[name][: length - 1] + "…"
        if not length:
            del pause[name]
    return bool(long)


def _spared(group: dict[str, Any]) -> bool:
    """Leave out of a group in place what people can do without; `False` = it says nothing of that."""
    there = SPARED & group.keys()
    for name in there:
        del group[name]
    return bool(there)


_SPARING: tuple[Callable[[dict[str, Any]], bool], ...] = (*(partial(_cut, length=each) for each in TEXTS), _spared)


def _weight(group: GroupReport) -> tuple[float, ...]:
    """Say how much a group has to tell: trouble first, then work."""
    return (group.pause is not None, bool(group.stops), group.failing, group.limit < group.share, group.rate)


def moment(text: str) -> datetime | None:
    """Read a time of a report; `None` = there is none."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
