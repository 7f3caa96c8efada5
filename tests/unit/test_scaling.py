"""`wow-ray scale N` and `POST /api/v1/partitions/scale`: one plan at a time, fewest moves, progress (L7, H18)."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import httpx
import pytest
from rich.console import Console

from wow_ray.adapters.memory import MemoryStore
from wow_ray.cli.looking import show_status
from wow_ray.cli.scaling import show_scale
from wow_ray.errors import ConflictError, OperationError
from wow_ray.ops import Command, MoveView, Operations, ScaleView
from wow_ray.ops.http import api
from wow_ray.policy.plan import Plan, spread
from wow_ray.ports.slots import Owner
from wow_ray.testing import VirtualClock

SLOTS = 8


class Place:
    """A store with a plan of two partitions, which own what it names."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.memory = MemoryStore("shop", self.clock, slots=SLOTS)
        self.plans = self.memory.plans()
        ids = itertools.count(1)
        self.operations = Operations(
            "shop",
            client=self.memory.client_stores(),
            overview=self.memory.overview(),
            clock=self.clock,
            new_id=lambda: f"r-{next(ids)}",
            plans=self.plans,
        )

    async def plan(self, partitions: int, number: int = 1) -> None:
        """Store a plan and have it followed."""
        assert await self.plans.propose(Plan(number, "r1", spread("shop", partitions, SLOTS)))
        await self.obey()

    async def obey(self) -> None:
        """Have everybody own what the present plan names."""
        plan = await self.plans.present()
        assert plan is not None
        for slot in self.memory._server.slots:  # noqa: SLF001 - whoever had it has given it up
            slot.owner = None
        for name, share in plan.partitions.items():
            stores, owner = self.memory.partition_stores(), Owner(f"{name}-{plan.number}", name, "test", 1, None)
            await stores.lease.start(owner)
            await stores.slots.acquire(owner, share)


@pytest.fixture
async def place() -> Place:
    """A store whose slots two partitions own."""
    place = Place()
    await place.plan(2)
    return place


