"""What the outside saw of the programs that were killed, and whether that is right (P11, L1, L2, L3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tests.chaos.victim import CALLS, SUMS

WINDOW = 8_000
"""W: what one crash may repeat at most."""


class Line(NamedTuple):
    """One line of the journal: a call of a program began (`B`), ended well (`E`) or failed (`F`)."""

    what: str
    number: int
    subscription: str
    id: str
    version: int


@dataclass(slots=True)
class Verdict:
    """What a journal shows. `repeats` counts, by program, its calls of events that were done by an earlier one."""

    calls: int = 0
    lost: list[str] = field(default_factory=list)
    out_of_order: list[str] = field(default_factory=list)
    repeated_by_itself: list[str] = field(default_factory=list)
    torn: int = 0
    repeats: dict[int, int] = field(default_factory=lambda: defaultdict(int))


def lines(journal: Path) -> Iterator[Line | None]:
    """Read the journal; `None` for a line that a kill has torn."""
    for text in journal.read_text(encoding="ascii", errors="replace").splitlines():
        parts = text.split(" ")
        if len(parts) == 5 and parts[0] in {"B", "E", "F"} and parts[1].isdigit() and parts[4].isdigit():
            yield Line(parts[0], int(parts[1]), parts[2], parts[3], int(parts[4]))
        else:
            yield None


def judged(journal: Path, appended: dict[str, int], skipped: dict[str, set[int]]) -> Verdict:
    """Hold the journal against what was appended (versions by id) and skipped (for the reactor, by id)."""
    verdict = Verdict()
    reached: dict[tuple[str, str], int] = {}
    done_by: dict[tuple[str, str, int], int] = {}
    for line in lines(journal):
        if line is None:
            verdict.torn += 1
            continue
        key = (line.subscription, line.id)
        passed = skipped.get(line.id, set()) if line.subscription == CALLS else set()
        if line.what == "B":
            verdict.calls += 1
            _begun(verdict, line, reached.get(key, 0), passed, done_by.get((*key, line.version)))
        if line.what == "E" or (line.what == "B" and line.subscription == SUMS):
            # What a call through the connection did is known from its table; here it counts from its beginning.
            reached[key] = max(line.version, reached.get(key, 0))
        if line.what == "E":
            done_by[*key, line.version] = line.number
    for id_, versions in appended.items():
        missing = [
            version
            for version in range(1, versions + 1)
            if (CALLS, id_, version) not in done_by and version not in skipped.get(id_, set())
        ]
        verdict.lost += [f"{id_}@{version}" for version in missing]
    return verdict


def _begun(verdict: Verdict, line: Line, reached: int, passed: set[int], done_by: int | None) -> None:
    """Judge the beginning of one call."""
    between = set(range(reached + 1, line.version)) - passed
    if between:
        verdict.out_of_order.append(f"{line} after {reached}")
    if done_by == line.number:
        verdict.repeated_by_itself.append(str(line))
    elif done_by is not None:
        verdict.repeats[line.number] += 1
