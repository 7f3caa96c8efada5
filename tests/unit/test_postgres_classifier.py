"""What errors of the database and of HTTP clients mean for a handler (K7, H34, S61)."""

from __future__ import annotations

import asyncpg
import pytest

from wow_ray.adapters.http_failures import classify_http
from wow_ray.adapters.postgres.errors import classify_postgres, sqlstate_of, translated, wants_jitter
from wow_ray.errors import ConcurrencyError, StoreDataError, StoreUnavailableError
from wow_ray.failure import Category

SYSTEMIC, RECOVERABLE, BACKPRESSURE = Category.SYSTEMIC, Category.RECOVERABLE, Category.BACKPRESSURE
SUBSCRIPTION = "Sales.on_paid"


def server_error(sqlstate: str) -> asyncpg.PostgresError:
    """Make the error that the driver makes of an answer of the server with this SQLSTATE."""
    error = asyncpg.PostgresError.new({"S": "ERROR", "C": sqlstate, "M": "as the server says"})
    assert isinstance(error, asyncpg.PostgresError)
    return error


class OtherDriverError(Exception):
    """What another driver raises: the code under another name."""

    pgcode = "57P01"


@pytest.mark.parametrize(
    ("sqlstate", "category", "ours"),
    [
        ("22P05", RECOVERABLE, StoreDataError),  # a NUL in a text
        ("22P02", RECOVERABLE, StoreDataError),
        ("23505", RECOVERABLE, StoreDataError),
        ("42703", RECOVERABLE, StoreDataError),
        ("42P01", RECOVERABLE, StoreDataError),
        ("54000", RECOVERABLE, StoreDataError),  # a program limit; an OperationalError in the driver
        ("40001", RECOVERABLE, StoreUnavailableError),
        ("40P01", RECOVERABLE, StoreUnavailableError),
        ("55P03", RECOVERABLE, StoreUnavailableError),
        ("57014", RECOVERABLE, StoreUnavailableError),
        ("57P01", SYSTEMIC, StoreUnavailableError),
        ("57P03", SYSTEMIC, StoreUnavailableError),
        ("08006", SYSTEMIC, StoreUnavailableError),
        ("08003", SYSTEMIC, StoreUnavailableError),
        ("53300", SYSTEMIC, StoreUnavailableError),
        ("25006", SYSTEMIC, StoreUnavailableError),
        ("58030", None, StoreUnavailableError),
        ("P0001", None, StoreDataError),  # raised by a function or trigger
        ("25P02", None, None),
        ("WR001", None, None),
    ],
)
def test_an_answer_of_the_server_is_judged_by_its_sqlstate(
    sqlstate: str, category: Category | None, ours: type[Exception] | None
) -> None:
    """S61: 20 codes, first as a handler's failure, then as that of a call of our own."""
    error = server_error(sqlstate)

    assert sqlstate_of(error) == sqlstate
    assert classify_postgres(error, SUBSCRIPTION) is category
    meaning = translated(error)
    assert type(meaning) is (ours or type(None))


@pytest.mark.parametrize(
    ("error", "category"),
    [
        (ConnectionRefusedError(), SYSTEMIC),
        (ConnectionResetError(), SYSTEMIC),
        (BrokenPipeError(), SYSTEMIC),
        (TimeoutError(), None),
        (OSError("no space left"), None),
        (FileNotFoundError(), None),
        (asyncpg.InterfaceError("connection is closed"), SYSTEMIC),
        (asyncpg.InterfaceError("cannot call Connection.fetch(): the underlying connection is closed"), SYSTEMIC),
        (asyncpg.InterfaceError("connection has been released back to the pool"), SYSTEMIC),
        (asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation"), SYSTEMIC),
        (asyncpg.InterfaceError("cannot perform operation: another operation is in progress"), None),
        (OtherDriverError(), SYSTEMIC),
        (ConcurrencyError("at 2"), None),
        (ValueError("connection is closed"), None),
    ],
)
def test_other_errors_are_judged_by_what_they_are(error: Exception, category: Category | None) -> None:
    """K7: a lost connection is systemic, a plain timeout or another OSError is not.

    Misuse of the driver neither.
    """
    assert classify_postgres(error, SUBSCRIPTION) is category


def test_only_those_who_got_into_each_others_way_want_jitter() -> None:
    """H34: 40001, 40P01, 55P03 and 57014 are retried apart from each other."""
    wanting = [
        code for code in ("40001", "40P01", "55P03", "57014", "23505", "57P01") if wants_jitter(server_error(code))
    ]

    assert wanting == ["40001", "40P01", "55P03", "57014"]


class Response:
    """What clients attach to their errors."""

    def __init__(self, status_code: int, headers: object = None) -> None:
        """Hold a status and headers."""
        self.status_code = status_code
        self.headers = headers


class HttpError(Exception):
    """An error with a response, or with a status of its own."""

    def __init__(self, response: Response | None = None, status: int | None = None, headers: object = None) -> None:
        """Hold what a client holds."""
        super().__init__("refused")
        self.response = response
        self.status = status
        self.headers = headers


class RudeError(Exception):
    """An error whose attributes raise."""

    @property
    def response(self) -> None:
        """Raise, as a client's property may before there is a response."""
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "category"),
    [
        (HttpError(Response(429)), BACKPRESSURE),
        (HttpError(status=429), BACKPRESSURE),
        (HttpError(Response(503, {"Retry-After": "3"})), BACKPRESSURE),
        (HttpError(status=503, headers={"retry-after": "3"}), BACKPRESSURE),
        (HttpError(Response(503)), None),
        (HttpError(Response(503, 7)), None),
        (HttpError(Response(500, {"Retry-After": "3"})), None),
        (HttpError(Response(404)), None),
        (RudeError(), None),
        (ValueError(), None),
    ],
)
def test_an_http_answer_that_asks_for_patience_is_backpressure(error: Exception, category: Category | None) -> None:
    """K7: 429, and 503 with Retry-After; every other answer is for others to judge."""
    assert classify_http(error, SUBSCRIPTION) is category
