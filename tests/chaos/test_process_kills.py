"""Real programs on a real Postgres, killed at any moment: nothing lost or reordered, sums exact (P11, L1 to L3)."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import asyncpg
import pytest

from tests.chaos.herd import Herd, prepared
from tests.chaos.journal import WINDOW, judged, lines
from tests.chaos.victim import CALLS, CONTEXT, FENCED, Stepped, thing
from tests.waiting import until
from wow_ray.adapters.clock import SystemClock
from wow_ray.adapters.postgres import Database, migrate, open_client_stores
from wow_ray.events import NewCommit
from wow_ray.policy.parked import Row, State, Verb
from wow_ray.ports.ledger import NewIntent, RowFilter
from wow_ray.ports.stores import ClientStores

SEED = int(os.environ.get("WOW_RAY_SEED", "20"))
KILLS = 22
AGGREGATES = 500
VERSIONS = 40
SLOTS = 32
STOPPED = frozenset({State.PARKED, State.EXHAUSTED})


class Load:
    """20,000 events over 500 aggregates: most plain, some slow, flaky, sick until healed, or to be skipped."""

    def __init__(self, client: ClientStores, folder: Path, chance: random.Random) -> None:
        self.client = client
        self.folder = folder
        self.chance = chance
        self.appended = {f"t{number}": VERSIONS for number in range(AGGREGATES)}
        self.slow = [f"t{number}" for number in range(10)]
        self.sick = [f"t{number}" for number in range(10, 40)]
        self.doomed = [f"t{number}" for number in range(40, 60)]
        self.flaky = [f"t{number}" for number in range(60, 90)]
        self.skipped: dict[str, set[int]] = {}
        self._requests = 0

    async def append(self, versions: int = VERSIONS) -> None:
        """Append so many to each, in rounds, so that the aggregates mix."""
        for version in range(1, versions + 1):
            names = list(self.appended)
            self.chance.shuffle(names)
            for first in range(0, AGGREGATES, 50):
                await self.client.events.append_many(
                    [
                        NewCommit(thing(name), (self._step(name, version),), None, None, f"{name}-{version}", None)
                        for name in names[first : first + 50]
                    ]
                )

    def _step(self, name: str, version: int) -> Stepped:
        if name in self.slow:
            return Stepped(seconds=0.15)
        if name in self.sick and version in {7, 23}:
            return Stepped(kind="sick")
        if name in self.doomed and version == 11:
            return Stepped(kind="doomed")
        if name in self.flaky and version % 5 == 0:
            return Stepped(kind="flaky")
        return Stepped()

    async def parked(self) -> list[Row]:
        """Give the rows that wait for somebody or for their time."""
        return list(await self.client.ledger.rows(RowFilter(STOPPED, limit=10_000)))

    async def command(self, share: float) -> int:
        """Heal and resume a share of those that are parked; of the doomed ones some are skipped instead."""
        rows = [row for row in await self.parked() if self.chance.random() < share]
        for row in rows:
            (self.folder / f"healed-{row.aggregate_id}").touch()
            skip = row.group == CALLS and row.aggregate_id in self.doomed[:10]
            await self._ask(Verb.SKIP_ONE if skip else Verb.RESUME, row)
        return len(rows)

    async def _ask(self, verb: Verb, row: Row) -> None:
        self._requests += 1
        await self.client.ledger.ask(
            NewIntent(
                f"request-{self._requests}",
                verb,
                row.group,
                row.slot,
                row.aggregate,
                row.aggregate_id,
                row.id,
                row.etag,
                None,
                "ann",
                "test",
            )
        )

    async def learn_skips(self) -> None:
        """Note what the answers say was skipped."""
        for number in range(1, self._requests + 1):
            intent = await self.client.ledger.intent(f"request-{number}")
            assert intent is not None
            if intent.request.verb is Verb.SKIP_ONE and intent.state == "done":
                self.skipped.setdefault(intent.request.aggregate_id, set()).add(intent.outcome["from_version"])


async def test_a_zombie_ends_by_itself(herd: Herd) -> None:
    """L3, H8, H18: frozen until another program has its slots: it goes on, calls nobody any more, and ends."""
    async with open_client_stores(herd.database, SystemClock()) as client:
        await Load(client, herd.folder, herd.chance).append(versions=2)
        zombie = herd.start(partitions=2)
        await herd.runs(zombie)
        await until(lambda: all_counted(herd, 2), "everything to be handled", seconds=30)
        await herd.moment(0.5, 0.6)  # and committed
        herd.freeze(zombie)
        herd.start(partitions=2)
        await herd.runs(herd.number)
        herd.thaw(zombie)
        assert await herd.ended(zombie) == FENCED


@pytest.fixture
async def herd(postgres_dsn: str, schema: str, tmp_path: Path) -> AsyncIterator[Herd]:
    """Programs on a schema of their own."""
    await migrate(postgres_dsn, schema, SLOTS, CONTEXT)
    await prepared(postgres_dsn, schema)
    herd = Herd(Database(postgres_dsn, CONTEXT, schema), tmp_path, random.Random(SEED))  # noqa: S311 - seeded chance
    try:
        yield herd
    finally:
        await herd.end()


async def test_killed_at_any_moment_nothing_is_lost_reordered_or_doubled(herd: Herd) -> None:
    """P11, L1, L2, L3, H2, H4, H5, H8: 22 kills, a take-over under an open commit, a zombie, resumes and skips.

    P15, H10: none of the events that were under way is taken for what killed the programs.
    """
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(open_client_stores(herd.database, SystemClock()))
        load = Load(client, herd.folder, herd.chance)
        appending = asyncio.create_task(load.append())
        crashes_between_park_and_resume = 0
        while herd.kills < KILLS:
            number = herd.start(partitions=herd.chance.choice((1, 2, 2, 3)))
            if herd.kills % 5 == 4:
                await herd.moment(0.2, 1.5)  # while it starts
            else:
                await herd.runs(number)
                await herd.moment(0.1, 1.0)
            if herd.kills == KILLS // 2:
                zombie, number = number, await take_over_under_an_open_commit(herd, number)
                await herd.moment(0.3, 0.6)
                herd.thaw(zombie)  # it may do what it likes from now on
            waiting = await load.parked()
            crashes_between_park_and_resume += bool(waiting) and slow_runs(herd, load)
            await herd.kill(number)
            if herd.kills % 3 == 0:
                await load.command(0.4)
        await appending
        last = herd.start(partitions=2)
        await herd.runs(last)
        await until(lambda: at_rest(herd, load), "everything to be done", seconds=180)
        await load.learn_skips()
        verdict = judged(herd.folder / "journal", load.appended, load.skipped)
        sums = await counted(herd)
        suspected = await convicted(herd)
    report = (
        f"seed {SEED}: {herd.kills} kills, {verdict.calls} calls, {sum(verdict.repeats.values())} repeats "
        f"(most after one kill: {max(verdict.repeats.values(), default=0)}), {len(verdict.lost)} lost, "
        f"{len(verdict.out_of_order)} out of order, {verdict.torn} torn lines, "
        f"{sum(map(len, load.skipped.values()))} skipped, "
        f"{crashes_between_park_and_resume} crashes between park and resume above a slow aggregate"
    )
    print(report)  # noqa: T201 - the figures are the result
    assert not verdict.lost, report
    assert suspected == 0, report
    assert not verdict.out_of_order, (report, verdict.out_of_order[:5])
    assert not verdict.repeated_by_itself, (report, verdict.repeated_by_itself[:5])
    assert all(repeats <= WINDOW for repeats in verdict.repeats.values()), report
    assert sums == dict.fromkeys(load.appended, (VERSIONS, VERSIONS)), report
    assert crashes_between_park_and_resume >= 1, report
    assert herd.kills >= 20


def slow_runs(herd: Herd, load: Load) -> bool:
    """Tell whether a slow aggregate has events in front of it, so that it holds the low-water mark down."""
    done = {(line.id, line.version) for line in lines(herd.folder / "journal") if line is not None and line.what == "E"}
    return any((name, VERSIONS) not in done for name in load.slow)


async def take_over_under_an_open_commit(herd: Herd, old: int) -> int:
    """Freeze a program whose commit waits for a lock, and let another one take over; answers that one's number (H8)."""
    connection = await asyncpg.connect(herd.database.dsn)
    try:
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute(f'select 1 from "{herd.database.schema}".slots for update')  # noqa: S608 - our own name
        await until(lambda: commits_wait(connection), "a commit of the old owner to wait", seconds=30)
        herd.freeze(old)
        await transaction.rollback()
    finally:
        await connection.close()
    new = herd.start(partitions=2)
    await herd.runs(new)
    return new


