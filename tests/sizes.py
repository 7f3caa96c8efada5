"""Hold modules under 300 lines and functions under 60; what is over may shrink, never grow.

Aim at 100 and 10. An entry in `BASELINE` allows one module ("wow_ray/x.py") or function ("wow_ray/x.py:name") its
present size, with the reason; once the code is shorter the entry must follow, and go when it is no longer needed.
"""

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
MEASURED = ("wow_ray", "serve", "examples")
MODULE_LINES = 300
FUNCTION_LINES = 60


class Allowance(NamedTuple):
    """A size over the limit, and why it is so."""

    lines: int
    reason: str


BASELINE: Mapping[str, Allowance] = {}


def measure(root: Path) -> Iterator[tuple[str, int, int]]:
    """Every module and function below `root`: its name, its lines, its limit."""
    for folder in MEASURED:
        for path in sorted((root / folder).rglob("*.py")):
            source = path.read_text(encoding="utf-8")
            name = path.relative_to(root).as_posix()
            yield name, source.count("\n"), MODULE_LINES
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
                    yield f"{name}:{node.name}", node.end_lineno - node.lineno + 1, FUNCTION_LINES


def complaints(root: Path, baseline: Mapping[str, Allowance]) -> list[str]:
    """What breaks the limits or the baseline, one sentence each; empty when all is well."""
    found: list[str] = []
    largest: dict[str, int] = {}
    for name, lines, limit in measure(root):
        if lines <= limit:
            continue
        largest[name] = max(lines, largest.get(name, 0))
        if name not in baseline:
            found.append(f"{name} has {lines} lines, {limit} are allowed: split it by idea")
        elif lines > baseline[name].lines:
            found.append(f"{name} grew from {baseline[name].lines} to {lines} lines: it may only shrink")
    for name, allowance in baseline.items():
        if name not in largest:
            found.append(f"{name} is within the limit now: remove it from BASELINE")
        elif largest[name] < allowance.lines:
            found.append(f"{name} shrank to {largest[name]} lines: lower its entry in BASELINE")
        if not allowance.reason:
            found.append(f"{name} stands in BASELINE without a reason")
    return found


def main() -> int:
    """Print what is wrong, answer the exit code."""
    found = complaints(ROOT, BASELINE)
    print("\n".join(found) if found else "sizes: all within the limits")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
