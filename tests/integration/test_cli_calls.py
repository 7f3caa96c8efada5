"""`wow-ray calls` and `wow-ray functions` on real stores: what they show, ask, answer and exit with (F7, P10, H44)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import SecretStr

from tests.redis_server import RedisServer, running_redis
from wow_ray.adapters.calls_store import open_stores
from wow_ray.adapters.clock import SystemClock
from wow_ray.cli.program import main
from wow_ray.cluster import Database
from wow_ray.failure import Category, Failure
from wow_ray.policy.durable_call import CallReason, Fallback, NewCall
from wow_ray.policy.durable_endings import Exhausted, written
from wow_ray.ports.durable_calls import Wanted

FAILURE = Failure(
    Category.RECOVERABLE, "default", "bank.DownError", "the \x1b[31m bank is down", "Traceback …", "0123456789abcdef"
)
WHY = ("--reason", "the bank is back", "--actor", "ann")


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    """Give a real server."""
    with running_redis() as server:
        yield server


class Terminal:
    """The command line on one store, with an exhausted call `dead`, and `later`, which waits."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def run(self, *arguments: str, code: int = 0) -> str:
        """Run a command, expect its exit code, and give what it has written."""
        assert main([*arguments, "--context", "shop"]) == code
        told = self._capsys.readouterr()
        return told.out + told.err

    def asked(self, *arguments: str, code: int = 0) -> Any:  # noqa: ANN401 - a JSON document
        """Do the same with `--json`."""
        assert main([*arguments, "--context", "shop", "--json"]) == code
        return json.loads(self._capsys.readouterr().out)


