"""Which part of the log to read next, for whom: a decision on plain numbers.

Groups that stand at the same cursor of a slot form a cohort and share its page. A page is a value fixed when it is
asked for: slot, (after, to], the groups it serves (H7); a group that stands elsewhere reads by itself up to the next
cohort's cursor and so lands exactly there. Groups that cannot take a page (paused, or W events open) are in no
cohort, so nobody waits for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wow_ray.ports.event_log import Range

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PAGE = 2_000
"""Rows of one page, and positions of one read while most of them are wanted (lab: more gains nothing)."""
WIDEST = 100_000
"""Positions of one read when hardly any is wanted, so that rare types do not scan for minutes."""
MAX_RANGES = 64


@dataclass(frozen=True, slots=True)
class Ask:
    """One part of a page: a range of one slot and the numbers of the groups that move to where it ends."""

    range: Range
    groups: tuple[int, ...]


def plan(
    slots: Iterable[tuple[int, Mapping[int, int]]],
    heads: Mapping[int, int],
    able: frozenset[int],
    span: int,
    *,
    behind_first: bool,
) -> list[Ask]:
    """Choose the ranges of the next page.

    `slots` gives, in the order to serve them, each slot's cursor by group number; `heads` were read before; `able`
    are the groups that can take a page; `span` is how many positions to ask for in all. In a slot with several
    cohorts the one farthest behind is served when `behind_first`, else the one farthest on; alternating keeps a
    replay from starving the live flow and the other way round.
    """
    chosen: list[tuple[int, int, int, tuple[int, ...]]] = []
    left = span
    for slot, cursors in slots:
        head = heads.get(slot, 0)
        cohorts: dict[int, list[int]] = {}
        for group, cursor in cursors.items():
            if cursor < head and group in able:
                cohorts.setdefault(cursor, []).append(group)
        if not cohorts:
            continue
        after = min(cohorts) if behind_first else max(cohorts)
        next_cohort = min((cursor for cursor in cohorts if cursor > after), default=head)
        to = min(head, next_cohort, after + left)
        chosen.append((slot, after, to, tuple(cohorts[after])))
        left -= to - after
        if left <= 0 or len(chosen) >= MAX_RANGES:
            break
    asked = span - left
    few = max(16, PAGE // max(1, len(chosen)))
    return [
        Ask(Range(slot, after, to, to - after if asked <= PAGE else few), groups) for slot, after, to, groups in chosen
    ]


def next_span(span: int, asked: int, rows: int, *, cut: bool) -> int:
    """Give how many positions to ask for next time.

    Wider when few of those asked for were wanted, back to one page when the read was cut short or full.
    """
    if cut or rows * 2 > asked or rows > PAGE // 2:
        return PAGE
    if asked >= span and rows * 4 < asked:
        return min(WIDEST, span * 2)
    return span
