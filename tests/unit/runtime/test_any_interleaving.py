"""Whatever happens in whatever order: each aggregate's events are done in order, without gaps, and all of them."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress

import pytest

from tests.unit.runtime.desk import CarrierDown, Desk, Step, TooBusy, UnknownBuyer, Unlisted, crash, paid, scenario
from tests.unit.runtime.shop import app, sales
from wow_ray import App, StoreUnavailableError
from wow_ray.adapters.memory import MemoryStore
from wow_ray.testing import Running
from wow_ray.testing.connection import RecordingDatabase

GONE = StoreUnavailableError("no answer")
OPERATIONS = (
    "reader.heads",
    "reader.page",
    "drains.streams",
    "slots.commit",
    "ledger.read",
    "effects.begin",
    "effects.commit",
)
SEEDS = 6
"""Few enough for every run; raise it for a search."""
IDS = [f"o-{number}" for number in range(8)]


def a_step(desk: Desk, chance: random.Random) -> Step:
    """Throw what a call ends in; most succeed."""
    kinds: list[Callable[[], Step]] = [
        lambda: Unlisted("x"),
        lambda: TooBusy(chance.choice([None, "1", "7", "40"])),
        lambda: UnknownBuyer("x"),
        lambda: CarrierDown("x"),
        lambda: desk.sleeping(chance.uniform(0, 4)),
        lambda: None,
        lambda: None,
        lambda: None,
    ]
    return chance.choice(kinds)()


async def resume_one(running: Running, chance: random.Random) -> None:
    """Resume one of those that wait for somebody."""
    waiting = [row for row in await running.parked() if row.state in {"parked", "exhausted"}]
    if waiting:
        await running.resume(chance.choice(waiting), reason="try")


async def live(running: Running, chance: random.Random, appended: dict[str, int]) -> None:
    """Let an app live through some turns of luck."""
    for _ in range(chance.randrange(3, 12)):
        turn = chance.random()
        if turn < 0.5:
            each = chance.choice(IDS)
            times = chance.choice([1, 1, 2, 90])
            await paid(running, each, times=times)
            appended[each] += times
        elif turn < 0.6:
            where = chance.choice(["start", "end"])
            running.memory.fail_next(chance.choice(OPERATIONS), GONE, chance.randrange(1, 4), at=where)  # type: ignore[arg-type]  # of what there is
        elif turn < 0.8:
            with suppress(StoreUnavailableError):
                await resume_one(running, chance)
        await running.advance(f"{chance.choice([1, 50, 300, 2_000, 20_000])}ms")


async def settle(running: Running) -> None:
    """Let everything be handled: the steps are used up, so resumes succeed."""
    for operation in OPERATIONS:
        running.memory.fail_next(operation, GONE, 0)  # type: ignore[arg-type]  # of what there is
        running.memory.fail_next(operation, GONE, 0, at="end")  # type: ignore[arg-type]  # of what there is
    for _ in range(60):
        await running.advance("1m")
        for row in await running.parked():
            if row.state in {"parked", "exhausted"}:
                await running.resume(row, reason="all is well now")
    await running.advance("1h")


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize(("made", "once"), [(app, False), (sales, True)], ids=["reactor", "projection"])
async def test_every_event_is_done_in_order_whatever_happens(seed: int, made: App, *, once: bool) -> None:
    """P1, P11, L1, L2, H2, H4, H5: failures, busy answers, outages, store faults, resumes, overflows, stops, crashes.

    An aggregate's versions only ever go back to repeat after a crash, never leave one out, and a projection's rows are
    written exactly once.
    """
    chance = random.Random(seed)  # noqa: S311 - seeded, no secret
    desk, database = Desk(), RecordingDatabase()
    appended = dict.fromkeys(IDS, 0)
    memory: MemoryStore | None = None
    settings = {"subscription": {"retry": {"timeout": "3s"}}}
    for each in IDS:
        desk.next(each, *(a_step(desk, chance) for _ in range(40)))
    for _ in range(6):
        async with scenario(made, desk, connect=database.connect, memory=memory, slots=4, settings=settings) as running:
            memory = running.memory
            await live(running, chance, appended)
            if chance.random() < 0.5:
                await crash(running)
    for each in IDS:
        desk.drop_steps(each)
    async with scenario(made, desk, connect=database.connect, memory=memory, slots=4, settings=settings) as running:
        await settle(running)
        assert await running.parked() == []
        assert running.memory.open_transactions == 0
    written = [statement.arguments for statement in database.committed]
    for each in IDS:
        expected = list(range(1, appended[each] + 1))
        done = [version for name, version in desk.done if name == each]
        assert sorted(set(done)) == expected
        reached = 0
        for version in done:
            assert version <= reached + 1, f"{each}@{version} was done before {each}@{reached + 1}"
            reached = max(reached, version)
        if once:
            assert [version for name, version in written if name == each] == expected
        assert desk.most_running.get(each, 0) <= 1
