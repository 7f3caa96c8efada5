"""What failures look like together: one aggregate's own trouble, or an outage (W1 to W3, W5, H15, H16)."""

from __future__ import annotations

from random import Random

import pytest

from wow_ray.policy.budget import Systemic
from wow_ray.policy.outlook import CANARIES, LATELY, MOST_CHARGES, RELAPSE, Outlook, View

RULES = Systemic()


def seen(
    outlook: Outlook[str, str], key: str, now: float, *, by_class: bool = False, began: float | None = None
) -> View:
    """Judge a failure whose call began just before, or at `began`."""
    return outlook.failed(key, now - 0.01 if began is None else began, now, RULES, by_class=by_class)


@pytest.mark.parametrize(
    ("times", "expected"),
    [((0.0, 5.0, 10.0), View.OUTAGE), ((0.0, 4.0, 9.9), View.OUTAGE), ((0.0, 5.0, 10.1), View.OWN)],
)
def test_three_aggregates_within_ten_seconds_are_an_outage(times: tuple[float, ...], expected: View) -> None:
    """W1, S60 (b, c): exactly ten seconds apart counts, 10.1 does not."""
    outlook: Outlook[str, str] = Outlook()
    views = [seen(outlook, key, at) for key, at in zip("ABC", times, strict=True)]
    assert views == [View.OWN, View.OWN, expected]


def test_one_aggregate_that_fails_often_is_no_outage() -> None:
    """W1, S60 (a): aggregates count, not failures."""
    outlook: Outlook[str, str] = Outlook()
    assert {seen(outlook, "A", at) for at in range(20)} == {View.OWN}


def test_a_success_of_the_group_empties_the_window() -> None:
    """W3: A and B fail, C succeeds, D and E fail: no outage; F is the third without a success between."""
    outlook: Outlook[str, str] = Outlook()
    assert seen(outlook, "A", 0) is seen(outlook, "B", 1) is View.OWN
    outlook.good("C", 1.5, 2)
    assert seen(outlook, "D", 3) is seen(outlook, "E", 4) is View.OWN
    assert seen(outlook, "F", 5) is View.OUTAGE


def test_a_failure_that_is_systemic_by_class_is_an_outage_at_once_where_nothing_succeeded_lately() -> None:
    """D3: the first one pauses."""
    outlook: Outlook[str, str] = Outlook()
    outlook.good("Z", 0, 1)
    assert seen(outlook, "A", 1 + LATELY + 0.01, by_class=True) is View.OUTAGE


def test_among_aggregates_that_succeed_a_systemic_class_is_doubted_first() -> None:
    """W5, H12: it waits uncharged; what succeeded since says that it is its own, and from then on it is charged."""
    outlook: Outlook[str, str] = Outlook()
    outlook.good("Z", 0.9, 1)
    assert seen(outlook, "A", 1.1, by_class=True) is View.DOUBTED
    outlook.good("Y", 1.2, 1.3)
    assert seen(outlook, "A", 1.4, by_class=True) is View.OWN
    outlook.good("A", 1.5, 1.6)
    assert not outlook.own("A")


def test_a_success_whose_call_began_before_the_failure_proves_nothing() -> None:
    """W5: it was under way already when the other side went down."""
    outlook: Outlook[str, str] = Outlook()
    seen(outlook, "A", 5)
    outlook.good("B", 4.9, 5.5)
    assert not outlook.own("A")
    outlook.good("B", 5, 5.6)
    assert outlook.own("A")


def test_calls_that_were_under_way_at_the_first_failure_make_no_outage_of_a_group_that_succeeds() -> None:
    """W3: many poison aggregates among healthy ones never pause; six were in flight together, and fail together."""
    outlook: Outlook[str, str] = Outlook()
    outlook.good("Z", 0, 1)
    views = {seen(outlook, key, 1.01, by_class=by_class, began=0.9) for key in "ABCDEF" for by_class in (True, False)}
    assert View.OUTAGE not in views
    outlook.good("Y", 1.02, 1.03)
    assert all(outlook.own(key) for key in "ABCDEF")


@pytest.mark.parametrize("by_class", [True, False])
def test_a_group_that_succeeded_until_now_is_known_to_be_out_after_a_few_calls_that_began_since(
    *, by_class: bool
) -> None:
    """W1, D3: the bar is a second after the third failure; here it takes three further calls."""
    outlook: Outlook[str, str] = Outlook()
    outlook.good("Z", 0.99, 1)
    views = [
        seen(outlook, f"a-{number}", 1.01 + number / 1000, by_class=by_class, began=1.01 + number / 1000 - 0.0005)
        for number in range(10)
    ]
    assert View.OUTAGE in views[3:8]


def test_what_was_charged_within_the_window_is_given_back() -> None:
    """W1, H15: attempts and parks of the last ten seconds, not older ones."""
    outlook: Outlook[str, str] = Outlook()
    outlook.charged("old", 0, RULES)
    outlook.charged("A", 5, RULES)
    outlook.charged("A", 6, RULES, "row")
    needs, back = outlook.paused(12, RULES)
    assert needs == 1
    assert [(charge.key, charge.mark) for charge in back] == [("A", None), ("A", "row")]
    assert outlook.paused(12, RULES)[1] == []


