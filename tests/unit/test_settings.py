"""The host's settings: three sources, one tree, and every mistake by its dotted name."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.unit.authored import refused
from wow_ray import errors
from wow_ray.settings import Settings, load, settings_file

FILE = """
partitions = 2
postgres_dsn_file = "dsn.txt"
[commit]
interval = "50ms"
[subscription.retry]
max_attempts = 7
timeout = "PT20S"
[subscriptions."Sales.on_paid"]
concurrency = 3
retry.max_attempts = 8
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A settings file beside an app."""
    path = tmp_path / "wow-ray.toml"
    path.write_text(FILE, encoding="utf-8")
    return path


def test_without_any_source_the_defaults_hold() -> None:
    """C4: the numbers of the manual; whatever belongs to a budget is not given."""
    settings = load(None, None, {})
    assert (settings.postgres_schema, settings.pgbouncer, settings.dsn()) == ("wow", False, None)
    assert (settings.partitions, settings.slots, settings.concurrency) == (4, 256, 64)
    assert (settings.commit.interval, settings.commit.events) == (0.1, 2000)
    assert settings.subscription.concurrency is None
    assert [dict(settings.subscription.given(part)) for part in ("retry", "parked", "backpressure", "systemic")] == [
        {},
        {},
        {},
        {},
    ]


def test_the_environment_beats_the_file_beats_the_code(file: Path) -> None:
    """C4: setting by setting, so that each source gives only what it wants changed."""
    code = {"partitions": 1, "concurrency": 16, "subscription": {"retry": {"max_attempts": 6, "multiplier": 3}}}
    environ = {"WOW_RAY_SUBSCRIPTION__RETRY__MAX_ATTEMPTS": "9", "WOW_RAY_PGBOUNCER": "true", "PATH": "/bin"}
    settings = load(code, file, environ)
    assert (settings.partitions, settings.concurrency, settings.pgbouncer) == (2, 16, True)
    assert dict(settings.subscription.given("retry")) == {"max_attempts": 9, "multiplier": 3.0, "timeout": 20.0}
    assert settings.subscriptions["Sales.on_paid"].concurrency == 3
    assert settings.commit.interval == 0.05


def test_a_dotted_name_in_brackets_is_one_key(file: Path) -> None:
    """S79: quoted, it is the subscription's name; unquoted, TOML makes a path of it, and the error shows the quotes."""
    assert dict(load(None, file, {}).subscriptions["Sales.on_paid"].given("retry")) == {"max_attempts": 8}
    file.write_text("[subscriptions.Sales.on_paid.retry]\nmax_attempts = 8\n", encoding="utf-8")
    with refused("WOW-C4", "no subscription is called 'Sales'", 'subscriptions."Sales.on_paid"', "wow-ray.toml"):
        load(None, file, {})


def test_one_json_value_sets_single_subscriptions_in_the_environment(file: Path) -> None:
    """C4: a variable's name has neither dots nor case; the value is laid over the file's, whichever shape each uses."""
    value = '{"shop.Sales.on_paid": {"retry": {"timeout": "2s"}}, "Other.on_it": {"concurrency": 1}}'
    found = load(None, file, {"WOW_RAY_SUBSCRIPTIONS": value}).subscriptions
    assert set(found) == {"shop.Sales.on_paid", "Other.on_it"}
    assert dict(found["shop.Sales.on_paid"].given("retry")) == {"max_attempts": 8, "timeout": 2.0}
    assert found["shop.Sales.on_paid"].concurrency == 3


@pytest.mark.parametrize("name", ["WOW_RAY_SUBSCRIPTIONS__SALES", "WOW_RAY_SUBSCRIPTIONS__SALES__RETRY__TIMEOUT"])
def test_the_nested_form_for_single_subscriptions_is_refused(name: str) -> None:
    """C4: with the form that works, to copy."""
    example = """WOW_RAY_SUBSCRIPTIONS='{"Processor.handler": {"retry": {"max_attempts": 8}}}'"""
    with refused("WOW-SETTINGS", name, example):
        load(None, None, {name: "2s"})


def test_explicit_zeros_are_kept() -> None:
    """B2, S45: 0 is given where it is legal, and not given is something else."""
    code = {"subscription": {"retry": {"initial_backoff": "0s"}, "systemic": {"mass_parks": 0}}}
    settings = load(code, None, {"WOW_RAY_SUBSCRIPTION__PARKED__MAX_RETRIES": "0"})
    assert dict(settings.subscription.given("retry")) == {"initial_backoff": 0.0}
    assert dict(settings.subscription.given("parked")) == {"max_retries": 0}
    assert dict(settings.subscription.given("systemic")) == {"mass_parks": 0}


