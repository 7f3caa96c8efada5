"""Many parks alike within a minute (P16)."""

from __future__ import annotations

from wow_ray.policy.mass import MassParks


def tripped(watch: MassParks, times: int, *, start: float = 0.0, apart: float = 0.1, handled: int = 0) -> int | None:
    """Park so many alike; answers which one pauses the group, counted from 1."""
    for number in range(times):
        if watch.parked("same", start + number * apart, handled, 100):
            return number + 1
    return None


def test_more_than_a_hundred_alike_within_a_minute_pause_the_group() -> None:
    """P16: the hundred and first does."""
    assert tripped(MassParks(), 200) == 101


def test_a_hundred_in_more_than_a_minute_do_not() -> None:
    """P16: the window slides."""
    assert tripped(MassParks(), 500, apart=0.61) is None


def test_parks_of_different_kinds_do_not_add_up() -> None:
    """P16: with one fingerprint."""
    watch = MassParks()
    assert not any(watch.parked(f"kind-{number % 5}", number / 10, 0, 100) for number in range(400))


def test_where_more_aggregates_are_handled_well_they_do_not() -> None:
    """P16: one poison among many; the comparison is with what was handled within the minute."""
    watch = MassParks()
    watch.beat(0, 0)
    assert tripped(watch, 150, start=10, handled=1_000) is None
    watch.beat(100, 1_000)
    watch.beat(161, 1_000)
    assert tripped(watch, 150, start=161, handled=1_020) == 101


def test_zero_turns_it_off() -> None:
    """P16: `subscription.systemic.mass_parks = 0`."""
    watch = MassParks()
    assert not any(watch.parked("same", 0, 0, 0) for _ in range(1_000))


def test_after_it_was_lifted_it_begins_anew_after_a_while() -> None:
    """P16: an operator has said so; what is parked then is a person's decision for a minute."""
    watch = MassParks()
    assert tripped(watch, 200) == 101
    watch.forget(100)
    assert tripped(watch, 200, start=50) is None
    assert tripped(watch, 200, start=100) == 101
