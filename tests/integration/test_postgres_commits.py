"""Commits on a real Postgres: refused data, lost sessions, the order of facts, and everything through a pooler."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.postgres_harness import PostgresHarness, postgres_harness
from tests.waiting import until
from wow_ray.errors import StoreDataError, StoreUnavailableError
from wow_ray.policy.progress import Mark
from wow_ray.ports.slots import AttemptNote, EffectMark, IntentDone, Notice
from wow_ray.testing.contract.harness import Paid, Placed, order, ref_in_slot
from wow_ray.testing.contract.rows import SALES, owning, reloaded
from wow_ray.testing.contract.suite import append, places, rows_of


@pytest.fixture
async def harness(postgres_dsn: str) -> AsyncIterator[PostgresHarness]:
    """Give an empty store on Postgres."""
    async with postgres_harness(postgres_dsn) as harness:
        yield harness


@pytest.fixture
async def pooled(postgres_dsn: str, postgres_url_pgbouncer: str) -> AsyncIterator[PostgresHarness]:
    """Give an empty store on Postgres, reached through pgbouncer in transaction mode."""
    async with postgres_harness(postgres_dsn, postgres_url_pgbouncer) as harness:
        yield harness


async def test_a_trigger_that_refuses_one_row_refuses_the_batch_as_data(harness: PostgresHarness) -> None:
    """H27: one of 20 rows is refused by a trigger of the user's.

    Nothing is written, and 19 are taken when it is left out.
    """
    partition = await owning(harness, *range(8))
    table = f"{harness.database.schema}.parked"
    await harness.admin.execute(
        f"""
        CREATE FUNCTION {harness.database.schema}.refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'not this one'; END $$;
        CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON {table} FOR EACH ROW WHEN (NEW.aggregate_id = 'o-13')
            EXECUTE FUNCTION {harness.database.schema}.refuse();
        """
    )
    try:
        rows = [partition.row(f"r-{n}", slot=n % 8, aggregate_id=f"o-{n}") for n in range(20)]
        with pytest.raises(StoreDataError, match="not this one"):
            await partition.put(*rows)
        assert await harness.client.ledger.row("r-0") is None

        await partition.put(*(row for row in rows if row.aggregate_id != "o-13"))

        assert await harness.client.ledger.row("r-19") == rows[19]
    finally:
        await harness.admin.execute(f"DROP FUNCTION {harness.database.schema}.refuse CASCADE")


async def test_a_commit_whose_session_is_ended_may_be_sent_again(harness: PostgresHarness) -> None:
    """H26: the session is ended while the commit waits; the same batch goes through another one, and is there once."""
    partition = await owning(harness)
    intent = await harness.client.ledger.ask(partition.intent())
    row = partition.row()
    write = partition.write(
        marks={partition.group(): Mark(9)},
        rows=(row,),
        attempts=(AttemptNote("r-1", "live", partition.now, row.failure),),
        intents=(IntentDone(intent.id, applied=True, code="resumed", text=""),),
        notices=(Notice("parked", row),),
    )
    async with harness.admin.transaction():
        await harness.admin.execute(f"SELECT FROM {harness.database.schema}.slots WHERE slot = 3 FOR UPDATE")
        committing = asyncio.ensure_future(partition.commit(write))
        await until(lambda: _ended(harness), "the commit's session to wait, and to be ended")
        with pytest.raises(StoreUnavailableError):
            await committing

    await partition.commit(write)
    await partition.commit(write)

    assert await harness.client.ledger.row("r-1") == row
    assert len(await harness.client.ledger.attempts("r-1")) == 1
    assert [(kind, row_id) for _, kind, row_id in await harness.client.ledger.notices(0, 10)] == [("parked", "r-1")]
    assert (await reloaded(harness)).marks[partition.group()] == Mark(9)


async def _ended(harness: PostgresHarness) -> bool:
    """End the session that waits for a lock, if there is one."""
    sql = (
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
        "WHERE wait_event_type = 'Lock' AND application_name = 'wow-ray/shop/slots'"
    )
    return bool(await harness.admin.fetchval(sql))


async def test_facts_are_numbered_in_the_order_in_which_they_become_visible(harness: PostgresHarness) -> None:
    """P13: 4 owners commit 25 facts each at once while a reader asks for what came after.

    It passes over none of the 100.
    """
    owners = [await owning(harness, 2 * n, 2 * n + 1) for n in range(4)]
    stores = [harness.partition.slots, harness.client.slots, *(harness.another_partition().slots for _ in range(2))]

    async def tells(number: int) -> None:
        partition = owners[number]
        for n in range(25):
            row = partition.row(f"r-{number}-{n}", slot=2 * number, aggregate_id=f"o-{number}-{n}")
            await stores[number].commit([partition.write(2 * number, rows=(row,), notices=(Notice("parked", row),))])

    telling = asyncio.gather(*(tells(number) for number in range(4)))
    after, seen = 0, 0
    while True:
        finished = telling.done()
        facts = await harness.client.ledger.notices(after, 7)
        seen += len(facts)
        after = facts[-1][0] if facts else after
        if finished and not facts:
            break
    await telling
    assert seen == 100


async def test_history_is_bounded(harness: PostgresHarness) -> None:
    """P4: of 130 attempts of a row the newest 100 are kept."""
    partition = await owning(harness)
    notes = [AttemptNote("r-1", "retry", partition.now.replace(microsecond=n), None) for n in range(130)]
    await partition.commit(partition.write(attempts=tuple(notes[:70])))
    await partition.commit(partition.write(attempts=tuple(notes[60:])))

    assert list(await harness.client.ledger.attempts("r-1")) == notes[30:]


async def test_a_rows_former_group_name_is_written_as_the_present_one(harness: PostgresHarness) -> None:
    """P14, L7: while a rollout renames a group, the old program parks under the old name; the new one finds it held."""
    partition = await owning(harness)
    renamed = replace(SALES, name="Turnover", aliases=("Sales",))
    await harness.partition.slots.register([renamed])

    await partition.put(partition.row())

    assert (await reloaded(harness)).held == (("Turnover", "order", "o-1"),)
    asked = await harness.client.ledger.ask(partition.intent())
    assert asked.request.group == "Turnover"


async def test_everything_works_through_a_pooler(pooled: PostgresHarness) -> None:
    """Pgbouncer in transaction mode: append, read, take over, commit, effects, lease, ledger.

    Nothing is kept in a session.
    """
    ref = ref_in_slot(pooled, 3)
    commits = await asyncio.gather(*(append(pooled, order(f"o-{n}"), Placed(), Paid()) for n in range(40)))
    assert {commit.version for commit in commits} == {1}
    async with pooled.transaction() as connection:
        mine = await pooled.client.events.append(ref, [Placed()], expected_version=0, connection=connection)
    rows = await rows_of(pooled.partition.reader, *range(8))
    assert len(rows) == 81
    assert (mine.slot, mine.positions[0]) in places(rows)

    partition = await owning(pooled)
    await pooled.partition.lease.start(partition.owner)
    transaction = await pooled.partition.effects.begin(EffectMark(partition.group(), 3, partition.loaded[3].epoch, 7))
    await transaction.connection.execute("SELECT 1")
    await transaction.commit()
    row = partition.row(next_due=partition.now)
    await partition.commit(partition.write(marks={partition.group(): Mark(6)}, rows=(row,)))
    assert await pooled.client.ledger.row("r-1") == row
    taking = asyncio.ensure_future(reloaded(pooled))
    done, _ = await asyncio.wait({taking}, timeout=0.3)
    assert not done
    await pooled.partition.lease.stop()

    loaded = await asyncio.wait_for(taking, 5)
    assert loaded.settled == {partition.group(): frozenset({7})}
    assert loaded.held == (("Sales", "order", "o-1"),)
