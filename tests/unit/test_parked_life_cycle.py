"""The life of a parked aggregate, and what operators' commands do to it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from wow_ray.failure import Category, Failure
from wow_ray.policy import parked as life
from wow_ray.policy.budget import ParkedRetries
from wow_ray.policy.parked import (
    FOR_A_PERSON,
    LAST_SEQUENCE,
    Apply,
    Cause,
    Later,
    Place,
    Reason,
    Refuse,
    Row,
    State,
    Stop,
    Verb,
    decide_intent,
)

T0 = datetime(2026, 1, 1, tzinfo=UTC)
LIMITS = ParkedRetries()
PLACE = Place("row-1", "Shop.on_paid", 121, "order", "o-42")
STOP = Stop("Shop.on_paid", 3, 0, 17)


def failure(text: str = "boom", category: Category = Category.RECOVERABLE) -> Failure:
    """Make a failure with this text."""
    return Failure(category, "default", "ValueError", text, "", "f" * 16)


FIRST = failure("first")
SPENT = Cause(Reason.BUDGET_SPENT, FIRST, attempts=5)


def parked(cause: Cause = SPENT, dice: float = 0.0, limits: ParkedRetries = LIMITS) -> Row:
    """Park o-42 at 3:0 at T0."""
    return life.parked(PLACE, STOP, cause, now=T0, dice=dice, limits=limits)


def begun(row: Row | None = None) -> Row:
    """Begin the call that is due."""
    row = row or parked()
    assert row.next_due is not None
    return life.begin(row, row.next_due)


def failed(row: Row, category: Category = Category.RECOVERABLE, dice: float = 0.0, asked: float | None = None) -> Row:
    """Fail the call at the time it began."""
    now = row.updated_at
    return life.failed(row, category, failure(), now=now, dice=dice, limits=LIMITS, retry_after=asked)


def stopped_again(row: Row, stop: Stop, cause: Cause = SPENT, now: datetime = T0) -> Row:
    """Park the row once more."""
    return life.stopped_again(row, stop, cause, now=now, dice=0.0, limits=LIMITS)


def draining() -> Row:
    """Resume o-42 at 3:0, a minute after it was parked."""
    return life.resume(parked(), T0 + timedelta(minutes=1))


def exhausted() -> Row:
    """Spend all ten retries."""
    row = parked()
    for _ in range(10):
        row = failed(begun(row))
    return row


def after(row: Row, since: datetime = T0) -> float | None:
    """Seconds until the next due."""
    return None if row.next_due is None else (row.next_due - since).total_seconds()


def test_a_fresh_stop_keeps_where_and_why_it_stopped() -> None:
    """P3, P4: positions and bounded errors, never events."""
    row = parked()

    assert (row.state, row.reason, row.etag, row.begun) == (State.PARKED, Reason.BUDGET_SPENT, 1, False)
    assert (row.id, row.group, row.slot, row.aggregate, row.aggregate_id) == (
        "row-1",
        "Shop.on_paid",
        121,
        "order",
        "o-42",
    )
    assert (row.subscription, row.stopped, row.stopped_position) == ("Shop.on_paid", (3, 0), 17)
    assert (row.failure, row.first_cause, row.attempts, row.retries) == (FIRST, FIRST, 5, 0)
    assert row.parked_at == row.updated_at == T0


@pytest.mark.parametrize(("dice", "due"), [(0.0, 180), (0.5, 202.5), (0.999999, 225)])
def test_the_first_retry_is_due_three_minutes_after_parking_never_earlier(dice: float, due: float) -> None:
    """P6, H35, S46: jitter of parked retries is upward only."""
    assert after(parked(dice=dice)) == pytest.approx(due, rel=1e-6)


@pytest.mark.parametrize("reason", sorted(FOR_A_PERSON))
def test_what_no_retry_can_help_waits_for_a_person_at_once(reason: Reason) -> None:
    """D1, P0, P14, P15: exhausted from the start, nothing due, no retry burnt."""
    row = parked(Cause(reason))

    assert (row.state, row.next_due, row.retries) == (State.EXHAUSTED, None, 0)


@pytest.mark.parametrize("reason", [Reason.BUDGET_SPENT, Reason.BACKPRESSURE_SPENT, Reason.NOT_ENDING])
def test_what_a_retry_may_help_is_parked_with_a_due_time(reason: Reason) -> None:
    """D2, D4, P0: parked means that the next due is known."""
    assert (parked(Cause(reason)).state, after(parked(Cause(reason)))) == (State.PARKED, 180)


def test_with_no_automatic_retries_configured_a_stop_waits_for_a_person() -> None:
    """P8: after the last of none."""
    assert parked(limits=ParkedRetries(max_retries=0)).state is State.EXHAUSTED


def test_exactly_ten_retries_three_minutes_doubling_to_a_day_then_exhausted() -> None:
    """P6, P8, S46: 180 s, 360, ... the tenth a day after the ninth; no eleventh after thirty days."""
    row, waits = parked(), []
    while row.state is State.PARKED:
        waits.append(after(row, row.updated_at))
        row = failed(begun(row))

    assert waits == [180, 360, 720, 1_440, 2_880, 5_760, 11_520, 23_040, 46_080, 86_400]
    assert (row.state, row.retries, row.next_due) == (State.EXHAUSTED, 10, None)
    assert not row.is_due(T0 + timedelta(days=30))
    with pytest.raises(ValueError, match="no call of it may begin"):
        life.begin(row, T0 + timedelta(days=30))


def test_jitter_never_makes_a_wait_longer_than_the_maximum_or_shorter_than_promised() -> None:
    """B3, H35: the tenth wait is a day, whatever the dice."""
    row = replace(parked(), retries=8)

    assert after(failed(begun(row), dice=0.999), begun(row).updated_at) == 86_400


def test_a_call_begins_when_it_is_due_by_the_stores_time_and_not_before() -> None:
    """P6: and the row says so before the call (H10)."""
    row = parked()
    with pytest.raises(ValueError, match="no call of it may begin"):
        life.begin(row, T0 + timedelta(seconds=179.999))

    started = life.begin(row, T0 + timedelta(seconds=180))

    assert (started.state, started.begun, started.draining, started.etag) == (State.RETRYING, True, False, 2)
    with pytest.raises(ValueError, match="no call of it may begin"):
        life.begin(started, T0 + timedelta(days=1))


def test_a_recoverable_failure_of_a_retry_costs_one_and_keeps_the_first_cause() -> None:
    """P4, P6: the last error is shown, the first is kept."""
    row = failed(begun())

    assert (row.state, row.retries, row.begun) == (State.PARKED, 1, False)
    assert (row.failure, row.first_cause) == (failure(), FIRST)


def test_an_unrecoverable_failure_of_a_retry_exhausts_at_once() -> None:
    """P7: with eight retries left."""
    row = failed(begun(failed(begun())), Category.UNRECOVERABLE)

    assert (row.state, row.reason, row.retries, row.next_due) == (State.EXHAUSTED, Reason.UNRECOVERABLE, 2, None)


@pytest.mark.parametrize("category", [Category.SYSTEMIC, Category.BACKPRESSURE])
def test_trouble_that_is_not_the_aggregates_own_costs_no_retry_and_moves_the_due_time(category: Category) -> None:
    """P7, H11, H35: however often, and never earlier."""
    row = failed(begun())
    for _ in range(50):
        started = begun(row)
        row = failed(started, category, dice=0.5)
        assert (row.state, row.retries) == (State.PARKED, 1)
        assert after(row, started.updated_at) == 202.5  # 180 * 1.125

    assert row.reason is Reason.BUDGET_SPENT


def test_a_retry_after_in_a_parked_retry_is_a_lower_bound() -> None:
    """D4, H35: when it is longer than the first delay."""
    started = begun()

    assert after(failed(started, Category.BACKPRESSURE, asked=600), started.updated_at) == 600
    assert after(failed(started, Category.BACKPRESSURE, asked=5), started.updated_at) == 180


def test_the_caller_may_judge_otherwise_than_the_failures_own_class() -> None:
    """W5: systemic by class, but others succeed: it is exhausted like any other."""
    started = begun()
    row = life.failed(
        started, Category.RECOVERABLE, failure(category=Category.SYSTEMIC), now=T0, dice=0.0, limits=LIMITS
    )

    assert row.retries == 1


def test_a_success_drains_on_and_each_event_done_moves_the_mark_durably() -> None:
    """P6, D6: right behind the event, with fresh counts and no error."""
    row = life.advanced(failed_then_begun(), 3, 0, 17, T0)

    assert (row.state, row.draining, row.begun) == (State.RETRYING, True, True)
    assert (row.stopped, row.stopped_position) == ((3, 1), 18)
    assert (row.attempts, row.backpressure, row.retries, row.failure, row.first_cause) == (0, 0, 0, None, None)
    assert life.advanced(row, 4, 0, 23, T0).stopped == (4, 1)


def failed_then_begun() -> Row:
    """A row that has used one retry and runs its second."""
    return begun(failed(begun()))


def test_an_event_before_the_mark_cannot_be_done_again() -> None:
    """P3: the mark never goes back."""
    with pytest.raises(ValueError, match="cannot have done"):
        life.advanced(draining(), 2, 5, 12, T0)
    with pytest.raises(ValueError, match="cannot have done"):
        life.advanced(parked(), 3, 0, 17, T0)


def test_parking_again_at_the_same_event_changes_only_diagnostics() -> None:
    """P3, H29, S29: neither count nor due time nor state, whatever the second park says."""
    for row in (parked(), failed(begun()), exhausted()):
        again = stopped_again(row, STOP, Cause(Reason.UNRECOVERABLE, failure("later"), attempts=1))

        assert again == replace(row, failure=failure("later"), etag=row.etag + 1, updated_at=T0)


@pytest.mark.parametrize("row", [parked(), exhausted(), draining(), failed_then_begun()], ids=lambda row: row.state)
def test_parking_at_a_greater_event_is_a_new_stop_with_a_fresh_count(row: Row) -> None:
    """P3, P6, H29: for the handler that failed there."""
    stop = Stop("Shop.on_shipped", 7, 1, 40)
    new = stopped_again(row, stop, Cause(Reason.BUDGET_SPENT, failure("new"), attempts=5))

    assert (new.state, new.retries, after(new)) == (State.PARKED, 0, 180)
    assert (new.stopped, new.stopped_position, new.subscription) == ((7, 1), 40, "Shop.on_shipped")
    assert (new.failure, new.first_cause) == (failure("new"), failure("new"))
    assert (new.id, new.etag, new.parked_at) == (row.id, row.etag + 1, T0)


def test_parking_at_a_smaller_event_is_refused() -> None:
    """P3, H29: it would call again what was handled."""
    with pytest.raises(ValueError, match=r"cannot go back to \(2, 9\)"):
        stopped_again(parked(), Stop("Shop.on_paid", 2, 9, 16))


def test_a_resumed_aggregate_that_fails_again_is_parked_there_with_fresh_retries() -> None:
    """P9, P3: called again, so this is more than diagnostics; the first cause is kept."""
    row = stopped_again(life.resume(exhausted(), T0), STOP, Cause(Reason.BUDGET_SPENT, failure("again"), attempts=5))

    assert (row.state, row.retries, after(row), row.attempts) == (State.PARKED, 0, 180, 5)
    assert (row.failure, row.first_cause) == (failure("again"), FIRST)


def test_a_failure_right_behind_a_drained_event_is_a_new_stop() -> None:
    """P6: though the mark already stands there, its first cause is its own."""
    row = life.advanced(draining(), 3, 0, 17, T0)
    new = stopped_again(row, Stop("Shop.on_paid", 3, 1, 18), Cause(Reason.UNRECOVERABLE, failure("new")))

    assert (new.state, new.first_cause, new.retries) == (State.EXHAUSTED, failure("new"), 0)


def test_a_parked_retry_that_is_parked_again_costs_a_retry_too() -> None:
    """P8: no way round the ten."""
    assert stopped_again(begun(), STOP).retries == 1


def test_a_spilled_aggregate_waits_without_being_parked_and_keeps_its_budgets() -> None:
    """P5, H6, P0: waiting, due when its wait ends, and then it drains under what is left."""
    due = T0 + timedelta(minutes=10)
    row = life.spilled(PLACE, STOP, Cause(Reason.BACKPRESSURE_SPENT, FIRST, attempts=2, backpressure=7), due, T0)
    assert (row.state, row.next_due, row.attempts, row.backpressure, row.etag) == (State.WAITING, due, 2, 7, 1)
    assert not row.is_due(T0)

    row = life.begin(row, due)
    assert (row.state, row.draining, row.begun, row.attempts, row.backpressure) == (State.RETRYING, True, True, 2, 7)

    later = due + timedelta(seconds=30)
    row = life.spilled_again(row, STOP, Cause(Reason.BACKPRESSURE_SPENT, failure(), backpressure=8), later, due)
    assert (row.state, row.next_due, row.backpressure, row.first_cause) == (State.WAITING, later, 8, FIRST)

    row = stopped_again(life.begin(row, later), STOP, Cause(Reason.BACKPRESSURE_SPENT, failure(), backpressure=20))
    assert (row.state, row.retries, after(row)) == (State.PARKED, 0, 180)


def test_only_a_drain_can_spill() -> None:
    """P5: a parked retry is one call."""
    for row in (parked(), begun(), exhausted()):
        with pytest.raises(ValueError, match="only a drain can spill"):
            life.spilled_again(row, STOP, SPENT, T0, T0)


@pytest.mark.parametrize("row", [parked(), exhausted(), failed(begun()), draining()], ids=lambda row: row.state)
def test_resume_drains_from_the_stopped_mark_with_a_fresh_budget(row: Row) -> None:
    """P9: in any parked state; fresh budget, fresh ten."""
    resumed = life.resume(row, T0)

    assert (resumed.state, resumed.draining, resumed.begun) == (State.RETRYING, True, False)
    assert (resumed.stopped, resumed.attempts, resumed.backpressure, resumed.retries) == ((3, 0), 0, 0, 0)
    assert (resumed.etag, resumed.first_cause) == (row.etag + 1, FIRST)


def test_skip_passes_over_the_held_events_up_to_a_mark_and_handles_the_rest() -> None:
    """P9, H5, S86: the row drains; it is not ended by the skip."""
    row = life.skip(exhausted(), (6, LAST_SEQUENCE), T0)

    assert (row.state, row.draining) == (State.RETRYING, True)
    assert [row.passes_over(version, 0) for version in (3, 6, 7)] == [True, True, False]
    assert row.passes_over(6, 4)
    assert life.resume(row, T0).passes_over(3, 0), "a skip that was answered stays one"
    assert life.skip(row, (4, 0), T0).skip_through == (6, LAST_SEQUENCE), "a smaller skip takes nothing back"


def test_what_is_done_already_cannot_be_skipped() -> None:
    """P9: nothing before the mark."""
    with pytest.raises(ValueError, match="nothing to skip"):
        life.skip(parked(), (2, LAST_SEQUENCE), T0)


def test_a_drain_that_has_caught_up_ends_as_resolved_or_skipped() -> None:
    """P0, P9, H5: skipped when an operator had events passed over."""
    assert life.ended(draining(), T0).state is State.RESOLVED
    assert life.ended(life.advanced(life.skip(parked(), (3, 0), T0), 3, 0, 17, T0), T0).state is State.SKIPPED


def test_a_new_stop_after_a_skip_ends_as_resolved() -> None:
    """P3: it is about other events."""
    row = stopped_again(life.skip(parked(), (4, 0), T0), Stop("Shop.on_paid", 7, 0, 40))

    assert life.ended(life.resume(row, T0), T0).state is State.RESOLVED


def test_only_a_drain_hands_over_but_any_open_row_can_be_reset_or_found_empty() -> None:
    """H5, H13, H40: and an ended row is history."""
    with pytest.raises(ValueError, match="cannot end"):
        life.ended(parked(), T0)
    for outcome in (State.RESET, State.NOTHING_TO_READ):
        row = life.ended(exhausted(), T0, outcome)
        assert (row.state, row.next_due) == (outcome, None)
        for change in (life.resume, life.held_back, life.ended, life.given_back, life.hurried):
            with pytest.raises(ValueError, match=r"row row-1"):
                change(row, T0)
    with pytest.raises(ValueError, match="cannot end as parked"):
        life.ended(draining(), T0, State.PARKED)


def test_a_shutdown_or_pause_during_a_retry_costs_nothing() -> None:
    """P7, B4, S48: it is due again at once; a drain goes on where it was."""
    started = failed_then_begun()
    row = life.given_back(started, T0)
    assert (row.state, row.next_due, row.retries, row.begun) == (State.PARKED, T0, 1, False)

    drain = life.begin(draining(), T0)
    assert life.given_back(drain, T0) == replace(drain, begun=False, etag=drain.etag + 1, updated_at=T0)


def test_a_begun_retry_found_at_load_costs_one_of_the_ten() -> None:
    """H5, H10, S34: counted once, then due after the next longer wait."""
    row = life.interrupted(begun(), T0, LIMITS)

    assert (row.state, row.retries, after(row), row.begun) == (State.PARKED, 1, 360, False)
    assert life.interrupted(row, T0, LIMITS) is row, "the second load finds nothing begun"


def test_a_begun_drain_found_at_load_counts_and_goes_on_by_itself() -> None:
    """P0, H10: retrying goes on at load; a killer ends as exhausted after ten deaths."""
    row = life.begin(draining(), T0)
    for death in range(1, 10):
        row = life.interrupted(row, T0, LIMITS)
        assert (row.state, row.draining, row.retries) == (State.RETRYING, True, death)
        row = life.begin(row, T0)

    row = life.interrupted(row, T0, LIMITS)
    assert (row.state, row.retries, row.next_due) == (State.EXHAUSTED, 10, None)


def test_a_resumed_hopeless_row_that_was_interrupted_goes_on_draining() -> None:
    """D1, P0: its reason speaks of the stop before the resume."""
    row = life.begin(life.resume(parked(Cause(Reason.UNRECOVERABLE, FIRST)), T0), T0)

    assert life.interrupted(row, T0, LIMITS).draining


@pytest.mark.parametrize("row", [parked(), exhausted(), draining()], ids=lambda row: row.state)
def test_a_row_without_a_begun_call_is_loaded_as_it_is(row: Row) -> None:
    """P0: nothing to judge, nothing to write."""
    assert life.interrupted(row, T0, LIMITS) is row


def test_a_parked_retry_needs_to_run_to_fail() -> None:
    """P6: a drain's failures are decided under the normal budget instead."""
    for row in (parked(), draining(), exhausted()):
        with pytest.raises(ValueError, match="no parked retry of it runs"):
            failed(row)


