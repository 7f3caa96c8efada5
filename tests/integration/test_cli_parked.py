"""`wow-ray parked …` and its fellows, against a program that runs: what they do, what they answer, how they exit."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.integration.cli_shop import Producer, Shop
from tests.integration.cli_shop import shop as a_shop
from tests.waiting import until_blocking
from wow_ray.cli import main

Ask = Callable[..., Any]
_ids = (f"p-{number}" for number in itertools.count(1))


@pytest.fixture(scope="module")
def shop() -> Iterator[Shop]:
    """One shop that runs for all tests here."""
    with a_shop() as shop, shop.dev("shop:app", "--partitions", "1", "--no-reload"):
        yield shop


@pytest.fixture(scope="module")
def producer(shop: Shop) -> Iterator[Producer]:
    """A producer in a process of its own."""
    with shop.producer() as producer:
        yield producer


@pytest.fixture
def ask(shop: Shop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Run a command in this process, by context alone; answers its document, and checks its exit code."""
    for name, value in shop.environ.items():
        monkeypatch.setenv(name, value)

    def ask(*arguments: str, code: int = 0) -> Any:  # noqa: ANN401 - a JSON document
        assert main([*arguments, "--context", "shop", "--json"]) == code
        return json.loads(capsys.readouterr().out)

    return ask


@pytest.fixture
def parked(shop: Shop, producer: Producer, ask: Ask) -> dict[str, Any]:
    """One parked aggregate that holds three events; its handler works again."""
    identity = next(_ids)
    (shop.broken / identity).touch()
    producer.place(identity, identity, identity)
    rows: list[dict[str, Any]] = []

    def found() -> bool:
        rows[:] = ask("parked", "list", "--aggregate", f"order/{identity}")["rows"]
        return bool(rows)

    until_blocking(found, f"{identity} to be parked", seconds=30)
    (shop.broken / identity).unlink()
    return rows[0]


def ended(ask: Ask, row: dict[str, Any], state: str) -> None:
    """Wait until a row has ended as this."""
    until_blocking(lambda: ask("parked", "show", row["id"])["row"]["state"] == state, f"{row} {state}", seconds=30)


def test_a_parked_aggregate_is_listed_and_shown(ask: Ask, parked: dict[str, Any]) -> None:
    """P4, P9: where it stopped, why, and what waits behind it."""
    assert (parked["group"], parked["state"], parked["reason"]) == ("Notifier.on_paid", "parked", "budget_spent")
    assert (parked["stopped_at"], parked["attempts"], parked["missing"]) == ("1:0", 2, None)

    detail = ask("parked", "show", parked["id"])

    assert detail["row"]["id"] == parked["id"]
    assert detail["held"] == {"events": 3, "from_version": 1, "through_version": 3, "more": False}
    assert "ValueError" in detail["traceback"]
    assert [attempt["kind"] for attempt in detail["history"]] == ["live"]


def test_a_resume_handles_what_was_held(ask: Ask, parked: dict[str, Any]) -> None:
    """P9, P10: the answer comes when the owner has applied it; a repeated request answers the first."""
    once = ["parked", "resume", parked["id"], "--reason", "the carrier is back", "--request-id", parked["id"]]

    done = ask(*once)

    assert (done["state"], done["verb"], done["row"]["id"]) == ("done", "resume", parked["id"])
    ended(ask, parked, "resolved")
    assert ask(*once)["ended_at"] == done["ended_at"]
    assert ask("parked", "resume", parked["id"], "--reason", "again", code=3)["error"]["code"] == "WOW-CONFLICT"


def test_a_skip_says_what_it_passed_over(ask: Ask, parked: dict[str, Any]) -> None:
    """P9, S86: the versions that were seen and no others."""
    done = ask(
        "parked", "skip", parked["id"], "--reason", "lost", "--through-version", "2", "--etag", str(parked["etag"])
    )

    assert done["outcome"] == {"row": parked["id"], "skipped": 2, "from_version": 1, "through_version": 2}
    ended(ask, parked, "skipped")


