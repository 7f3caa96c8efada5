"""Which partition owns which slots: one numbered answer."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wow_ray.errors import SettingsError
from wow_ray.policy.plan import Move, Plan, following, moves, names_of, reads_more, respread, spread

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


def test_a_program_is_its_release_and_its_edition() -> None:
    """The same name with other files or settings is another program, and owns nothing in this plan."""
    plan = Plan(3, "r1", {"shop-1": (2, 3)}, "e1")
    assert plan.share("shop-1", "r1", "e1") == (2, 3)
    assert plan.share("shop-1", "r1") == plan.share("shop-1", "r1", "e2") == plan.share("shop-1", "r2", "e1") == ()
    assert following(plan, "r1", dict(plan.partitions), "e1") is None
    assert following(plan, "r1", {}, "e2", actor="ann", reason="why") == Plan(4, "r1", {}, "e2", "ann", "why")


def test_a_program_reads_more_when_a_group_there_is_gets_a_type_or_a_revision() -> None:
    """H19: a group that is new has a start of its own, and one that reads less has nothing to miss."""
    old = [{"Notifier": ["order/paid@1", "order/sent@2"], "Sales": ["order/paid@1"]}, {}]

    assert not reads_more({"Notifier": ["order/paid@1"], "Sales": ["order/paid@1"], "New": ["order/lost@1"]}, old)
    assert reads_more({"Sales": ["order/paid@1", "order/sent@2"]}, old)
    assert reads_more({"Sales": ["order/paid@2"]}, old)
    assert reads_more({"Sales": ["order/*"]}, old)
    assert not reads_more({"Notifier": ["order/paid@1"]}, [])


def test_partitions_keep_their_names_and_others_get_the_lowest_that_are_free() -> None:
    """What is no name of a partition of this app is not kept; the highest numbers go first."""
    assert names_of("shop", 3) == ["shop-0", "shop-1", "shop-2"]
    assert names_of("shop", 2, ["shop-10", "shop-9", "shop-8"]) == ["shop-8", "shop-9"]
    assert names_of("shop", 4, ["shop-4", "shop-5", "mail-0", "shop-x"], ["shop-0"]) == [
        *("shop-1", "shop-2", "shop-4", "shop-5")
    ]


def test_a_plan_that_says_the_same_is_not_proposed_again() -> None:
    """Otherwise its number is one more: 1 for the first, 4 after 3."""
    assert following(PLAN, "r1", dict(PLAN.partitions)) is None
    assert following(None, "r1", {}) == Plan(1, "r1", {})
    assert following(PLAN, "r2", dict(PLAN.partitions)) == Plan(4, "r2", PLAN.partitions)
    assert following(PLAN, "r1", {"shop-0": (0, 1, 2, 3)}) == Plan(4, "r1", {"shop-0": (0, 1, 2, 3)})


def scaled(*numbers: int, slots: int = 16) -> dict[str, tuple[int, ...]]:
    """Give the shares after these numbers of partitions, one after the other."""
    shares: dict[str, tuple[int, ...]] = {}
    for number in numbers:
        shares = respread(shares, names_of("shop", number, shares), slots)
    return shares


def moved(before: dict[str, tuple[int, ...]], after: dict[str, tuple[int, ...]]) -> int:
    """Count the slots whose partition is another one."""
    owners = {slot: name for name, share in before.items() for slot in share}
    return sum(owners[slot] != name for name, share in after.items() for slot in share)


def fewest(before: dict[str, tuple[int, ...]], partitions: int, slots: int) -> int:
    """Find the fewest moves by trying every choice of the partitions that have one slot more."""
    names = [f"shop-{place}" for place in range(partitions)]
    least, more = divmod(slots, partitions)
    kept = (
        sum(min(len(before.get(name, ())), least + (name in larger)) for name in names)
        for larger in combinations(names, more)
    )
    return slots - max(kept)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=5), st.integers(1, 6), st.integers(6, 40))
def test_every_slot_has_one_owner_shares_are_balanced_and_the_fewest_move(
    numbers: list[int], partitions: int, slots: int
) -> None:
    """L7: whatever was before; names are those of the first N, so a partition that stays is the same one."""
    before = scaled(*numbers, slots=slots)
    after = respread(before, names_of("shop", partitions, before), slots)

    assert list(after) == [f"shop-{place}" for place in range(partitions)]
    assert sorted(slot for share in after.values() for slot in share) == list(range(slots))
    sizes = [len(share) for share in after.values()]
    assert max(sizes) - min(sizes) <= 1
    assert moved(before, after) == fewest(before, partitions, slots)


@given(
    st.dictionaries(st.sampled_from(["shop-0", "shop-1", "shop-9"]), st.lists(st.integers(-2, 20)).map(tuple)),
    st.integers(1, 8),
)
def test_a_plan_that_is_none_is_put_right(present: dict[str, tuple[int, ...]], partitions: int) -> None:
    """A slot that is named twice, not at all, or does not exist: each has one owner afterwards."""
    after = respread(present, names_of("shop", partitions, present), 12)

    assert sorted(slot for share in after.values() for slot in share) == list(range(12))


def test_from_one_to_sixteen_and_back_only_what_must_move_moves() -> None:
    """256 slots: 240 of them move to the 15 new partitions, and the same 240 come back."""
    one, sixteen = scaled(1, slots=256), scaled(1, 16, slots=256)

    assert moved(one, sixteen) == 240
    assert moved(sixteen, scaled(1, 16, 1, slots=256)) == 240
    assert scaled(1, 16, 1, slots=256) == one


def test_the_same_number_again_is_the_same_plan() -> None:
    """So that it is not proposed, and nothing moves; the first is contiguous."""
    assert scaled(3) == spread("shop", 3, 16)
    assert scaled(1, 4, 3, 3) == scaled(1, 4, 3)
    assert scaled(1, 4, slots=8) == {"shop-0": (0, 1), "shop-1": (2, 3), "shop-2": (4, 5), "shop-3": (6, 7)}


def test_less_than_one_partition_is_refused() -> None:
    """Nobody would own anything; `down` is another word."""
    with pytest.raises(SettingsError, match="at least one"):
        respread({}, names_of("shop", 0), 16)


def test_what_waits_to_move_is_told_by_where_from_and_where_to() -> None:
    """A slot without an owner moves from nobody; once everybody has what the plan names there is nothing."""
    owned = {0: "shop-0", 1: "shop-0", 2: "shop-0", 3: None}

    assert moves(PLAN, owned) == (Move("shop-0", "shop-1", (2,)), Move(None, "shop-1", (3,)))
    assert moves(PLAN, {**PLAN.owners()}) == ()