# --- operators' commands


def asked(row: Row | None, verb: Verb, etag: int | None = None, **more: object) -> Row | str:
    """Apply a command; answer the row, or why not."""
    match decide_intent(row, verb, etag, now=T0, **more):  # type: ignore[arg-type]
        case Apply(changed):
            return changed
        case Refuse(code):
            return code
        case Later():
            return "later"


def test_twenty_concurrent_resumes_are_one_drain() -> None:
    """P10, S85: compare-and-set; those without an etag find it draining already."""
    row = parked()
    resumed = asked(row, Verb.RESUME, row.etag)
    assert isinstance(resumed, Row)

    assert {asked(resumed, Verb.RESUME, row.etag) for _ in range(19)} == {"conflict"}
    assert asked(resumed, Verb.RESUME) == "already"


@pytest.mark.parametrize("verb", list(Verb))
def test_a_stale_etag_is_refused_with_what_is_the_case(verb: Verb) -> None:
    """P10, H41: nothing is done, and the text says how the row stands now."""
    row = failed(begun())
    answer = decide_intent(row, verb, 1, now=T0)

    assert answer == Refuse("conflict", "the row has changed since: it is parked at 3:0, etag 3")


@pytest.mark.parametrize("verb", list(Verb))
def test_a_command_waits_for_a_running_call_and_is_judged_by_its_end(verb: Verb) -> None:
    """P10, H41, S89: the call is recorded first; then the etag is another and the command is refused."""
    started = begun()

    assert asked(started, verb, started.etag) == "later"
    assert asked(failed(started), verb, started.etag) == "conflict"
    assert asked(started, verb, started.etag, calling=False) != "later"


