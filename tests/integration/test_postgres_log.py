# ruff: noqa: S608 - the only thing put into a statement's text is the name of the test's own schema
"""The log on a real Postgres: many writers and a reader that follows, other programs, lost sessions (H36, L4)."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from tests.postgres_harness import PostgresHarness, postgres_harness
from tests.waiting import until
from wow_ray.adapters.postgres.event_log import PostgresEventStore
from wow_ray.errors import ConcurrencyError, StoreUnavailableError
from wow_ray.events import AggregateRef, NewCommit
from wow_ray.policy.slots import slot_of
from wow_ray.ports.event_log import Range
from wow_ray.testing.contract.harness import Paid, Placed, order, ref_in_slot
from wow_ray.testing.contract.suite import ALL, append, places, rows_of

WRITERS = 16
ENDING = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = $1"


@pytest.fixture
async def harness(postgres_dsn: str) -> AsyncIterator[PostgresHarness]:
    """Give an empty store on Postgres."""
    async with postgres_harness(postgres_dsn) as harness:
        yield harness


class _ChangedMindError(Exception):
    """Rolls a transaction back."""


async def test_a_reader_that_follows_sixteen_writers_misses_nothing(harness: PostgresHarness) -> None:
    """L4, S16, S18: 16 writers, 640 commits of 1 to 3 events.

    Every fifth transaction rolled back after it took positions.
    """
    chance = random.Random(16)  # noqa: S311 - a test's chance
    written = 0

    async def writer(number: int) -> None:
        nonlocal written
        for n in range(40):
            events = [Placed()] * (1 + n % 3)
            ref = order(f"w-{number}-{n % 7}")
            if n % 5:
                await harness.client.events.append(ref, events, expected_version=None)
                written += len(events)
                continue
            with pytest.raises(_ChangedMindError):  # noqa: PT012 - the block is what is rolled back
                async with harness.transaction() as connection:
                    await harness.client.events.append(ref, events, expected_version=None, connection=connection)
                    await connection.execute("SELECT pg_sleep($1)", chance.uniform(0, 0.02))
                    raise _ChangedMindError

    writing = asyncio.gather(*(writer(number) for number in range(WRITERS)))
    reader, seen = harness.partition.reader, dict.fromkeys(range(harness.slots), 0)
    read: list[tuple[int, int]] = []
    while True:
        finished = writing.done()
        heads = await reader.heads(range(harness.slots))
        page = await reader.page([Range(slot, seen[slot], heads[slot], 50) for slot in seen], ALL)
        read += places(page.rows)
        seen.update(page.reached)
        if finished and seen == heads:
            break

    await writing
    assert len(read) == len(set(read)) == written
    assert sorted(read) == [(slot, position) for slot in seen for position in range(1, seen[slot] + 1)]
    assert [position for slot, position in read if slot == 3] == list(range(1, seen[3] + 1))


async def test_sixteen_writers_of_several_aggregates_never_wait_in_a_circle(harness: PostgresHarness) -> None:
    """H36: 16 writers append to 5 of 8 slots at once, 20 times each, in any order; no deadlock, no gap."""
    chance = random.Random(36)  # noqa: S311 - a test's chance
    refs = [ref_in_slot(harness, slot) for slot in range(harness.slots)]

    async def writer() -> None:
        for _ in range(20):
            await harness.client.events.append_many([NewCommit(ref, (Placed(),)) for ref in chance.sample(refs, 5)])

    before = await harness.admin.fetchval("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
    await asyncio.gather(*(writer() for _ in range(WRITERS)))

    after = await harness.admin.fetchval("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
    assert after == before
    heads = await harness.partition.reader.heads(range(harness.slots))
    assert sum(heads.values()) == WRITERS * 20 * 5
    assert len(await rows_of(harness.partition.reader, *range(harness.slots))) == WRITERS * 20 * 5


async def test_of_sixteen_who_expect_the_same_version_one_appends(harness: PostgresHarness) -> None:
    """H36: they wait for the same slot.

    The one that was first is met at the version or at the key, and 15 are told which it is.
    """
    ends = await asyncio.gather(
        *(harness.client.events.append(order("o-1"), [Placed()], expected_version=0) for _ in range(WRITERS)),
        return_exceptions=True,
    )

    refused = [end for end in ends if isinstance(end, ConcurrencyError)]
    assert len(refused) == 15
    assert {(error.expected, error.actual) for error in refused} == {(0, 1)}
    assert (await append(harness, order("o-1"), expected=1)).positions == (2,)


async def test_an_expected_version_is_met_exactly(harness: PostgresHarness) -> None:
    """H36: version 6 expected of a stream at 1 is refused in every way there is to append, and nothing moves."""
    commit = await append(harness, order("o-1"))
    events = harness.client.events

    async def by_id() -> Any:  # noqa: ANN401 - it raises
        return await events.append(order("o-1"), [Placed()], expected_version=6, commit_id="c")

    async def among_many() -> Any:  # noqa: ANN401 - it raises
        return await events.append_many([NewCommit(order("o-1"), (Placed(),), 6)])

    async def joined() -> Any:  # noqa: ANN401 - it raises
        async with harness.transaction() as connection:
            return await events.append(order("o-1"), [Placed()], expected_version=6, connection=connection)

    for way in (lambda: append(harness, order("o-1"), expected=6), by_id, among_many, joined):
        with pytest.raises(ConcurrencyError) as refused:
            await way()
        assert (refused.value.expected, refused.value.actual) == (6, 1)
    assert await harness.partition.reader.heads([commit.slot]) == {commit.slot: 1}


async def called(connection: asyncpg.Connection[asyncpg.Record], harness: PostgresHarness, sql: str) -> asyncpg.Record:
    """Call the schema's own function, as any program may."""
    row = await connection.fetchrow(f"SELECT * FROM {harness.database.schema}.append({sql})")
    assert row is not None
    return row


