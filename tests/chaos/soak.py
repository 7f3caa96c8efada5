"""The storm without a bound: `tests/netns.sh python -m tests.chaos.soak [--rounds 4] [--seed 1] [--report FILE]`.

Each round is all faults of `storm.faults` once in an order by chance. Every fault is told as it happens, with how much
was handled since the one before. Exits 1 when anything was lost, out of order, or repeated beyond the bound.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from tests.chaos.storm.faults import FAULTS_A_ROUND
from tests.chaos.storm.ground import standing_ground
from tests.chaos.storm.verdict import Verdict, judged
from tests.chaos.storm.weather import Struck, storm


async def soak(seed: int, rounds: int) -> tuple[Verdict, list[list[str]]]:
    """Let it blow for so many rounds, and judge; answers the journal too."""
    async with standing_ground(seed, partitions=4) as ground:
        before = number = 0

        def tell(struck: Struck) -> None:
            nonlocal before, number
            number, after = number + 1, ground.handled()
            appended = sum(map(len, ground.appended.values()))
            sys.stderr.write(
                f"{number:>4} of {rounds * FAULTS_A_ROUND}  {struck.kind:<22} "
                f"{struck.ended - struck.began:5.1f} s  appended {appended:>6}  "
                f"handled {after:>6} (+{after - before})\n"
            )
            before = after

        struck = await storm(ground, seed, rounds, tell)
        await ground.settled(600)
        await ground.added_up()
        lines = ground.lines()
        return judged(lines, ground.appended, ground.cents, await ground.sums(), struck), lines


def main() -> int:
    """Read the arguments, run, report."""
    parser = argparse.ArgumentParser(description="The storm without a bound.")
    parser.add_argument("--rounds", type=int, default=4, help=f"times {FAULTS_A_ROUND} faults")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--report", type=Path, help="also write the report there")
    parser.add_argument("--journal", type=Path, help="keep every call's line there")
    given = parser.parse_args()
    verdict, lines = asyncio.run(soak(given.seed, given.rounds))
    if given.journal is not None:
        given.journal.write_text("\n".join(" ".join(line) for line in lines), encoding="ascii")
    report = f"seed {given.seed}, {given.rounds} rounds\n{verdict.report()}\n"
    sys.stdout.write(report)
    if given.report is not None:
        given.report.write_text(report, encoding="utf-8")
    return 0 if verdict.holds else 1


if __name__ == "__main__":
    sys.exit(main())