def test_durations_are_kept_in_seconds() -> None:
    """B6: Kotlin's form, ISO-8601, or a timedelta from code."""
    code = {"subscription": {"parked": {"initial_delay": "3m", "max_delay": "P1D", "timeout": timedelta(minutes=2)}}}
    assert dict(load(code, None, {}).subscription.given("parked")) == {
        "initial_delay": 180.0,
        "max_delay": 86_400.0,
        "timeout": 120.0,
    }


@pytest.mark.parametrize(
    ("code", "texts"),
    [
        ({"subscription": {"retry": {"max_attempts": 0}}}, ["subscription.retry.max_attempts", "is 0"]),
        ({"subscription": {"retry": {"max_attempts": True}}}, ["subscription.retry.max_attempts", "is True"]),
        ({"subscription": {"retry": {"max_attempts": "many"}}}, ["subscription.retry.max_attempts", "'many'"]),
        ({"subscription": {"retry": {"multiplier": 0.5}}}, ["subscription.retry.multiplier", "0.5"]),
        ({"subscription": {"parked": {"multiplier": float("inf")}}}, ["subscription.parked.multiplier"]),
        ({"subscription": {"retry": 5}}, ["subscription.retry", "is a section"]),
        ({"subscriptions": 5}, ["subscriptions", "is a section"]),
        ({"subscriptions": {"A.b": {"concurrency": 0}}}, ['subscriptions."A.b".concurrency', "is 0"]),
        ({"postgres_schema": "Not A Name"}, ["postgres_schema", "'Not A Name'"]),
        ({"slots": 5000}, ["slots", "4096"]),
        ({"partitions": 8, "slots": 4}, ["partitions is 8", "slots 4"]),
        ({"commit": {"interval": None}}, ["commit.interval"]),
        ({"postgres_dsn": ""}, ["postgres_dsn"]),
        ({"postgres_dsn": "a", "postgres_dsn_file": "b"}, ["postgres_dsn and postgres_dsn_file"]),
    ],
)
def test_an_illegal_value_is_named_with_its_source(code: dict[str, Any], texts: list[str]) -> None:
    """B2, C4: a `SettingsError` with the dotted name, never another library's traceback."""
    with refused("WOW-SETTINGS", *texts) as _:
        load(code, None, {})


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("retry", "timeout", "0s"),
        ("retry", "timeout", 30),
        ("retry", "initial_backoff", "1"),
        ("parked", "initial_delay", "-1s"),
        ("backpressure", "retry_after_cap", "30s 1m"),
        ("systemic", "window", "soon"),
    ],
)
def test_an_illegal_duration_names_the_setting(part: str, name: str, value: object) -> None:
    """B6: bare numbers, wrong order, negatives, stray text, and 0 where it is illegal."""
    with refused("WOW-B6", f"subscription.{part}.{name} in App(settings=...)"):
        load({"subscription": {part: {name: value}}}, None, {})
    with refused("WOW-B6", f'subscriptions."A.b".{part}.{name} in App(settings=...)'):
        load({"subscriptions": {"A.b": {part: {name: value}}}}, None, {})


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ({"partition": 2}, "partition in App(settings=...) is no setting; did you mean 'partitions'?"),
        ({"subscription": {"retry": {"max_atempts": 2}}}, "did you mean 'subscription.retry.max_attempts'?"),
        (
            {"subscriptions": {"A.b": {"retry": {"timeouts": 2}}}},
            """did you mean 'subscriptions."A.b".retry.timeout'?""",
        ),
        ({"subscription": {"retry": {"recoverable": []}}}, "subscription.retry.recoverable"),
    ],
)
def test_an_unknown_name_stops_the_start(code: dict[str, Any], text: str) -> None:
    """C4, C5: it names the nearest known one; and there is no setting that classifies."""
    with refused("WOW-SETTINGS", text):
        load(code, None, {})


def test_an_unknown_name_in_the_environment_stops_the_start() -> None:
    """C4: by the variable's own name; those of the test-suite and of others are not settings."""
    with refused("WOW-SETTINGS", "WOW_RAY_PARTITION is no setting; did you mean 'WOW_RAY_PARTITIONS'?"):
        load(None, None, {"WOW_RAY_PARTITION": "2"})
    with refused("WOW-SETTINGS", "WOW_RAY_COMMIT is a section"):
        load(None, None, {"WOW_RAY_COMMIT": "100ms"})
    ignored = {"WOW_RAY_CI": "1", "WOW_RAY_TEST_DSN": "x", "WOW_RAYS": "3", "OTHER": "4"}
    assert load(None, None, ignored) == Settings()