async def test_any_program_may_append_by_the_schemas_function(harness: PostgresHarness) -> None:
    """api.md: same slot, same positions, same versions as through Python.

    In the caller's own transaction, undone with it.
    """
    first = await append(harness, order("o-1"), Placed(), Paid())
    slot = slot_of("shop", "order", "o-1", harness.slots)

    row = await called(
        harness.admin, harness, """'order', 'o-1', '{order_placed}', ARRAY['{"text": "sql"}'::json], 1"""
    )
    async with harness.admin.transaction():
        with pytest.raises(_ChangedMindError):  # noqa: PT012 - the block is what is rolled back
            async with harness.admin.transaction():
                await called(harness.admin, harness, """'order', 'o-1', '{order_placed}', ARRAY['{}'::json], 2""")
                raise _ChangedMindError

    assert tuple(row) == (2, slot, 3, 1)
    rows = await rows_of(harness.partition.reader, slot)
    assert [(row.version, row.sequence, row.position) for row in rows] == [(1, 0, 1), (1, 1, 2), (2, 0, 3)]
    assert (first.slot, json.loads(rows[2].payload), rows[2].revision) == (slot, {"text": "sql"}, 1)


@pytest.mark.parametrize(
    ("sql", "sqlstate"),
    [
        ("'order', 'o-1', '{order_placed}', ARRAY['{}'::json], 0", "WR001"),
        ("'order', 'o-1', '{order_placed}', ARRAY['{}'::json], 7", "WR001"),
        ("""'order', 'o-1', '{order_placed}', ARRAY[json_build_object('x', repeat('x', 1000000))]""", "WR003"),
        ("'order', 'o-1', '{}', '{}'", "WR004"),
        ("'order', '', '{order_placed}', ARRAY['{}'::json]", "WR004"),
        ("'order', repeat('x', 513), '{order_placed}', ARRAY['{}'::json]", "WR004"),
        ("'order', 'o-1', '{order_placed,order_paid}', ARRAY['{}'::json]", "WR004"),
        ("'order', 'o-1', '{order_placed}', ARRAY[NULL::json]", "WR004"),
        (r"""'order', 'o-1', '{order_placed}', ARRAY['{"text": "a\u0000b"}'::json]""", "22P05"),
        (r"""'order', 'o-1', '{order_placed}', ARRAY['{"text": "\ud83d"}'::json]""", "22P02"),
        ("""'order', 'o-1', '{order_placed}', ARRAY['{"amount": NaN}'::json]""", "22P02"),
    ],
)
async def test_the_schemas_function_refuses_what_python_refuses(
    harness: PostgresHarness, sql: str, sqlstate: str
) -> None:
    """H36, H48, S71, S73: with codes that any driver shows, and nothing is stored."""
    commit = await append(harness, order("o-1"))

    with pytest.raises(asyncpg.PostgresError) as refused:
        await called(harness.admin, harness, sql)

    assert refused.value.sqlstate == sqlstate
    if sqlstate == "WR001":
        assert json.loads(str(getattr(refused.value, "detail", "")))["actual"] == 1
    assert await harness.partition.reader.heads([commit.slot]) == {commit.slot: 1}


