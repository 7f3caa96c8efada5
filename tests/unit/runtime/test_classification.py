"""What a failure means: told by what the runtime does next, for lists, classifiers, causes, groups and drivers."""

from __future__ import annotations

import logging
import threading
from typing import Any

import asyncpg
import pytest

from tests.unit.runtime.desk import CarrierDown, Desk, Paid, TooBusy, UnknownBuyer, Unlisted, paid, scenario
from tests.unit.runtime.shop import app
from tests.unit.runtime.verdicts import Taken, outcome_of
from wow_ray import (
    App,
    BulkheadFullError,
    Category,
    CommandBusyError,
    Context,
    Event,
    StoreUnavailableError,
    UnrecoverableHandlingError,
    WaitTimeoutError,
    on_event,
    retry,
)


def listing(
    *,
    recoverable: list[type[BaseException]] | None = None,
    unrecoverable: list[type[BaseException]] | None = None,
    systemic: list[type[BaseException]] | None = None,
    classifiers: tuple[Any, ...] = (),
) -> App:
    """Make an app with these lists on its one reactor."""
    made = App("shop", classifiers=classifiers)

    @made.reactor
    @retry(recoverable=recoverable, unrecoverable=unrecoverable, systemic=systemic)
    class Notifier:
        def __init__(self, desk: Desk) -> None:
            self.desk = desk

        @on_event
        async def on_paid(self, event: Event[Paid], ctx: Context) -> None:
            await self.desk.handle(event, ctx)

    return made


class Both(ValueError, OSError):  # noqa: N818 - what is in it is the point
    """Two listed bases: the nearer in the MRO decides."""


class Response:
    """What an HTTP client hangs on its exceptions."""

    def __init__(self, status: int, **headers: str) -> None:
        """Hold status and headers."""
        self.status_code = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class HttpError(Exception):
    """An HTTP client's exception."""

    def __init__(self, status: int, **headers: str) -> None:
        """Hold the response."""
        super().__init__(f"status {status}")
        self.response = Response(status, **headers)


def raised_from(outer: BaseException, cause: BaseException | None) -> BaseException:
    """Give `outer` as `raise outer from cause` leaves it."""
    outer.__cause__ = cause
    return outer


@pytest.mark.parametrize(
    ("error", "taken"),
    [
        (UnicodeDecodeError("utf8", b"\xff", 0, 1, "odd"), "unrecoverable"),
        (ConnectionResetError(), "systemic"),
        (KeyError("x"), "recoverable"),
        (Both(), "unrecoverable"),
        (UnrecoverableHandlingError("x"), "unrecoverable"),
    ],
)
async def test_the_nearest_listed_class_decides(error: BaseException, taken: Taken) -> None:
    """K1, K2, S54: across lists the nearest in the MRO; our own unrecoverable error beats a listed `Exception`."""
    lists = listing(recoverable=[Exception], unrecoverable=[ValueError], systemic=[OSError])
    assert await outcome_of(lists, error) == taken


async def test_on_a_tie_recoverable_wins_then_systemic() -> None:
    """K2, S54: one class in several lists."""
    assert await outcome_of(
        listing(recoverable=[Unlisted], unrecoverable=[Unlisted], systemic=[Unlisted]), Unlisted()
    ) == ("recoverable")
    assert await outcome_of(listing(unrecoverable=[Unlisted], systemic=[Unlisted]), Unlisted()) == "systemic"


async def test_a_handlers_list_replaces_its_processors_list_of_that_name_only() -> None:
    """K3: the handler's `unrecoverable` is all there is of that name; the class's `systemic` stays."""
    made = App("shop")

    @made.reactor
    @retry(unrecoverable=[UnknownBuyer], systemic=[CarrierDown])
    class Notifier:
        def __init__(self, desk: Desk) -> None:
            self.desk = desk

        @on_event
        @retry(unrecoverable=[KeyError])
        async def on_paid(self, event: Event[Paid], ctx: Context) -> None:
            await self.desk.handle(event, ctx)

    assert await outcome_of(made, KeyError()) == "unrecoverable"
    assert await outcome_of(made, UnknownBuyer()) == "recoverable"
    assert await outcome_of(made, CarrierDown()) == "systemic"


