"""Partitions are killed under load, again and again: nothing is lost or reordered, little is repeated (L2, L3)."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress
from random import Random
from statistics import median

from tests.cluster.lab import Lab, gone, said
from tests.waiting import until
from wow_ray.actors.fleet import SUPERVISOR
from wow_ray.adapters.clock import monotonic
from wow_ray.runtime.group import WINDOW

KILLS = 20
ORDERS = [f"o-{number}" for number in range(40)]


async def load(lab: Lab, stop: asyncio.Event) -> None:
    """Append to orders by chance, a few hundred events a second, until told to stop."""
    chance = Random(1)  # noqa: S311 - seeded, no secret
    while not stop.is_set():
        await lab.paid(*(chance.choice(ORDERS) for _ in range(5)))
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), 0.01)


async def test_twenty_kills_and_a_zombie_lose_nothing_and_reorder_nothing(lab: Lab) -> None:
    """20 SIGKILLs over two partitions under load, then one that is stopped, taken over and woken.

    0 lost, 0 out of order, all repeats together at most the W that is allowed for each. S31: every call is the first of
    its budget, and nobody is parked. S33, H8: the woken one begins no call but the one it was about to, and ends.
    """
    await lab.up(2)
    names = [f"{lab.site.context}-{number}" for number in range(2)]
    stop = asyncio.Event()
    loading = asyncio.ensure_future(load(lab, stop))
    recoveries: list[float] = []
    # Each is killed half of the times, whatever the other one is doing.
    await asyncio.gather(*(_killed(lab, name, KILLS // 2, recoveries) for name in names))
    late = await _a_zombie(lab, names[0])
    stop.set()
    await loading
    await lab.all_done()

    figures = await lab.figures()
    sys.stderr.write(
        f"\n{KILLS} kills and a zombie: {figures}; runs again after {median(recoveries):.2f} s (median), "
        f"{max(recoveries):.2f} s at most; the woken one began {late} calls\n"
    )
    assert (figures.lost, figures.out_of_order) == (0, 0)
    assert figures.repeats <= WINDOW
    assert {call["attempt"] for call in await lab.calls()} == {1}
    assert [row["id"] for row in await lab.rows() if row["told"]] == []
    # One thread makes these calls, and between its look at the lease and the handler's first line it can be stopped.
    assert late <= 1


async def _killed(lab: Lab, name: str, times: int, recoveries: list[float]) -> None:
    """Kill a partition's process so many times, each time once it runs again."""
    for _ in range(times):
        killed = await lab.kill(name)
        began = monotonic()
        await lab.anew(name, killed)
        recoveries.append(monotonic() - began)


async def _a_zombie(lab: Lab, name: str) -> int:
    """Stop a partition's process, have another incarnation take over, wake it; answers how many calls it began since.

    Without the supervisor, which would end it: this is a process that nobody can reach any more. Calls that were under
    way when it was stopped may go on (H8), and are not counted; one can be between its look at the lease and its begin.
    """
    await lab.fleet.end(SUPERVISOR)
    stopped = await lab.kill(name, signal.SIGSTOP)
    at = monotonic()
    try:
        async with lab.host(name) as successor:
            await said(successor, "running")
            os.kill(stopped, signal.SIGCONT)
            await until(lambda: gone(stopped), "the woken process to end", seconds=30)
    finally:
        with suppress(ProcessLookupError):
            os.kill(stopped, signal.SIGCONT)
    await lab.anew(name, stopped)
    return sum(call["pid"] == stopped and call["began"] > at for call in await lab.calls())
