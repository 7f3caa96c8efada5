"""Which partition owns which slots: one numbered answer."""

from __future__ import annotations

from wow_ray.policy.plan import Plan, following, spread

PLAN = Plan(3, "r1", {"shop-0": (0, 1), "shop-1": (2, 3)})


def test_every_slot_has_one_partition() -> None:
    """8 slots over 3 partitions are 2, 3 and 3; names are lasting, so a restarted one finds its own again."""
    assert spread("shop", 3, 8) == {"shop-0": (0, 1), "shop-1": (2, 3, 4), "shop-2": (5, 6, 7)}


def test_there_are_never_more_partitions_than_slots() -> None:
    """4 partitions over 2 slots are 2."""
    assert spread("shop", 4, 2) == {"shop-0": (0,), "shop-1": (1,)}


def test_a_partition_owns_what_the_plan_names_for_it_under_its_own_release() -> None:
    """H18, H19: a program of another release, and a partition that is not in the plan, own nothing."""
    assert PLAN.share("shop-1", "r1") == (2, 3)
    assert PLAN.share("shop-1", "r2") == ()
    assert PLAN.share("shop-2", "r1") == ()


def test_a_plan_that_says_the_same_is_not_proposed_again() -> None:
    """Otherwise its number is one more: 1 for the first, 4 after 3."""
    assert following(PLAN, "r1", dict(PLAN.partitions)) is None
    assert following(None, "r1", {}) == Plan(1, "r1", {})
    assert following(PLAN, "r2", dict(PLAN.partitions)) == Plan(4, "r2", PLAN.partitions)
    assert following(PLAN, "r1", {"shop-0": (0, 1, 2, 3)}) == Plan(4, "r1", {"shop-0": (0, 1, 2, 3)})