async def test_lists_come_before_classifiers_and_classifiers_before_modules() -> None:
    """K1: what the handler lists is never asked further; a classifier overrules what the modules know."""

    def everything_is_busy(error: BaseException, subscription: str) -> Category | None:
        assert subscription == "Notifier.on_paid"
        return None if isinstance(error, KeyError) else Category.BACKPRESSURE

    made = listing(unrecoverable=[UnknownBuyer], classifiers=(everything_is_busy,))
    assert await outcome_of(made, UnknownBuyer()) == "unrecoverable"
    assert await outcome_of(made, ConnectionError()) == "backpressure"
    assert await outcome_of(made, KeyError()) == "recoverable"


async def test_a_classifier_that_raises_has_no_opinion_and_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    """K8: the next one is asked, the loop goes on, the log says it once."""

    def broken(error: BaseException, subscription: str) -> Category | None:
        raise ZeroDivisionError(subscription) from error

    def nonsense(error: BaseException, subscription: str) -> Any:  # noqa: ANN401 - what is wrong with it
        return f"systemic: {error} {subscription}"

    def leaving(error: BaseException, subscription: str) -> Category | None:
        raise SystemExit(f"{error} {subscription}")

    async def leaving_later(error: BaseException, subscription: str) -> Category | None:
        raise SystemExit(f"{error} {subscription}")

    desk = Desk()
    desk.next("A", Unlisted(), Unlisted(), Unlisted())
    async with scenario(listing(classifiers=(broken, nonsense, leaving, leaving_later)), desk) as running:
        await paid(running, "A")
        await running.advance("1m")
    assert desk.waits("A") == [0.1, 0.2, 0.4]
    reports = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert len(reports) == 4


async def test_causes_are_looked_at_but_contexts_are_not() -> None:
    """K4, S53: a listed cause decides where the outer error is unlisted; `from None` and a mere context do not."""
    assert await outcome_of(app, raised_from(RuntimeError("ctx"), UnknownBuyer())) == "unrecoverable"
    assert await outcome_of(app, raised_from(CarrierDown(), UnknownBuyer())) == "systemic"
    hidden = RuntimeError("ctx")
    hidden.__context__ = UnknownBuyer()
    assert await outcome_of(app, hidden) == "recoverable"
    around = raised_from(RuntimeError("a"), RuntimeError("b"))
    assert around.__cause__ is not None
    around.__cause__.__cause__ = around
    assert await outcome_of(app, around) == "recoverable"


@pytest.mark.parametrize(
    ("group", "taken"),
    [
        (ExceptionGroup("g", [UnknownBuyer()]), "unrecoverable"),
        (ExceptionGroup("g", [TimeoutError(), UnknownBuyer()]), "unrecoverable"),
        (ExceptionGroup("g", [UnknownBuyer(), TimeoutError()]), "unrecoverable"),
        (ExceptionGroup("g", [ConnectionRefusedError(), KeyError()]), "recoverable"),
        (ExceptionGroup("g", [ConnectionRefusedError(), CarrierDown()]), "systemic"),
        (ExceptionGroup("g", [ExceptionGroup("h", [UnknownBuyer()]), KeyError()]), "unrecoverable"),
        (ExceptionGroup("g", [ExceptionGroup("h", [CarrierDown()]), CarrierDown()]), "systemic"),
        (ExceptionGroup("g", [TooBusy(), TooBusy()]), "backpressure"),
        (ExceptionGroup("g", [TooBusy(), CarrierDown()]), "recoverable"),
    ],
)
async def test_a_group_of_errors_is_judged_by_all_of_them(group: BaseException, taken: Taken) -> None:
    """K4, S58: any unrecoverable one decides; systemic or backpressure only when all are."""
    assert await outcome_of(app, group) == taken