async def test_the_schemas_function_refuses_a_second_append_unless_it_follows_in_order(
    harness: PostgresHarness,
) -> None:
    """H36: the hint names `append_many`; with `follows => true` and rising slots a batch may be written in SQL."""
    low, high = ref_in_slot(harness, 1), ref_in_slot(harness, 6)

    async def both(first: AggregateRef, second: AggregateRef, more: str) -> None:
        async with harness.admin.transaction():
            await called(harness.admin, harness, f"'order', '{first.id}', '{{order_placed}}', ARRAY['{{}}'::json]")
            await called(
                harness.admin, harness, f"'order', '{second.id}', '{{order_placed}}', ARRAY['{{}}'::json]{more}"
            )

    for first, second, more in ((low, high, ""), (high, low, ", follows => true")):
        with pytest.raises(asyncpg.PostgresError) as refused:
            await both(first, second, more)
        assert refused.value.sqlstate == "WR002"
        assert "append_many" in str(getattr(refused.value, "hint", ""))
    await both(low, high, ", follows => true")
    assert await harness.partition.reader.heads([1, 6]) == {1: 1, 6: 1}


async def test_an_append_waits_for_a_slot_as_long_as_it_was_told(harness: PostgresHarness) -> None:
    """H36: a transaction that does not end stops its slot.

    Those who wait are told so rather than waiting for ever.
    """
    store = PostgresEventStore(harness.database, writers=1, wait_seconds=0.1)
    ref = ref_in_slot(harness, 3)
    try:
        async with harness.transaction() as connection:
            await harness.client.events.append(ref, [Placed()], expected_version=0, connection=connection)
            for commit_id in ("c-1", None):
                with pytest.raises(StoreUnavailableError, match="55P03"):
                    await store.append(ref, [Placed()], expected_version=0, commit_id=commit_id)
        assert (await store.append(ref, [Placed()], expected_version=1, commit_id="c-1")).version == 2
    finally:
        await store.close()


async def test_an_append_whose_session_is_ended_may_be_repeated(harness: PostgresHarness) -> None:
    """H36: its outcome is unknown; the same `commit_id` again makes it exactly one commit, and answers it."""
    ref = ref_in_slot(harness, 3)
    async with harness.transaction() as connection:
        await harness.client.events.append(ref, [Placed()], expected_version=0, connection=connection)
        lost = asyncio.ensure_future(harness.client.events.append(ref, [Paid()], expected_version=1, commit_id="c-1"))
        await until(lambda: _waiting(harness), "the append to wait for the slot")
        await harness.admin.execute(ENDING, "wow-ray/shop/append")
        with pytest.raises(StoreUnavailableError):
            await lost

    first = await harness.client.events.append(ref, [Paid()], expected_version=1, commit_id="c-1")
    again = await harness.client.events.append(ref, [Paid()], expected_version=1, commit_id="c-1")

    assert first == again
    assert (first.version, first.positions) == (2, (2,))


async def _waiting(harness: PostgresHarness) -> bool:
    """Tell whether an append waits for a lock."""
    sql = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = $1"
    return bool(await harness.admin.fetchval(sql, "wow-ray/shop/append"))


