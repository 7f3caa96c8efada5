"""How long the other side asked to be left alone."""

from __future__ import annotations

import urllib.error
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from email.message import Message

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from multidict import CIMultiDict, CIMultiDictProxy

from wow_ray.policy.retry_after import retry_after, retry_after_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CAP = 600.0


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("120", 120),
        (" 120 ", 120),
        (b"120", 120),
        (120, 120),
        (1.5, 1.5),
        ("1.5", 2),  # rounded up: a lower bound
        ("0", 0),
        ("Thu, 01 Jan 2026 00:02:00 GMT", 120),
        ("Thursday, 01-Jan-26 00:02:00 GMT", 120),  # RFC 850
        ("Thu Jan  1 00:02:00 2026", 120),  # asctime
        ("Thu, 01 Jan 2026 00:02:00", 120),  # naive: UTC
        ("Thu, 01 Jan 2026 00:02:00 -0000", 120),
        ("Thu, 01 Jan 2026 01:02:00 +0100", 120),
        ("Wed, 31 Dec 2025 23:00:00 GMT", 0),  # past: the normal backoff applies
        (datetime(2026, 1, 1, 0, 2, tzinfo=UTC), 120),
        (datetime(2026, 1, 1, 0, 2), 120),  # noqa: DTZ001 - without a zone, as people hand it over
        (datetime(2026, 1, 1, 2, 2, tzinfo=timezone(timedelta(hours=2))), 120),
        (timedelta(minutes=2), 120),
        ("1767225720", 600),  # an epoch is not 56 years
        ("99999999999", 600),
        ("9" * 400, 600),
        (10**400, 600),
        (float("inf"), 600),
        ("Fri, 01 Jan 2100 00:00:00 GMT", 600),
        (timedelta.max, 600),
        (["120"], 120),
        (["soon", "60", "120"], 120),  # sent more than once: the longest, as a lower bound
        (("Thu, 01 Jan 2026 00:02:00 GMT",), 120),
    ],
)
def test_every_shape_is_understood(value: object, expected: float) -> None:
    """D4, S62: seconds or HTTP date, never negative, capped at ten minutes."""
    assert retry_after(value, NOW, CAP) == expected


@pytest.mark.parametrize(
    "value",
    [
        "-5", -5, -0.5, "abc", "", "  ", None, True, False, float("nan"), "nan", "1e3", "+5", "٣", "120, 120", "120s",
        timedelta(seconds=-1), object(), [], {}, ["soon"], [["120"]], [None],
        "Thu, 99 Jan 2026 00:02:00 GMT", "9" * 5_000, "Jan", "\x00", b"\xff",
    ],
)  # fmt: skip
def test_what_says_nothing_leaves_the_normal_backoff(value: object) -> None:
    """D4, S62: no negative sleep, no crash."""
    assert retry_after(value, NOW, CAP) is None


@settings(max_examples=200, deadline=None)
@given(
    st.one_of(
        st.text("0123456789 -+.,:;eEnaTJhuGM\x00٣", max_size=40),
        st.floats(),
        st.integers(),
        st.binary(max_size=20),
        st.timedeltas(),
    )
)
def test_whatever_is_sent_the_answer_is_within_bounds(value: object) -> None:
    """D4, S62: 0 to the cap, or nothing."""
    answer = retry_after(value, NOW, CAP)

    assert answer is None or 0 <= answer <= CAP


class Carries(Exception):  # noqa: N818 - a stand-in for anybody's error
    """An error with attributes."""

    def __init__(self, **attributes: object) -> None:
        """Set them."""
        super().__init__()
        self.__dict__.update(attributes)


class Response:
    """Anybody's response."""

    def __init__(self, headers: object) -> None:
        """Hold the headers."""
        self.headers = headers


class Pairs:
    """Headers that are no mapping."""

    def __init__(self, *pairs: tuple[str, str]) -> None:
        """Hold the pairs."""
        self.pairs = pairs

    def items(self) -> Iterable[tuple[str, str]]:
        """Give them."""
        return self.pairs


def message(headers: dict[str, str]) -> Message:
    """Make headers as the standard library has them."""
    made = Message()
    for name, value in headers.items():
        made[name] = value
    return made


