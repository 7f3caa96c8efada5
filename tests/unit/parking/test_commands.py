"""Operators' commands: compare-and-set, applied once, by the owner, between calls (P9, P10, H41, S85, S86, S89)."""

from __future__ import annotations

import asyncio

import pytest

from tests.unit.parking.desk import MAILER, Courier, Mailer, Trouble, moves, order, shop
from tests.unit.parking.process import Process
from tests.unit.parking.world import World
from wow_ray import ConflictError, UnrecoverableHandlingError
from wow_ray.policy.parked import Reason, State, Verb

A = order("a")
ONCE = {"subscription": {"retry": {"max_attempts": 1}}}


async def parked_at(world: World, version: int, end: int) -> None:
    """Have A stop at a version of so many, until it is resumed or skipped."""
    world.desk.then("a", version, UnrecoverableHandlingError("no"))
    await moves(world.store, A, end)


@pytest.mark.parametrize("etag", [True, False], ids=["as seen", "any"])
async def test_twenty_resumes_and_a_due_retry_are_one_drain(*, etag: bool) -> None:
    """S85, P10: twenty requests while the automatic retry comes due: A@3, 4, 5 once each; the others are told."""
    world = World(slots=1)
    world.desk.then("a", 3, Trouble("no"))
    await moves(world.store, A, 5)
    async with Process(world, shop(), settings=ONCE) as process:
        await process.advance(190)
        (row,) = await world.rows()
        due = (row.next_due - world.memory.now()).total_seconds() if row.next_due else 0.0
        await world.clock.advance(max(0.0, due))
        requests = [
            await world.ask(
                Verb.RESUME, MAILER, A, row=row, etag=row.etag if etag else None, actor=f"operator {number}"
            )
            for number in range(20)
        ]
        await process.advance(70)
        await process.advance(1)
        answers = [await world.answer(request) for request in requests]
    assert world.desk.versions("a") == [1, 2, 3, 3, 4, 5]
    assert [answer.state for answer in answers].count("asked") == 0
    assert [answer.state for answer in answers].count("done") <= 1
    assert {answer.code for answer in answers} <= {"done", "already", "conflict", "ended"}
    assert [row.state for row in await world.rows()] == [State.RESOLVED]


async def test_twenty_resumes_at_once_are_one_resume_and_nineteen_refusals() -> None:
    """S85, P10: one actor wins, and the audit says which one."""
    world = World(slots=1)
    await parked_at(world, 3, 5)
    async with Process(world, shop()) as process:
        await process.advance(1)
        (row,) = await world.rows()
        requests = [
            await world.ask(Verb.RESUME, MAILER, A, row=row, etag=row.etag, actor=f"ann {number}")
            for number in range(20)
        ]
        await process.advance(1)
        answers = [await world.answer(request) for request in requests]
    assert world.desk.versions("a") == [1, 2, 3, 3, 4, 5]
    won = [answer for answer in answers if answer.state == "done"]
    assert [answer.request.actor for answer in won] == ["ann 0"]
    assert {answer.code for answer in answers if answer.state == "refused"} == {"conflict"}
    assert await world.notices() == ["parked", "resumed", "resolved"]


async def test_a_request_that_is_sent_again_is_applied_once() -> None:
    """P10: the same `request_id` twice, also after it was answered: one resume, the same answer."""
    world = World(slots=1)
    world.desk.always("a", 3, UnrecoverableHandlingError("no"))
    await moves(world.store, A, 5)
    async with Process(world, shop()) as process:
        await process.advance(1)
        first = await process.apply(Verb.RESUME, MAILER, A, request_id="one")
        await process.advance(1)
        again = await process.apply(Verb.RESUME, MAILER, A, request_id="one")
        await process.advance(1)
    assert again.outcome == first.outcome
    assert len(world.desk.times("a", 3)) == 2


async def test_a_command_on_what_has_changed_is_refused_with_what_is_the_case() -> None:
    """P10, H41: the etag is of the row before a retry; the text says how it stands, and nothing was done."""
    world = World(slots=1)
    world.desk.always("a", 2, Trouble("no"))
    await moves(world.store, A, 3)
    async with Process(world, shop(), settings=ONCE) as process:
        await process.advance(1)
        (seen,) = await world.rows()
        await process.advance(290)
        calls = len(world.desk.calls)
        with pytest.raises(ConflictError, match=r"conflict: the row has changed since: it is parked at 2:0, etag 3"):
            await process.apply(Verb.SKIP, MAILER, A, row=seen, etag=seen.etag)
        await process.advance(1)
    assert len(world.desk.calls) == calls


