"""How many partitions there should be (architecture 6): bounded, never twice within a cool-down, more for more lag."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wow_ray.policy.autoscale import Bounds, Load, advise

BOUNDS = Bounds(1, 8, 1_000, 60.0)

loads = st.builds(Load, st.integers(1, 20), st.integers(0, 100_000), st.floats(0, 1))


@st.composite
def bounds(draw: st.DrawFn) -> Bounds:
    """Give bounds that make sense."""
    least = draw(st.integers(1, 8))
    return Bounds(least, draw(st.integers(least, 16)), draw(st.integers(1, 5_000)), draw(st.floats(1, 600)))


@pytest.mark.parametrize(
    ("partitions", "lag", "busy", "expected"),
    [
        (2, 2_000, 0.9, 2),  # 1,000 each: as it should be
        (2, 2_001, 0.0, 3),  # 667 each for three
        (2, 50_000, 0.9, 4),  # 50 would be needed; twice as many at a time
        (8, 50_000, 0.9, 8),  # at most 8
        (4, 0, 0.3, 3),  # 0.3 of 4 = 1.2 of 3: 40 %
        (4, 0, 0.4, 4),  # 0.4 of 4 = 1.6 of 3: more than half
        (4, 1_501, 0.0, 4),  # more than half of what 3 may be behind
        (1, 0, 0.0, 1),  # at least 1
        (12, 0, 0.9, 8),  # an operator's number, above the bounds
    ],
)
def test_the_number_follows_lag_and_load(partitions: int, lag: int, busy: float, expected: int) -> None:
    """1,000 events behind are fine for each partition; the sum is beside each row."""
    assert advise(Load(partitions, lag, busy), BOUNDS, 60.0).partitions == expected


@given(loads, bounds(), st.floats(0, 0.999))
def test_within_the_cool_down_nothing_changes(load: Load, given_bounds: Bounds, part: float) -> None:
    """Whatever the load is: no number swings faster than that."""
    assert advise(load, given_bounds, part * given_bounds.cool_down).partitions == load.partitions


@given(loads, bounds())
def test_the_number_is_within_the_bounds_and_grows_to_twice_at_most(load: Load, given_bounds: Bounds) -> None:
    """Also from outside of them; and it shrinks by one at a time within them."""
    advised = advise(load, given_bounds, given_bounds.cool_down).partitions

    assert given_bounds.least <= advised <= given_bounds.most
    assert advised <= max(2 * load.partitions, given_bounds.least)
    assert advised >= min(load.partitions - 1, given_bounds.most)


@given(loads, bounds(), st.integers(0, 50_000))
def test_more_lag_never_asks_for_fewer(load: Load, given_bounds: Bounds, more: int) -> None:
    """Monotone: all else alike."""
    behind = Load(load.partitions, load.lag + more, load.busy)

    now, then = (advise(each, given_bounds, given_bounds.cool_down).partitions for each in (load, behind))
    assert then >= now


@given(st.integers(1, 16), st.integers(0, 20_000), st.floats(0, 1), bounds())
def test_a_load_that_does_not_change_comes_to_rest(
    partitions: int, lag: int, work: float, given_bounds: Bounds
) -> None:
    """The same work, spread over however many there are, is not scaled up and down for ever."""
    seen = []
    for _ in range(40):
        busy = min(1.0, work / partitions)
        partitions = advise(Load(partitions, lag, busy), given_bounds, given_bounds.cool_down).partitions
        seen.append(partitions)
    assert len(set(seen[-3:])) == 1
