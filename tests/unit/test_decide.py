"""What is done about a failed attempt."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wow_ray.failure import Category
from wow_ray.policy.budget import DEFAULT_RETRY, Backpressure, Budget, Systemic
from wow_ray.policy.classify import Classified
from wow_ray.policy.decide import UNSPENT, Decision, Limits, Park, Pause, Retry, SlowDown, Spent, decide
from wow_ray.policy.parked import Reason

LIMITS = Limits(DEFAULT_RETRY, Backpressure(), Systemic())
NOW = 1_000.0
DICE = (0.0, 0.25, 0.5, 0.999)


def decided(
    category: Category,
    spent: Spent = UNSPENT,
    limits: Limits = LIMITS,
    *,
    dice: float = 0.0,
    retry_after: float | None = None,
    jittered: bool = False,
) -> Decision:
    """Decide about a failure of the category at 1,000 s."""
    return decide(Classified(category, "default"), spent, limits, NOW, dice, retry_after, jittered=jittered)


def calls_until_parked(category: Category, limits: Limits) -> tuple[list[float], Park]:
    """Fail over and over; answer the waits between the calls, and the park."""
    spent = UNSPENT
    waits: list[float] = []
    while True:
        decision = decided(category, spent, limits, dice=0.999999)
        match decision:
            case Park():
                return waits, decision
            case Retry(at, spent) | SlowDown(at, spent):
                waits.append(at - NOW)
            case Pause():
                raise AssertionError(decision)


@pytest.mark.parametrize(
    ("budget", "waits"),
    [
        (DEFAULT_RETRY, [0.1, 0.2, 0.4, 0.8]),
        (Budget(7, 1, 2, 30, 30), [1, 2, 4, 8, 16, 30]),
        (Budget(1, 1, 2, 30, 30), []),
        (Budget(2, 0, 2, 30, 30), [0]),
    ],
)
def test_a_recoverable_failure_is_retried_within_the_budget_then_parked(budget: Budget, waits: list[float]) -> None:
    """B1, D2, S41, S43: n calls in all, n - 1 waits without jitter, none after the last call."""
    made, park = calls_until_parked(Category.RECOVERABLE, replace(LIMITS, retry=budget))

    assert made == pytest.approx(waits)
    assert park == Park(Reason.BUDGET_SPENT, Spent(attempts=budget.max_attempts))


def test_an_unrecoverable_failure_is_parked_after_one_call() -> None:
    """D1: whatever is left of the budget."""
    assert decided(Category.UNRECOVERABLE) == Park(Reason.UNRECOVERABLE, Spent(attempts=1))


def test_an_unrecoverable_failure_after_a_recoverable_one_is_parked_at_once() -> None:
    """K6, S51: two calls, and the second class counts."""
    first = decided(Category.RECOVERABLE)
    assert first == Retry(NOW + 0.1, Spent(attempts=1))

    assert decided(Category.UNRECOVERABLE, first.spent) == Park(Reason.UNRECOVERABLE, Spent(attempts=2))


def test_systemic_trouble_pauses_and_probes_for_ever_at_no_cost() -> None:
    """D3, W4, S37: 100 ms, 200, ... never above 5 s, in the upper half by jitter; nothing is parked, however long."""
    spent = Spent(attempts=4, backpressure=19)
    waits = []
    for _ in range(2_000):
        decision = decided(Category.SYSTEMIC, spent, dice=0.5)
        assert isinstance(decision, Pause)
        spent = decision.spent
        waits.append(decision.probe_at - NOW)

    assert waits[:8] == pytest.approx([0.075, 0.15, 0.3, 0.6, 1.2, 2.4, 3.75, 3.75])  # three quarters of the wait
    assert waits[-1] == 3.75
    assert spent == Spent(attempts=4, backpressure=19, probes=2_000)


def test_backpressure_slows_down_under_a_budget_of_its_own_then_parks() -> None:
    """D4: 20 calls, 200 ms doubling to 30 s with jitter."""
    waits, park = calls_until_parked(Category.BACKPRESSURE, LIMITS)

    assert len(waits) == 19
    assert waits[:8] == pytest.approx([0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6], rel=1e-4)
    assert waits[8:] == pytest.approx([30] * 11, rel=1e-4)
    assert max(waits) <= 30
    assert park == Park(Reason.BACKPRESSURE_SPENT, Spent(backpressure=20))


@pytest.mark.parametrize("dice", DICE)
def test_a_retry_after_is_a_lower_bound_and_jitters_upwards_only(dice: float) -> None:
    """D4, H35, S62: also above the maximum of the backoff, which it outranks."""
    decision = decided(Category.BACKPRESSURE, retry_after=120, dice=dice)

    assert isinstance(decision, SlowDown)
    assert decision.at - NOW == pytest.approx(120 * (1 + 0.25 * dice))


def test_a_retry_after_shorter_than_the_backoff_changes_nothing() -> None:
    """D4, S62: 0 (a date that has passed) and none at all leave the normal backoff."""
    spent = Spent(backpressure=6)  # the seventh wait: 12.8 s, halved by the lowest dice

    for asked in (None, 0.0, 1.0):
        assert decided(Category.BACKPRESSURE, spent, retry_after=asked) == SlowDown(NOW + 6.4, Spent(backpressure=7))


def test_a_retry_after_is_capped() -> None:
    """D4: at ten minutes, by default."""
    decision = decided(Category.BACKPRESSURE, retry_after=86_400)

    assert isinstance(decision, SlowDown)
    assert decision.at - NOW == 600


def test_a_retry_after_does_not_prolong_the_last_call() -> None:
    """D4: the budget ends where it ends."""
    assert isinstance(decided(Category.BACKPRESSURE, Spent(backpressure=19), retry_after=120), Park)


def test_a_retry_after_counts_for_backpressure_only() -> None:
    """B1, D4: what a list calls recoverable waits as its budget says."""
    assert decided(Category.RECOVERABLE, retry_after=120) == Retry(NOW + 0.1, Spent(attempts=1))


def test_budgets_do_not_spend_each_other() -> None:
    """D5: four attempts and nineteen busy answers may follow in any order."""
    spent = UNSPENT
    for category in [Category.BACKPRESSURE, Category.RECOVERABLE, Category.SYSTEMIC] * 4 + [Category.BACKPRESSURE] * 15:
        decision = decided(category, spent)
        assert not isinstance(decision, Park)
        spent = decision.spent

    assert spent == Spent(attempts=4, backpressure=19, probes=4)
    assert decided(Category.RECOVERABLE, spent) == Park(Reason.BUDGET_SPENT, Spent(5, 19, 4))
    assert decided(Category.BACKPRESSURE, spent) == Park(Reason.BACKPRESSURE_SPENT, Spent(4, 20, 4))


def test_a_success_gives_the_whole_budget_back() -> None:
    """D6: the next failure is the first again."""
    assert decided(Category.RECOVERABLE, UNSPENT) == Retry(NOW + 0.1, Spent(attempts=1))
    assert Spent(0, 0, 0) == UNSPENT


@pytest.mark.parametrize("dice", DICE)
def test_conflicts_are_retried_with_jitter(dice: float) -> None:
    """K7, H34: so that two that met do not meet again in step; others are retried exactly in time (B3)."""
    plain = decided(Category.RECOVERABLE, dice=dice)
    spread = decided(Category.RECOVERABLE, dice=dice, jittered=True)

    assert plain == Retry(NOW + 0.1, Spent(attempts=1))
    assert isinstance(spread, Retry)
    assert spread.at - NOW == pytest.approx(0.05 + 0.05 * dice)


@settings(max_examples=300, deadline=None)
@given(
    category=st.sampled_from(Category),
    spent=st.builds(Spent, st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10**9)),
    dice=st.floats(0, 1, exclude_max=True),
    retry_after=st.none() | st.floats(0, 1e9),
    jittered=st.booleans(),
)
def test_every_decision_charges_exactly_its_own_category(
    category: Category, spent: Spent, dice: float, retry_after: float | None, *, jittered: bool
) -> None:
    """B3, D1 to D5: and no time lies in the past or beyond the longest wait there is."""
    decision = decided(category, spent, dice=dice, retry_after=retry_after, jittered=jittered)
    charged = {
        Category.UNRECOVERABLE: replace(spent, attempts=spent.attempts + 1),
        Category.RECOVERABLE: replace(spent, attempts=spent.attempts + 1),
        Category.SYSTEMIC: replace(spent, probes=spent.probes + 1),
        Category.BACKPRESSURE: replace(spent, backpressure=spent.backpressure + 1),
    }

    assert decision.spent == charged[category]
    match decision:
        case Retry(at) | SlowDown(at) | Pause(at):
            assert NOW <= at <= NOW + 750  # ten minutes and a quarter
        case Park(reason):
            assert reason in {Reason.UNRECOVERABLE, Reason.BUDGET_SPENT, Reason.BACKPRESSURE_SPENT}