async def test_commands_that_meet_nothing_say_so() -> None:
    """P10: no row, an ended row, nothing left to skip, already done."""
    world = World(slots=1)
    await parked_at(world, 1, 1)
    async with Process(world, shop()) as process:
        await process.advance(1)
        with pytest.raises(ConflictError, match="not_found"):
            await process.apply(Verb.RESUME, MAILER, order("b"))
        with pytest.raises(ConflictError, match="exhausted: its automatic retries are over"):
            await process.apply(Verb.RETRY_NOW, MAILER, A)
        (row,) = await world.rows()
        await process.apply(Verb.RESUME, MAILER, A)
        await process.advance(1)
        with pytest.raises(ConflictError, match="ended: the row has ended as resolved"):
            await process.apply(Verb.RESUME, MAILER, A, row=row)


async def test_a_resume_gives_a_fresh_budget_and_fresh_retries() -> None:
    """P9: after two retries it is resumed and fails again: five calls, then ten new retries."""
    world = World(slots=1)
    world.desk.always("a", 2, Trouble("no"))
    await moves(world.store, A, 3)
    async with Process(world, shop()) as process:
        await process.advance(5)
        assert len(world.desk.times("a", 2)) == 5
        await process.advance(800)
        (row,) = await world.rows()
        assert row.retries == 2
        await process.apply(Verb.RESUME, MAILER, A)
        await process.advance(5)
        assert len(world.desk.times("a", 2)) == 5 + 2 + 5
        (row,) = await world.rows()
        assert (row.state, row.retries, row.attempts) == (State.PARKED, 0, 5)


async def test_a_drain_yields_to_a_command_between_two_calls() -> None:
    """H41: a drain of 1,000 events, a second each; `park` stops it behind the call that runs, and it stays stopped."""
    world = World(slots=1)
    await parked_at(world, 1, 1000)
    for version in range(1, 1001):
        world.desk.then("a", version, 1.0)
    async with Process(world, shop()) as process:
        await process.advance(1)
        (seen,) = await world.rows()
        await process.apply(Verb.RESUME, MAILER, A)
        await process.advance(10.5)
        request = await process.ask_and_advance(Verb.PARK, MAILER, A, row=seen, etag=seen.etag)
        await process.advance(1)
        await process.advance(0.2)
        assert (await world.answer(request)).state == "done"
        done = world.desk.done("a")
        await process.advance(3600)
        assert world.desk.versions("a")[1:] == done
        (row,) = await world.rows()
        assert (row.state, row.reason, row.stopped) == (State.EXHAUSTED, Reason.OPERATOR, (done[-1], 1))
        await process.apply(Verb.RESUME, MAILER, A)
        await process.advance(2000)
    assert world.desk.done("a") == list(range(1, 1001))


async def test_a_command_waits_in_the_store_for_the_next_owner() -> None:
    """H5, H41: it is asked while nobody runs; who starts next applies it."""
    world = World(slots=1)
    await parked_at(world, 2, 3)
    async with Process(world, shop()) as process:
        await process.advance(1)
    request = await world.ask(Verb.RESUME, MAILER, A)
    async with Process(world, shop()) as process:
        await process.advance(1)
    assert (await world.answer(request)).state == "done"
    assert world.desk.done("a") == [1, 2, 3]


@pytest.mark.parametrize("reached", [False, True], ids=["before", "after"])
async def test_the_effect_of_a_command_and_its_answer_are_one_commit(*, reached: bool) -> None:
    """P10, H5: killed before the commit the command is as if it had just been asked; after it, answered and done."""
    world = World(slots=1)
    await parked_at(world, 2, 3)
    async with Process(world, shop()) as process:
        await process.advance(1)
        async with world.memory.gate("slots.commit", "end" if reached else "start"):
            request = await process.ask_and_advance(Verb.RESUME, MAILER, A)
            await process.advance(0.5)
            assert (await world.answer(request)).state == ("done" if reached else "asked")
            (row,) = await world.rows()
            assert row.state is (State.RETRYING if reached else State.EXHAUSTED)
            await process.kill()
    async with Process(world, shop()) as process:
        await process.advance(1)
    assert (await world.answer(request)).state == "done"
    assert world.desk.versions("a") == [1, 2, 2, 3]
    assert await world.notices() == ["parked", "resumed", "resolved"]


