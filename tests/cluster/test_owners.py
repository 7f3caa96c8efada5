"""Two processes, one partition: who may call, and who finds out that it may not (L3, H1, H8)."""

from __future__ import annotations

import os
import signal

from tests.cluster.lab import Lab, gone, said
from tests.waiting import until
from wow_ray.actors.fleet import SUPERVISOR
from wow_ray.adapters.clock import monotonic


async def test_a_successor_of_a_dead_process_does_not_wait_for_its_lease(lab: Lab) -> None:
    """H8: killed on this host, seen to be dead; the next incarnation runs long before the lease of 10 s has ended."""
    await lab.up(1)
    name = f"{lab.site.context}-0"
    began = monotonic()
    killed = await lab.kill(name)

    await lab.anew(name, killed)

    assert monotonic() - began < 8


async def test_a_second_incarnation_waits_for_the_first(lab: Lab) -> None:
    """L3, S33: both live; the second owns nothing and calls nothing until the first has drained, and then at once."""
    plan = await lab.up(1)
    (name,) = plan.partitions
    first = await lab.pid(name)
    await lab.fleet.end(SUPERVISOR)
    async with lab.host(name) as second:
        await lab.paid(*(f"o-{number}" for number in range(10)), times=5)
        await lab.all_done()
        assert {call["pid"] for call in await lab.calls()} == {first}
        epochs = {epoch for _, epoch in (await lab.owners()).values()}

        assert await lab.fleet.drain(name, 20)
        await said(second, "running")
        await lab.paid("o-1", "o-2")
        await lab.all_done()

        assert {call["pid"] for call in (await lab.calls())[-2:]} == {second.pid}
        assert {epoch for _, epoch in (await lab.owners()).values()} == {epoch + 1 for epoch in epochs}


async def test_a_blocked_loop_keeps_its_slots(lab: Lab) -> None:
    """S25: a handler blocks the event loop for 12 s, longer than a lease; another thread renews it, nobody takes over.

    The second incarnation is ready all the while. The blocking call is not repeated, and what comes after is handled.
    """
    plan = await lab.up(1)
    (name,) = plan.partitions
    first = await lab.pid(name)
    async with lab.host(name):
        await lab.paid("block-1")
        await until(lab.calls, "the call to begin")
        await lab.paid("o-1", "o-2")

        await lab.all_done()

        assert (await lab.calls())[0]["id"] == "block-1"
        assert {call["pid"] for call in await lab.calls()} == {first}
        figures = await lab.figures()
        assert (figures.handled, figures.repeats, figures.lost) == (3, 0, 0)
        assert (await lab.standing(name))["pid"] == first


async def test_a_stopped_owner_that_wakes_in_a_call_writes_nothing(lab: Lab) -> None:
    """S25: stopped within a call of A@1; the successor handles A@1 and A@2; woken, the old one's commit changes 0 rows.

    Its epoch is over: progress and ledger stay the successor's, and it begins no further call.
    """
    plan = await lab.up(1)
    (name,) = plan.partitions
    await lab.fleet.end(SUPERVISOR)
    await lab.paid("slow-1")
    await until(lab.calls, "the call to begin")
    stopped = await lab.kill(name, signal.SIGSTOP)
    await lab.paid("slow-1")
    try:
        async with lab.host(name) as successor:
            await said(successor, "running")
            await lab.all_done()
            stored = await lab.owners()
            os.kill(stopped, signal.SIGCONT)
            await until(lambda: gone(stopped), "the old process to end")

            assert await lab.owners() == stored
            versions = [(call["version"], call["pid"] == stopped) for call in await lab.calls()]
            assert versions == [(1, True), (1, False), (2, False)]
    finally:
        if not gone(stopped):
            os.kill(stopped, signal.SIGKILL)


async def test_after_a_move_the_first_call_is_the_next_event(lab: Lab) -> None:
    """S11: a partition has read far ahead of a slow order when its slots move away and come back.

    What it had in memory is not used again: versions go on one by one across the three owners.
    """
    plan = await lab.up(1)
    (name,) = plan.partitions
    await lab.paid("slow-1", times=12)
    await until(lab.calls, "the first call")

    await lab.up(2)
    await lab.up(1)
    await lab.all_done()

    versions = [call["version"] for call in await lab.calls()]
    assert versions == list(range(1, 13))
    assert {partition for partition, _ in (await lab.owners()).values()} == {name}
