"""Errors whose texts are too long, too odd or too telling; parking never fails because of them."""

from __future__ import annotations

import asyncio
from typing import Any, NoReturn

import pytest

from tests.unit.runtime.desk import CarrierDown, Desk, UnknownBuyer, Unlisted, outline, paid, scenario
from tests.unit.runtime.shop import app
from wow_ray import Event
from wow_ray.failure import LIMIT
from wow_ray.policy.parked import Row
from wow_ray.testing import Running

SECRETS = ("hunter2", "abc123", "t0ken-value")


class Unprintable(Exception):  # noqa: N818 - named as an author would
    """An error whose own code fails, wherever it is asked."""

    def __str__(self) -> str:
        """Fail."""
        raise ValueError("no text")

    def __repr__(self) -> str:
        """Fail."""
        raise ValueError("no text")

    @property
    def retry_after(self) -> NoReturn:
        """Fail."""
        raise RuntimeError("no wait")

    @property
    def response(self) -> NoReturn:
        """Fail."""
        raise RuntimeError("no response")


def texts_of(row: Row) -> str:
    """Give everything a row says of its errors."""
    return "".join(
        failure.type + failure.message + failure.traceback
        for failure in (row.failure, row.first_cause)
        if failure is not None
    )


async def only_row(running: Running) -> Row:
    """Give the one row there is."""
    (row,) = await running.rows()
    return row


async def test_a_huge_message_and_a_deep_traceback_are_stored_with_head_and_tail_and_do_not_grow() -> None:
    """P4, S70: megabytes and hundreds of frames, five calls and ten parked retries: a bounded row, the same size."""
    desk = Desk()
    huge = "the head" + "x" * 2_000_000 + "the tail"

    def deep(frames: int) -> None:
        if frames:
            deep(frames - 1)
        raise Unlisted(huge)

    async def fail(event: Event[Any]) -> None:
        del event
        deep(500)

    desk.always("A", fail)
    settings = {"subscription": {"parked": {"multiplier": 1, "initial_delay": "1m"}}}
    async with scenario(app, desk, settings=settings) as running:
        await paid(running, "A")
        await running.advance("2s")
        first = await only_row(running)
        assert first.failure is not None
        assert first.failure.message.startswith("the head")
        assert first.failure.message.endswith("the tail")
        assert len(texts_of(first).encode()) <= 2 * LIMIT
        await running.advance("1h")
        last = await only_row(running)
        assert (last.state, last.retries) == ("exhausted", 10)
        assert abs(len(texts_of(last)) - len(texts_of(first))) < 100
    assert len(desk.calls) == 15


async def test_thirty_megabytes_of_text_are_not_looked_at_for_longer_than_they_are_worth() -> None:
    """S70, H51: no blank in it anywhere; the loop that all aggregates share stands still for a moment only."""
    desk = Desk()
    desk.next("A", UnknownBuyer("x" * 30_000_000))
    async with scenario(app, desk) as running:
        await paid(running, "A", "B")
        loop = asyncio.get_running_loop()
        start = loop.time()
        await running.advance("1s")
        assert loop.time() - start < 0.5
        assert await outline(running) == [("A", "exhausted", "unrecoverable", 1)]


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("a\x00b", "a\N{SYMBOL FOR NULL}b"),
        ("x\ud83d", "x\\ud83d"),
        (b"\xff".decode("utf8", "surrogateescape"), "\\udcff"),
        ("literal \\u0000", "literal \\u0000"),
    ],
)
async def test_text_that_no_database_takes_is_shown_instead(message: str, shown: str) -> None:
    """P4, S71: NUL and lone surrogates become visible; what was visible already stays as it is."""
    desk = Desk()
    desk.next("A", UnknownBuyer(message))
    async with scenario(app, desk) as running:
        await paid(running, "A")
        await running.advance("1s")
        row = await only_row(running)
        assert row.failure is not None
        assert row.failure.message == shown
        assert await outline(running) == [("A", "exhausted", "unrecoverable", 1)]


@pytest.mark.parametrize("message", ["a\x00b", "x\ud83d", "\N{PILE OF POO}" * 10_000])
async def test_odd_text_does_no_harm_in_waits_pauses_parked_retries_and_drains(message: str) -> None:
    """P4, S71, D3, P6: the same text wherever an error can come from; everything is handled in the end."""
    desk = Desk()
    live = [CarrierDown(message)] * 3 + [None] + [Unlisted(message)] * 5
    desk.next("A", *live, Unlisted(message), None, Unlisted(message), UnknownBuyer(message))
    async with scenario(app, desk) as running:
        await paid(running, "A", "A", "A")
        await running.advance("30m")
        assert await outline(running) == [("A", "exhausted", "unrecoverable", 3)]
        (row,) = await running.parked()
        await running.resume(row, reason="again")
        await running.advance("1m")
        assert desk.done == [("A", 1), ("A", 2), ("A", 3)]


@pytest.mark.parametrize("listed", [True, False])
async def test_an_error_whose_own_code_raises_is_charged_and_parked_like_any_other(*, listed: bool) -> None:
    """P4, K8, S70: text, representation and attributes that raise are treated as not there."""
    desk = Desk()
    error: BaseException = Unprintable()
    if listed:
        error = CarrierDown(Unprintable())
    desk.next("A", *[error] * 5)
    async with scenario(app, desk) as running:
        await paid(running, "A")
        await running.advance("1m")
        if listed:
            assert desk.done == [("A", 1)]
        else:
            assert await outline(running) == [("A", "parked", "budget_spent", 1)]


async def test_no_secret_reaches_the_ledger_or_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """P4, S108: a password in a URL along the chain, a key in a query, a bearer token, broken by a line's end."""
    caplog.set_level("DEBUG")
    desk = Desk()

    def chained(outer: BaseException) -> BaseException:
        inner = RuntimeError("cannot reach postgresql://user:hunter2@db.example/shop")
        inner.__cause__ = ValueError("GET https://carrier.example/?api_key=abc123 -> 500")
        outer.__cause__ = inner
        return outer

    told = "Authorization: Bearer t0ken-value"
    desk.next("A", chained(CarrierDown(told)), chained(Unlisted(told)))
    desk.next("B", chained(Unlisted(told)), chained(UnknownBuyer(told)))
    async with scenario(app, desk) as running:
        await paid(running, "A", "B")
        await running.advance("1m")
        row = await only_row(running)
        stored = texts_of(row) + "".join(
            note.failure.traceback + note.failure.message
            for note in await running.service.client.ledger.attempts(row.id)
            if note.failure is not None
        )
    for secret in SECRETS:
        assert secret not in stored
        assert secret not in caplog.text
    assert "db.example" in stored
