"""Webhooks in the settings: where they stand, and what is refused at start, without telling a secret (P13, P4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from wow_ray.errors import SettingsError
from wow_ray.housekeeping import routes_of
from wow_ray.policy.notices import EVENTS, Kind
from wow_ray.settings import load

URL = "https://hooks.example.org/x"


def test_one_webhook_is_written_straight_and_more_by_name(tmp_path: Path) -> None:
    """Api.md: `notices.{url secret_file}`; others under `notices.webhooks`."""
    file = tmp_path / "wow-ray.toml"
    file.write_text(
        f"""
[notices]
url = "{URL}"
secret_file = "/run/secrets/notices"
timeout = "5s"
[notices.webhooks.chat]
url_file = "/run/secrets/chat"
format = "slack"
events = ["exhausted", "paused"]
subscriptions = ["Mailer.*"]
""",
        encoding="utf-8",
    )

    notices = load(None, file, {}).notices

    first, chat = routes_of(notices)
    assert (first.webhook, first.kinds, first.format) == ("default", frozenset(EVENTS), "json")
    assert (chat.webhook, chat.subscriptions, chat.format) == ("chat", ("Mailer.*",), "slack")
    assert chat.kinds == {Kind.EXHAUSTED, Kind.PAUSED}
    assert (notices.timeout, notices.attempts) == (5.0, 10)


def test_webhooks_are_given_in_the_environment_as_well() -> None:
    """C4: a url and a secret there stand in no file."""
    notices = load(
        None,
        None,
        {
            "WOW_RAY_NOTICES__URL": URL,
            "WOW_RAY_NOTICES__SECRET": "hunter2",
            "WOW_RAY_NOTICES__EVENTS": '["parked"]',
            "WOW_RAY_NOTICES__WEBHOOKS": f'{{"chat": {{"url": "{URL}", "format": "slack"}}}}',
        },
    ).notices

    assert [name for name, _ in notices.all()] == ["default", "chat"]
    assert (notices.address(), notices.secrets()) == (URL, ("hunter2",))
    assert "hunter2" not in repr(notices)
    assert URL not in repr(notices)


def test_without_a_webhook_there_is_none() -> None:
    """P13: nothing is sent unless somebody asks for it."""
    assert routes_of(load(None, None, {}).notices) == ()


@pytest.mark.parametrize(
    ("notices", "said"),
    [
        ({"url": "hooks.example.org"}, "notices.url"),
        ({"url": "https://[::1"}, "notices.url"),
        ({"url": "http://hooks.example.org/hunter2", "secret": "hunter2"}, "use https"),
        ({"url": URL}, "the webhook default has no secret"),
        ({"webhooks": {"chat": {"url": URL}}}, "the webhook chat has no secret"),
        ({"url": URL, "secret": "hunter2", "secret_file": "/x"}, "secret and secret_file are both given"),
        ({"url": URL, "url_file": "/x", "secret": "hunter2"}, "url and url_file are both given"),
        ({"webhooks": {"Chat!": {"url": URL, "signed": False}}}, "a name has letters in lower case"),
        ({"webhooks": {"chat": {"format": "slack"}}}, "webhooks.chat has no url"),
        ({"webhooks": {"chat": {"urll": URL}}}, "did you mean"),
        ({"webhooks": {"chat": URL}}, "it is a section"),
        ({"webhooks": [URL]}, "notices.webhooks"),
        ({"url": URL, "secret": "hunter2", "events": ["parkd"]}, "notices.events"),
        ({"url": URL, "secret": "hunter2", "events": []}, "notices.events"),
        ({"url": URL, "secret": "hunter2", "format": "xml"}, "notices.format"),
        ({"url": URL, "secret": "hunter2", "timeout": "2m"}, "notices.timeout"),
        ({"url": URL, "secret": "hunter2", "console_url": "javascript:alert(1)"}, "notices.console_url"),
        ({"url": 7}, "notices.url"),
    ],
)
def test_what_is_wrong_is_named_at_start_and_no_secret_is_told(notices: dict[str, Any], said: str) -> None:
    """C4, P4: in one sentence with the setting's name."""
    with pytest.raises(SettingsError) as caught:
        load({"notices": notices}, None, {})

    assert said in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("text", ["chat", "[1]", "{"])
def test_webhooks_in_the_environment_are_one_json_object(text: str) -> None:
    """C4: and anything else is said to be none."""
    with pytest.raises(SettingsError, match="one JSON object"):
        load(None, None, {"WOW_RAY_NOTICES__WEBHOOKS": text})


def test_events_in_the_environment_that_are_no_list_are_refused_by_name() -> None:
    """C4: also where the parser of the environment stumbles."""
    with pytest.raises(SettingsError, match="notices"):
        load(None, None, {"WOW_RAY_NOTICES__EVENTS": "parked"})