@pytest.mark.parametrize("verb", list(Verb))
def test_a_command_on_an_ended_row_or_none_is_refused(verb: Verb) -> None:
    """P10: the answer says which."""
    row = life.ended(draining(), T0)

    assert asked(row, verb) == "ended"
    assert asked(None, verb) == "not_found"


@pytest.mark.parametrize("row", [parked(), exhausted()], ids=lambda row: row.state)
def test_resume_and_skip_are_allowed_in_any_parked_state(row: Row) -> None:
    """P9, P0: both lead to retrying; skip goes to what was asked, else the last held, else the stop."""
    assert asked(row, Verb.RESUME, row.etag) == life.resume(row, T0)
    assert asked(row, Verb.SKIP, through=(4, 0), held=(6, 0)) == life.skip(row, (4, 0), T0)
    assert asked(row, Verb.SKIP, held=(6, 0)) == life.skip(row, (6, 0), T0)
    assert asked(row, Verb.SKIP) == asked(row, Verb.SKIP_ONE) == life.skip(row, (3, 0), T0)


def test_skipping_one_event_handles_the_next() -> None:
    """P9: only the stopped event is passed over."""
    row = asked(parked(), Verb.SKIP_ONE, 1)
    assert isinstance(row, Row)

    assert [row.passes_over(3, 0), row.passes_over(3, 1)] == [True, False]


