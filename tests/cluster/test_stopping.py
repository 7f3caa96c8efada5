"""Stopping costs nobody anything: not a drain, not a signal, not five of them (S48, B4)."""

from __future__ import annotations

import signal

from tests.cluster.lab import Lab
from tests.waiting import until


async def test_five_terminations_within_a_call_charge_nothing(lab: Lab) -> None:
    """S48: SIGTERM five times, each within the call of A@1: 0 failures, nothing parked, done once by the survivor."""
    plan = await lab.up(1)
    (name,) = plan.partitions
    await lab.paid("slow-1")
    for number in range(5):

        async def begun(wanted: int = number + 1) -> bool:
            return len(await lab.calls()) >= wanted

        await until(begun, f"call {number + 1} to begin", seconds=30)
        if await lab.done():
            break
        await lab.anew(name, await lab.kill(name, signal.SIGTERM))
    await lab.all_done()

    calls = await lab.calls()
    assert {call["attempt"] for call in calls} == {1}
    assert len(calls) <= 6
    assert await lab.rows() == []
    assert await lab.done() == 1


async def test_a_drain_lets_a_call_end_and_nothing_is_repeated(lab: Lab) -> None:
    """B4: down while a call of 1 s runs, up again: each event was called once, and every actor was ended."""
    await lab.up(2)
    await lab.paid("slow-1", *(f"o-{number}" for number in range(10)))
    await until(lab.calls, "the calls to begin")

    await lab.deployment.down(lab.control)
    assert await lab.fleet.names() == frozenset()
    assert {partition for partition, _ in (await lab.owners()).values()} == {None}
    await lab.up(1)
    await lab.all_done()

    figures = await lab.figures()
    assert (figures.handled, figures.repeats, figures.lost) == (11, 0, 0)
