"""An exception as data: bounded, storable, without secrets, and grouped by a fingerprint."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from time import perf_counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wow_ray.failure import LIMIT, Category, Failure, causes, fingerprint, minimal, unwrapped
from wow_ray.redaction import redacted, visible


class OrderLostError(Exception):
    """An application's error."""


def caught(error: BaseException) -> BaseException:
    """Raise the error here and give it back with its traceback."""
    try:
        raise error  # noqa: TRY301 - to have a traceback
    except BaseException as raised:  # noqa: BLE001 - whatever it is
        return raised


def captured(error: BaseException) -> Failure:
    """Capture as the runtime does."""
    return Failure.capture(error, Category.RECOVERABLE, "default")


def size(failure: Failure) -> int:
    """Add up the bytes of all texts."""
    texts = (failure.source, failure.type, failure.message, failure.traceback, failure.fingerprint)
    return sum(len(text.encode()) for text in texts)


def deep(levels: int) -> None:
    """Raise at the end of a deep stack."""
    if levels == 0:
        raise OrderLostError("at the bottom")
    deep(levels - 1)


def test_a_failure_says_what_happened_where_and_who_judged_it() -> None:
    """P4: category, type, message, traceback with source lines."""
    failure = captured(caught(OrderLostError("o-42 is lost")))

    assert failure.category is Category.RECOVERABLE
    assert failure.source == "default"
    assert failure.type.endswith("test_failure.OrderLostError")
    assert failure.message == "o-42 is lost"
    assert failure.traceback.startswith("Traceback (most recent call last):\n  File ")
    assert "    raise error  # " in failure.traceback
    assert failure.traceback.endswith("OrderLostError: o-42 is lost")


def test_a_huge_message_and_a_deep_traceback_are_bounded_with_head_and_tail() -> None:
    """P4, S70: 30 MB and 5,000 frames become at most 16 KB, with what matters at either end, at little cost."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(7_000)
    try:
        deep(5_000)
    except OrderLostError as error:
        raised = error
    finally:
        sys.setrecursionlimit(limit)
    raised.args = ("HEAD " + "x" * 30_000_000 + " TAIL",)

    started = perf_counter()
    failure = captured(raised)
    took = perf_counter() - started

    assert size(failure) <= LIMIT
    assert failure.message.startswith("HEAD")
    assert failure.message.endswith("TAIL")
    assert "4,978 frames left out" in failure.traceback  # 5,001 of deep + this one - 8 - 16
    assert "in test_a_huge_message" in failure.traceback, "the outermost frame"
    assert failure.traceback.endswith("TAIL")
    assert took < 2, "seconds; some tens of milliseconds on a quiet machine"


def test_a_failure_that_comes_again_takes_no_more_room() -> None:
    """S70: the texts of the fifteenth failure are as long as those of the first."""
    sizes = {size(captured(caught(OrderLostError("x" * 100_000)))) for _ in range(15)}

    assert len(sizes) == 1


@pytest.mark.parametrize("letter", ["x", "é", "订", "\U0001f4e6", "\x00", "\ud83d"])
def test_the_bound_counts_bytes_whatever_the_letters(letter: str) -> None:
    """P4: 16 KB in UTF-8, of everything together."""
    failure = captured(caught(OrderLostError(letter * 50_000)))

    assert size(failure) <= LIMIT
    assert failure.traceback.endswith(failure.message[-100:])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\x00b", "a␀b"),
        ("x\ud83d", "x\\ud83d"),
        (b"\xff".decode("utf8", "surrogateescape"), "\\udcff"),
        ("literally \\u0000", "literally \\u0000"),
        ("\x1b[31mred\x7f", "␛[31mred␡"),
        ("tab\tline\nend\r", "tab\tline\nend\r"),
        ("Ünï 订单 \U0001f4e6", "Ünï 订单 \U0001f4e6"),
    ],
)
def test_what_a_database_refuses_is_made_visible(text: str, expected: str) -> None:
    r"""P4, S71: NUL and lone surrogates; the six characters \u0000 stay literal."""
    assert visible(text) == expected


@pytest.mark.parametrize("text", ["a\x00b", "x\ud83d", b"\xff".decode("utf8", "surrogateescape")])
def test_parking_never_fails_because_of_an_errors_text(text: str) -> None:
    """P4, S71: also inside nested keys, notes, the class's name and the causes."""
    error = OrderLostError({"outer": {text: text}}, text)
    error.add_note(text)
    error.__cause__ = OrderLostError(text)
    error.__cause__.__cause__ = type("Nul\u2028Error", (Exception,), {})(text)

    failure = captured(caught(error))

    for stored in (failure.type, failure.message, failure.traceback):
        assert "\x00" not in stored
        stored.encode()  # no lone surrogates


