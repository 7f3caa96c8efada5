# ruff: noqa: S608 - the only thing put into a statement's text is the name of the test's own schema
"""Durable calls are run by the app's actors on Ray, and go on when those are killed (F2, F6)."""

from __future__ import annotations

from pathlib import Path

import asyncpg

from tests.cluster.lab import PATIENCE, Lab
from tests.waiting import until

BOTH = ("calls/0", "calls/1")


async def stored(lab: Lab, call_id: str, seconds: int) -> None:
    """Store a call of the app's durable function, as a producer in any language could."""
    sql = f"insert into {lab.schema}.durable_calls (id, function, payload, priority, state, due, attempts, spent)"
    payload = f'{{"v":1,"a":{{"seconds":{seconds}}}}}'
    await lab.admin.execute(f"{sql} values ($1, 'settle', $2, 4, 'waiting', now(), 0, 0)", call_id, payload)


async def found(lab: Lab, call_id: str) -> asyncpg.Record:
    """Give a call."""
    row = await lab.admin.fetchrow(f"select * from {lab.schema}.durable_calls where id = $1", call_id)
    assert row is not None
    return row


async def test_calls_run_in_the_actors_and_outlive_them(lab: Lab) -> None:
    """F6: run by whichever actor claims it; killed in the middle, it is made again once its lease is over."""
    plan = await lab.up(2)
    pids = {await lab.pid(name) for name in plan.partitions}
    await stored(lab, "c-1", 0)

    async def succeeded(call_id: str) -> bool:
        return bool((await found(lab, call_id))["state"] == "succeeded")

    await until(lambda: succeeded("c-1"), "the call to be run", seconds=PATIENCE)
    assert int((await found(lab, "c-1"))["result"]) in pids

    await stored(lab, "c-2", 5)

    async def running() -> bool:
        return bool((await found(lab, "c-2"))["state"] == "running")

    await until(running, "the call to begin", seconds=PATIENCE)
    for name in plan.partitions:
        await lab.kill(name)
    await until(lambda: succeeded("c-2"), "the call to be made again", seconds=PATIENCE)
    again = await found(lab, "c-2")
    assert again["attempts"] == 2
    assert int(again["result"]) not in pids


async def test_callers_run_them_and_are_replaced_when_they_are_killed(calling_lab: Lab) -> None:
    """F6, S103: with actors for calls no partition runs any; a killed one is started anew, its call made once more."""
    lab = calling_lab
    plan = await lab.up(1)
    pids = {await lab.pid(name) for name in BOTH}
    shown = {each.partition for each in (await lab.operations.status()).partitions}
    assert shown == {*plan.partitions, *BOTH}

    await stored(lab, "c-1", 5)

    async def running() -> bool:
        return bool((await found(lab, "c-1"))["state"] == "running")

    await until(running, "the call to begin", seconds=PATIENCE)
    busy = [name for name in BOTH if (await lab.standing(name)).get("running")]
    assert len(busy) == 1, "one of the callers runs it"
    killed = await lab.kill(busy[0])

    async def succeeded() -> bool:
        return bool((await found(lab, "c-1"))["state"] == "succeeded")

    await until(succeeded, "the call to be made again", seconds=PATIENCE)
    again = await found(lab, "c-1")
    assert again["attempts"] == 2
    anew = await lab.anew(busy[0], killed)
    assert int(again["result"]) in (pids | {int(anew["pid"])}) - {killed}


async def test_callers_of_another_release_take_over_and_no_call_is_made_twice(calling_lab: Lab, modules: Path) -> None:
    """L7, S103: calls under way end where they are, those that wait are made by the new callers; all at one attempt."""
    lab = calling_lab
    await lab.up(1)
    old = {await lab.pid(name) for name in BOTH}
    under_way, waiting = ("w-1", "w-2"), [f"c-{number}" for number in range(6)]
    for call_id in under_way:
        await stored(lab, call_id, 3)

    async def states(*ids: str) -> list[str]:
        return [(await found(lab, call_id))["state"] for call_id in ids]

    async def all_are(state: str, *ids: str) -> bool:
        return set(await states(*ids)) == {state}

    await until(lambda: all_are("running", *under_way), "the calls to begin", seconds=PATIENCE)
    text = f"from tests.cluster.shop import make\n\napp = make({lab.site.context!r}, {lab.schema!r}, release=2)\n"
    await lab.release(modules, "r2", text).up(lab.control, 1)

    async def replaced() -> bool:
        standings = [await lab.standing(name) for name in BOTH]
        return all(each.get("release") == "r2" and each["standing"] == "running" for each in standings)

    await until(replaced, "the second release's callers", seconds=PATIENCE)
    new = {await lab.pid(name) for name in BOTH}
    for call_id in waiting:
        await stored(lab, call_id, 0)
    await until(lambda: all_are("succeeded", *under_way, *waiting), "all calls to be made", seconds=PATIENCE)

    calls = {call_id: await found(lab, call_id) for call_id in (*under_way, *waiting)}
    assert {call["attempts"] for call in calls.values()} == {1}
    assert {int(calls[each]["result"]) for each in under_way} <= old
    assert {int(calls[each]["result"]) for each in waiting} <= new
    assert not old & new
