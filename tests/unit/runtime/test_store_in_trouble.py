"""Our own store fails now and then, for one kind of call, or for long: nothing is charged, and the log stays short.

What is done while the commits are refused is in `test_store_away`.
"""

from __future__ import annotations

import logging
from typing import Any

import pytest

from tests.unit.runtime.desk import BadParcel, Desk, Paid, notices, order, outline, paid, scenario
from tests.unit.runtime.shop import app, sales, two
from wow_ray import App, Context, Event, ProjectContext, StoreUnavailableError, on_event
from wow_ray.errors import FencedError
from wow_ray.events import NewCommit
from wow_ray.runtime.effectively_once import CUTS
from wow_ray.runtime.partition import Partition
from wow_ray.runtime.sweep import Sweep
from wow_ray.testing import Running
from wow_ray.testing.connection import RecordingDatabase

GONE = StoreUnavailableError("no answer")
READS = ("reader.heads", "ledger.read", "pauses.read", "slots.commit")


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Give what was said at WARNING and above."""
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


async def test_ten_minutes_without_the_store_are_a_few_lines_and_the_service_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """D3, P2: everything fails for 10 min: at most 6 lines a minute, no call, no task ends; then all goes on."""
    desk = Desk()
    async with scenario(two, desk) as running:
        await paid(running, "A")
        running.memory.fail_next("slots.commit", GONE, times=1_000_000)
        await running.advance("1s")
        for operation in READS:
            running.memory.fail_next(operation, GONE, times=1_000_000)  # type: ignore[arg-type]
        await running.advance("10m")
        assert len(desk.calls) == 2
        assert len(lines(caplog)) <= 60
        for operation in READS:
            running.memory.fail_next(operation, GONE, times=0)  # type: ignore[arg-type]
        await running.advance("20s")
        await paid(running, "A", "B")
        await running.advance("1s")
        assert desk.versions("A") == [1, 1, 2, 2]
        assert desk.versions("B") == [1, 1]
        assert sum("the store is back after" in line for line in lines(caplog)) == 1


async def test_a_store_that_fails_every_other_time_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """D3: 30 s of commits and reads that fail and work in turn: one line each that begins, one that ends."""
    desk = Desk()
    async with scenario(app, desk) as running:
        for number in range(60):
            running.memory.fail_next("slots.commit", GONE)
            running.memory.fail_next("reader.heads", GONE)
            await paid(running, f"o-{number}")
            await running.advance("500ms")
        await running.advance("30s")
        assert len({call.id for call in desk.calls}) == len(desk.calls) == 60
    said = lines(caplog)
    assert len(said) == 4
    assert sum("away" in line or "cannot be read" in line for line in said) == 2


async def test_calls_that_get_no_connection_ask_once_in_a_while_and_other_groups_go_on() -> None:
    """D3, H30: 200 aggregates of a projection wait 60 s for connections: a few tries a second, not one for each."""
    desk, database = Desk(), RecordingDatabase()
    both = App("shop")

    @both.projection
    class Sums:
        @on_event
        async def on_paid(self, event: Event[Paid], ctx: ProjectContext) -> None:
            await ctx.connection.execute("insert", event.ref.id)

    @both.reactor
    class Beside:
        def __init__(self, desk: Desk) -> None:
            self.desk = desk

        @on_event
        async def on_paid(self, event: Event[Paid], ctx: Context) -> None:
            self.desk.note(event, ctx)

    async with scenario(both, desk, connect=database.connect) as running:
        running.memory.fail_next("effects.begin", GONE, times=1_000_000)
        await running.store.append_many([NewCommit(order(f"o-{number}"), (Paid(),)) for number in range(200)])
        await running.advance("60s")
        failure = running.memory._server.faults._failures["effects.begin", "start"]  # noqa: SLF001 - how often it failed
        tries = 1_000_000 - failure.left
        assert len(desk.calls) == 200
        assert tries < 60 * 40
        running.memory.fail_next("effects.begin", GONE, times=0)
        await running.advance("2s")
        assert len(database.committed) == 200
        assert await running.rows() == []


def cutting(running: Running, times: int) -> Any:  # noqa: ANN401 - a step of the desk
    """Give a step whose call loses its connection, so many times."""
    left = times

    async def cut(event: Event[Any]) -> None:
        del event
        nonlocal left
        if left > 0:
            left -= 1
            running.memory.lose_connections()
            raise ConnectionError("the connection is closed")

    return cut


async def test_calls_whose_connection_is_lost_are_made_again_uncharged_while_others_succeed() -> None:
    """D3, L1: lost five times in a row while everybody else succeeds: no attempt is charged, nobody pauses."""
    desk, database = Desk(), RecordingDatabase()
    async with scenario(sales, desk, connect=database.connect) as running:
        desk.always("A", cutting(running, CUTS))
        for number in range(40):
            await paid(running, f"o-{number}", *(["A"] if number == 0 else []))
            await running.advance("100ms")
        assert {call.attempt for call in desk.calls} == {1}
        assert len(desk.versions("A")) == CUTS + 1
        assert len(database.committed) == 41
        assert await notices(running) == []


async def test_a_call_that_loses_its_connection_every_time_is_the_aggregates_own_in_the_end() -> None:
    """W5: the server ends the session because of what the call does; others succeed, so it is charged and parked."""
    desk, database = Desk(), RecordingDatabase()
    async with scenario(sales, desk, connect=database.connect) as running:
        desk.always("A", cutting(running, 1_000))
        await paid(running, "A")
        for number in range(100):
            await paid(running, f"o-{number}")
            await running.advance("100ms")
        assert await outline(running) == [("A", "parked", "budget_spent", 1)]
        assert len(desk.calls) < 130


async def test_a_commit_that_was_lost_with_the_store_is_no_attempt() -> None:
    """D3, L1: the look-up has to wait for the store; what was not committed is called again, and never charged."""
    desk, database = Desk(), RecordingDatabase()
    async with scenario(sales, desk, connect=database.connect) as running:
        for number in range(CUTS + 3):
            running.memory.fail_next("effects.commit", GONE)
            running.memory.fail_next("effects.settled", GONE)
            await paid(running, "A", f"o-{number}")
            await running.advance("2s")
        assert {call.attempt for call in desk.calls} == {1}
        assert desk.versions("A")[-1] == CUTS + 3
        assert len(database.committed) == 2 * (CUTS + 3)
        assert not any(group.paused for partition in running.service.partitions for group in partition.groups.values())


async def test_a_store_that_was_set_back_behind_a_quick_reconnect_is_noticed() -> None:
    """H14: no read has failed, and the log is longer than the cursor again: the partition begins anew, misses nothing.

    The progress is set back with the log, as in a database that was restored; here none was written.
    """
    desk = Desk()
    async with scenario(app, desk, slots=1) as running:
        (before,) = running.service.partitions
        async with running.memory.gate("slots.commit"):
            await paid(running, "A", "B", "C")
            await running.advance("1s")
            running.memory.rewind(0, 2)
            await paid(running, "D", "E")
            await running.advance("1s")
        await running.advance("20s")
        (after,) = running.service.partitions
        assert after is not before
        assert {"D", "E"} <= {call.id for call in desk.calls}


async def test_a_partition_that_cannot_be_started_anew_ends_the_service() -> None:
    """H14, H18: its slots are somebody else's by then; whoever waits for the service is told, nobody waits for ever."""
    desk = Desk()
    async with scenario(app, desk, slots=1) as running:
        await paid(running, "A", "B")
        await running.advance("1s")
        running.memory.fail_next("slots.acquire", FencedError("taken", (0,)), times=10)
        running.memory.rewind(0, 1)
        await running.advance("20s")
        with pytest.raises(FencedError):
            await running.service.wait()


async def test_due_rows_are_brought_after_an_error_that_nobody_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    """P6: the first look for what is due ends in an error that is no outage; the next one brings the row."""
    desk = Desk()
    desk.next("A", *[BadParcel()] * 5)
    once, asked = Sweep.once, 0

    async def first_fails(sweep: Sweep, partition: Partition) -> bool:
        nonlocal asked
        asked += 1
        if asked == 1:
            raise RuntimeError("what is this")
        return await once(sweep, partition)

    monkeypatch.setattr(Sweep, "once", first_fails)
    async with scenario(app, desk) as running:
        await paid(running, "A")
        await running.advance("10m")
        assert len(desk.calls) == 6
        assert await running.parked() == []
