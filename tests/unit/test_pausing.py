"""Pausing a subscription as operators do it, on the store in memory: which group, which pause, who is told what."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator

import pytest

from tests.unit.runtime.desk import Desk, Shipped, order, paid, scenario
from tests.unit.runtime.shop import books
from wow_ray.errors import ConflictError, NotFoundError, OperationError
from wow_ray.ops import Command, Known, Operations
from wow_ray.policy.pauses import PauseReason
from wow_ray.policy.plan import Plan
from wow_ray.testing import Running

WHY = Command("ann", "a column is added")
DEPLOY, MASS = PauseReason.DEPLOY, PauseReason.MASS_FAILURE


@pytest.fixture
def desk() -> Desk:
    """Where the handlers work."""
    return Desk()


@pytest.fixture
async def running(desk: Desk) -> AsyncIterator[Running]:
    """A projection of two handlers, and a reactor beside it."""
    async with scenario(books, desk, partitions=2) as running:
        yield running


@pytest.fixture
def operations(running: Running) -> Operations:
    """What an operator works with."""
    ids = itertools.count(1)
    return Operations(
        "shop",
        client=running.memory.client_stores(),
        overview=running.memory.overview(),
        clock=running.clock,
        new_id=lambda: f"r-{next(ids)}",
        known=Known.of_app(running.service.spec),
        plans=running.memory.plans(),
    )


@pytest.mark.parametrize("name", ["Book", "Book.on_paid", "Book.on_shipped", "shop.Book.on_paid", "shop.Book"])
async def test_one_handler_of_a_group_is_paused_with_the_others_of_it(
    running: Running, operations: Operations, desk: Desk, name: str
) -> None:
    """H3, H44: they share a checkpoint and an order, so the answer names all of them; other groups go on."""
    answer = await operations.pause_subscription(name, WHY)
    await running.advance("1s")
    await paid(running, "a")
    await running.store.append(order("a"), [Shipped()], expected_version=None)
    await running.advance("1h")

    assert (answer.group, answer.handlers) == ("Book", ("Book.on_paid", "Book.on_shipped"))
    assert [call.subscription for call in desk.calls] == ["Beside.on_paid"]

    await operations.resume_subscription(name, WHY)
    await running.advance("1s")
    assert [call.subscription for call in desk.calls[1:]] == ["Book.on_paid", "Book.on_shipped"]


async def test_who_pauses_what_is_paused_is_told_who_did(running: Running, operations: Operations) -> None:
    """H44: not changed; since when and by whom stay those of the first."""
    first = await operations.pause_subscription("Book", WHY)
    await running.advance("1h")

    again = await operations.pause_subscription("Book", Command("bob", "to be sure"))

    assert (first.changed, again.changed) == (True, False)
    assert again.pauses == first.pauses
    assert again.pauses[0].actor == "ann"


async def test_a_resume_says_what_still_keeps_the_group(running: Running, operations: Operations, desk: Desk) -> None:
    """S83: an operator's resume leaves the deploy's pause, and the answer shows it."""
    await operations.pause_subscription("Book", WHY)
    await operations.pause_subscription("Book", WHY, pause=DEPLOY)
    answer = await operations.resume_subscription("Book", WHY)
    await running.advance("1s")
    await paid(running, "a")
    await running.advance("1h")

    assert [(pause.reason, pause.stops) for pause in answer.pauses] == [("deploy", True)]
    assert {call.subscription for call in desk.calls} == {"Beside.on_paid"}
    last = await operations.resume_subscription("Book", WHY, pause=DEPLOY)
    assert (last.changed, last.pauses) == (True, ())


async def test_twenty_clicks_are_one_pause(operations: Operations) -> None:
    """P10: one of them has changed something, all answer alike otherwise."""
    answers = await asyncio.gather(*(operations.pause_subscription("Book", WHY) for _ in range(20)))

    assert sorted(answer.changed for answer in answers) == [*[False] * 19, True]
    assert all(answer.pauses == answers[0].pauses for answer in answers)


async def test_only_a_partition_that_somebody_knows_can_be_paused(running: Running, operations: Operations) -> None:
    """A slip in its name would hold nobody back; one that the plan names and that has not run yet is known."""
    with pytest.raises(NotFoundError, match="did you mean 'shop-1'"):
        await operations.pause_subscription("Book", WHY, partition="shop_1")
    assert await running.memory.plans().propose(Plan(1, "r1", {"shop-7": (0,)}))
    for partition in ("shop-0", "shop-7"):
        assert (await operations.pause_subscription("Book", WHY, partition=partition)).partition == partition
    assert (await operations.status()).paused == ("Book",)


async def test_a_pause_of_many_failures_alike_is_lifted_where_it_is(running: Running, operations: Operations) -> None:
    """P16: it is shown as no stop, and an operator ends it by naming its partition; nobody sets one."""
    partition = running.service.partitions[1]
    partition.notes.begun(partition.by_name["Book"], MASS, "104 parks of one kind", {"fingerprint": "f-1"})
    await running.advance("1s")
    (pause,) = (await operations.subscription("Book")).pauses
    assert (pause.reason, pause.stops, pause.partition) == ("mass_failure", False, "shop-1")
    assert (await operations.status()).paused == ()

    with pytest.raises(OperationError, match="one partition"):
        await operations.resume_subscription("Book", WHY, pause=MASS)
    with pytest.raises(OperationError, match="on purpose"):
        await operations.pause_subscription("Book", WHY, pause=MASS)
    with pytest.raises(OperationError, match="by itself"):
        await operations.resume_subscription("Book", WHY, pause=PauseReason.SYSTEMIC)
    answer = await operations.resume_subscription("Book", WHY, pause=MASS, partition="shop-1")
    assert (answer.changed, answer.pauses) == (True, ())


async def test_the_history_says_who_paused_and_resumed_and_why(running: Running, operations: Operations) -> None:
    """P10: the newest first, as many as are asked for, also of a group whose program is gone."""
    for number in range(3):
        await operations.pause_subscription("Book", Command("ann", f"no {number}"))
        await running.advance("1m")
        await operations.resume_subscription("Book", Command("bob", f"yes {number}"))

    found = await operations.pauses("Book.on_paid", 2)

    assert [(each.text, each.ended_text, each.actor, each.ended_by) for each in found] == [
        ("no 2", "yes 2", "ann", "bob"),
        ("no 1", "yes 1", "ann", "bob"),
    ]
    with pytest.raises(OperationError):
        await operations.pauses("Book", 0)


async def test_a_request_id_names_one_wish(operations: Operations) -> None:
    """P10: the same wish once more is answered with what became of it, another one is a conflict."""
    once = Command("ann", "a column is added", "q-1")
    first = await operations.pause_subscription("Book", once)
    await operations.resume_subscription("Book", WHY)

    again = await operations.pause_subscription("Book", once)

    assert (again.changed, again.pauses, again.asked_at) == (True, (), first.asked_at)
    with pytest.raises(ConflictError, match="another command"):
        await operations.pause_subscription("Beside.on_paid", once)
    with pytest.raises(ConflictError, match="another command"):
        await operations.resume_subscription("Book", once)
