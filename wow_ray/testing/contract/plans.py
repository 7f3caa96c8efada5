# ruff: noqa: S101 - assert is how a contract speaks
"""The contract of the plan: one answer at a time to who owns what (H18)."""

from __future__ import annotations

import asyncio

import pytest

from wow_ray.policy.parked import Verb
from wow_ray.policy.plan import Plan
from wow_ray.ports.ledger import ActionFilter
from wow_ray.ports.plans import Plans
from wow_ray.testing.contract.harness import Harness
from wow_ray.testing.contract.suite import Suite

FIRST = Plan(1, "r1", {"shop-0": (0, 1, 2, 3), "shop-1": (4, 5, 6, 7)})


class PlansContract(Suite):
    """The whole contract of `Plans`; override `plans` as well as `harness`."""

    @pytest.fixture
    def plans(self) -> Plans:
        """Give the plans of the harness's store; every adapter has its own."""
        raise NotImplementedError

    async def test_there_is_no_plan_at_first(self, plans: Plans) -> None:
        """Whoever reads waits for one."""
        assert await plans.present() is None

    async def test_a_plan_comes_back_as_it_was_proposed(self, plans: Plans) -> None:
        """Number, program, each partition's slots, who asked and why; also the plan in which nobody owns anything."""
        assert await plans.propose(FIRST)
        assert await plans.present() == FIRST

        nobody = Plan(2, "r1", {}, "edition", "ann", "for the night", still=True)
        assert await plans.propose(nobody)
        assert await plans.present() == nobody

    async def test_who_asked_for_a_plan_is_in_the_audit(self, harness: Harness, plans: Plans) -> None:
        """Once, with its reason and what came of it; a plan that nobody asked for by name is not there."""
        assert await plans.propose(FIRST)
        asked = Plan(2, "r1", {"shop-0": tuple(range(8))}, "", "ann", "for the night")
        assert await plans.propose(asked)
        assert not await plans.propose(asked)

        (action,) = await harness.client.ledger.actions(ActionFilter())
        assert (action.request.verb, action.request.actor, action.request.reason) == (
            Verb.SCALE,
            "ann",
            "for the night",
        )
        assert (action.state, action.outcome) == ("done", {"plan": 2, "release": "r1", "partitions": 1})

    async def test_only_the_next_number_is_taken(self, plans: Plans) -> None:
        """H18: a proposal made from an older plan changes nothing, nor does the same one again."""
        assert not await plans.propose(Plan(2, "r1", {}))
        assert await plans.propose(FIRST)

        for number in (0, 1, 3):
            assert not await plans.propose(Plan(number, "r2", {}))
        assert await plans.present() == FIRST

    async def test_of_many_proposals_of_one_number_one_is_taken(self, plans: Plans) -> None:
        """H18: two supervisors that plan at once agree afterwards on one of the two plans."""
        answers = await asyncio.gather(*(plans.propose(Plan(1, f"r{n}", {})) for n in range(5)))

        assert sorted(answers) == [False, False, False, False, True]
        assert await plans.present() == Plan(1, f"r{answers.index(True)}", {})
