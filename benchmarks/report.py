"""What a benchmark answers: figures and bars, as one JSON object and as a table."""

import json
import operator
import os
import platform
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"
COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {">=": operator.ge, "<=": operator.le, "==": operator.eq}

console = Console(stderr=True)
"""Progress and tables: standard output is for the JSON object alone."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a benchmark is run; `events` is `None` where its own number for short and long runs holds."""

    quick: bool = False
    events: int | None = None
    seed: int = 1

    def size(self, quick: int, full: int) -> int:
        """Give the number of events."""
        return self.events if self.events is not None else quick if self.quick else full


@dataclass(frozen=True, slots=True)
class Bar:
    """What a figure has to reach."""

    figure: str
    comparison: str
    value: float


@dataclass(frozen=True, slots=True)
class Report:
    """The answer. A figure's name ends in its unit; `workload` says in words what was measured."""

    bench: str
    workload: str
    seed: int
    postgres: str
    figures: Mapping[str, float]
    bars: Mapping[str, Bar] = field(default_factory=dict)

    def missed(self) -> list[str]:
        """Name the bars that are not reached."""
        return [name for name, bar in self.bars.items() if not self._holds(bar)]

    def as_json(self) -> dict[str, Any]:
        """Give the object that is printed."""
        bars = {
            name: {"figure": bar.figure, "comparison": bar.comparison, "value": bar.value, "holds": self._holds(bar)}
            for name, bar in self.bars.items()
        }
        return {
            "bench": self.bench,
            "workload": self.workload,
            "machine": machine(),
            "versions": {**versions(), "postgres": self.postgres},
            "seed": self.seed,
            "figures": {name: _rounded(figure) for name, figure in self.figures.items()},
            "bars": bars,
        }

    def show(self) -> None:
        """Show the table, on standard error."""
        table = Table(title=f"{self.bench}: {self.workload}", title_justify="left")
        table.add_column("figure")
        table.add_column("", justify="right")
        table.add_column("bar")
        wanted = {bar.figure: bar for bar in self.bars.values()}
        for name, figure in self.figures.items():
            bar = wanted.get(name)
            said = "" if bar is None else f"{bar.comparison} {bar.value:g} {'holds' if self._holds(bar) else 'MISSED'}"
            table.add_row(name, f"{_rounded(figure):,}", said)
        console.print(table)

    def save(self) -> Path:
        """Keep the object in `benchmarks/results`."""
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"{self.bench}.json"
        path.write_text(json.dumps(self.as_json(), indent=2) + "\n", encoding="utf-8")
        return path

    def _holds(self, bar: Bar) -> bool:
        return COMPARISONS[bar.comparison](self.figures[bar.figure], bar.value)


def machine() -> dict[str, Any]:
    """Describe the machine, without naming it."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(memory, 1),
    }


def versions() -> dict[str, str]:
    """Name what was measured."""
    packages = {name: version(name) for name in ("wow-ray", "asyncpg", "pydantic", "ray")}
    return {"python": platform.python_version(), **packages}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), sys.platform)


def _rounded(figure: float) -> float:
    return int(figure) if float(figure).is_integer() else float(f"{figure:.4g}")