def test_one_event_is_skipped_alone(ask: Ask, parked: dict[str, Any]) -> None:
    """P9: `--only`."""
    done = ask("parked", "skip", parked["id"], "--only", "--reason", "this one is wrong")

    assert done["outcome"]["skipped"] == 1
    ended(ask, parked, "skipped")


def test_a_retry_is_made_now(ask: Ask, parked: dict[str, Any]) -> None:
    """P6: ahead of its time."""
    assert ask("parked", "retry-now", parked["id"], "--reason", "try")["state"] == "done"
    ended(ask, parked, "resolved")


def test_a_command_on_what_has_changed_exits_with_3(ask: Ask, parked: dict[str, Any]) -> None:
    """P10: with what is the case instead."""
    told = ask("parked", "resume", parked["id"], "--reason", "why", "--etag", "99", code=3)["error"]

    assert told["exit"] == 3
    assert f"it is parked at 1:0, etag {parked['etag']}" in told["message"]


def test_a_command_on_what_is_not_there_exits_with_4(ask: Ask) -> None:
    """Rows and groups, the latter with the nearest name."""
    assert ask("parked", "show", "nope", code=4)["error"]["code"] == "WOW-NOT-FOUND"
    assert ask("parked", "skip", "nope", "--reason", "why", code=4)["error"]["exit"] == 4
    told = ask("parked", "park", "Notifier.on_pay", "order/o-1", "--reason", "why", code=4)
    assert "did you mean 'Notifier.on_paid'" in told["error"]["message"]


def test_a_command_that_is_wrong_in_itself_exits_with_2(ask: Ask) -> None:
    """No reason, an empty one, an aggregate without an id, an unknown state."""
    for arguments in (
        ("parked", "resume", "x"),
        ("parked", "resume", "x", "--reason", "  "),
        ("parked", "park", "Notifier.on_paid", "order", "--reason", "why"),
        ("parked", "list", "--state", "gone"),
        ("parked", "list", "--limit", "0"),
        ("parked", "skip", "x", "--reason", "why", "--only", "--through-version", "2"),
    ):
        assert ask(*arguments, code=2)["error"]["exit"] == 2, arguments


def test_an_aggregate_is_parked_on_purpose(ask: Ask, producer: Producer) -> None:
    """P0: and resumed, by whoever is named."""
    identity = next(_ids)
    producer.place(identity)

    done = ask("parked", "park", "Notifier.on_paid", f"order/{identity}", "--reason", "look first", "--actor", "ann")

    assert (done["row"]["state"], done["row"]["reason"]) == ("exhausted", "operator")
    (row,) = ask("parked", "list", "--reason", "operator", "--aggregate", f"order/{identity}")["rows"]
    assert ask("parked", "resume", row["id"], "--reason", "looked")["state"] == "done"
    ended(ask, row, "resolved")


@pytest.mark.usefixtures("parked")
def test_groups_show_how_far_they_are(ask: Ask) -> None:
    """Lag is exact; held events are not lag."""
    (group,) = ask("subscriptions", "list")["groups"]

    assert (group["group"], group["subscriptions"], group["retired"]) == (
        "Notifier.on_paid",
        ["Notifier.on_paid"],
        False,
    )
    assert group["parked"] >= 1
    assert (group["lag"], group["behind"], group["oldest"]) == (0, [], None)


def test_people_read_lines_that_no_error_can_paint(shop: Shop, parked: dict[str, Any]) -> None:
    """The same as the documents, with the app imported and as a program; escapes of an error are visible."""
    for arguments in (["list"], ["show", parked["id"]]):
        done = shop.command("parked", *arguments, "--app", "shop:app")
        assert done.returncode == 0
        assert parked["id"] in done.stdout
        assert f"order/{parked['aggregate_id']}" in done.stdout
        assert "\x1b" not in done.stdout
        assert "[31m is down" in done.stdout
