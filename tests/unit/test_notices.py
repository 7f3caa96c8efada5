"""Which notices go to whom, together with which others, and what they say (P13)."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from wow_ray.failure import Category, Failure
from wow_ray.policy.notices import ALONE, EVENTS, LINES, NAMED, Fact, Kind, Route, Writer
from wow_ray.policy.parked import Reason, Row, State
from wow_ray.policy.pauses import PauseReason, PauseSeen
from wow_ray.policy.redelivery import Redelivery

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def a_row(number: int = 1, message: str = "no such buyer", fingerprint: str = "f-1") -> Row:
    """A parked row."""
    failure = Failure(Category.RECOVERABLE, "default", "shop.UnknownBuyer", message, "Traceback: …", fingerprint)
    return Row(
        id=f"r-{number}",
        group="Mailer.on_paid",
        subscription="Mailer.on_paid",
        slot=3,
        aggregate="order",
        aggregate_id=f"o-{number}",
        state=State.PARKED,
        reason=Reason.BUDGET_SPENT,
        stopped_version=7,
        stopped_sequence=1,
        stopped_position=40,
        failure=failure,
        first_cause=None,
        attempts=5,
        backpressure=0,
        retries=0,
        next_due=NOW,
        begun=False,
        skip_through=None,
        etag=1,
        parked_at=NOW,
        updated_at=NOW,
    )


def a_fact(kind: Kind = Kind.PARKED, number: int = 1, **changes: Any) -> Fact:  # noqa: ANN401 - the fields of a fact
    """A fact about a row."""
    return replace(Fact(number, kind, NOW, "Mailer.on_paid", a_row(number)), **changes)


def a_pause(kind: Kind = Kind.PAUSED, partition: str | None = "shop-0") -> Fact:
    """A fact about a pause."""
    ended = None if kind is Kind.PAUSED else NOW + timedelta(minutes=5)
    pause = PauseSeen(partition, PauseReason.SYSTEMIC, NOW, "the carrier is away", ended)
    return Fact(9, kind, NOW, "Mailer.on_paid", pause=pause)


def writer(console: str = "") -> Writer:
    """A writer whose ids are counted."""
    ids = itertools.count(1)
    return Writer("shop", lambda: f"d-{next(ids)}", console)


@pytest.mark.parametrize(
    ("patterns", "wanted"),
    [
        ((), True),
        (("Mailer.*",), True),
        (("*.on_paid",), True),
        (("Sales.*", "Mailer.on_paid"), True),
        (("Mailer",), False),
        (("mailer.*",), False),
        (("Sales.*",), False),
    ],
)
def test_a_webhook_is_told_of_the_subscriptions_it_names(patterns: tuple[str, ...], *, wanted: bool) -> None:
    """P13: routed per subscription; no pattern is every one."""
    assert Route("oncall", subscriptions=patterns).wants(a_fact()) == wanted


def test_a_webhook_is_told_of_the_kinds_it_names() -> None:
    """P13: those who want to be woken only when a person is needed say so."""
    route = Route("oncall", frozenset({Kind.EXHAUSTED, Kind.PAUSED}))
    facts = [a_fact(kind) for kind in (Kind.PARKED, Kind.EXHAUSTED, Kind.RESOLVED)] + [a_pause()]

    made = writer().deliveries(facts, [route])

    assert [one.kinds for one in made] == [("exhausted",), ("paused",)]


def test_a_few_facts_are_sent_one_by_one_and_many_together() -> None:
    """P13: grouped when many; each webhook by what it is told of."""
    few = [a_fact(number=n) for n in range(ALONE)]
    routes = [Route("a"), Route("b", frozenset({Kind.BACK}))]

    assert [(one.webhook, one.facts) for one in writer().deliveries(few, routes)] == [("a", 1)] * ALONE
    (many,) = writer().deliveries([*few, a_fact(number=99)], routes)
    assert (many.facts, many.summary) == (ALONE + 1, "shop: 6 parked (Mailer.on_paid)")


def test_nobody_is_told_where_there_is_no_webhook() -> None:
    """P13: facts lead to nothing then."""
    assert writer().deliveries([a_fact()], []) == ()


def test_a_notice_says_everything_about_the_row() -> None:
    """P13, D1: what happened to what, why, since when, whether a person is needed, and where to look."""
    (made,) = writer("https://ops.example/").deliveries([a_fact()], [Route("oncall")])

    told = json.loads(made.body)
    assert (told["schema"], told["id"], told["context"]) == ("wow-ray.notices.v1", made.id, "shop")
    assert (told["count"], told["counts"], told["left_out"], told["alike"]) == (1, {"parked": 1}, 0, [])
    assert told["notices"] == [
        {
            "number": 1,
            "kind": "parked",
            "at": "2030-01-01T00:00:00Z",
            "group": "Mailer.on_paid",
            "text": "shop: Mailer.on_paid parked order/o-1 at version 7:1 (budget_spent): "
            "shop.UnknownBuyer: no such buyer",
            "subscription": "Mailer.on_paid",
            "aggregate": "order",
            "aggregate_id": "o-1",
            "row": "r-1",
            "state": "parked",
            "needs_person": False,
            "reason": "budget_spent",
            "version": 7,
            "sequence": 1,
            "attempts": 5,
            "retries": 0,
            "next_due": "2030-01-01T00:00:00Z",
            "link": "https://ops.example/parked/r-1",
            "category": "recoverable",
            "error": {"type": "shop.UnknownBuyer", "message": "no such buyer", "fingerprint": "f-1"},
        }
    ]


def test_a_notice_of_a_pause_says_where_and_why() -> None:
    """P13: a group in one partition, or everywhere."""
    one, all_ = (
        json.loads(writer().body("d", [a_pause(partition=each)], "json"))["notices"][0] for each in ("p", None)
    )

    assert (one["partition"], one["pause_reason"], one["error_text"]) == ("p", "systemic", "the carrier is away")
    assert all_["partition"] is None
    assert "everywhere" in all_["text"]
    back = writer().line(a_pause(Kind.BACK))
    assert back == "shop: Mailer.on_paid goes on in shop-0; it was paused (systemic) since 2030-01-01T00:00:00Z"


def test_who_resumed_and_why_is_said() -> None:
    """P10: the operator's name and reason."""
    fact = a_fact(Kind.RESUMED, actor="ann", why="carrier is back")

    assert writer().line(fact).endswith(" by ann: carrier is back")


