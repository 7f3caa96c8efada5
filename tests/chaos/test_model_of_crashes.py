"""Any order of events, failures, commands, crashes and take-overs loses nothing, repeats little, reorders nothing.

Each example is a plan that is played in virtual time on the store in memory, with an observer outside; what it checks
is in `watch`. A failure prints the plan, which played again does the same: `play(Plan(...))`. With `WOW_RAY_SOAK=1`
there are 20,000 of them.
"""

from __future__ import annotations

import os
from typing import get_args

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.chaos.plans import (
    OUTCOMES,
    Append,
    Command,
    Fail,
    FailingOperation,
    Hold,
    Kill,
    Move,
    Pass,
    Plan,
    Slow,
    Start,
    Step,
    Stop,
    Trick,
)
from tests.chaos.play import play
from wow_ray.policy.parked import Verb

# A plan is large, and playing it takes what it takes.
settings.register_profile(
    "crashes", max_examples=120, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True
)
settings.register_profile("soak", settings.get_profile("crashes"), max_examples=20_000)
PROFILE = "soak" if os.environ.get("WOW_RAY_SOAK") == "1" else "crashes"

orders = st.sampled_from((0, 0, 1, 1, 2, 3))
groups = st.integers(0, 2)
appends = st.builds(Append, orders, st.integers(1, 6), st.integers(0, 2))
floods = st.builds(Append, st.just(0), st.integers(60, 90), st.integers(0, 2))
passing = st.builds(Pass, st.sampled_from((0.0, 0.001, 0.02, 0.11, 0.11, 0.3, 0.5, 2.1, 9.0)), st.booleans())
kills = st.builds(Kill, st.integers(0, 30))
starts = st.builds(Start, st.integers(1, 2), st.booleans())
verbs = st.sampled_from(
    (Verb.RESUME, Verb.RESUME, Verb.RESUME, Verb.SKIP, Verb.SKIP, Verb.SKIP_ONE, Verb.PARK, Verb.RETRY_NOW, Verb.RESET)
)
commands = st.builds(
    Command,
    verbs,
    st.integers(0, 5),
    groups,
    orders,
    st.sampled_from(("any", "present", "present", "stale")),
    st.none() | st.integers(1, 8),
    st.booleans(),
)
failures = st.builds(
    Fail, st.sampled_from(get_args(FailingOperation)), st.sampled_from(("start", "end")), st.integers(1, 3)
)
holds = st.builds(
    Hold,
    groups,
    st.sampled_from(("operator", "operator", "deploy")),
    st.sampled_from((None, None, "shop-0", "shop-1")),
    st.booleans(),
)
moves = st.builds(Move, st.sampled_from(((), (0,), (1,), (0, 1))))
slowness = st.builds(Slow, st.sampled_from((0.0, 0.1, 0.5)))
steps: st.SearchStrategy[Step] = st.one_of(
    appends,
    appends,
    passing,
    passing,
    passing,
    commands,
    commands,
    kills,
    starts,
    starts,
    failures,
    holds,
    holds,
    moves,
    moves,
    slowness,
    st.just(Stop()),
    floods,
)
outcomes = st.sampled_from((*OUTCOMES, "fails", "never", "never", "never", "slow", "slow", "slow"))
tricks = st.builds(
    Trick,
    st.integers(0, 3),
    orders,
    st.integers(1, 5),
    st.lists(outcomes, min_size=1, max_size=4).map(tuple),
    st.booleans(),
)
plans = st.builds(
    lambda seed, chosen, first, rest: Plan(seed, tuple(chosen), (*first, Start(1, over=False), *rest)),
    st.integers(0, 2**16),
    st.lists(tricks, min_size=2, max_size=12),
    st.lists(appends, min_size=1, max_size=4),
    st.lists(steps, min_size=4, max_size=25),
)


@settings(settings.get_profile(PROFILE))
@given(plans)
def test_nothing_is_lost_reordered_or_repeated_beyond_what_a_crash_allows(plan: Plan) -> None:
    """P11, L1, L2, H2, H4, H5, H6, H10: the invariant, whatever happens and in whatever order."""
    play(plan)