@pytest.mark.parametrize(
    ("error", "taken"),
    [
        (ConnectionError(), "systemic"),
        (ConnectionRefusedError(), "systemic"),
        (BrokenPipeError(), "systemic"),
        (StoreUnavailableError("gone"), "systemic"),
        (TimeoutError(), "recoverable"),
        (OSError(28, "no space left on device"), "recoverable"),
        (CommandBusyError("busy"), "backpressure"),
        (WaitTimeoutError("waited"), "backpressure"),
        (BulkheadFullError("full"), "backpressure"),
        (HttpError(429), "backpressure"),
        (HttpError(503, retry_after="0"), "backpressure"),
        (HttpError(503), "recoverable"),
        (HttpError(404), "recoverable"),
    ],
)
async def test_built_in_classes(error: BaseException, taken: Taken) -> None:
    """K7, H34: connections are systemic, timeouts are not though they are `OSError`s, busy answers are backpressure."""
    assert await outcome_of(app, error) == taken


@pytest.mark.parametrize(
    ("error", "taken"),
    [
        (asyncpg.UntranslatableCharacterError("22P05"), "recoverable"),
        (asyncpg.UniqueViolationError("23505"), "recoverable"),
        (asyncpg.ProgramLimitExceededError("54000"), "recoverable"),
        (asyncpg.UndefinedColumnError("42703"), "recoverable"),
        (asyncpg.SerializationError("40001"), "contention"),
        (asyncpg.DeadlockDetectedError("40P01"), "contention"),
        (asyncpg.LockNotAvailableError("55P03"), "contention"),
        (asyncpg.QueryCanceledError("57014"), "contention"),
        (asyncpg.AdminShutdownError("57P01"), "systemic"),
        (asyncpg.ConnectionFailureError("08006"), "systemic"),
        (asyncpg.TooManyConnectionsError("53300"), "systemic"),
        (asyncpg.ReadOnlySQLTransactionError("25006"), "systemic"),
        (asyncpg.InterfaceError("connection is closed"), "systemic"),
    ],
)
async def test_errors_of_the_database_driver(error: BaseException, taken: Taken) -> None:
    """K7, S61, H34: by SQLSTATE; a poison row never pauses anybody, contention is retried with jitter."""
    assert await outcome_of(app, error) == taken


async def test_a_classifier_that_hangs_has_no_opinion_and_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """K8: A's failure waits a second for it, B is handled meanwhile; it is logged once and not asked again."""
    hung = threading.Event()

    def slow(error: BaseException, subscription: str) -> Category | None:
        del error, subscription
        hung.wait(30)
        return Category.UNRECOVERABLE

    desk = Desk()
    desk.next("A", Unlisted(), Unlisted())
    hanging = listing(classifiers=(slow,))
    try:
        async with scenario(hanging, desk) as running:
            await paid(running, "A")
            await running.advance("100ms")
            await paid(running, "B")
            await running.advance("100ms")
            assert ("B", 1) in desk.done
            await running.advance("10s")
            assert ("A", 1) in desk.done
        assert len([record for record in caplog.records if "slow" in record.getMessage()]) == 1
    finally:
        hung.set()


async def test_an_async_classifier_is_waited_for() -> None:
    """K1, K8: it may ask somebody; what it says counts."""

    async def asks(error: BaseException, subscription: str) -> Category | None:
        del subscription
        await desk.clock.sleep(0.5)
        return Category.UNRECOVERABLE if isinstance(error, Unlisted) else None

    desk = Desk()
    desk.next("A", Unlisted())
    asking = listing(classifiers=(asks,))
    async with scenario(asking, desk) as running:
        await paid(running, "A")
        await running.advance("1s")
        (row,) = await running.rows()
        assert (row.state, row.reason) == ("exhausted", "unrecoverable")