SECRET = "hunter2"  # noqa: S105 - what must not be seen
LEAKS = [
    "postgresql://u:hunter2@h/db",
    "redis://:hunter2@h:6379/0",
    "postgresql://u:hun\nter2@h/db",
    "postgresql://u:p@hunter2@h/db",
    "GET https://h/x?api_key=hunter2&page=2",
    "GET https://h/x?page=2&access_token=hunter2",
    "host=h password=hunter2 user=u",
    "Password = hunter2;Host=h",
    "password='hunter2 with blanks' host=h",
    '{"password": "hun\\"hunter2", "host": "h"}',
    "{'token': 'hunter2', 'host': 'h'}",
    "Authorization: Bearer hunter2",
    "authorization=Basic aHVudGVyMg==hunter2",
    "{'Authorization': 'Bearer hunter2', 'Host': 'h'}",
    "Authorization: Bearer\n hunter2\nHost: h",
    "Proxy-Authorization: Custom hunter2",
    "used bearer hunter2 on h",
    "X-Api-Key: hunter2\nHost: h",
    "client_secret: hunter2",
    "passphrase=hunter2",
    "secret=\n  hunter2",
    "password=ab,hunter2,host=h",
    "token=ab\nhunter2",
    "api_key=ab\n    hunter2 h",
]


@pytest.mark.parametrize("text", LEAKS)
def test_a_secret_is_hidden_and_what_surrounds_it_stays(text: str) -> None:
    """P4, S108: DSN passwords, authorizations, keys and tokens, also broken by a line's end."""
    shown = redacted(text)

    assert SECRET not in shown
    assert "***" in shown
    assert ("h" in shown) == ("h" in text.replace(SECRET, "").replace("hun", "")) or "host" not in text.lower()
    assert redacted(shown) == shown, "twice changes nothing more"