@asynccontextmanager
async def client_of(operations: Operations) -> AsyncIterator[httpx.AsyncClient]:
    """Give a client of the API on these operations."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Operations]:
        yield operations

    transport = httpx.ASGITransport(api(opened), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


async def test_a_plan_with_the_fewest_moves_is_stored_and_answered_before_they_are_made(place: Place) -> None:
    """L7: 2 partitions of 4 become 4 of 2; the release stays, and what has to move is told by whence and whither."""
    view = await place.operations.scaling.scale(4)

    assert await place.plans.present() == Plan(
        2, "r1", {"shop-0": (0, 1), "shop-1": (4, 5), "shop-2": (2, 3), "shop-3": (6, 7)}
    )
    moves = (MoveView("shop-0", "shop-2", 2), MoveView("shop-1", "shop-3", 2))
    absent = ("shop-2", "shop-3")
    shares = dict.fromkeys(("shop-0", "shop-1", "shop-2", "shop-3"), 2)
    assert view == ScaleView(2, "r1", shares, changed=True, waiting=4, moves=moves, absent=absent)


async def test_who_asked_and_why_is_kept_with_the_plan(place: Place) -> None:
    """A reason that is empty is refused, as everywhere; who only repeats a plan is not noted."""
    with pytest.raises(OperationError, match="the reason is empty"):
        await place.operations.scaling.scale(4, Command("ann", " "))
    view = await place.operations.scaling.scale(4, Command("ann", "sale"))
    again = await place.operations.scaling.scale(4, Command("bob", "again"))

    assert (view.actor, view.reason) == (again.actor, again.reason) == ("ann", "sale")
    plan = await place.plans.present()
    assert plan is not None
    assert (plan.actor, plan.reason) == ("ann", "sale")


async def test_the_same_number_again_changes_nothing(place: Place) -> None:
    """H18: repeated by an operator who had no answer, it answers how far the moves have come."""
    first = await place.operations.scaling.scale(4)
    again = await place.operations.scaling.scale(4)

    assert (first.changed, again.changed, again.plan, again.waiting) == (True, False, 2, 4)


async def test_another_number_is_refused_while_slots_wait_to_move(place: Place) -> None:
    """One plan at a time: the text says what is under way; once it is done, or when it is replaced, the next one is."""
    await place.operations.scaling.scale(4)
    with pytest.raises(ConflictError, match=r"plan 2 \(4 partitions\) is under way: 4 slots wait to move"):
        await place.operations.scaling.scale(3)

    replaced = await place.operations.scaling.scale(3, replace=True)
    assert (replaced.plan, list(replaced.partitions)) == (3, ["shop-0", "shop-1", "shop-2"])
    await place.obey()
    assert (await place.operations.scaling.scale(1)).plan == 4


async def test_of_two_requests_at_once_one_makes_the_plan(place: Place) -> None:
    """H18: compare-and-set; the other one is refused, since slots wait to move for the first."""
    answers = await asyncio.gather(
        place.operations.scaling.scale(4), place.operations.scaling.scale(3), return_exceptions=True
    )

    assert [type(answer) for answer in answers if not isinstance(answer, ScaleView)] == [ConflictError]
    assert [answer.plan for answer in answers if isinstance(answer, ScaleView)] == [2]


@pytest.mark.parametrize("partitions", [0, -1, SLOTS + 1])
async def test_a_number_that_cannot_be_is_refused(place: Place, partitions: int) -> None:
    """A partition without a slot would do nothing."""
    with pytest.raises(OperationError, match="at most the 8 slots"):
        await place.operations.scaling.scale(partitions)


async def test_an_app_that_does_not_run_on_ray_is_not_scaled() -> None:
    """Nobody would follow the plan: it never ran there, or it is down."""
    place = Place()
    with pytest.raises(ConflictError, match="wow-ray up"):
        await place.operations.scaling.scale(2)
    assert await place.plans.propose(Plan(1, "r1", {}))
    with pytest.raises(ConflictError, match="shop is down"):
        await place.operations.scaling.scale(2)


async def test_waiting_tells_each_step_and_ends_when_nothing_has_to_move(place: Place) -> None:
    """Progress: told when it changes; after the patience it answers what still has to move."""
    await place.operations.scaling.scale(4)
    said: list[int] = []
    waiting = asyncio.ensure_future(place.operations.scaling.settled(lambda view: said.append(view.waiting), 10.0))
    await place.clock.advance(2)
    await place.obey()
    await place.clock.advance(1)

    assert (await waiting).waiting == 0
    assert said == [4]
    await place.operations.scaling.scale(1)
    late = asyncio.ensure_future(place.operations.scaling.settled(lambda _: None, 3.0))
    await place.clock.advance(4)
    assert (await late).waiting == 6


async def test_the_status_says_what_has_to_move(place: Place) -> None:
    """Also the slots of an owner that is dead: nobody owns them."""
    await place.operations.scaling.scale(1)
    place.memory.lose_lease("shop-1-1")

    status = await place.operations.status()

    assert status.moves == (MoveView(None, "shop-0", 4),)
    page = Console(record=True, width=200)
    show_status(replace(status, partitions=()), page)
    assert "4 slots: nobody → shop-0 4" in page.export_text()


async def test_over_http_it_is_accepted_then_done(place: Place) -> None:
    """202 while slots wait to move, 200 when nothing does; `GET /partitions` tells the same moves."""
    async with client_of(place.operations) as client:
        asked = await client.post("/api/v1/partitions/scale", json={"partitions": 4})
        seen = (await client.get("/api/v1/partitions")).json()
        await place.obey()
        again = await client.post("/api/v1/partitions/scale", json={"partitions": 4})

    assert (asked.status_code, again.status_code) == (202, 200)
    assert (
        asked.json()["moves"]
        == seen["moves"]
        == [
            {"source": "shop-0", "target": "shop-2", "slots": 2},
            {"source": "shop-1", "target": "shop-3", "slots": 2},
        ]
    )
    assert (again.json()["changed"], again.json()["waiting"]) == (False, 0)


async def test_over_http_a_second_number_is_a_409_that_says_what_to_do(place: Place) -> None:
    """And a body that is none, or a number that cannot be, a 422."""
    async with client_of(place.operations) as client:
        await client.post("/api/v1/partitions/scale", json={"partitions": 4})
        refused = await client.post("/api/v1/partitions/scale", json={"partitions": 3})
        replaced = await client.post("/api/v1/partitions/scale", json={"partitions": 3, "replace": True})
        wrong = [
            (await client.post("/api/v1/partitions/scale", json=body)).status_code
            for body in ({"partitions": 0}, {"partitions": 9}, {"partitions": "4"}, {}, {"partitions": 4, "more": 1})
        ]

    assert (refused.status_code, refused.json()["code"]) == (409, "WOW-MOVING")
    assert "/api/v1/partitions" in refused.json()["next"]
    assert (replaced.status_code, replaced.json()["plan"]) == (202, 3)
    assert wrong == [422] * 5


async def test_the_page_of_the_command_says_the_plan_and_the_moves(place: Place) -> None:
    """As it is written on a terminal."""
    page = Console(record=True, width=200)
    show_scale(await place.operations.scaling.scale(3), page)
    await place.obey()
    show_scale(await place.operations.scaling.scale(3), page)

    said = page.export_text()
    assert "plan 2, release r1: 3 partitions of 2 or 3 slots\n" in said
    assert "to move: 2 slots: shop-0 → shop-2 1, shop-1 → shop-2 1\n" in said
    assert "plan 2, release r1: 3 partitions of 2 or 3 slots, as before\nnothing has to move\n" in said
