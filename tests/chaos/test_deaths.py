"""Real processes that die of an event, on a real Postgres: that one is parked, all others are handled (P15, H10)."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from tests.chaos.herd import Herd, prepared
from tests.chaos.journal import judged
from tests.chaos.test_process_kills import SEED, SLOTS, counted
from tests.chaos.victim import CALLS, CONTEXT, Stepped, thing
from tests.waiting import until
from wow_ray.adapters.clock import SystemClock
from wow_ray.adapters.postgres import Database, migrate, open_client_stores
from wow_ray.policy.parked import Reason, Row, State, Verb
from wow_ray.policy.slots import slot_of
from wow_ray.ports.ledger import NewIntent, RowFilter
from wow_ray.ports.stores import ClientStores

DEADLY = {137, 9, -11}
"""How processes end that were killed by an event."""
OTHERS = [f"o{number}" for number in range(40)]


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


@pytest.fixture
async def client(herd: Herd) -> AsyncIterator[ClientStores]:
    """Where events are appended and commands asked."""
    async with open_client_stores(herd.database, SystemClock()) as client:
        yield client


async def append(client: ClientStores, versions: Mapping[str, int], deadly: Mapping[tuple[str, int], str]) -> None:
    """Append so many steps to each, mixed; some are of a kind of their own."""
    for version in range(1, max(versions.values()) + 1):
        for id_ in versions:
            if version <= versions[id_]:
                step = Stepped(kind=deadly.get((id_, version), "plain"))
                await client.events.append(thing(id_), [step], expected_version=None)


async def survived(herd: Herd, client: ClientStores, sums: Mapping[str, int], reason: Reason) -> int:
    """Start programs until one has handled all there is and lives; answers how many died.

    All there is: so many `sums`, and one row that waits for a person for that reason.
    """
    deaths = 0
    while deaths < 9:
        number = herd.start(partitions=2)
        program = herd.running[number]

        async def over() -> bool:
            if program.poll() is not None:  # noqa: B023 - awaited within the round
                return True
            at_rest = not await client.ledger.rows(RowFilter(frozenset({State.RETRYING, State.WAITING}), limit=10))
            stopped = await client.ledger.rows(RowFilter(frozenset({State.EXHAUSTED}), limit=10))
            done = {id_: steps for id_, (steps, _) in (await counted(herd)).items()}
            return at_rest and [row.reason for row in stopped] == [reason] and done == dict(sums)

        await until(over, "the program to die or everything to be done", seconds=40)
        if program.poll() is None:
            await herd.kill(number)
            return deaths
        del herd.running[number]
        assert program.returncode in DEADLY, f"ended with {program.returncode}: {herd.errors(number)}"
        deaths += 1
    raise AssertionError(f"still dying after {deaths} deaths: {herd.errors(herd.number)}")


async def the_row(client: ClientStores) -> Row:
    """Give the only row there is."""
    (row,) = await client.ledger.rows(RowFilter(frozenset({State.EXHAUSTED}), limit=10))
    return row


def well(herd: Herd, appended: Mapping[str, int]) -> None:
    """Hold the journal against what must have been done: nothing lost, out of order, or twice by one process."""
    verdict = judged(herd.folder / "journal", dict(appended), {})
    assert not verdict.lost, verdict.lost
    assert not verdict.out_of_order, verdict.out_of_order
    assert not verdict.repeated_by_itself, verdict.repeated_by_itself


@pytest.mark.parametrize("kind", ["exit", "leave"])
async def test_a_live_event_that_ends_the_process_at_once(herd: Herd, client: ClientStores, kind: str) -> None:
    """S49, H10 (a), H32: appended to a running program, read and deadly before a commit; parked after three charges."""
    first = herd.start(partitions=2)
    await herd.runs(first)
    versions = dict.fromkeys(OTHERS, 3) | {"k": 3}
    await append(client, versions, {("k", 2): kind})
    await until(lambda: herd.running[first].poll() is not None, "the first death", seconds=20)
    del herd.running[first]

    deaths = 1 + await survived(herd, client, versions, Reason.CRASHED_WORKER)

    row = await the_row(client)
    assert (row.group, row.aggregate_id, row.stopped, row.reason) == (CALLS, "k", (2, 0), Reason.CRASHED_WORKER)
    assert deaths == 2 + 3, [herd.errors(number) for number in range(1, herd.number + 1)]
    well(herd, dict.fromkeys(OTHERS, 3) | {"k": 1})


async def test_an_event_inside_a_drain_that_faults(herd: Herd, client: ClientStores) -> None:
    """H10 (b), P6: below the checkpoint, by a segmentation fault; three deaths, and the row stands at that event."""
    await append(client, dict.fromkeys(OTHERS, 3) | {"k": 1}, {})
    slot = slot_of(CONTEXT, "thing", "k", SLOTS)
    await client.ledger.ask(NewIntent("q-1", Verb.PARK, CALLS, slot, "thing", "k", None, None, None, "ann", "wait"))
    assert await survived(herd, client, dict.fromkeys(OTHERS, 3) | {"k": 1}, Reason.OPERATOR) == 0
    row = await the_row(client)
    await append(client, {"k": 5}, {("k", 3): "fault"})
    await client.ledger.ask(
        NewIntent("q-2", Verb.RESUME, CALLS, slot, "thing", "k", row.id, None, None, "ann", "go on")
    )

    deaths = await survived(herd, client, dict.fromkeys(OTHERS, 3) | {"k": 6}, Reason.CRASHED_WORKER)

    row = await the_row(client)
    assert (row.group, row.aggregate_id, row.stopped, row.reason) == (CALLS, "k", (4, 0), Reason.CRASHED_WORKER)
    assert deaths == 3
    well(herd, dict.fromkeys(OTHERS, 3) | {"k": 3})
