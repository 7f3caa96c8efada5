"""What is wrong now, worst first: the question that the console is opened with (H60)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote

from wow_ray.ops.console.words import PAUSES, age, sentence, times
from wow_ray.ops.progress import GroupView, StatusView

OLD, MUCH = 300.0, 4 * 2**30
"""Seconds of a snapshot, and bytes of log kept for somebody, from which on it is trouble."""
LATE = 30.0
"""Seconds after which an event that nobody has finished is trouble."""

Level = Literal["bad", "warn", "note"]
ORDER: Mapping[Level, int] = {"bad": 0, "warn": 1, "note": 2}


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that is wrong: in a few words, what follows from it, and the page that tells more."""

    level: Level
    what: str
    text: str
    href: str


def troubles(status: StatusView, groups: Sequence[GroupView], calls: int = 0) -> tuple[Trouble, ...]:
    """Find what is wrong; `calls` are the durable calls that are exhausted. Empty = nothing is."""
    found = [*_of_owners(status), *_of_rows(status.open_rows), *_of_calls(calls), *_of_holders(status)]
    found += [Trouble("bad", "A partition is in trouble", f"{each}.", "/partitions") for each in status.troubles]
    for group in groups:
        if not group.retired:
            found += _of_pauses(group)
            found += _of_lateness(group)
        elif group.parked:
            text = f"{times(group.parked, 'row')} of a group that no program has any more; nothing retries them"
            found.append(Trouble("warn", f"{group.group} is gone", text, f"/parked?group={quote(group.group)}"))
    return tuple(sorted(found, key=lambda one: ORDER[one.level]))


def _of_owners(status: StatusView) -> list[Trouble]:
    """Tell of slots that nobody works on."""
    if not status.unowned:
        return []
    what = f"{times(len(status.unowned), 'slot')} of {status.slots:,} without an owner"
    return [Trouble("bad", what, "Their events wait, and commands on their aggregates, too.", "/partitions")]


def _of_holders(status: StatusView) -> list[Trouble]:
    """Tell of what keeps the store from cleaning up, which makes everything slower by and by (H47)."""
    found = []
    for each in status.holders:
        if each.seconds >= OLD:
            what = f"A snapshot has been open for {age(each.seconds)}"
            text = f"{each.name}: old rows are kept for it, and appends become slower until it ends."
            found.append(Trouble("warn", what, text, "/"))
        elif each.bytes >= MUCH:
            what = f"{each.bytes / 2**30:,.0f} GB of the database's log are kept"
            found.append(Trouble("warn", what, f"{each.name} does not fetch them; in time the disk is full.", "/"))
    return found


def _of_rows(rows: Mapping[str, int]) -> list[Trouble]:
    """Tell of what waits for a person, and of what is retried by itself."""
    found = []
    if exhausted := rows.get("exhausted", 0):
        what = f"{times(exhausted, 'aggregate')} for a person to decide"
        text = "No automatic retry is left, or it would have no point. Resume or skip."
        found.append(Trouble("bad", what, text, "/parked?state=exhausted&view=groups"))
    if parked := rows.get("parked", 0):
        what = f"{times(parked, 'aggregate')} parked"
        found.append(Trouble("warn", what, "Retried by themselves over days.", "/parked?state=parked&view=groups"))
    return found


def _of_calls(exhausted: int) -> list[Trouble]:
    """Tell of durable calls that wait for a person (F8)."""
    if not exhausted:
        return []
    what = f"{times(exhausted, 'durable call')} for a person to decide"
    return [Trouble("bad", what, "No call of its budget is left. Retry or discard.", "/calls?state=exhausted")]


def _of_pauses(group: GroupView) -> list[Trouble]:
    """Tell of pauses of a group."""
    found = []
    for pause in group.pauses:
        where = "everywhere" if pause.partition is None else f"in {pause.partition}"
        who = f"{pause.actor}: {pause.text}" if pause.stops else pause.text
        text = f"{sentence(PAUSES.get(pause.reason, pause.reason))}. {who}"
        level: Level = "warn" if pause.stops else "bad"
        what = f"{group.group} is paused {where}"
        found.append(Trouble(level, what, text, f"/subscriptions/{quote(group.group)}"))
    return found


def _of_lateness(group: GroupView) -> list[Trouble]:
    """Tell of an event that has waited too long."""
    if group.oldest is None or group.oldest.age < LATE:
        return []
    what = f"{group.group} is {age(group.oldest.age)} behind"
    lag = times(group.lag, "position")
    text = f"{lag} not read, {group.unfinished:,} under way; the oldest stands in slot {group.oldest.slot}."
    return [Trouble("warn", what, text, f"/subscriptions/{quote(group.group)}")]
