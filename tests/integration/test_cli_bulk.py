"""`wow-ray bulk`, `audit` and what looks at many, against a program that runs; a batch outlives a kill (S87)."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.integration.cli_shop import Producer, Shop
from tests.integration.cli_shop import shop as a_shop
from tests.waiting import until_blocking
from wow_ray.cli import main

Ask = Callable[..., Any]
ROWS = 8
WHY = ("--reason", "the carrier is back", "--actor", "ann")


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
def run(shop: Shop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Run a command in this process; answers what it has written, and checks its exit code."""
    for name, value in shop.environ.items():
        monkeypatch.setenv(name, value)

    def run(*arguments: str, code: int = 0) -> str:
        assert main([*arguments, "--context", "shop"]) == code, capsys.readouterr()
        return capsys.readouterr().out

    return run


@pytest.fixture
def ask(run: Ask) -> Ask:
    """Run a command with `--json`; answers its document."""
    return lambda *arguments, code=0: json.loads(run(*arguments, "--json", code=code))


def park(shop: Shop, producer: Producer, ask: Ask, name: str, count: int = ROWS) -> list[str]:
    """Have these aggregates parked and no others; their handler works again. Gives their ids."""
    ask("bulk", "start", ask("bulk", "preview")["id"], *WHY)
    ids = [f"{name}-{number}" for number in range(count)]
    for identity in ids:
        (shop.broken / identity).touch()
    producer.place(*ids)
    until_blocking(lambda: len(mine(ask, name)) == count, f"{count} parked of {name}", seconds=60)
    for identity in ids:
        (shop.broken / identity).unlink()
    return ids


def mine(ask: Ask, name: str) -> list[dict[str, Any]]:
    """Give the parked rows of one test."""
    rows = ask("parked", "list", "--text", "carrier", "--category", "recoverable", "--limit", "1000")["rows"]
    return [row for row in rows if row["aggregate_id"].startswith(f"{name}-")]


def test_a_batch_that_is_killed_is_found_and_resumed(shop: Shop, producer: Producer, ask: Ask) -> None:
    """S87: killed with SIGKILL in its midst; within seconds it is interrupted, then goes on, and asks no row twice."""
    park(shop, producer, ask, "k")
    batch = ask("bulk", "preview", "--group", "Notifier.on_paid", "--text", "carrier")
    assert (batch["stage"], batch["size"]) == ("preview", ROWS)
    dry = ask("bulk", "start", batch["id"], "--dry-run")
    assert (dry["stage"], dry["asked"]) == ("preview", 0)

    command = [sys.executable, "-m", "wow_ray.cli", "bulk", "start", batch["id"], *WHY, "--rate", "1"]
    environ = {**shop.environ, "WOW_RAY_APP": "shop:app"}
    process = subprocess.Popen(command, cwd=shop.folder, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    until_blocking(lambda: ask("bulk", "status", batch["id"])["recovered"] >= 2, "two to recover", seconds=40)
    process.kill()
    process.communicate()
    until_blocking(lambda: ask("bulk", "status", batch["id"])["stage"] == "interrupted", "it to be found", seconds=30)
    found = ask("bulk", "list")["batches"][0]
    assert (found["id"], found["stage"], found["actor"]) == (batch["id"], "interrupted", "ann")
    assert 2 <= found["asked"] < ROWS

    done = ask("bulk", "resume", batch["id"], "--reason", "go on", "--actor", "bob")

    assert (done["stage"], done["asked"], done["recovered"], done["actor"]) == ("done", ROWS, ROWS, "bob")
    actions = ask("audit", "--limit", "1000")["actions"]
    made = [action for action in actions if action["request_id"].startswith(batch["id"])]
    assert sorted(action["row_id"] for action in made) == sorted(row["id"] for row in batch["rows"])
    assert {action["actor"] for action in made} == {"ann", "bob"}
    assert mine(ask, "k") == []
    assert ask("bulk", "resume", batch["id"], "--reason", "again", code=3)["error"]["exit"] == 3


def test_a_batch_that_stops_exits_with_1(shop: Shop, producer: Producer, ask: Ask, run: Ask) -> None:
    """P12: three fail alike and nothing more is asked for; lines for people say why."""
    ids = park(shop, producer, ask, "s", 5)
    for identity in ids:
        (shop.broken / identity).touch()
    batch = ask("bulk", "preview", "--text", "carrier", "--state", "parked")
    text = run("bulk", "start", batch["id"], *WHY, code=1)
    assert "3 in a row stopped again with ValueError" in text
    assert "\x1b" not in run("bulk", "list")
    for identity in ids:
        (shop.broken / identity).unlink()
    assert ask("bulk", "start", batch["id"], *WHY, code=1)["stage"] == "stopped"
    assert ask("bulk", "resume", batch["id"], *WHY)["asked"] == 5


def test_groups_counts_events_and_files(shop: Shop, producer: Producer, ask: Ask, run: Ask) -> None:
    """The rest of what the API shows of many, as documents, as lines and as CSV."""
    park(shop, producer, ask, "g", 2)
    (group,) = [each for each in ask("parked", "groups")["groups"] if each["type"].endswith("ValueError")]
    assert group["rows"] >= 2
    assert group["fingerprint"] in run("parked", "groups")
    assert ask("parked", "count", "--fingerprint", group["fingerprint"]) == {"rows": group["rows"], "exact": True}
    assert "row" in run("parked", "count")
    row = mine(ask, "g")[0]
    assert ask("parked", "events", row["id"])["events"][0]["payload"] == "***"
    shown = shop.asked("parked", "events", row["id"], "--app", "shop:app")["events"][0]
    assert (shown["place"], json.loads(shown["payload"])) == ("stopped", {"number": 1})
    sheet = list(
        csv.DictReader(io.StringIO(run("parked", "list", "--csv", "--aggregate", f"order/{row['aggregate_id']}")))
    )
    assert [(each["id"], each["stopped_version"]) for each in sheet] == [(row["id"], "1")]
    newest = ask("parked", "list", "--sort", "newest", "--limit", "1", "--stopped-version", "1")["rows"]
    assert newest[0]["id"] == max(each["id"] for each in ask("parked", "list")["rows"])
    settings = shop.asked("subscriptions", "settings", "Notifier.on_paid", "--app", "shop:app")["settings"]
    assert {"name": "retry.max_attempts", "value": "2", "source": "class"} in settings["Notifier.on_paid"]
    assert ask("subscriptions", "settings", "Notifier.on_paid")["settings"] == {"Notifier.on_paid": []}


def test_what_is_wrong_with_a_batch_has_its_exit_code(ask: Ask) -> None:
    """2 for usage, 4 for what there is not."""
    assert ask("bulk", "status", "none", code=4)["error"]["code"] == "WOW-NOT-FOUND"
    assert ask("calls", "bulk", "stop", "none", code=4)["error"]["code"] == "WOW-NOT-FOUND"
    batch = ask("bulk", "preview", "--aggregate", "order/none")
    assert (batch["size"], batch["rows"]) == (0, [])
    for arguments in (
        ("start", batch["id"]),
        ("start", batch["id"], *WHY, "--rate", "0"),
        ("preview", "--verb", "reset"),
    ):
        assert ask("bulk", *arguments, code=2)["error"]["exit"] == 2
    assert ask("bulk", "start", batch["id"], *WHY)["stage"] == "done"
    assert ask("calls", "bulk", "preview", "--function", "refund")["size"] == 0
    assert ask("audit", "--actor", "nobody")["actions"] == []