def test_skipping_what_is_done_is_refused() -> None:
    """P9, S89: if the retry succeeded first, the skip applies to nothing."""
    row = life.advanced(draining(), 6, 0, 30, T0)

    assert asked(row, Verb.SKIP, through=(5, LAST_SEQUENCE)) == "nothing_to_skip"


def test_retry_now_makes_the_next_retry_due_and_it_counts() -> None:
    """P8, P10: an exhausted row is resumed instead; a draining one needs no hurry."""
    row = asked(parked(), Verb.RETRY_NOW, 1)
    assert isinstance(row, Row)
    assert row.is_due(T0)
    assert failed(life.begin(row, T0)).retries == 1

    assert asked(exhausted(), Verb.RETRY_NOW) == "exhausted"
    assert asked(draining(), Verb.RETRY_NOW) == "already"


def test_parking_on_purpose_needs_no_row_and_stops_a_drain_whatever_its_etag() -> None:
    """P0, H41: a drain changes its etag with each event, and an operator who sees it doing harm can stop it."""
    fresh = parked(Cause(Reason.OPERATOR))
    assert asked(None, Verb.PARK, fresh=fresh) == fresh

    row = asked(life.advanced(draining(), 3, 0, 17, T0), Verb.PARK, 1)
    assert isinstance(row, Row)
    assert (row.state, row.reason, row.next_due, row.stopped) == (State.EXHAUSTED, Reason.OPERATOR, None, (3, 1))
    assert asked(row, Verb.PARK) == "already"
    assert asked(parked(), Verb.PARK, 2) == "conflict"


