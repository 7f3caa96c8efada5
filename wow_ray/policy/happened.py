"""What happened between two looks at the reports of partitions, whose counters begin anew with every process.

Counters of a process that was there before have grown by the difference; those of a new one are all new. What a process
did after its last report and before its end is in neither, and is left out rather than guessed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from wow_ray.policy.report import GroupReport, PartitionReport


@dataclass(slots=True)
class Happened:
    """What happened to one group: events handled, failures of calls by the name of their category."""

    handled: int = 0
    failures: Counter[str] = field(default_factory=Counter)


def happened(before: Mapping[str, PartitionReport], now: Mapping[str, PartitionReport]) -> Mapping[str, Happened]:
    """Give what happened by group, of reports by owner; groups that nobody says anything of are left out."""
    found: dict[str, Happened] = {}
    for owner, report in now.items():
        earlier = before[owner].groups if owner in before else {}
        for name, group in report.groups.items():
            was, total = earlier.get(name, GroupReport()), found.setdefault(name, Happened())
            total.handled += max(0, group.handled - was.handled)
            for category, count in group.failed_by.items():
                total.failures[category] += max(0, count - was.failed_by.get(category, 0))
    return found
