"""How many calls run at once: less when the other side is busy, then more again (D4, W6)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from wow_ray.policy.limiter import QUIET, Limiter


def test_a_busy_answer_halves_what_really_runs_once_per_wait() -> None:
    """D4: 64 in flight answer busy together: the limit is halved once, and again only after their wait."""
    limiter = Limiter(64)
    assert [limiter.busy(0, 1, 64) for _ in range(64)] == [True] + [False] * 63
    assert limiter.limit == 32
    assert limiter.busy(1, 2, 32)
    assert limiter.limit == 16


def test_what_is_halved_is_what_ran_not_what_might_have() -> None:
    """D4: with ten calls under way a limit of 64 restrains nobody; the next one is five."""
    limiter = Limiter(64)
    limiter.busy(0, 1, 10)
    assert limiter.limit == 5


def test_it_never_falls_below_one() -> None:
    """D4: the floor."""
    limiter = Limiter(8)
    for number in range(20):
        limiter.busy(number, number + 1, limiter.limit)
    assert limiter.limit == 1
    assert limiter.cause == "busy"


def test_it_climbs_by_one_a_round_and_faster_once_busy_answers_stay_away() -> None:
    """D4: its full load back soon after, without overrunning the other side at once."""
    limiter = Limiter(64)
    limiter.busy(0, 0.2, 64)
    limiter.succeeded(33, 0.5)
    assert limiter.limit == 33
    rounds = 0
    now = QUIET
    while limiter.climbing:
        limiter.succeeded(limiter.limit, now)
        rounds += 1
    assert rounds <= 2
    assert (limiter.limit, limiter.cause) == (64, "")


def test_after_a_pause_it_starts_with_one_and_doubles_per_success() -> None:
    """W6: 1, 2, 4, 8 … up to its limit."""
    limiter = Limiter(20)
    limiter.restart()
    limits = [limiter.limit]
    while limiter.climbing:
        assert limiter.cause == "ramp"
        limiter.succeeded(1, 0)
        limits.append(limiter.limit)
    assert limits == [1, 2, 4, 8, 16, 20]


def test_a_ceiling_from_outside_bounds_it_and_lifting_it_gives_everything_back() -> None:
    """W7: never below one, never above its own share."""
    limiter = Limiter(32)
    limiter.ceiling = 4
    assert (limiter.limit, limiter.cause) == (4, "ceiling")
    limiter.ceiling = 0
    assert limiter.limit == 1
    limiter.ceiling = 1_000
    assert limiter.limit == 32
    limiter.ceiling = None
    assert (limiter.limit, limiter.cause) == (32, "")


@given(st.integers(1, 1_000), st.integers(0, 5_000))
def test_enough_successes_always_bring_it_back(full: int, halvings: int) -> None:
    """D4, W6: whatever happened before, and it never exceeds its share."""
    limiter = Limiter(full)
    for number in range(min(halvings, 50)):
        limiter.busy(number, number, limiter.limit)
    limiter.succeeded(full * 2, 1_000)
    assert (limiter.limit, limiter.climbing) == (full, False)


class Limits(RuleBasedStateMachine):
    """Busy answers, successes, pauses and ceilings in any order."""

    def __init__(self) -> None:
        """Begin with a share of 16."""
        super().__init__()
        self.limiter = Limiter(16)
        self.now = 0.0

    @rule(wait=st.floats(0, 60), running=st.integers(0, 32))
    def busy(self, wait: float, running: int) -> None:
        """D4: never more than before."""
        before = self.limiter.limit
        self.limiter.busy(self.now, self.now + wait, running)
        assert self.limiter.limit <= before

    @rule(times=st.integers(0, 100))
    def good(self, times: int) -> None:
        """D4: never less than before."""
        before = self.limiter.limit
        self.limiter.succeeded(times, self.now)
        assert self.limiter.limit >= before

    @rule()
    def pause(self) -> None:
        """W6."""
        self.limiter.restart()
        assert self.limiter.limit == 1

    @rule(ceiling=st.none() | st.integers(-1, 40))
    def bound(self, ceiling: int | None) -> None:
        """W7."""
        self.limiter.ceiling = ceiling

    @rule(seconds=st.floats(0, 20))
    def later(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds

    @invariant()
    def bounded(self) -> None:
        """D4: between one and its share, and below the ceiling."""
        assert 1 <= self.limiter.limit <= 16
        ceiling = self.limiter.ceiling
        assert ceiling is None or self.limiter.limit <= max(1, ceiling)


TestLimits = Limits.TestCase
