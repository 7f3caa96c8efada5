"""The arithmetic of waits."""

from __future__ import annotations

from datetime import timedelta
from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wow_ray.policy.budget import (
    DEFAULT_RETRY,
    Backpressure,
    Budget,
    ParkedRetries,
    Systemic,
    jitter,
    jitter_up,
    wait,
)

DICE = [number / 1_000 for number in range(1_000)]


@pytest.mark.parametrize(
    ("initial", "multiplier", "cap", "expected"),
    [
        (0.1, 2, 5, [0.1, 0.2, 0.4, 0.8]),  # the default: 5 calls
        (1, 2, 30, [1, 2, 4, 8, 16, 30]),  # 7 calls; 32 is above 30
        (5, 1.5, 60, [5, 7.5, 11.25, 16.875, 25.3125]),  # 5 * 1.5 ** (n - 1): no whole numbers on the way
        (5, 1, 10, [5, 5, 5, 5, 5]),  # a default `@retryable`
        (0, 2, 5, [0, 0, 0]),  # no wait at all
        (10, 2, 5, [5, 5, 5]),  # clamped
        (180, 2, 86_400, [180, 360, 720, 1_440, 2_880, 5_760, 11_520, 23_040, 46_080, 86_400]),  # parked
    ],
)
def test_the_waits_of_a_budget_are_exactly_these(
    initial: float, multiplier: float, cap: float, expected: list[float]
) -> None:
    """B1, B3, P6, S41: the n-th wait is initial * multiplier ** (n - 1), never more than the maximum."""
    assert [wait(initial, multiplier, cap, n) for n in range(1, len(expected) + 1)] == expected


def test_the_waits_of_seven_calls_add_up_to_61_seconds() -> None:
    """S41: 1 + 2 + 4 + 8 + 16 + 30."""
    assert list(accumulate(wait(1, 2, 30, n) for n in range(1, 7)))[-1] == 61


@pytest.mark.parametrize(
    ("n", "expected"),
    [(1, 0.1), (6, 3.2), (7, 5), (1_024, 5), (1_025, 5), (5_000, 5), (10**9, 5), (10**400, 5)],
)
def test_no_number_of_a_wait_overflows(n: int, expected: float) -> None:
    """B3, S37: the cap is not applied after a power that cannot be computed."""
    assert wait(0.1, 2, 5, n) == expected
    assert wait(0.1, 2.0, 5, n) == expected


def test_a_large_multiplier_and_a_multiplier_of_one_do_not_overflow_either() -> None:
    """B3, S37: 100 ** 199 is above every cap; 1 ** n stays 1 for an n that is no float."""
    assert wait(0.1, 100, 5, 200) == 5
    assert wait(0.1, 1, 5, 10**400) == 0.1
    assert wait(5e-324, 1e308, 5, 10**9) == 5


@settings(max_examples=200, deadline=None)
@given(
    st.floats(0, 1e9), st.floats(1, 1e9), st.floats(0, 1e9), st.integers(1, 10**12), st.floats(0, 1, exclude_max=True)
)
def test_no_wait_is_negative_or_above_its_maximum_even_after_jitter(
    initial: float, multiplier: float, cap: float, n: int, dice: float
) -> None:
    """B3, S38, S39: whatever the settings are."""
    plain = wait(initial, multiplier, cap, n)

    assert 0 <= plain <= cap
    assert plain <= wait(initial, multiplier, cap, n + 1), "waits do not shrink"
    assert plain / 2 <= jitter(plain, dice, cap) <= plain
    assert plain <= jitter_up(plain, dice, cap) <= cap


@pytest.mark.parametrize("n", [63, 64, 65, 1_100])
def test_jittered_waits_lie_in_the_upper_half_and_are_never_nothing(n: int) -> None:
    """B3, S38: an overflow is not taken for 'no wait'."""
    waits = [jitter(wait(0.1, 2, 5, n), dice, 5) for dice in DICE]

    assert min(waits) == 2.5
    assert max(waits) < 5


def test_jitter_still_spreads_at_the_maximum() -> None:
    """B3, S39: the cap comes before the jitter, so the waits are neither above it nor all equal to it."""
    waits = {jitter(wait(0.1, 2, 5, 20), dice, 5) for dice in DICE}

    assert max(waits) <= 5
    assert len(waits) == len(DICE)


def test_upward_jitter_adds_up_to_a_quarter_and_never_shortens() -> None:
    """H35: a promise not to come earlier is kept."""
    assert jitter_up(180, 0, None) == 180
    assert jitter_up(180, 0.5, None) == 202.5  # 180 * 1.125
    assert all(180 <= jitter_up(180, dice, None) < 225 for dice in DICE)


def test_upward_jitter_is_bounded_by_the_maximum_but_does_not_cut_the_wait_to_it() -> None:
    """B3, H35: what a Retry-After asks for outranks the maximum."""
    assert jitter_up(28, 0.9, 30) == 30
    assert jitter_up(600, 0.9, 30) == 600


def test_the_defaults_are_those_of_the_contract() -> None:
    """B1, D4, P6, W1, W4, P16: numbers that people rely on."""
    assert Budget(5, 0.1, 2, 5, 30) == DEFAULT_RETRY
    assert Backpressure(20, 0.2, 2, 30, 600) == Backpressure()
    assert ParkedRetries(10, 180, 2, timedelta(days=1).total_seconds(), 120) == ParkedRetries()
    assert Systemic(3, 10, 0.1, 5, 100) == Systemic()
