"""The two small actors hold no truth: without them events are handled and parked, with them back nothing changed."""

from __future__ import annotations

import asyncio
import signal

from tests.cluster.lab import Lab
from tests.waiting import until
from wow_ray.actors.fleet import LEDGER, SUPERVISOR
from wow_ray.actors.supervisor import SILENT
from wow_ray.adapters.clock import monotonic

BAD = [f"bad-{number}" for number in range(6)]


async def _parked(lab: Lab, *ids: str) -> None:
    """Park orders at their first event: 4 calls fail; one after the other, since together they would be an outage."""
    await lab.broken(*ids)
    for each in ids:
        await lab.paid(each)

    async def stand() -> bool:
        rows = await lab.rows()
        return len(rows) == len(ids) and all(row["state"] == "parked" for row in rows)

    await until(stand, f"{len(ids)} orders to be parked", seconds=30)


async def test_without_the_ledger_actor_due_retries_wait_and_then_come_once_each(lab: Lab) -> None:
    """Parking goes on without it, 6 orders; 2 s later all are due, and nobody is called for 3 s more.

    With it back each is called exactly once, and the ledger is empty.
    """
    await lab.up(2)
    await lab.fleet.end(LEDGER)
    await _parked(lab, *BAD)
    await lab.broken()
    before = len(await lab.calls())
    await asyncio.sleep(6)  # noqa: TID251 - nothing happens, for as long as one cares to look
    assert len(await lab.calls()) == before

    await lab.fleet.start(LEDGER)
    await lab.all_done()

    assert sorted(call["id"] for call in (await lab.calls())[before:]) == BAD

    async def ended() -> bool:
        return all(row["state"] == "resolved" for row in await lab.rows())

    await until(ended, "the rows to end")
    assert len(await lab.calls()) == before + len(BAD)


async def test_an_aggregate_is_parked_once_through_kills(lab: Lab) -> None:
    """S29: a parked retry fails, its partition is killed, it fails again under the next owner, it succeeds.

    All the while there is one row, with one time of parking; later events are held and handled afterwards, in order.
    """
    plan = await lab.up(1)
    (name,) = plan.partitions
    await _parked(lab, "bad-1")
    (first,) = await lab.rows()
    await lab.paid("bad-1", times=3)

    async def retried(times: int) -> bool:
        return len(await lab.calls()) >= 4 + times

    await until(lambda: retried(1), "a parked retry", seconds=30)
    await lab.anew(name, await lab.kill(name))
    await until(lambda: retried(2), "a parked retry of the next owner", seconds=30)
    (row,) = await lab.rows()
    assert (row["id"], row["parked_at"]) == (first["id"], first["parked_at"])
    assert row["retries"] >= 1
    await lab.broken()
    await lab.all_done()

    assert [each["id"] for each in await lab.rows()] == [first["id"]]
    figures = await lab.figures()
    assert (figures.lost, figures.out_of_order, figures.handled) == (0, 0, 4)
    kinds = await lab.admin.fetch(f"select kind from {lab.schema}.notices where kind = 'parked'")  # noqa: S608 - our own
    assert len(kinds) == 1


async def test_without_the_supervisor_a_killed_partition_takes_exactly_its_slots(lab: Lab) -> None:
    """H18: of two partitions the killed one owns its half again, at the next epoch; the other one's is as it was."""
    await lab.up(2)
    first, second = lab.site.context + "-0", lab.site.context + "-1"
    before = await lab.owners()
    await lab.fleet.end(SUPERVISOR)

    await lab.anew(second, await lab.kill(second))
    await lab.paid(*(f"o-{number}" for number in range(20)))
    await lab.all_done()

    after = await lab.owners()
    assert {slot: name for slot, (name, _) in after.items()} == {slot: name for slot, (name, _) in before.items()}
    assert [after[slot][1] - before[slot][1] for slot in range(16)] == [
        0 if before[slot][0] == first else 1 for slot in range(16)
    ]


async def test_a_killed_supervisor_changes_nothing_and_knows_everything_again(lab: Lab) -> None:
    """It is started anew by Ray, reads the plan, and finds both partitions running; no process was replaced."""
    plan = await lab.up(2)
    before = [await lab.pid(name) for name in plan.partitions]

    await lab.anew(SUPERVISOR, await lab.kill(SUPERVISOR))

    async def knows() -> bool:
        found = (await lab.standing(SUPERVISOR)).get("partitions", {})
        return set(found) == set(plan.partitions)

    await until(knows, "the supervisor to have looked", seconds=30)
    assert [await lab.pid(name) for name in plan.partitions] == before
    assert await lab.control.plans.present() == plan


async def test_a_partition_that_hangs_is_replaced(lab: Lab) -> None:
    """A stopped process is not noticed by Ray; after 15 s without an answer the supervisor has it started anew."""
    plan = await lab.up(1)
    (name,) = plan.partitions
    stopped = await lab.kill(name, signal.SIGSTOP)
    began = monotonic()

    await lab.anew(name, stopped)

    assert SILENT - 1 <= monotonic() - began < SILENT + 25
    await lab.paid("o-1")
    await lab.all_done()
