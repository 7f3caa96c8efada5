"""What may be written for a duration, and how one is shown."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wow_ray.durations import seconds, show
from wow_ray.errors import SettingsError

SETTING = "subscription.retry.timeout"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("500ms", 0.5),
        ("2s", 2.0),
        ("1m 30s", 90.0),  # 60 + 30
        ("1h", 3_600.0),
        ("1h 0m 5s", 3_605.0),
        ("1.5s", 1.5),
        ("1m 1.5s", 61.5),
        ("1d 2h 3m 4s 5ms 6us 7ns", 93_784.005006007),  # 86_400 + 7_200 + 180 + 4 + ...
        ("100ms", 0.1),
        ("1100ms", 1.1),
        ("1us", 1e-6),
        ("PT2S", 2.0),
        ("PT1M30S", 90.0),
        ("PT0.5S", 0.5),
        ("P1DT2H", 93_600.0),  # 86_400 + 7_200
        ("P1D", 86_400.0),
        (timedelta(minutes=3), 180.0),
        (timedelta(milliseconds=100), 0.1),
    ],
)
def test_every_form_that_may_be_written_is_understood_exactly(written: str | timedelta, expected: float) -> None:
    """B6, S81: Kotlin's form, ISO-8601 and timedelta."""
    assert seconds(written, SETTING) == expected


@pytest.mark.parametrize(
    "written",
    [
        "", " ", "5", "1.5", "P1S", "P", "PT", "P1DT", "1m30", "1m30s", "1m  30s", "30m 1h", "1s 1s", "1ms 1s", "-1s",
        "PT-0.5S", "-PT1S", "-1h 30m", "1h -30m", "1 s s", "1 s", "NaN", "inf", "1e3s", " 2s;", " 2s", "2s ", "2S",
        "1.5m 3s", ".5s", "1.s", "1,5s", "٣s", "2s\n", "PT1.5M", "P1W", "pt1s", "forever", "1_000s", "101y",
        5, 0, 1.5, float("nan"), True, None, b"5s", [], timedelta(seconds=-1),
    ],
)  # fmt: skip
def test_anything_else_is_refused_with_the_setting_and_what_would_be_right(written: object) -> None:
    """B6, S81: bare numbers, wrong order, negatives and stray text are errors that name the setting."""
    with pytest.raises(SettingsError, match=r"subscription\.retry\.timeout") as refused:
        seconds(written, SETTING)

    assert refused.value.code == "WOW-B6"
    assert "'" in refused.value.message.partition(": ")[2], "it gives an example"


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("5", "'5s'"),
        (5, "bare number"),
        ("30m 1h", "large to small"),
        ("-1s", "not negative"),
        ("PT-0.5S", "not negative"),
        ("P1S", "PT1S"),
        ("1m30s", "one blank"),
        ("1.5m 3s", "last number"),
    ],
)
def test_the_error_says_what_is_wrong_with_it(written: object, hint: str) -> None:
    """B6: the text helps with the likeliest slips."""
    with pytest.raises(SettingsError, match=hint):
        seconds(written, SETTING)


def test_zero_is_legal_only_where_the_setting_allows_it() -> None:
    """B2, S81: '0s' is legal for initial_backoff and illegal for timeout."""
    assert seconds("0s", "initial_backoff", zero=True) == 0
    assert seconds(timedelta(0), "initial_backoff", zero=True) == 0
    for nothing in ("0s", "0h 0m", "PT0S", timedelta(0)):
        with pytest.raises(SettingsError, match="zero"):
            seconds(nothing, "timeout")


@pytest.mark.parametrize("written", ["36526d", "9" * 60 + "s", "9" * 100_000 + "s", timedelta.max])
def test_more_than_a_hundred_years_is_refused_without_a_crash(written: object) -> None:
    """B6: an overflow is an error of the setting, not of the program."""
    with pytest.raises(SettingsError, match="timeout"):
        seconds(written, SETTING)


def test_lengths_that_are_equal_compare_equal_however_they_are_written() -> None:
    """S81: the total order is kept."""
    assert seconds("1000ms", SETTING) == seconds("1s", SETTING) == seconds("PT1S", SETTING)
    assert seconds("999ms", SETTING) < seconds("1s", SETTING) < seconds("1s 1ms", SETTING)


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (0, "0s"),
        (0.2, "200ms"),
        (0.0005, "500us"),
        (2e-9, "2ns"),
        (1.5, "1.5s"),
        (90, "1m 30s"),
        (3_605, "1h 5s"),
        (93_600, "1d 2h"),
        (0.9999999, "1s"),
        (59.9999, "1m"),
        (-1.5, "-1.5s"),
        (float("inf"), "for ever"),
    ],
)
def test_a_length_is_shown_as_people_read_it(length: float, expected: str) -> None:
    """B6: what is shown uses the words that may be written."""
    assert show(length) == expected


@settings(max_examples=200, deadline=None)
@given(st.floats(min_value=0, max_value=3e9))
def test_what_is_shown_is_understood_again(length: float) -> None:
    """B6: `show` and `seconds` are inverse, up to the rounding of what is shown."""
    again = seconds(show(length), SETTING, zero=True)

    assert again == pytest.approx(length, abs=0.0005 if length >= 0.9995 else 1e-9, rel=5e-4)
