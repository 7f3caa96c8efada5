"""Errors that are judged by their class alone are judged once for each class, and no otherwise than each for itself."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from socket import gaierror

import asyncpg
import httpx
import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st

from wow_ray.adapters.failures import MODULES, wants_jitter
from wow_ray.errors import BulkheadFullError, ConcurrencyError, StoreUnavailableError, UnrecoverableHandlingError
from wow_ray.failure import Category
from wow_ray.policy.by_class import MOST, ByClass, Looks
from wow_ray.policy.classifiers import Module
from wow_ray.policy.classify import DEFAULT, Asked, Classified, Lists, classify
from wow_ray.runtime.verdicts import Verdicts
from wow_ray.testing.clock import VirtualClock

REQUEST = httpx.Request("GET", "http://carrier")


class UnlistedError(Exception):
    """Nothing that anybody knows."""


class ListedError(UnlistedError):
    """What a handler lists."""


class BusyError(Exception):
    """Says with an attribute of its class that the other side is busy."""

    status_code = 429


class SlottedError(Exception):
    """Has its status in a slot."""

    __slots__ = ("status",)
    status: int


class ConjuredError(Exception):
    """Has whatever attribute is asked for."""

    def __getattr__(self, name: str) -> object:
        """Be busy."""
        if name == "status_code":
            return 429
        raise AttributeError(name)


class WrapperError(Exception):
    """Carries another error."""

    __wow_wrapper__ = True


def refuse(classifier: Asked, problem: BaseException) -> None:
    """See that no classifier breaks."""
    raise AssertionError(classifier, problem)


def slotted(status: int) -> SlottedError:
    """Make one with that status."""
    error = SlottedError()
    error.status = status
    return error


def because(error: BaseException, cause: BaseException) -> BaseException:
    """Give the error that cause."""
    error.__cause__ = cause
    return error


def carrying(**attributes: object) -> UnlistedError:
    """Give an error attributes."""
    error = UnlistedError("it has attributes")
    error.__dict__.update(attributes)
    return error


MAKERS: list[Callable[[], BaseException]] = [
    UnlistedError,
    lambda: UnlistedError("another text"),
    ListedError,
    lambda: carrying(order_id=7),
    lambda: carrying(status_code=429),
    lambda: carrying(status_code=404),
    lambda: carrying(sqlstate="57P01"),
    lambda: carrying(sqlstate="40001"),
    lambda: carrying(retry_after=3, status=503),
    lambda: carrying(orig=asyncpg.DeadlockDetectedError()),
    lambda: carrying(connection_invalidated=True),
    BusyError,
    ConjuredError,
    lambda: slotted(429),
    lambda: slotted(200),
    ConnectionRefusedError,
    lambda: ConnectionRefusedError(errno.ECONNREFUSED, "refused"),
    lambda: gaierror(-2, "not known"),
    TimeoutError,
    lambda: OSError(errno.EHOSTUNREACH, "no way"),
    lambda: OSError(errno.ENOENT, "no file"),
    lambda: because(UnlistedError(), ConnectionResetError()),
    lambda: because(ConnectionResetError(), UnrecoverableHandlingError("no")),
    lambda: because(UnlistedError(), ListedError()),
    lambda: because(WrapperError(), ConnectionResetError()),
    lambda: because(WrapperError(), UnlistedError()),
    lambda: ExceptionGroup("several", [UnlistedError(), UnrecoverableHandlingError("no")]),
    lambda: ExceptionGroup("several", [ConnectionResetError()]),
    lambda: ExceptionGroup("several", [UnlistedError(), ConcurrencyError("somebody else")]),
    lambda: UnrecoverableHandlingError("no"),
    lambda: StoreUnavailableError("away"),
    lambda: BulkheadFullError("full"),
    lambda: ConcurrencyError("somebody else"),
    lambda: asyncpg.InterfaceError("connection is closed"),
    lambda: asyncpg.InterfaceError("another operation is in progress"),
    asyncpg.UniqueViolationError,
    asyncpg.DeadlockDetectedError,
    asyncpg.AdminShutdownError,
    lambda: httpx.ConnectError("refused", request=REQUEST),
    lambda: httpx.RemoteProtocolError("Server disconnected", request=REQUEST),
    lambda: httpx.RemoteProtocolError("illegal", request=REQUEST),
    lambda: httpx.HTTPStatusError("busy", request=REQUEST, response=httpx.Response(429)),
    lambda: httpx.HTTPStatusError("gone", request=REQUEST, response=httpx.Response(404)),
    lambda: redis.ResponseError("LOADING the data set"),
    lambda: redis.ResponseError("ERR unknown"),
    lambda: redis.WatchError("changed"),
]


@dataclass
class Handler:
    """What the verdicts ask of a handler."""

    subscription: str = "Notifier.on_paid"
    lists: Lists = field(default_factory=Lists)


HANDLERS = [
    Handler(),
    Handler(lists=Lists(unrecoverable=(ListedError,), systemic=(TimeoutError,))),
    Handler(lists=Lists(recoverable=(ConnectionError,), systemic=(UnlistedError,))),
]


@pytest.fixture
def verdicts() -> Iterator[Verdicts]:
    """Judge by our own modules alone."""
    made = Verdicts((), MODULES, wants_jitter, VirtualClock())
    yield made
    made.close()


def anew(error: BaseException, handler: Handler) -> Classified:
    """Ask everybody."""
    return classify(error, handler.subscription, handler.lists, (), MODULES, refuse)


@given(
    order=st.lists(st.tuples(st.sampled_from(MAKERS), st.sampled_from(HANDLERS)), max_size=40),
)
def test_what_is_remembered_of_a_class_is_what_asking_everybody_says(
    order: list[tuple[Callable[[], BaseException], Handler]],
) -> None:
    """K1, K2, K4, K6, H34: whatever came before it, for whichever handler."""
    made = Verdicts((), MODULES, wants_jitter, VirtualClock())
    for make, handler in order:
        error = make()
        assert made.of(error, handler) == anew(error, handler), error
        assert made.wants_jitter(error) == wants_jitter(error), error
    made.close()


def test_a_plain_error_is_judged_once_for_its_class(verdicts: Verdicts) -> None:
    """K1, H51: a poison aggregate raises the same class at every call; nobody is asked again."""
    asked: list[BaseException] = []

    def note(error: BaseException, subscription: str) -> Category | None:  # noqa: ARG001 - a classifier
        asked.append(error)
        return None

    noting = Verdicts((), (*MODULES, Module(note, Looks())), wants_jitter, VirtualClock())
    assert {noting.of(UnlistedError(str(number)), HANDLERS[0]) for number in range(20)} == {DEFAULT}
    assert len(asked) == 1
    assert verdicts.of(carrying(order_id=1), HANDLERS[0]) == DEFAULT
    noting.close()


@pytest.mark.parametrize("silent_about_its_looks", [True, False])
def test_a_classifier_that_does_not_say_what_it_looks_at_is_asked_at_each_attempt(
    *, silent_about_its_looks: bool
) -> None:
    """K6: an application's classifier, or any other that may go by anything, is asked anew each time."""
    answers = iter([Category.SYSTEMIC, None, Category.UNRECOVERABLE])

    def moody(error: BaseException, subscription: str) -> Category | None:  # noqa: ARG001 - a classifier
        return next(answers)

    application, modules = ((), (moody, *MODULES)) if silent_about_its_looks else ((moody,), MODULES)
    made = Verdicts(application, modules, wants_jitter, VirtualClock())
    found = [made.of(UnlistedError(), HANDLERS[0]).category for _ in range(3)]
    assert found == [Category.SYSTEMIC, Category.RECOVERABLE, Category.UNRECOVERABLE]
    made.close()


def test_the_memory_of_classes_is_bounded(verdicts: Verdicts) -> None:
    """H51: a program that makes classes as it goes fills nothing."""
    by_class = ByClass([Looks()])
    for number in range(MOST + 10):
        error = type(f"Made{number}", (Exception,), {})()
        assert by_class.settles(error)
        assert verdicts.of(error, HANDLERS[0]) == DEFAULT
        assert not verdicts.wants_jitter(error)
    assert by_class.remembered <= MOST
    assert verdicts.remembered <= MOST


def test_an_error_with_an_attribute_that_is_looked_at_is_not_settled_by_its_class() -> None:
    """K7: wherever the attribute is: on the error, on its class, in a slot, or made on demand."""
    by_class = ByClass([Looks(frozenset({"status_code", "status"}))])
    assert by_class.settles(carrying(order_id=1))
    found = [by_class.settles(error) for error in (carrying(status=1), BusyError(), slotted(1), ConjuredError())]
    assert found == [False] * 4