@pytest.fixture(params=["postgres", "redis"])
def terminal(  # noqa: PLR0917 - where the store is, and who watches
    request: pytest.FixtureRequest,
    redis: RedisServer,
    postgres_dsn: str,
    schema: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Terminal:
    """Give a terminal where the environment says where the store is."""
    monkeypatch.setenv("WOW_RAY_POSTGRES_DSN", postgres_dsn)
    monkeypatch.setenv("WOW_RAY_POSTGRES_SCHEMA", schema)
    monkeypatch.setenv("WOW_RAY_REDIS_URL", redis.url)
    monkeypatch.setenv("WOW_RAY_CALLS__STORE", request.param)
    monkeypatch.setenv("COLUMNS", "220")
    terminal = Terminal(capsys)
    terminal.run("migrate")
    url = SecretStr(redis.url) if request.param == "redis" else None
    asyncio.run(filled(Database(postgres_dsn, "shop", schema, calls_url=url)))
    return terminal


async def filled(database: Database) -> None:
    """Store two calls, and have one of them exhausted, its fallback too."""
    async with open_stores(database, SystemClock()) as stores:
        await stores.calls.submit(NewCall("dead", "refund", '{"v":1,"a":{"password":"hunter2"}}', key="o-1"))
        (row,) = await stores.calls.claim("w", [Wanted("refund", 1)], 1, 60.0)
        end = Exhausted(CallReason.BUDGET_SPENT, FAILURE, Fallback.FAILED, FAILURE)
        await stores.calls.finish([written(row, end)])
        await stores.calls.submit(NewCall("later", "refund", '{"v":1,"a":{}}', delay=3_600.0, priority=7))


def test_they_are_listed_and_shown(terminal: Terminal) -> None:
    """P12, S108: filters, pages, counts; one with both errors, without its secrets and without odd characters."""
    found = terminal.asked("calls", "list")
    assert [call["id"] for call in found["calls"]] == ["dead", "later"]
    assert found["counts"] == {"refund": {"exhausted": 1, "waiting": 1}}
    assert [line.split(",")[0] for line in terminal.run("calls", "list", "--csv").splitlines()] == [
        "id",
        "dead",
        "later",
    ]
    assert len(terminal.run("calls", "list", "--csv", "--state", "exhausted").splitlines()) == 2
    terminal.asked("calls", "list", "--csv", code=2)
    page = terminal.asked("calls", "list", "--limit", "1")
    assert page["next"] == "dead"
    assert [call["id"] for call in terminal.asked("calls", "list", "--after", "dead")["calls"]] == ["later"]
    for filters in (("--state", "exhausted"), ("--key", "o-1"), ("--fingerprint", FAILURE.fingerprint)):
        assert [call["id"] for call in terminal.asked("calls", "list", *filters)["calls"]] == ["dead"]
    text = terminal.run("calls", "list") + terminal.run("calls", "show", "dead")
    for said in ("budget_spent", "bank.DownError", "refund: 1 exhausted, 1 waiting", "failed"):
        assert said in text
    assert "\x1b[31m" not in text
    assert "hunter2" not in text
    shown = terminal.asked("calls", "show", "dead")
    assert (shown["call"]["fallback"], shown["fallback_error"]["type"]) == ("failed", "bank.DownError")


def test_one_is_retried_cancelled_and_discarded(terminal: Terminal) -> None:
    """F7, P10: with reason, etag and request id, kept in the audit; repeated it answers the first."""
    retried = terminal.asked("calls", "retry", "dead", *WHY, "--request-id", "q-1", "--etag", "3")
    assert (retried["verb"], retried["call"]["state"], retried["call"]["due"] is not None) == (
        "retry_call",
        "waiting",
        True,
    )
    again = terminal.asked("calls", "retry", "dead", *WHY, "--request-id", "q-1", "--etag", "3")
    assert again["outcome"] == retried["outcome"]
    assert "it is cancelled" in terminal.run("calls", "cancel", "later", *WHY)
    assert terminal.asked("calls", "cancel", "dead", *WHY)["call"]["state"] == "cancelled"
    assert terminal.asked("calls", "list")["calls"] == []
    assert "no durable call waits, runs or is exhausted" in terminal.run("calls", "list")


def test_what_is_wrong_is_told_by_its_exit_code(terminal: Terminal) -> None:
    """2 usage, 3 conflict, 4 not found; nothing was changed then."""
    assert terminal.asked("calls", "discard", "later", *WHY, code=3)["error"]["message"].startswith("pending")
    assert terminal.asked("calls", "retry", "dead", *WHY, "--etag", "1", code=3)["error"]["code"] == "WOW-CONFLICT"
    assert terminal.asked("calls", "show", "nobody", code=4)["error"]["exit"] == 4
    assert "did you mean 'refund'" in terminal.asked("calls", "list", "--function", "refnd", code=4)["error"]["message"]
    for wrong in (
        ("retry", "dead"),
        ("retry", "dead", "--reason", " "),
        ("list", "--state", "tired"),
        ("list", "--limit", "0"),
    ):
        assert terminal.asked("calls", *wrong, code=2)["error"]["exit"] == 2
    assert terminal.asked("calls", "show", "dead")["call"]["etag"] == 3
    assert terminal.asked("calls", "discard", "dead", *WHY)["call"]["state"] == "discarded"


def test_a_function_is_paused_and_resumed(terminal: Terminal) -> None:
    """H44: reasons stand beside each other; who and why are shown, and what was so already is said."""
    paused = terminal.asked("functions", "pause", "refund", *WHY, "--request-id", "p-1")
    assert (paused["changed"], [pause["actor"] for pause in paused["pauses"]]) == (True, ["ann"])
    assert "it was so already" in terminal.run("functions", "pause", "refund", *WHY)
    terminal.run("functions", "pause", "refund", *WHY, "--pause", "deploy")
    text = terminal.run("functions", "list")
    assert "operator since" in text
    assert "deploy since" in text
    assert terminal.asked("status")["paused"] == ["calls of refund"]
    assert terminal.asked("functions", "resume", "refund", *WHY, "--request-id", "p-1", code=3)["error"]["exit"] == 3
    left = terminal.asked("functions", "resume", "refund", *WHY)["pauses"]
    assert [pause["reason"] for pause in left] == ["deploy"]
    assert "is not paused" in terminal.run("functions", "resume", "refund", *WHY, "--pause", "deploy")
    assert [bool(pause["ended_at"]) for pause in terminal.asked("functions", "show", "refund")["pauses"]] == [
        True,
        True,
    ]
    assert "the bank is back" in terminal.run("functions", "show", "refund")
    assert terminal.asked("functions", "pause", "refnd", *WHY, code=4)["error"]["exit"] == 4
    assert terminal.asked("functions", "pause", "refund", "--reason", " ", code=2)["error"]["exit"] == 2
