"""When trouble is worth a line: once when it begins, once a minute, once when it is over."""

from __future__ import annotations

from wow_ray.policy.outcry import REMIND, SETTLED, Outcry, Over


def test_ten_minutes_of_flapping_are_one_trouble_with_a_line_a_minute() -> None:
    """It fails five times a second and works between: 3,000 failures, a line at 0, 60, 120 … 540 s, and one end."""
    outcry, said = Outcry(), []
    for tenth in range(0, 6_000, 2):
        if outcry.failed(tenth / 10):
            said.append(tenth / 10)
        outcry.worked(tenth / 10 + 0.1)
        assert outcry.over(tenth / 10 + 0.15) is None
    assert said == [REMIND * minute for minute in range(10)]
    # The last failure is at 599.8 s, the success that lasts at 599.9 s.
    over = outcry.over(599.9 + SETTLED)
    assert over == Over(599.9, 3_000)
    assert outcry.over(700) is None


def test_trouble_after_the_last_one_was_over_is_said_at_once() -> None:
    """Also when nobody has asked in between whether it was over."""
    outcry = Outcry()
    assert outcry.failed(0)
    outcry.worked(1)
    assert not outcry.failed(1 + SETTLED - 0.1)
    outcry.worked(7)
    assert outcry.failed(7 + SETTLED)


def test_a_success_without_trouble_says_nothing() -> None:
    """The way of every turn while all is well."""
    outcry = Outcry()
    outcry.worked(1)
    assert not outcry.lasting
    assert outcry.over(100) is None
