"""Everything is torn away at once, and again: nothing is lost or reordered, and little repeated (L1 to L4, L7)."""

from __future__ import annotations

import os
import sys

import pytest

from tests.chaos.storm.faults import FAULTS_A_ROUND, PROCESSES, SURROUNDINGS
from tests.chaos.storm.ground import standing_ground
from tests.chaos.storm.verdict import judged
from tests.chaos.storm.weather import storm
from wow_ray.runtime.group import WINDOW

SEED = 1
ALONE = os.environ.get("LOOPBACK_ONLY") == "1"


@pytest.mark.skipif(not ALONE, reason="nodes of Ray listen on every interface: run tests/netns.sh as root on Linux")
async def test_a_storm_of_every_kind_of_fault_loses_and_reorders_nothing() -> None:
    """L1, L2, L3, L4, L7, P11, S12, S34, S91: sixty faults of fifteen kinds over three nodes, while orders are paid.

    The sums of the projection are exact, and nobody is parked but whose own trouble it was.
    """
    async with standing_ground(SEED, partitions=4) as ground:
        struck = await storm(ground, SEED, rounds=1)
        await ground.settled()
        await ground.added_up()
        verdict = judged(ground.lines(), ground.appended, ground.cents, await ground.sums(), struck)
        parked = await ground.parked_ever()
    sys.stderr.write(f"\n{verdict.report()}\n")
    assert verdict.events > 5_000
    assert ground.resumed > 0
    assert len(struck) == FAULTS_A_ROUND >= 60
    assert set(verdict.kinds) == PROCESSES.keys() | SURROUNDINGS.keys()
    assert (verdict.lost, verdict.out_of_order, verdict.sums_wrong) == ([], [], [])
    assert verdict.most_repeats <= WINDOW
    assert [name for name in parked if not name.startswith("bad-")] == []
