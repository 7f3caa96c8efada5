"""The witness: what the journal tells of the calls, counted and put in order."""

from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

from examples.shop.demo.journal import Journal, Line, Place

Key = tuple[str, Place]
"""Which subscription, which event."""


class Repeat(NamedTuple):
    """An event that was handled again: the line of its first success, and that of the later one."""

    first: Line
    again: Line


class Witness:
    """Follows the journal of all processes."""

    def __init__(self, path: Path) -> None:
        """Nothing was seen."""
        self._journal = Journal(path)
        self._lines = 0
        self.calls: Counter[str] = Counter()
        """Calls that began, by subscription."""
        self.ended: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self.handled: Counter[str] = Counter()
        """Events that were handled, each counted once."""
        self.began: dict[Key, int] = {}
        """The line of the first call."""
        self.first: dict[Key, tuple[int, Line]] = {}
        """The first success, and its place among all lines."""
        self.repeats: list[Repeat] = []
        self.processes: defaultdict[str, set[int]] = defaultdict(set)
        """Who made the calls of each subscription."""
        self.appeared: dict[int, float] = {}
        """When a process first called a handler, by its id."""

    def look(self) -> None:
        """Read on."""
        for line in self._journal.new():
            self._lines += 1
            self._seen(line)

    def between(self, begin: float, end: float) -> int:
        """Count the events that were first handled in a stretch of time."""
        return sum(begin < line.at <= end for _, line in self.first.values())

    def close(self) -> None:
        """Follow no more."""
        self._journal.close()

    def _seen(self, line: Line) -> None:
        key = (line.subscription, line.place)
        self.appeared.setdefault(line.pid, line.at)
        self.processes[line.subscription].add(line.pid)
        if line.mark == "begun":
            self.calls[line.subscription] += 1
            self.began.setdefault(key, self._lines)
            return
        self.ended[line.subscription] += 1
        if line.mark == "failed":
            self.failed[line.subscription] += 1
        elif key in self.first:
            self.repeats.append(Repeat(self.first[key][1], line))
        else:
            self.first[key] = (self._lines, line)
            self.handled[line.subscription] += 1
