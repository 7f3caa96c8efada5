"""Run the folders of tests one after the other, cheapest first, and say what each of them cost.

Stops at the first folder that fails: what comes later stands on what it proves. A table of seconds and shares is
printed in any case. Exits 1 if a folder failed, ran no test (pytest's exit code 5), or is not in `ORDER`.

    python tests/run.py             # every folder
    python tests/run.py unit -k x   # one folder; the rest goes to pytest
"""

import subprocess
import sys
import time
from pathlib import Path

ORDER = ("unit", "fundamentals", "contract", "integration", "cluster", "chaos", "browser", "docs")
LOOPBACK_ONLY = ("cluster", "chaos")
"""Folders that start Ray, which listens on every interface it finds."""
AT_ONCE = {"unit": "auto", "contract": "auto", "integration": "3"}
"""Folders that share nothing but a server that each process of tests has of its own, and how many processes: as many
as there are cores for what waits for the processor, three for what waits for servers most of the time."""
TESTS = Path(__file__).resolve().parent


def folders_with_tests() -> set[str]:
    """The names of the folders below `tests/` that hold a test file, at any depth."""
    return {path.relative_to(TESTS).parts[0] for path in TESTS.glob("*/**/test_*.py")}


def run(folder: str, arguments: list[str]) -> tuple[bool, float]:
    """Run one folder with pytest; answers whether it passed, and its seconds."""
    print(f"\n=== tests/{folder}", flush=True)
    begun = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-q", str(TESTS / folder), *arguments]
    if folder in AT_ONCE:
        command += ["-n", AT_ONCE[folder], "--dist", "worksteal"]
    if folder in LOOPBACK_ONLY:
        command.insert(0, str(TESTS / "netns.sh"))
    code = subprocess.run(command, cwd=TESTS.parent, check=False).returncode
    return code == 0, time.monotonic() - begun


def table(results: list[tuple[str, bool, float]]) -> str:
    """One line a folder: name, outcome, seconds, share of the whole in per cent."""
    total = sum(seconds for _, _, seconds in results) or 1.0
    rows = [
        f"{name:<14}{'ok' if passed else 'FAILED':<8}{seconds:>8.1f} s{seconds / total:>7.0%}"
        for name, passed, seconds in results
    ]
    return "\n".join(["", *rows, f"{'all':<22}{total:>8.1f} s"])


def main(arguments: list[str]) -> int:
    """Run what `arguments` name (nothing: every folder) and answer the exit code."""
    present = folders_with_tests()
    if unknown := sorted(present - set(ORDER)):
        print(f"tests/{unknown[0]} is in no order: add it to ORDER in tests/run.py", file=sys.stderr)
        return 1
    if arguments and arguments[0] in ORDER:
        wanted, arguments = {arguments[0]}, arguments[1:]
    else:
        wanted = present
    results: list[tuple[str, bool, float]] = []
    for folder in ORDER:
        if folder not in wanted:
            continue
        passed, seconds = run(folder, arguments)
        results.append((folder, passed, seconds))
        if not passed:
            break
    print(table(results))
    return 0 if results and all(passed for _, passed, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