@pytest.mark.parametrize(
    "text",
    [
        "http://h:8080/path is down",
        "order o-42 has no lines",
        "max_tokens=100 exceeded",
        "Basic validation failed",
        "InvalidTokenError: signed by nobody",
        "mail to a@b.example",
        "tokenizer=bert",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    """S108: host and class name are still visible."""
    assert redacted(text) == text


def test_the_host_and_the_class_stay_visible_beside_a_secret() -> None:
    """S108: what helps is kept."""
    assert redacted("postgresql://u:hunter2@db1.local/shop") == "postgresql://u:***@db1.local/shop"
    assert redacted("token=hunter2\nValueError: bad at db1") == "token=***\nValueError: bad at db1"
    assert redacted("https://h/?api_key=hunter2&page=2") == "https://h/?api_key=***&page=2"


@pytest.mark.parametrize("text", LEAKS)
def test_no_secret_of_a_chain_of_causes_is_stored(text: str) -> None:
    """P4, S108: redacted along the whole chain, in notes, groups and messages."""
    inner = OrderLostError(text)
    inner.add_note(text)
    group = ExceptionGroup(text, [OrderLostError(text), ValueError(text)])
    group.__cause__ = caught(inner)
    outer = RuntimeError("could not connect")
    outer.__cause__ = caught(group)

    failure = captured(caught(outer))

    assert SECRET not in failure.message + failure.traceback
    assert "OrderLostError" in failure.traceback
    assert "ExceptionGroup" in failure.traceback


@pytest.mark.parametrize("before", [*range(0, 9_000, 451), *range(62_000, 67_000, 451)])
def test_no_secret_is_split_open_by_the_place_where_a_text_is_cut(before: int) -> None:
    """P4, S108: redaction comes before truncation, wherever the cut falls."""
    long = "h4unter2" * 400
    text = "a " * (before // 2) + f"password={long} " + "b " * (before // 2)

    for message in (text, text + "b " * 80_000, "b " * 80_000 + text):
        failure = captured(OrderLostError(message))
        assert "unter2h4" not in failure.message + failure.traceback


def test_no_secret_is_so_long_that_its_tail_is_shown() -> None:
    """P4, S108: though its beginning is megabytes away, and though a harmless word of that length keeps its tail."""
    for key in ("password=", "Authorization: Custom ", "Bearer "):
        assert "unter2" not in captured(OrderLostError(key + "h4unter2" * 500_000)).message
    assert captured(OrderLostError("x" * 4_000_000 + "END")).message.endswith("END")


def test_a_source_line_with_a_secret_is_redacted_too() -> None:
    """P4, S108: tracebacks show source lines, and people write passwords into them."""
    failure = captured(caught_with_literal())

    assert "nothing:***@h" in failure.traceback
    assert "sesame" not in failure.traceback


def caught_with_literal() -> BaseException:
    """Raise from a line that holds a password."""
    try:
        raise OrderLostError("postgresql://nothing:sesame@h")  # noqa: TRY301 - the line is what is tested
    except OrderLostError as error:
        return error


class RudeError(Exception):
    """An exception whose text cannot be had."""

    def __init__(self, answer: Callable[[], str]) -> None:
        """Keep what its text will do."""
        super().__init__()
        self.answer = answer

    def __str__(self) -> str:
        return self.answer()


def raising(error: BaseException) -> Callable[[], str]:
    """Make a text that raises."""

    def answer() -> str:
        raise error

    return answer


@pytest.mark.parametrize("error", [ValueError("x"), RecursionError(), SystemExit(3), GeneratorExit()])
def test_an_error_whose_text_raises_is_survived(error: BaseException) -> None:
    """P4, S71: parking never fails because of its error text."""
    failure = captured(caught(RudeError(raising(error))))

    assert type(error).__name__ in failure.message
    assert "RudeError" in failure.traceback


def test_the_chain_reads_as_python_writes_it() -> None:
    """P4: causes first, and what was suppressed stays out."""
    first = caught(KeyError("k"))
    second = caught(ValueError("v"))
    second.__context__ = first
    third = caught(RuntimeError("r"))
    third.__cause__ = second

    text = captured(third).traceback

    assert text.index("KeyError") < text.index("During handling") < text.index("ValueError")
    assert text.index("ValueError") < text.index("direct cause") < text.index("RuntimeError: r")
    second.__suppress_context__ = True
    assert "KeyError" not in captured(third).traceback


def test_a_chain_that_bites_its_tail_ends() -> None:
    """K4: cycles are safe."""
    first, second = ValueError("1"), ValueError("2")
    first.__cause__, second.__cause__ = second, first

    assert list(causes(first)) == [first, second]
    assert captured(first).traceback.count("ValueError") == 2


def test_a_chain_is_followed_for_sixteen_links() -> None:
    """K4: at most 16."""
    links = [ValueError(str(number)) for number in range(20)]
    for outer, inner in pairwise(links):
        outer.__cause__ = inner

    assert list(causes(links[0])) == links[:16]


class RayTaskError(Exception):
    """As Ray's, by name and attribute."""

    __module__ = "ray.exceptions"

    def __init__(self, cause: BaseException | None) -> None:
        """Carry the error of the other process."""
        super().__init__("ray::f() raised")
        self.cause = cause


class CarrierError(Exception):
    """A wrapper of ours."""

    __wow_wrapper__ = True


def test_wrappers_are_taken_off_first() -> None:
    """K4, S53: RayTaskError, also as the class that Ray derives from both; our own; several of them."""
    inner = caught(OrderLostError("o"))
    both = type("RayTaskError(OrderLostError)", (RayTaskError, OrderLostError), {})
    ours = CarrierError()
    ours.__cause__ = RayTaskError(inner)

    for wrapped in (inner, RayTaskError(inner), both(inner), ours, RayTaskError(ours)):
        assert unwrapped(wrapped) is inner
        assert captured(wrapped).type.endswith("OrderLostError")
        assert fingerprint(wrapped) == fingerprint(inner)
    outer = RuntimeError("ctx")
    outer.__cause__ = ours
    assert list(causes(outer)) == [outer, inner]


def test_a_wrapper_around_nothing_or_itself_stays() -> None:
    """K4: cycles are safe."""
    empty, itself = RayTaskError(None), RayTaskError(None)
    itself.cause = itself

    assert unwrapped(empty) is empty
    assert unwrapped(itself) is itself


def lost() -> BaseException:
    """Fail at one place of the application."""
    return caught(OrderLostError("a"))


def test_a_fingerprint_is_type_and_place_not_text() -> None:
    """P4, H51: sixteen hex digits, the same for every text, another for another type or place."""
    one, other = lost(), lost()
    other.args = ("b",)

    assert fingerprint(one) == fingerprint(other)
    assert len(fingerprint(one)) == 16
    int(fingerprint(one), 16)
    assert fingerprint(one) != fingerprint(caught(ValueError("a")))
    assert fingerprint(caught(OrderLostError("a"))) == fingerprint(one), "both raised in caught()"
    with pytest.raises(OrderLostError) as elsewhere:
        deep(0)
    assert fingerprint(elsewhere.value) != fingerprint(one)


def test_a_fingerprint_counts_the_application_not_the_library_it_called() -> None:
    """H51: the first application frame, though the error came out of the standard library."""

    def parse(text: str) -> BaseException:
        try:
            int(__import__("fractions").Fraction(text))
        except ValueError as error:
            return error
        raise AssertionError(text)

    def parse_too(text: str) -> BaseException:
        try:
            int(__import__("fractions").Fraction(text))
        except ValueError as error:
            return error
        raise AssertionError(text)

    assert fingerprint(parse("a")) == fingerprint(parse("b"))
    assert fingerprint(parse("a")) != fingerprint(parse_too("a"))


def test_an_error_that_was_never_raised_has_a_fingerprint() -> None:
    """H51: without any frame, by its type."""
    assert fingerprint(ValueError("a")) == fingerprint(ValueError("b")) != fingerprint(KeyError("a"))


def test_the_minimal_form_is_plain_ascii_and_keeps_what_groups_it() -> None:
    """P2, H27: for a row that the store refused."""
    failure = captured(caught(type("Größe", (Exception,), {"__module__": "läden"})("订单")))
    small = minimal(failure)

    assert small.type == "l\\xe4den.Gr\\xf6\\xdfe"
    assert (small.message + small.source).isascii()
    assert small.traceback == ""
    assert (small.category, small.fingerprint) == (failure.category, failure.fingerprint)
    assert minimal(small) == small


@settings(max_examples=150, deadline=None)
@given(st.text(st.characters(), max_size=300), st.sampled_from(["", "x" * 20_000, "\n"]))
def test_any_text_at_all_can_be_captured(text: str, more: str) -> None:
    """P4, S71: bounded and storable, whatever it is."""
    failure = captured(OrderLostError(text + more))

    assert size(failure) <= LIMIT
    assert "\x00" not in failure.message
    failure.message.encode()