async def test_cancelled_appends_leave_no_connection_behind(harness: PostgresHarness) -> None:
    """S68: 300 appends on 3 sessions, cancelled within 0 to 20 ms; then 3 run at once, and the log has no gap."""
    store = PostgresEventStore(harness.database, writers=3)
    chance, loop = random.Random(68), asyncio.get_running_loop()  # noqa: S311 - a test's chance
    for first in range(0, 300, 20):
        calls = [
            asyncio.ensure_future(
                store.append(order(f"o-{n % 11}"), [Placed()], expected_version=None, commit_id=f"c-{n}")
            )
            for n in range(first, first + 20)
        ]
        for call in calls:
            loop.call_later(chance.uniform(0, 0.02), call.cancel)
        ends = await asyncio.gather(*calls, return_exceptions=True)
        assert {type(end).__name__ for end in ends} <= {"Commit", "CancelledError"}

    async with asyncio.timeout(1):
        await asyncio.gather(*(store.append(order(f"p-{n}"), [Placed()], expected_version=0) for n in range(3)))
    count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'wow-ray/shop/append'"
    await until(lambda: _is(harness, count, 3), "the sessions of cancelled appends to end")
    await store.close()
    await until(lambda: _is(harness, count, 0), "all sessions to end")
    rows = await rows_of(harness.partition.reader, *range(harness.slots))
    assert sum((await harness.partition.reader.heads(range(harness.slots))).values()) == len(rows)


async def _is(harness: PostgresHarness, sql: str, expected: int) -> bool:
    """Tell whether a count is as expected."""
    return bool(await harness.admin.fetchval(sql) == expected)


async def test_a_reader_whose_session_is_ended_reads_on_by_another(harness: PostgresHarness) -> None:
    """H14: one call says `StoreUnavailableError`, the next works; the server's identity is the same as before."""
    reader = harness.partition.reader
    commit = await append(harness, ref_in_slot(harness, 3), Placed(), Paid())
    identity = await reader.identity()
    assert await reader.heads([3]) == {3: 2}

    ended = await harness.admin.fetchval(ENDING, "wow-ray/shop/reader")
    with pytest.raises(StoreUnavailableError):
        await asyncio.wait_for(_one_bad_read(reader, ended), 5)

    assert await reader.heads([3]) == {3: 2}
    assert places(await rows_of(reader, commit.slot)) == [(3, 1), (3, 2)]
    assert await reader.identity() == identity


async def _one_bad_read(reader: Any, ended: int) -> None:  # noqa: ANN401 - a reader
    """Read once on a session that was ended; where that was noticed already, say so as the read would."""
    await reader.heads([3])
    if ended:
        raise StoreUnavailableError("the session was replaced before it was used")


async def test_the_identity_names_server_timeline_and_schema(harness: PostgresHarness) -> None:
    """H14: the system identifier, the timeline as eight hex digits.

    The schema's own identity, which a new one has not.
    """
    server, timeline, schema = (await harness.partition.reader.identity()).split("/")

    assert server == str(await harness.admin.fetchval("SELECT system_identifier FROM pg_control_system()"))
    assert int(timeline, 16) == await harness.admin.fetchval("SELECT timeline_id FROM pg_control_checkpoint()")
    assert schema == str(await harness.admin.fetchval(f"SELECT identity FROM {harness.database.schema}.meta"))


async def test_a_page_is_bounded_whatever_came_since_its_head_was_read(harness: PostgresHarness) -> None:
    """H48: sizes known from the last reading of heads let a page do without counting.

    A larger event comes after, and it counts.
    """
    ref, reader = ref_in_slot(harness, 3), harness.partition.reader
    await append(harness, ref, *[Placed(text="x")] * 3)
    assert (await reader.heads([3])) == {3: 3}
    await append(harness, ref, *[Placed(text="x" * 900_000)] * 12)

    page = await reader.page([Range(3, 0, 15, 2000)], ALL)

    assert 7_000_000 < sum(len(row.payload) for row in page.rows) < 9_000_000
    assert page.reached == {3: page.rows[-1].position}
