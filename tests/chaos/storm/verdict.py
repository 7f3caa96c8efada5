"""Whether anything was lost, out of order or repeated beyond the bound, and how long anybody waited (L1, L2, P11)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.chaos.storm.app import COURIER
from tests.chaos.storm.weather import Struck
from wow_ray.runtime.group import WINDOW

NEAR = 3.0
"""Seconds after a fault: what was appended until then shows how long it made anybody wait."""
ENDING = frozenset(
    {"partition killed", "two partitions killed", "node killed", "node frozen", "store killed", "way cut", "scaled",
     "store restarted", "partition frozen", "sessions ended"}
)  # fmt: skip
"""Kinds after which a slot may have another owner, or the same one without what it had not committed."""


@dataclass
class Verdict:
    """What the journal shows."""

    events: int = 0
    lost: list[str] = field(default_factory=list)
    out_of_order: list[str] = field(default_factory=list)
    repeats: int = 0
    most_repeats: int = 0
    """Of one process: events that an earlier one had handled."""
    sums_wrong: list[str] = field(default_factory=list)
    stalls: dict[str, float] = field(default_factory=dict)
    """By kind of fault: the longest wait, in seconds, of an event that was appended when or just after it struck."""
    kinds: Counter[str] = field(default_factory=Counter)

    @property
    def bound(self) -> int:
        """How many repeats there may be: W for each fault after which a slot is begun anew (L2)."""
        return WINDOW * sum(count for kind, count in self.kinds.items() if kind in ENDING)

    @property
    def holds(self) -> bool:
        """Whether nothing was lost, out of order, summed up wrongly, or repeated beyond W by one process."""
        return not (self.lost or self.out_of_order or self.sums_wrong) and self.most_repeats <= WINDOW

    def report(self) -> str:
        """Give it as text, a line for each kind."""
        rows = [f"{kind:<24}{count:>4}   longest wait {self.stalls.get(kind, 0):5.1f} s"
                for kind, count in sorted(self.kinds.items())]  # fmt: skip
        total = (
            f"faults {self.kinds.total()}, events {self.events}, lost {len(self.lost)}, out of order "
            f"{len(self.out_of_order)}, sums wrong {len(self.sums_wrong)}, repeats {self.repeats} (bound "
            f"{self.bound}), by one process at most {self.most_repeats} (bound {WINDOW})"
        )
        return "\n".join([*rows, total])


def judged(
    lines: Sequence[Sequence[str]],
    appended: Mapping[str, Sequence[float]],
    cents: Mapping[str, int],
    sums: Mapping[str, tuple[int, int]],
    struck: Sequence[Struck],
) -> Verdict:
    """Hold the journal and the projection against what was appended."""
    verdict = Verdict(events=sum(map(len, appended.values())), kinds=Counter(each.kind for each in struck))
    reached: dict[str, int] = defaultdict(int)
    done: dict[tuple[str, int], float] = {}
    repeats: Counter[str] = Counter()
    for what, pid, subscription, name, version_text, at in lines:
        version = int(version_text)
        if subscription != COURIER:
            continue
        if what == "B":
            if version > reached[name] + 1:
                verdict.out_of_order.append(f"{name}@{version} began in {pid} after {reached[name]}")
            repeats[pid] += (name, version) in done
        elif what == "E":
            reached[name] = max(reached[name], version)
            done.setdefault((name, version), float(at))
    verdict.repeats, verdict.most_repeats = repeats.total(), max(repeats.values(), default=0)
    for name, times in appended.items():
        verdict.lost += [f"{name}@{n + 1}" for n in range(len(times)) if (name, n + 1) not in done]
        if sums.get(name) != (cents[name], len(times)):
            verdict.sums_wrong.append(f"{name}: {sums.get(name)} instead of {(cents[name], len(times))}")
    verdict.stalls = _stalls(appended, done, struck)
    return verdict


def _stalls(
    appended: Mapping[str, Sequence[float]], done: Mapping[tuple[str, int], float], struck: Sequence[Struck]
) -> dict[str, float]:
    """Give the longest wait by kind of fault; those that wait for an operator do not count."""
    waits = [
        (at, done[name, number + 1] - at)
        for name, times in appended.items()
        if not name.startswith("bad-")
        for number, at in enumerate(times)
        if (name, number + 1) in done
    ]
    stalls: dict[str, float] = defaultdict(float)
    for each in struck:
        near = [wait for at, wait in waits if each.began - 0.5 <= at <= each.ended + NEAR]
        stalls[each.kind] = max(stalls[each.kind], *near, 0.0)
    return stalls
