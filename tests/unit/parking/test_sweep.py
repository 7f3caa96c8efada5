"""The sweep for due rows: one that cannot be retried stops no other (S92, S30, P6, P14)."""

from __future__ import annotations

from asyncpg import UndefinedTableError

from tests.unit.parking.desk import COURIER, MAILER, SUMS, Courier, Mailer, Noted, Sums, Trouble, moves, order, shop
from tests.unit.parking.process import Process
from tests.unit.parking.world import World
from wow_ray.policy.parked import State

ONCE = {"subscription": {"retry": {"max_attempts": 1}, "systemic": {"mass_parks": 0}}}
HOUR = 3_600.0


async def test_one_bad_due_row_does_not_stop_the_sweep() -> None:
    """S92: due are a row without a handler, one whose event cannot be read any more, and a good one: that one runs."""
    world = World(slots=1)
    for name in ("a", "b", "c"):
        world.desk.then(name, 1, Trouble("no"))
        world.desk.then(name, 1, Trouble("no"), handler=COURIER)
        await moves(world.store, name)
    async with Process(world, shop(Mailer, Courier), settings=ONCE) as process:
        await process.advance(1)
    log = world.memory._server.log  # noqa: SLF001 - no producer of ours appends this
    damaged = log.streams["order", "b"][0]._replace(payload="{")
    log.streams["order", "b"][0] = damaged
    async with Process(world, shop(Mailer), settings=ONCE) as process:
        await process.advance(400)
        assert process.group(MAILER).running == 0
    assert world.desk.done("a") == [1]
    assert world.desk.done("c") == [1]
    states = {(row.group, row.aggregate_id): row.state for row in await world.rows()}
    assert states[MAILER, "a"] is states[MAILER, "c"] is State.RESOLVED
    assert states[MAILER, "b"] is State.EXHAUSTED
    assert {states[COURIER, name] for name in "abc"} == {State.PARKED}


async def test_rows_whose_group_is_gone_do_not_starve_others() -> None:
    """S92, P14: 300 rows of a group that is gone are due for longer than A: A is retried in its time."""
    world = World(slots=2)
    for number in range(300):
        world.desk.then(f"x{number}", 1, UndefinedTableError("no"), handler=COURIER)
        await moves(world.store, f"x{number}")
    async with Process(world, shop(Mailer, Courier), settings=ONCE) as process:
        await process.advance(60)
        world.desk.then("a", 1, Trouble("no"))
        await moves(world.store, "a")
        await process.advance(1)
    async with Process(world, shop(Mailer), settings=ONCE) as process:
        await process.advance(HOUR)
    assert world.desk.done("a") == [1]


async def test_rows_whose_handler_is_gone_do_not_starve_others() -> None:
    """S92, P14: as above, where the group is there and only the rows' handler is not."""
    world = World(slots=2)
    for number in range(300):
        world.desk.then(f"x{number}", 1, Trouble("no"), handler=f"{SUMS}.on_noted")
        await world.store.append(order(f"x{number}"), [Noted()], expected_version=None)
    async with Process(world, shop(Mailer, Sums), settings=ONCE) as process:
        await process.advance(60)
        world.desk.then("a", 1, Trouble("no"))
        await moves(world.store, "a")
        await process.advance(1)
        group = process.group(SUMS)
        group.handlers.pop(("order", "noted"))  # as the next release has it
        await process.advance(HOUR)
    assert world.desk.done("a") == [1]


async def test_due_rows_of_a_paused_group_do_not_starve_others() -> None:
    """S92, W2, D3: 300 of the rows of a paused group are due; the A of another one is retried in its time."""
    world = World(slots=2)

    def courier_calls() -> int:
        return sum(call.subscription == COURIER and call.id.startswith("x") for call in world.desk.calls)

    for number in range(300):
        world.desk.then(f"x{number}", 1, UndefinedTableError("no"), handler=COURIER)
        await moves(world.store, f"x{number}")
    async with Process(world, shop(Mailer, Courier), settings=ONCE) as process:
        await process.advance(60)
        world.desk.always("down", 1, ConnectionRefusedError("away"), handler=COURIER)
        world.desk.always("a", 1, ConnectionRefusedError("away"), handler=COURIER)
        world.desk.then("a", 1, Trouble("no"))
        await moves(world.store, "down")
        await moves(world.store, "a")
        await process.advance(1)
        assert process.group(COURIER).paused
        calls = courier_calls()
        await process.advance(HOUR)
        assert process.group(COURIER).paused
        assert world.desk.done("a") == [1]
        assert (
            sum(call.subscription == COURIER and call.id not in {"down", "a"} for call in world.desk.calls) == calls - 0
        )
        world.desk.forgive()
        await process.advance(HOUR)
    assert {row.state for row in await world.rows()} == {State.RESOLVED}


async def test_more_due_rows_than_one_look_takes_are_all_retried() -> None:
    """S92, P6: 700 rows come due together, above what is taken at once and what drains at once; each is called once."""
    world = World(slots=4)
    for number in range(700):
        world.desk.then(f"x{number}", 1, UndefinedTableError("no"))
        await moves(world.store, f"x{number}")
    async with Process(world, shop(), settings=ONCE) as process:
        await process.advance(1)
        await process.advance(500)
    assert len(world.desk.calls) == 1400
    assert {row.state for row in await world.rows()} == {State.RESOLVED}


async def test_without_a_sweep_parking_goes_on() -> None:
    """P6: the ledger cannot be read for an hour: events are handled and parked; then the due retries are made."""
    world = World(slots=1)
    world.desk.then("a", 1, Trouble("no"))
    await moves(world.store, "a", 2)
    async with Process(world, shop(), settings=ONCE) as process:
        async with world.memory.gate("ledger.read"):
            await process.advance(HOUR)
            await moves(world.store, "b")
            await process.advance(1)
            assert world.desk.done("b") == [1]
            assert world.desk.versions("a") == [1]
        await process.advance(120)
    assert world.desk.done("a") == [1, 2]