def asked(error: BaseException) -> float | None:
    """Ask as the runtime does."""
    return retry_after_of(error, NOW, CAP)


@pytest.mark.parametrize(
    "error",
    [
        Carries(retry_after=120),
        Carries(retry_after="120"),
        Carries(headers={"Retry-After": "120"}),
        Carries(headers={"retry-after": "120"}),
        Carries(headers={"RETRY-AFTER": b"120"}),
        Carries(headers={b"Retry-After": b"120"}),
        Carries(headers=[("Content-Type", "text/html"), ("Retry-After", "120")]),
        Carries(response=Response({"Retry-After": "120"})),
        Carries(response=Response(Pairs(("a", "b"), ("Retry-After", "120")))),
        Carries(retry_after="soon", headers={"Retry-After": "120"}),
        Carries(retry_after=timedelta(minutes=2)),
        Carries(retry_after=datetime(2026, 1, 1, 0, 2, tzinfo=UTC)),
        Carries(headers={"retry_after": ["120"]}),
        Carries(headers=httpx.Headers({"RETRY-AFTER": "120"})),
        Carries(headers=httpx.Headers([("retry-after", "120")]).raw),
        Carries(headers=CIMultiDictProxy(CIMultiDict({"Retry-after": "120"}))),
        Carries(response=httpx.Response(429, headers={"Retry-After": "Thu, 01 Jan 2026 00:02:00 GMT"})),
        urllib.error.HTTPError("https://carrier.test/", 503, "busy", message({"Retry-After": "120"}), None),
        Carries(retry_after=b"120"),
    ],
)
def test_an_error_is_asked_by_its_looks(error: BaseException) -> None:
    """D4, S62: header names count in any case; the first place that says something counts."""
    assert asked(error) == 120


def test_the_explicit_causes_are_asked_too_but_not_the_context() -> None:
    """D4, K4: along __cause__ only, sixteen links, cycles safe."""
    outer, inner = RuntimeError("ctx"), Carries(retry_after=120)
    outer.__context__ = inner
    assert asked(outer) is None
    outer.__cause__ = inner
    assert asked(outer) == 120
    inner.__dict__.clear()
    inner.__cause__ = outer
    assert asked(outer) is None


def test_of_a_group_the_longest_wait_counts() -> None:
    """D4, K4: a lower bound for all of it."""
    group = ExceptionGroup("g", [Carries(retry_after=5), ExceptionGroup("h", [Carries(retry_after=7), ValueError()])])

    assert asked(group) == 7


class Rude(Exception):  # noqa: N818 - as Carries
    """An error whose attributes raise."""

    @property
    def retry_after(self) -> float:
        """Raise."""
        raise RuntimeError("no")

    @property
    def headers(self) -> dict[str, str]:
        """Raise."""
        raise RuntimeError("no")


class Nowhere(tzinfo):
    """A time zone that raises."""

    def utcoffset(self, moment: datetime | None) -> timedelta:
        """Raise."""
        raise RuntimeError(moment)

    dst = utcoffset

    def tzname(self, moment: datetime | None) -> str:
        """Raise."""
        raise RuntimeError(moment)


def endless() -> Iterator[tuple[str, str]]:
    """Give headers that never end."""
    while True:
        yield "a", "b"


def test_headers_without_a_common_meaning_are_not_guessed_at() -> None:
    """D4, H35: X-RateLimit-Reset is a moment for some, seconds or milliseconds for others: the backoff decides."""
    assert asked(Carries(headers={"X-RateLimit-Reset": "1767225720", "RateLimit-Reset": "120"})) is None


@pytest.mark.parametrize(
    "error",
    [
        Carries(retry_after=datetime(2026, 1, 1, tzinfo=Nowhere())),
        Carries(headers=endless()),
        Rude(),
        Carries(headers=5),
        Carries(headers="Retry-After: 5"),
        Carries(headers=[1, 2]),
        Carries(response=None),
    ],
)
def test_foreign_code_that_breaks_says_nothing(error: BaseException) -> None:
    """D4, K8: a hint is no reason to fail."""
    assert asked(error) is None