async def test_no_command_and_no_due_row_means_no_call() -> None:
    """S30, P12: an empty selection selects nothing: three parked rows, a sweep without a due one, no call."""
    world = World(slots=1)
    for name in ("a", "b", "c"):
        world.desk.then(name, 1, UnrecoverableHandlingError("no"))
        await moves(world.store, name)
    async with Process(world, shop()) as process:
        await process.advance(1)
        calls = len(world.desk.calls)
        await process.advance(86_400)
    assert len(world.desk.calls) == calls
    assert [row.state for row in await world.rows()] == [State.EXHAUSTED] * 3


async def test_parking_on_purpose_stops_before_the_next_event() -> None:
    """P0, P9: a healthy aggregate is parked; what comes is held, a resume handles it; the other group goes on."""
    world = World(slots=1)
    await moves(world.store, A, 2)
    async with Process(world, shop(Mailer, Courier)) as process:
        await process.advance(1)
        await process.apply(Verb.PARK, MAILER, A)
        await moves(world.store, A, 2)
        await process.advance(1)
        assert world.desk.versions("a") == [1, 2]
        assert world.desk.versions("a", "Courier.on_moved") == [1, 2, 3, 4]
        await process.apply(Verb.RESUME, MAILER, A)
        await process.advance(1)
    assert world.desk.versions("a") == [1, 2, 3, 4]


@pytest.mark.parametrize("place", ["start", "end"])
async def test_parking_on_purpose_repeats_nothing_that_is_handled_while_it_is_decided(place: str) -> None:
    """P10, P11: events are handled while the owner looks for where to stop; a resume calls none of them again."""
    world = World(slots=1)
    await moves(world.store, A, 2)
    async with Process(world, shop()) as process:
        await process.advance(1)
        async with world.memory.gate("drains.streams", place) as gate:  # type: ignore[arg-type]
            request = await process.ask_and_advance(Verb.PARK, MAILER, A)
            assert gate.held == 1
            await moves(world.store, A, 3)
            await process.advance(0.5)
            assert world.desk.done("a") == [1, 2, 3, 4, 5]
        await process.advance(0.5)
        assert (await world.answer(request)).state == "done"
        await process.apply(Verb.RESUME, MAILER, A)
        await process.advance(0.5)
    assert world.desk.versions("a") == [1, 2, 3, 4, 5]


async def test_a_row_read_before_its_resume_is_not_retried_after_it() -> None:
    """S85, H5: a due row is read by the sweep, then resumed, drained and handed over; then the sweep comes: no call."""
    world = World(slots=1)
    world.desk.then("a", 2, Trouble("no"))
    await moves(world.store, A, 3)
    async with Process(world, shop(), settings=ONCE) as process:
        await process.advance(1)
        (row,) = await world.rows()
        assert row.next_due is not None
        await world.clock.advance((row.next_due - world.memory.now()).total_seconds() - 1)
        await process.advance(0)
        await process.apply(Verb.RESUME, MAILER, A)
        await process.advance(5)
        assert world.desk.done("a") == [1, 2, 3]
        process.partition.unparking.take_due(process.group(MAILER), process.partition.slots[0], row)
        await process.advance(5)
    assert world.desk.done("a") == [1, 2, 3]
    assert [row.state for row in await world.rows()] == [State.RESOLVED]


async def test_a_command_is_answered_while_the_aggregate_is_called() -> None:
    """H41, P10: a resume meets the last event of a drain under way: refused as done already, no second drain."""
    world = World(slots=1)
    await parked_at(world, 2, 3)
    last = asyncio.Event()
    world.desk.then("a", 3, last)
    async with Process(world, shop()) as process:
        await process.advance(1)
        await process.apply(Verb.RESUME, MAILER, A)
        await process.advance(1)
        request = await process.ask_and_advance(Verb.RESUME, MAILER, A)
        assert (await world.answer(request)).state == "asked"
        last.set()
        await process.advance(1)
        await process.advance(1)
        assert (await world.answer(request)).code in {"already", "ended", "not_found"}
    assert world.desk.versions("a") == [1, 2, 2, 3]