def test_what_was_charged_lately_is_given_back_whether_something_succeeded_meanwhile_or_not() -> None:
    """W1, H16: where some events do not touch what is down, something always succeeds; ten seconds bound it."""
    outlook: Outlook[str, str] = Outlook()
    outlook.charged("old", 1, RULES)
    outlook.charged("A", 2.5, RULES)
    outlook.good("B", 3, 4)
    assert [charge.key for charge in outlook.paused(12, RULES)[1]] == ["A"]


def test_how_much_can_be_given_back_is_bounded() -> None:
    """W1: a group that fails very fast fills no memory; the newest charges are kept."""
    outlook: Outlook[str, str] = Outlook()
    for number in range(MOST_CHARGES + 5):
        outlook.charged(f"a-{number}", 1, RULES)
    back = outlook.paused(2, RULES)[1]
    assert len(back) == MOST_CHARGES
    assert back[0].key == "a-5"


def usual(outlook: Outlook[str, str], share: float, seed: int, aggregates: int, *, by_class: bool) -> set[View]:
    """Call so many new aggregates, one each 10 ms, of which a share fails; answer what failures looked like."""
    chance = Random(seed)  # noqa: S311 - a fixed sequence
    views = set()
    for number in range(aggregates):
        now = 100 + number / 100
        if chance.random() < share:
            views.add(seen(outlook, f"a-{number}", now, by_class=by_class))
        else:
            outlook.good(f"a-{number}", now - 0.01, now)
    return views


def calls_until_an_outage(outlook: Outlook[str, str], since: float, *, every: float, by_class: bool) -> int:
    """Let every call fail, each of a new aggregate, and count them until that is believed."""
    for number in range(1_000):
        if seen(outlook, f"b-{number}", since + number * every, by_class=by_class) is View.OUTAGE:
            return number + 1
    raise AssertionError("an outage is never seen")


@pytest.mark.parametrize("by_class", [True, False])
@pytest.mark.parametrize("share", [0.01, 0.05, 0.1])
def test_aggregates_that_fail_on_their_own_all_the_time_are_never_an_outage(share: float, *, by_class: bool) -> None:
    """W3, W5: 20,000 new aggregates, a hundredth to a tenth of them poison: by chance many fail in a row."""
    for seed in range(3):
        assert View.OUTAGE not in usual(Outlook(), share, seed, 20_000, by_class=by_class)


@pytest.mark.parametrize("by_class", [True, False])
@pytest.mark.parametrize(("share", "most"), [(0.0, 4), (0.01, 6), (0.1, 10), (0.2, 14)])
def test_an_outage_among_them_is_seen_within_a_few_calls(share: float, most: int, *, by_class: bool) -> None:
    """W1, D3: the more fail on their own, the more calls it takes; still hardly a blink at a hundred a second."""
    outlook: Outlook[str, str] = Outlook()
    usual(outlook, share, 1, 2_000, by_class=by_class)
    assert calls_until_an_outage(outlook, 120, every=0.01, by_class=by_class) <= most


def test_an_outage_of_a_slow_group_is_seen_when_nothing_succeeds_for_half_a_second() -> None:
    """W1: the bar is a second after the third failure; at eight calls a second twelve would take longer."""
    outlook: Outlook[str, str] = Outlook()
    usual(outlook, 0.2, 1, 2_000, by_class=False)
    assert calls_until_an_outage(outlook, 120, every=1 / 8, by_class=False) / 8 <= LATELY + 2 / 8


@pytest.mark.parametrize("before", [0, 2_000])
def test_an_outage_that_two_of_five_events_do_not_touch_is_seen_soon(before: int) -> None:
    """H16: three of five calls fail, at 75 a second; a budget lasts 1.5 s, and what is spent within ten comes back."""
    found = []
    for seed in range(50):
        outlook: Outlook[str, str] = Outlook()
        outlook.good("Z", 119, 119.9)
        usual(outlook, 0.0, seed, before, by_class=False)
        chance, number = Random(f"early {seed}"), 0  # noqa: S311 - a fixed sequence
        while True:
            number, now = number + 1, 120 + number / 75
            if chance.random() < 0.4:
                outlook.good(f"c-{number}", now - 0.01, now)
            elif seen(outlook, f"c-{number}", now) is View.OUTAGE:
                break
        found.append(number / 75)
    found.sort()
    assert found[len(found) // 2] < 1.0
    assert found[-1] < RULES.window / 2


def test_a_pause_that_comes_back_within_a_minute_gives_back_everything_since_and_asks_for_ten_different_canaries() -> (
    None
):
    """H16: some handlers do not touch what is down, and their successes ended the pause too early."""
    outlook: Outlook[str, str] = Outlook()
    outlook.paused(0, RULES)
    outlook.ended(100, by_another=True)
    outlook.charged("A", 110, RULES)
    outlook.good("Z", 120, 121)
    outlook.charged("B", 130, RULES)
    needs, back = outlook.paused(100 + RELAPSE, RULES)
    assert needs == CANARIES
    assert [charge.key for charge in back] == ["A", "B"]


@pytest.mark.parametrize(("by_another", "after"), [(False, 10.0), (True, RELAPSE + 0.1)])
def test_a_later_pause_or_one_after_a_real_recovery_is_ended_by_one_success(*, by_another: bool, after: float) -> None:
    """H16: only an end by a healthy aggregate is doubtful, and only for a minute."""
    outlook: Outlook[str, str] = Outlook()
    outlook.paused(0, RULES)
    outlook.ended(100, by_another=by_another)
    assert outlook.paused(100 + after, RULES)[0] == 1