@pytest.mark.parametrize("name", ["FUNCTIONS", "NOTICES__SUBSCRIPTIONS", "REDACTION__KEYS", "REDACTION__PREFIXES"])
def test_what_is_several_values_and_no_json_stops_the_start_by_its_name(name: str) -> None:
    """C4: by the variable's own name, whatever else is there; its value, which may be secret, is not shown."""
    with pytest.raises(errors.SettingsError, match=f"WOW-SETTINGS WOW_RAY_{name} is no JSON") as caught:
        load(None, None, {"WOW_RAY_PARTITIONS": "2", f"WOW_RAY_{name}": "iban"})
    assert "iban" not in str(caught.value)


def test_a_section_in_the_environment_may_be_one_json_object() -> None:
    """Whole or in parts; the parts win."""
    environ = {
        "WOW_RAY_SUBSCRIPTION": '{"retry": {"max_attempts": 3, "timeout": "2s"}}',
        "WOW_RAY_SUBSCRIPTION__RETRY__MAX_ATTEMPTS": "4",
    }
    assert dict(load(None, None, environ).subscription.given("retry")) == {"max_attempts": 4, "timeout": 2.0}


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """A missing file, or one that is no TOML, is said in one sentence."""
    with refused("WOW-SETTINGS", "absent.toml cannot be read"):
        load(None, tmp_path / "absent.toml", {})
    (tmp_path / "broken.toml").write_text("partitions = = 2", encoding="utf-8")
    with refused("WOW-SETTINGS", "broken.toml is no TOML", "line 1"):
        load(None, tmp_path / "broken.toml", {})


def test_the_file_is_the_one_given_or_the_one_beside_the_app(file: Path, tmp_path: Path) -> None:
    """C4: a given file need not exist to be chosen, so that a wrong name is an error and not silence."""
    assert settings_file(None, file.parent) == file
    assert settings_file(None, tmp_path / "elsewhere") is None
    assert settings_file(tmp_path / "given.toml", file.parent) == tmp_path / "given.toml"


def test_the_address_comes_from_the_strongest_source(file: Path, tmp_path: Path) -> None:
    """`postgres_dsn` in the environment replaces `postgres_dsn_file` of the file, and the other way round."""
    secret = tmp_path / "dsn.txt"
    secret.write_text("postgresql://from-file\n", encoding="utf-8")
    assert load(None, file, {"WOW_RAY_POSTGRES_DSN": "postgresql://env"}).dsn() == "postgresql://env"
    settings = load({"postgres_dsn": "postgresql://code"}, None, {"WOW_RAY_POSTGRES_DSN_FILE": str(secret)})
    assert settings.dsn() == "postgresql://from-file"
    secret.write_text("\n", encoding="utf-8")
    with refused("WOW-SETTINGS", "dsn.txt is empty"):
        settings.dsn()
    secret.unlink()
    with refused("WOW-SETTINGS", "postgres_dsn_file", "cannot be read"):
        settings.dsn()


def test_a_secret_is_never_shown() -> None:
    """Neither in the repr, nor in a text, nor in an error about it."""
    settings = load(None, None, {"WOW_RAY_POSTGRES_DSN": "postgresql://u:hunter2@host/db"})
    assert "hunter2" not in repr(settings) + str(settings) + str(settings.model_dump())
    with pytest.raises(Exception, match="postgres_dsn") as caught:
        load({"postgres_dsn": ["hunter2"]}, None, {})
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_settings_read_nothing_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only `load` reads, and only what it is given; they cannot be changed afterwards."""
    monkeypatch.setenv("WOW_RAY_PARTITIONS", "9")
    assert Settings().partitions == 4
    assert load(None, None, {}).partitions == 4
    with pytest.raises(ValueError, match="frozen"):
        Settings().partitions = 5  # type: ignore[misc]


def test_durable_calls_lie_in_redis_on_request_only() -> None:
    """F6: Postgres unless Redis is asked for by name; then its address has to be known."""
    url = "redis://localhost"
    assert load({"redis_url": url}, None, {}).redis_of_calls() is None
    asked = load({"redis_url": url, "calls": {"store": "redis"}}, None, {}).redis_of_calls()
    assert asked is not None
    assert asked.get_secret_value() == url
    with pytest.raises(errors.SettingsError, match="WOW_RAY_REDIS_URL"):
        load({"calls": {"store": "redis"}}, None, {}).redis_of_calls()
    with pytest.raises(errors.SettingsError):
        load({"calls": {"store": "memory"}}, None, {})
