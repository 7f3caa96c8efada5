"""Which budget counts, and where each setting of it came from."""

from __future__ import annotations

import pytest

from wow_ray.errors import ConfigurationError, DefinitionError, SettingsError
from wow_ray.policy.budget import DEFAULT_RETRY, Budget
from wow_ray.policy.settings_resolution import RetryGiven, resolve_budget

NONE = RetryGiven()


def test_with_nothing_given_the_built_in_budget_counts() -> None:
    """B1, C1: and each setting says so."""
    budget, origins, warnings = resolve_budget(None, NONE, None, NONE, DEFAULT_RETRY)

    assert budget == DEFAULT_RETRY
    assert set(origins.values()) == {"built-in"}
    assert warnings == ()


def test_per_setting_the_first_place_that_gives_it_wins() -> None:
    """C1: host per subscription, then handler, class, host, built-in; and each setting says where it came from."""
    budget, origins, _ = resolve_budget(
        RetryGiven(max_attempts=8),
        RetryGiven(max_attempts=7, initial_backoff=0.7),
        RetryGiven(max_attempts=6, initial_backoff=0.6, multiplier=6),
        RetryGiven(max_attempts=4, initial_backoff=0.4, multiplier=4, max_backoff=40),
        DEFAULT_RETRY,
    )

    assert budget == Budget(max_attempts=8, initial_backoff=0.7, multiplier=6, max_backoff=40, timeout=30)
    assert origins == {
        "max_attempts": "host subscription",
        "initial_backoff": "handler",
        "multiplier": "class",
        "max_backoff": "host",
        "timeout": "built-in",
    }


def test_budgets_are_merged_never_multiplied() -> None:
    """C1, S47: class 3, handler 4, host 2 for the subscription: 2 calls."""
    budget, *_ = resolve_budget(
        RetryGiven(max_attempts=2), RetryGiven(max_attempts=4), RetryGiven(max_attempts=3), NONE, DEFAULT_RETRY
    )

    assert budget.max_attempts == 2


def test_an_explicit_zero_wait_is_given_and_what_is_left_out_is_inherited() -> None:
    """B2, S45: 0 s outranks the class's 1 s; None does not."""
    budget, origins, _ = resolve_budget(
        NONE, RetryGiven(initial_backoff=0), RetryGiven(max_attempts=3, initial_backoff=1), NONE, DEFAULT_RETRY
    )

    assert (budget.initial_backoff, budget.max_attempts, budget.multiplier) == (0, 3, 2)
    assert origins["initial_backoff"] == "handler"


ILLEGAL = [
    RetryGiven(max_attempts=0),
    RetryGiven(max_attempts=-1),
    RetryGiven(max_attempts=True),
    RetryGiven(max_attempts=2.0),  # type: ignore[arg-type]
    RetryGiven(multiplier=0),
    RetryGiven(multiplier=0.99),
    RetryGiven(multiplier=float("nan")),
    RetryGiven(multiplier=float("inf")),
    RetryGiven(multiplier="2"),  # type: ignore[arg-type]
    RetryGiven(timeout=0),
    RetryGiven(timeout=-1),
    RetryGiven(initial_backoff=-0.1),
    RetryGiven(max_backoff=-1),
]


@pytest.mark.parametrize("given", ILLEGAL)
def test_an_illegal_value_names_the_setting_and_the_place(given: RetryGiven) -> None:
    """B2, S43, S45: an explicit 0 where 0 is illegal is an error too, not 'not given'."""
    setting = next(name for name in RetryGiven.__slots__ if getattr(given, name) is not None)

    with pytest.raises(DefinitionError, match=f"WOW-B2 {setting} of the handler is"):
        resolve_budget(NONE, given, NONE, NONE, DEFAULT_RETRY)
    with pytest.raises(DefinitionError, match=f"{setting} of the class"):
        resolve_budget(NONE, NONE, given, NONE, DEFAULT_RETRY)
    with pytest.raises(SettingsError, match=f"{setting} of the host subscription"):
        resolve_budget(given, NONE, NONE, NONE, DEFAULT_RETRY)
    with pytest.raises(SettingsError, match=f"{setting} of the host is"):
        resolve_budget(NONE, NONE, NONE, given, DEFAULT_RETRY)


def test_an_illegal_value_is_an_error_even_where_another_outranks_it() -> None:
    """B2: it would surface on the day the other is taken away."""
    with pytest.raises(ConfigurationError, match="max_attempts of the class"):
        resolve_budget(RetryGiven(max_attempts=2), NONE, RetryGiven(max_attempts=0), NONE, DEFAULT_RETRY)


def test_a_wait_above_the_maximum_given_at_the_same_place_is_an_error() -> None:
    """C6, S42: with both given explicitly, the error names both values."""
    with pytest.raises(DefinitionError, match=r"WOW-C6 initial_backoff of the handler is 10s.*max_backoff of 5s"):
        resolve_budget(NONE, RetryGiven(initial_backoff=10, max_backoff=5), NONE, NONE, DEFAULT_RETRY)


@pytest.mark.parametrize("host", [RetryGiven(max_backoff=5), NONE])
def test_a_wait_above_the_maximum_of_another_place_is_clamped_with_one_warning(host: RetryGiven) -> None:
    """C6, S42: 10 s at the handler under a cap of 5 s: waits of 5, 5, 5, 5, and one warning naming both."""
    budget, origins, warnings = resolve_budget(NONE, RetryGiven(initial_backoff=10), NONE, host, DEFAULT_RETRY)

    assert (budget.initial_backoff, budget.max_backoff) == (5, 5)
    assert origins["initial_backoff"] == "handler"
    (warning,) = warnings
    assert "10s (handler)" in warning
    assert "5s (" in warning
