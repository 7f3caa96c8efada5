"""The double of the connection that handlers write through."""

from __future__ import annotations

import pytest

from wow_ray.testing.connection import RecordingConnection, RecordingDatabase, Statement


async def test_statements_are_recorded_with_their_arguments_in_order() -> None:
    """Whichever method they came by; `executemany` is one statement for each set of arguments."""
    connection = RecordingConnection()

    await connection.execute("insert into a values ($1)", 1, timeout=5)
    await connection.executemany("insert into b values ($1, $2)", [(1, 2), [3, 4]])
    await connection.fetch("select c")
    await connection.fetchrow("select d", "x")
    await connection.fetchval("select e")

    assert connection.statements == [
        Statement("insert into a values ($1)", (1,)),
        Statement("insert into b values ($1, $2)", (1, 2)),
        Statement("insert into b values ($1, $2)", (3, 4)),
        Statement("select c", ()),
        Statement("select d", ("x",)),
        Statement("select e", ()),
    ]


async def test_queries_find_what_was_scripted_for_them() -> None:
    """By a part of their text; the latest script of a text counts, and without one nothing is found."""
    connection = RecordingConnection()
    connection.answer("from sales", {"id": "o-1", "total": 3}, {"id": "o-2", "total": 4})
    connection.answer("from mails", {"id": "m-1"})
    connection.answer("from mails")

    assert await connection.fetch("select * from sales") == [{"id": "o-1", "total": 3}, {"id": "o-2", "total": 4}]
    assert await connection.fetchrow("select * from sales") == {"id": "o-1", "total": 3}
    assert await connection.fetchval("select * from sales") == "o-1"
    assert await connection.fetchval("select * from sales", column=1) == 3
    assert await connection.execute("delete from sales") == "OK 2"
    assert await connection.fetch("select * from mails") == []
    assert await connection.fetchrow("select 1") is None
    assert await connection.fetchval("select 1") is None


async def test_a_statement_may_be_scripted_to_fail() -> None:
    """It is recorded all the same."""
    connection = RecordingConnection()
    connection.answer("insert into sales", error=ValueError("no such column"))

    with pytest.raises(ValueError, match="no such column"):
        await connection.execute("insert into sales values (1)")

    assert len(connection.statements) == 1


async def test_connections_of_one_database_share_scripts_and_meet_in_what_was_committed() -> None:
    """In the order in which their transactions ended."""
    database = RecordingDatabase()
    first, second, third = (database.connect() for _ in range(3))
    database.answer("select", {"n": 1})

    for connection, n in ((first, 1), (second, 2), (third, 3)):
        await connection.execute("insert", await connection.fetchval("select 1"), n)
    second.ended(committed=True)
    third.ended(committed=False)
    first.ended(committed=True)

    assert [one.arguments for one in database.committed if one.sql == "insert"] == [(1, 2), (1, 1)]
    assert [one.arguments for one in database.rolled_back if one.sql == "insert"] == [(1, 3)]
    assert (first.state, second.state, third.state) == ("committed", "committed", "rolled back")


async def test_a_connection_is_of_no_use_after_its_call() -> None:
    """A handler that keeps it for later is told so."""
    connection = RecordingConnection()
    connection.ended(committed=True)

    with pytest.raises(RuntimeError, match="during its call"):
        await connection.execute("insert into sales values (1)")