def test_a_delivery_of_many_is_bounded_and_groups_errors() -> None:
    """P13, H48: ten thousand facts with the longest texts are some hundred kilobytes, and nothing is uncounted."""
    facts = [a_fact(number=n, row=a_row(n, "x" * 100_000, f"f-{n % 20}")) for n in range(10_000)]

    (made,) = writer().deliveries(facts, [Route("oncall")])

    told = json.loads(made.body)
    assert (told["count"], len(told["notices"]), told["left_out"]) == (10_000, NAMED, 10_000 - NAMED)
    assert [one["count"] for one in told["alike"]] == [500] * 10
    assert len(made.body) < 200_000
    assert len(made.summary) <= 300


def test_odd_texts_are_harmless_in_every_format() -> None:
    """S108: NUL, lone surrogates, terminals' commands, and mentions of everybody."""
    odd = a_fact(
        row=replace(a_row(message="<!channel> \x00 \x1b[2J \ud800 & <https://evil|click> 漢字"), aggregate_id="ü\n\r2")
    )

    for format_ in ("json", "slack"):
        body = writer().body("d", [odd], format_)
        assert body.isascii()
        json.loads(body).items()
    text = json.loads(writer().body("d", [odd], "slack"))["text"]
    assert "&lt;!channel&gt;" in text
    assert "<" not in text
    assert "\n" not in text
    assert not set(text) & set(map(chr, range(32)))


def test_a_chat_is_told_some_lines_and_where_to_look() -> None:
    """P13: a channel is not flooded."""
    facts = [a_fact(number=n) for n in range(100)]

    lines = json.loads(writer("https://ops.example").body("d", facts, "slack"))["text"].splitlines()

    assert lines[0] == "shop: 100 parked (Mailer.on_paid)"
    assert lines[-2:] == [f"… and {100 - LINES} more", "<https://ops.example/parked|Open the console>"]
    assert len(lines) == LINES + 3


def test_a_fact_whose_row_is_deleted_is_told_all_the_same() -> None:
    """H53: what is old goes; that it happened is said."""
    gone = Fact(4, Kind.RESOLVED, NOW, "")

    for format_ in ("json", "slack"):
        assert "deleted" in writer().body("d", [gone], format_)


def test_an_exhausted_call_is_told_by_its_function_and_id() -> None:
    """F7, P13: it waits for a person as an aggregate does."""
    fact = Fact(5, Kind.EXHAUSTED, NOW, "roll_back_stock", call="c-1")

    (told,) = json.loads(writer().body("d", [fact], "json"))["notices"]
    assert (told["call"], told["group"], told["needs_person"]) == ("c-1", "roll_back_stock", True)
    assert told["text"] == "shop: roll_back_stock exhausted, waits for a person: call c-1"


def test_secrets_in_errors_are_hidden_once_more() -> None:
    """P4: also those that stand in what an operator wrote."""
    fact = a_fact(Kind.RESUMED, actor="ann", why="new dsn postgresql://u:hunter2@db/x")

    assert "hunter2" not in writer().line(fact)
    assert "hunter2" not in writer().body("d", [fact], "json")


def test_every_kind_can_be_asked_for_but_a_test() -> None:
    """P13: parked, exhausted, resumed, skipped, resolved, paused, back."""
    assert {kind.value for kind in EVENTS} == {
        "parked",
        "exhausted",
        "resumed",
        "skipped",
        "resolved",
        "paused",
        "back",
    }


@pytest.mark.parametrize(
    ("attempt", "dice", "asked", "again"),
    [
        (1, 0.0, None, 2.5),  # half of 5 s
        (1, 1.0, None, 5.0),
        (2, 1.0, None, 15.0),
        (7, 1.0, None, 3_600.0),  # 5 * 3**6 = 3,645
        (9, 1.0, None, 3_600.0),
        (1, 0.0, 60.0, 60.0),  # a lower bound
        (1, 0.0, 1e9, 3_600.0),  # an hour at most
        (10, 0.0, None, None),
        (11, 0.0, 5.0, None),  # an attempt more, since one's process died
    ],
)
def test_retries_are_bounded_and_further_and_further_apart(
    attempt: int, dice: float, asked: float | None, again: float | None
) -> None:
    """P13: ten attempts within about three and a half hours."""
    assert Redelivery().again(attempt, dice, asked) == again
