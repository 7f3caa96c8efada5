"""Whom a paused group is tried with, and what ends its pause (W4, H16, P16)."""

from __future__ import annotations

from itertools import groupby, pairwise

import pytest

from wow_ray.policy.budget import Systemic
from wow_ray.policy.probing import Kind, Probing, spread

RULES = Systemic()


def test_healthy_and_failing_aggregates_alternate_and_a_healthy_one_is_first() -> None:
    """W4, H12: the other kind is tried where there is none of the one whose turn it is."""
    probing: Probing[str] = Probing(1)
    order = []
    for _ in range(6):
        kind, other = probing.kinds()
        assert {kind, other} == set(Kind)
        order.append(kind)
        probing.failed(kind)
    assert order[0] is Kind.HEALTHY
    assert all(before is not after for before, after in pairwise(order))


def test_the_waits_double_to_five_seconds_and_no_further() -> None:
    """W4, B3: 100 ms, doubling; for any number of probes."""
    probing: Probing[str] = Probing(1)
    waits = []
    for _ in range(5_000):
        waits.append(probing.wait(RULES, 0.999_999))
        probing.failed(probing.kinds()[0])
    assert [round(each, 3) for each in waits[:8]] == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    assert max(waits) <= 5


def test_any_success_ends_an_ordinary_pause() -> None:
    """W4: of a failing aggregate or of a healthy one."""
    for kind in Kind:
        assert Probing[str](1).succeeded("A", kind, 0)


def test_after_a_relapse_ten_different_healthy_ones_end_it_or_one_that_failed() -> None:
    """H16: the same one ten times proves nothing."""
    probing: Probing[str] = Probing(10)
    assert not any(probing.succeeded("same", Kind.HEALTHY, 0) for _ in range(20))
    assert [probing.succeeded(str(number), Kind.HEALTHY, 0) for number in range(9)] == [False] * 8 + [True]
    assert Probing[str](10).succeeded("A", Kind.FAILING, 0)


def test_where_there_are_fewer_healthy_ones_a_minute_of_their_successes_is_enough() -> None:
    """H16, W4: a small group does not stay paused for ever; a healthy one that fails counts from the beginning."""
    probing: Probing[str] = Probing(10)
    assert not probing.succeeded("A", Kind.HEALTHY, 100)
    probing.failed(Kind.FAILING)
    assert not probing.succeeded("B", Kind.HEALTHY, 159)
    probing.failed(Kind.HEALTHY)
    assert not probing.succeeded("A", Kind.HEALTHY, 200)
    assert not probing.succeeded("B", Kind.HEALTHY, 259.9)
    assert probing.succeeded("A", Kind.HEALTHY, 260)


def test_between_healthy_successes_the_next_healthy_one_is_tried_soon() -> None:
    """H16: ten of them must not take ten times five seconds; failing ones are spared as before."""
    probing: Probing[str] = Probing(10)
    for _ in range(10):
        probing.failed(Kind.FAILING)
    probing.succeeded("A", Kind.HEALTHY, 0)
    assert probing.wait(RULES, 0.5) > 1
    probing.failed(Kind.FAILING)
    assert probing.wait(RULES, 0.5) <= RULES.initial_probe


def test_many_parks_alike_are_over_after_ten_successes_in_a_row() -> None:
    """P16: a failure between them counts from the beginning, and one aggregate's recovery says little."""
    probing: Probing[str] = Probing(10, in_a_row=True)
    for number in range(9):
        assert not probing.succeeded(f"a{number}", Kind.HEALTHY, 0)
    probing.failed(Kind.FAILING)
    assert not probing.succeeded("F", Kind.FAILING, 0)
    assert [probing.succeeded(f"b{number}", Kind.HEALTHY, 0) for number in range(9)] == [False] * 8 + [True]


@pytest.mark.parametrize("number", [0, 1, 2, 3, 7, 8, 100, 2_000])
def test_whoever_is_ready_is_tried_once_and_the_first_one_first(number: int) -> None:
    """W4: an order of the same aggregates, whatever their number."""
    order = spread(range(number))
    assert sorted(order) == list(range(number))
    assert order[:1] == [0][:number]


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_aggregates_that_came_one_after_the_other_do_not_fail_one_after_the_other(share: float) -> None:
    """W3, W4: of 2,000 that are ready the first tenth, third or half is poison; no three of them follow each other."""
    poisoned = [place < 2_000 * share for place in spread(range(2_000))]
    assert max(len(list(run)) for poison, run in groupby(poisoned) if poison) <= 2
    assert False in poisoned[:2]