def test_a_reset_closes_rows_at_or_after_its_target_and_keeps_the_others() -> None:
    """L6, H13: a replay would otherwise miss what the row held."""
    closed = asked(parked(), Verb.RESET, target=17)
    assert isinstance(closed, Row)

    assert closed.state is State.RESET
    assert asked(parked(), Verb.RESET, target=18) == "kept"


class LifeOfARow(RuleBasedStateMachine):
    """P3, P6 to P10, H5, H10, H29: through any sequence of ends, crashes and commands the ledger keeps its promises."""

    @initialize(reason=st.sampled_from(Reason), dice=st.floats(0, 1, exclude_max=True), spilled=st.booleans())
    def stop(self, reason: Reason, dice: float, *, spilled: bool) -> None:
        """Park, or spill."""
        self.now = T0
        self.automatic = 0
        cause = Cause(reason, FIRST)
        if spilled:
            self.row = life.spilled(PLACE, STOP, cause, T0 + timedelta(seconds=30), T0)
        else:
            self.row = parked(cause, dice)
        self.before = self.row

    def change(self, row: Row) -> None:
        """Take the next value of the row, and hold it against the one before."""
        before, self.row = self.row, row
        if row is not before:
            assert row.etag == before.etag + 1, "every transition changes the etag"
        assert row.stopped >= before.stopped, "the mark never goes back"
        assert before.state in life.OPEN, "an ended row never changes"
        if row.stopped > before.stopped:
            self.automatic = 0

    @rule(seconds=st.floats(0, 100_000))
    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)

    @precondition(lambda self: self.row.is_due(self.now))
    @rule()
    def come_due(self) -> None:
        """Begin what is due: of a parked row, an automatic retry."""
        self.automatic += self.row.state is State.PARKED
        self.change(life.begin(self.row, self.now))

    @precondition(lambda self: self.row.draining and not self.row.begun)
    @rule()
    def drain(self) -> None:
        """Begin the next call of a drain."""
        self.change(life.begin(self.row, self.now))

    @precondition(lambda self: self.row.begun and not self.row.draining)
    @rule(category=st.sampled_from(Category), dice=st.floats(0, 1, exclude_max=True))
    def fail(self, category: Category, dice: float) -> None:
        """Fail a parked retry; what is not its own is not counted."""
        if category in {Category.SYSTEMIC, Category.BACKPRESSURE}:
            self.automatic -= 1
        row = life.failed(self.row, category, failure(), now=self.now, dice=dice, limits=LIMITS)
        assert row.next_due is None or row.next_due >= self.now + timedelta(seconds=180)
        self.change(row)

    @precondition(lambda self: self.row.begun)
    @rule(versions=st.integers(0, 2))
    def succeed(self, versions: int) -> None:
        """Finish the event at the mark, or one after it."""
        version, sequence = self.row.stopped
        self.change(life.advanced(self.row, version + versions, sequence, self.row.stopped_position, self.now))

    @precondition(lambda self: self.row.begun and self.row.draining)
    @rule(versions=st.integers(0, 2), reason=st.sampled_from(Reason))
    def stop_again(self, versions: int, reason: Reason) -> None:
        """Park during a drain, here or further on."""
        version, sequence = self.row.stopped
        stop = Stop("Shop.on_paid", version + versions, sequence, self.row.stopped_position + versions)
        self.change(stopped_again(self.row, stop, Cause(reason, failure(), attempts=5), self.now))

    @precondition(lambda self: self.row.state in life.OPEN)
    @rule()
    def park_twice(self) -> None:
        """Send the same park again."""
        if self.row.state in {State.PARKED, State.EXHAUSTED}:
            stop = Stop("Shop.on_paid", *self.row.stopped, self.row.stopped_position)
            again = stopped_again(self.row, stop, SPENT, self.now)
            assert (again.state, again.next_due, again.retries) == (
                self.row.state,
                self.row.next_due,
                self.row.retries,
            )
            self.change(again)

    @precondition(lambda self: self.row.begun)
    @rule()
    def shut_down(self) -> None:
        """End the call by our own doing."""
        self.automatic -= not self.row.draining
        self.change(life.given_back(self.row, self.now))

    @precondition(lambda self: self.row.state in life.OPEN)
    @rule()
    def crash(self) -> None:
        """Let a new owner load the row."""
        self.change(life.interrupted(self.row, self.now, LIMITS))
        assert not self.row.begun

    @rule(verb=st.sampled_from(Verb), versions=st.integers(-1, 2), stale=st.booleans())
    def command(self, verb: Verb, versions: int, *, stale: bool) -> None:
        """Let an operator ask for something."""
        etag = self.row.etag - stale
        through = (self.row.stopped_version + versions, LAST_SEQUENCE)
        match decide_intent(self.row, verb, etag, now=self.now, through=through, target=self.row.stopped_position + 1):
            case Apply(row):
                assert not stale or verb is Verb.PARK
                assert not self.row.begun
                self.change(row)
                if verb in {Verb.RESUME, Verb.SKIP, Verb.SKIP_ONE}:
                    self.automatic = 0
            case Later():
                assert self.row.begun
            case Refuse(code, text):
                assert code
                assert text

    @precondition(lambda self: self.row.draining and not self.row.begun)
    @rule()
    def hand_over(self) -> None:
        """Catch up, and begin again with a new row."""
        assert life.ended(self.row, self.now).state in {State.RESOLVED, State.SKIPPED}

    @invariant()
    def promises_hold(self) -> None:
        """Whatever happened."""
        row = self.row
        assert self.automatic <= 10, "never more than ten automatic retries of one stop"
        assert 0 <= row.retries <= 10
        if row.state in {State.WAITING, State.PARKED}:
            assert row.next_due is not None, "the next due is known"
        if row.state is State.EXHAUSTED:
            assert row.next_due is None
            assert not row.is_due(self.now + timedelta(days=365)), "exhausted never becomes due"
        assert not row.begun or row.state is State.RETRYING


LifeOfARow.TestCase.settings = settings(max_examples=80, stateful_step_count=50, deadline=None)
TestLifeOfARow = LifeOfARow.TestCase
