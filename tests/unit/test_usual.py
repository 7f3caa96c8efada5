"""How many failures in a row are no chance, in groups in which some aggregates fail on their own all the time (W3)."""

from __future__ import annotations

import pytest

from wow_ray.policy.usual import CREDIT, ENOUGH, SPELL, Usual


def lived(usual: Usual, since: float, well: int, bad_each: int) -> None:
    """Let so many aggregates do well within nine seconds, and one newly fail before each `bad_each`-th (0 = none)."""
    for number in range(well):
        if bad_each and number % bad_each == 0:
            usual.bad()
        usual.well(since + 9 * number / well)


def test_a_group_that_has_not_failed_asks_for_no_more_than_the_setting() -> None:
    """W1: three, unless set otherwise."""
    assert Usual().run(3) == 3
    usual = Usual()
    lived(usual, 0, 200, 0)
    assert (usual.run(3), usual.run(5)) == (3, 5)


@pytest.mark.parametrize(
    ("bad_each", "share", "run"),
    [
        (99, 0.01, 4),  # ln 1e-8 / ln 0.01 = 4.0
        (9, 0.1, 8),  # 8.0
        (4, 0.2, 12),  # 11.4
        (1, 0.5, 3),  # every second one: suspicious by itself
    ],
)
def test_the_more_fail_on_their_own_the_longer_a_run_has_to_be(bad_each: int, share: float, run: int) -> None:
    """W3: so long that it comes about by chance once in a hundred million times; above a third nothing more."""
    usual = Usual()
    for spell in range(3):
        lived(usual, spell * (SPELL + 1), max(ENOUGH, 20 * bad_each), bad_each)
    assert usual.share == pytest.approx(share, rel=0.1)
    assert usual.run(3) == pytest.approx(run, abs=1)


def test_the_first_failures_of_a_group_are_not_taken_for_the_usual() -> None:
    """W1: two of its first four; it is credited with some that do well."""
    usual = Usual()
    lived(usual, 0, 2, 1)
    assert usual.share == 2 / (4 + CREDIT)


def test_what_fails_now_is_not_the_usual_yet() -> None:
    """H16: two of three fail since a moment, where one in a hundred did."""
    usual = Usual()
    lived(usual, 0, 990, 99)
    lived(usual, SPELL + 1, 990, 99)
    before = usual.share, usual.run(3)
    for number in range(100):
        usual.bad()
        usual.bad()
        usual.well(2 * SPELL + number / 100)
    assert (usual.share, usual.run(3)) == before
    assert before[1] <= 5


def test_a_run_that_no_success_has_ended_is_no_chance_yet() -> None:
    """W1: what may be an outage does not raise what it takes to see it."""
    usual = Usual()
    lived(usual, 0, 100, 0)
    for _ in range(1_000):
        usual.bad()
    assert (usual.share, usual.run(3)) == (0, 3)