async def all_counted(herd: Herd, versions: int) -> bool:
    """Tell whether the projection has so many steps of every aggregate."""
    return sum(steps for steps, _ in (await counted(herd)).values()) >= AGGREGATES * versions


async def commits_wait(connection: asyncpg.Connection[asyncpg.Record]) -> bool:
    """Tell whether somebody waits for a row that this connection has locked."""
    waiting = await connection.fetchval(
        "select count(*) from pg_stat_activity where pg_backend_pid() = any (pg_blocking_pids(pid))"
    )
    return bool(waiting)


async def at_rest(herd: Herd, load: Load) -> bool:
    """Resume whoever is parked, and tell whether nothing is left to do."""
    if await load.command(1.0):
        return False
    if await load.client.ledger.counts():
        return False
    return await all_counted(herd, VERSIONS)


async def convicted(herd: Herd) -> int:
    """Count the rows, open or ended, whose event was taken for the death of its process."""
    connection = await asyncpg.connect(herd.database.dsn)
    try:
        query = f"select count(*) from \"{herd.database.schema}\".parked where reason = 'crashed_worker'"  # noqa: S608 - our own name
        return int(await connection.fetchval(query))
    finally:
        await connection.close()


async def counted(herd: Herd) -> dict[str, tuple[int, int]]:
    """Give the steps and the last version that the projection has of each aggregate."""
    connection = await asyncpg.connect(herd.database.dsn)
    try:
        rows = await connection.fetch(f'select id, steps, last from "{herd.database.schema}".sums')  # noqa: S608 - as above
    finally:
        await connection.close()
    return {row["id"]: (row["steps"], row["last"]) for row in rows}
