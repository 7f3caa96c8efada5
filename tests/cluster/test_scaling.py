"""Another number of partitions under load, on Ray: nothing is lost, reordered or repeated, and nothing stops (L7)."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress

from tests.cluster.lab import Lab
from tests.cluster.test_kills import load
from tests.waiting import until
from wow_ray.actors.fleet import LEDGER, SUPERVISOR
from wow_ray.adapters.clock import monotonic
from wow_ray.errors import ConflictError
from wow_ray.ops import Command

PARKED = "bad-1"


async def scaled(lab: Lab, partitions: int) -> float:
    """Have so many partitions; answers the seconds until everybody owned what the plan names."""
    began = monotonic()
    view = await lab.operations.scaling.scale(partitions)
    assert view.changed
    view = await lab.operations.scaling.settled(lambda each: sys.stderr.write(f"{each.waiting} slots to move\n"), 120)
    assert view.waiting == 0
    passed = monotonic() - began
    names = {f"{lab.site.context}-{place}" for place in range(partitions)}

    async def only_these() -> bool:
        return await lab.fleet.names() - {SUPERVISOR, LEDGER} == names

    await until(only_these, f"{partitions} partitions and no more", seconds=30)
    return passed


async def test_one_becomes_sixteen_and_two_under_load_and_no_event_is_handled_twice(lab: Lab) -> None:
    """L7, P10: a few hundred events a second; a parked aggregate moves along twice and is resumed where it is then."""
    await lab.up(1)
    await lab.broken(PARKED)
    await lab.paid(PARKED, times=3)
    stop = asyncio.Event()
    loading = asyncio.ensure_future(load(lab, stop))

    async def parked() -> bool:
        return [row["state"] for row in await lab.rows() if row["aggregate_id"] == PARKED] == ["parked"]

    await until(parked, "an aggregate to be parked", seconds=30)
    up = await scaled(lab, 16)
    down = await scaled(lab, 2)
    await lab.broken()
    (row,) = [each for each in await lab.rows() if each["aggregate_id"] == PARKED]
    with suppress(ConflictError):  # its own retry may come first, and end the row
        await lab.operations.resume(row["id"], Command("ann", "mended"))
    stop.set()
    await loading
    await lab.all_done()

    figures = await lab.figures(but=[PARKED])
    sys.stderr.write(f"\n1 → 16 in {up:.1f} s, 16 → 2 in {down:.1f} s: {figures}\n")
    healthy = [(call["id"], call["version"]) for call in await lab.calls() if call["id"] != PARKED]
    assert (figures.lost, figures.out_of_order) == (0, 0)
    assert len(healthy) == len(set(healthy))
    versions = [call["version"] for call in await lab.calls() if call["id"] == PARKED]
    assert (versions, versions.count(2), versions.count(3)) == (sorted(versions), 1, 1)
    names = [f"{lab.site.context}-{place}" for place in range(2)]
    owned = [partition for partition, _ in (await lab.owners()).values()]
    assert [owned.count(name) for name in names] == [len(owned) // 2] * 2
