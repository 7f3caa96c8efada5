"""The life of a durable call, whatever happens in whatever order (F6, F7, H39, S103)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, precondition, rule

from wow_ray.failure import Category, Failure
from wow_ray.policy.durable_asked import CallAsked, CallVerb, Changed, decide_asked
from wow_ray.policy.durable_call import (
    FINISHED,
    PENDING,
    CallReason,
    CallRow,
    CallState,
    Fallback,
    NewCall,
    claimable,
    claimable_at,
    claimed,
    extended,
    submitted,
)
from wow_ray.policy.durable_endings import (
    Again,
    Busy,
    Ending,
    Exhausted,
    FallBack,
    Succeeded,
    Uncharged,
    applied,
    written,
)

FAILURE = Failure(Category.RECOVERABLE, "default", "ValueError", "no", "", "f")
LEASE = 10.0
ENDINGS: st.SearchStrategy[Ending] = st.one_of(
    st.just(Succeeded("1")),
    st.builds(Again, st.floats(0, 100), st.just(FAILURE)),
    st.builds(Busy, st.floats(0, 100), st.just(FAILURE)),
    st.builds(Uncharged, st.floats(0, 100), st.just("stopped"), st.sampled_from([None, FAILURE]), st.booleans()),
    st.builds(FallBack, st.sampled_from(CallReason), st.just(FAILURE)),
    st.builds(
        Exhausted,
        st.sampled_from(CallReason),
        st.sampled_from([None, FAILURE]),
        st.sampled_from(Fallback),
        uncharged=st.booleans(),
    ),
)
VERBS: list[CallVerb] = ["retry", "cancel", "discard"]


class Life(RuleBasedStateMachine):
    """One call, its workers (some of them dead or late), its operators, and the store's clock."""

    claims = Bundle("claims")

    def __init__(self) -> None:
        super().__init__()
        self.now = datetime(2030, 1, 1, tzinfo=UTC)
        self.tokens = 0
        self.began = 0
        self.given_back = 0

    @initialize(attempts=st.sampled_from([0, 3]), delay=st.floats(0, 50))
    def store(self, attempts: int, delay: float) -> None:
        """Store it, submitted or after calls of the caller's own."""
        self.base = attempts
        self.row = submitted(NewCall("c", "f", "{}", attempts=attempts, spent=int(attempts > 0), delay=delay), self.now)

    @rule(seconds=st.floats(0, 60))
    def pass_time(self, seconds: float) -> None:
        """Let the clock go on; leases run out."""
        self.now += timedelta(seconds=seconds)

    @precondition(lambda self: claimable(self.row, self.now))
    @rule(target=claims)
    def claim(self) -> CallRow:
        """Claim it: a new token, one attempt charged, or one begin of its fallback."""
        self.tokens += 1
        before = self.row
        self.row = claimed(before, f"t{self.tokens}", "w", LEASE, self.now)
        calls = before.fallback is not Fallback.BEGUN
        self.began += calls
        assert self.row.attempts - before.attempts == int(calls)
        assert self.row.fallbacks - before.fallbacks == int(not calls)
        return self.row

    @rule(claim=claims)
    def extend(self, claim: CallRow) -> None:
        """Go on with a call, if the claim is still there."""
        if self.holds(claim):
            self.row = extended(self.row, LEASE, self.now)

    @rule(claim=consumes(claims), ending=ENDINGS)
    def finish(self, claim: CallRow, ending: Ending) -> None:
        """End a claim; a late word of a dead worker changes nothing."""
        if not self.holds(claim):
            return
        before = self.row
        self.row = applied(before, written(before, ending), self.now)
        self.given_back += before.attempts - self.row.attempts
        assert self.row.first_cause == (before.first_cause or self.row.failure)
        assert self.row.etag > before.etag

    @rule(verb=st.sampled_from(VERBS))
    def ask(self, verb: CallVerb) -> None:
        """Ask something of it."""
        decided = decide_asked(self.row, CallAsked("q", verb, "c", self.row.etag, "ann", "why"), self.now)
        if isinstance(decided, Changed):
            assert decided.row.etag > self.row.etag
            if verb == "retry" and self.row.state is CallState.EXHAUSTED:
                assert claimable(decided.row, self.now)
                assert (decided.row.spent, decided.row.busy, decided.row.fallback) == (0, 0, Fallback.NONE)
            self.row = decided.row

    def holds(self, claim: CallRow) -> bool:
        """Tell whether the store would let the claim's owner write."""
        return self.row.state is CallState.RUNNING and self.row.token == claim.token

    @invariant()
    def is_claimable_or_terminal(self) -> None:
        """F6, S103: sooner or later claimable, or terminal; never both, never neither."""
        pending = self.row.state in PENDING
        assert pending == (claimable_at(self.row) is not None)
        assert pending != (self.row.state in FINISHED or self.row.state is CallState.EXHAUSTED)
        at = claimable_at(self.row)
        if at is not None:
            assert claimable(self.row, max(at, self.now))

    @invariant()
    def has_a_token_exactly_while_it_runs(self) -> None:
        """H39: nobody holds a claim on what does not run."""
        running = self.row.state is CallState.RUNNING
        assert (self.row.token is not None) == running == (self.row.lease_until is not None)
        assert (self.row.ended_at is not None) == (self.row.state not in PENDING)

    @invariant()
    def counts_each_attempt_once(self) -> None:
        """F6: what began is counted, whether its worker lived or not; what was given back is not."""
        assert self.row.attempts == self.base + self.began - self.given_back
        assert self.row.spent >= 0


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=80, stateful_step_count=40)


def test_what_was_never_asked_for_is_never_done() -> None:
    """P10: a stale etag, an unknown call."""
    now = datetime(2030, 1, 1, tzinfo=UTC)
    row = submitted(NewCall("c", "f", "{}"), now)
    asked = CallAsked("q", "cancel", "c", 7, "ann", "why")
    assert not isinstance(decide_asked(row, asked, now), Changed)
    assert not isinstance(decide_asked(None, asked, now), Changed)
    assert isinstance(decide_asked(row, replace(asked, etag=None), now), Changed)
