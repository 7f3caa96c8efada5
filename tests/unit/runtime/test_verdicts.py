"""Classifiers of the application and of other packages are waited for, each within a second, and stop nobody (K8)."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import pytest

from tests.waiting import until
from wow_ray.adapters.builtin_failures import builtin
from wow_ray.failure import Category, Failure
from wow_ray.policy.classifiers import AnyClassifier, Foreign
from wow_ray.policy.classify import Asked, Classified, Lists
from wow_ray.runtime.elsewhere import FailedElsewhereError
from wow_ray.runtime.verdicts import Verdicts
from wow_ray.testing.clock import VirtualClock

SYSTEMIC, BACKPRESSURE, UNRECOVERABLE = Category.SYSTEMIC, Category.BACKPRESSURE, Category.UNRECOVERABLE
BY_DEFAULT = Classified(Category.RECOVERABLE, "default")


@dataclass
class Handler:
    """What the verdicts ask of a handler."""

    subscription: str = "Notifier.on_paid"
    lists: Lists = field(default_factory=Lists)


Make = Callable[..., Verdicts]


@pytest.fixture
def clock() -> VirtualClock:
    """Time under control."""
    return VirtualClock()


@pytest.fixture
async def verdicts(clock: VirtualClock) -> AsyncIterator[Make]:
    """Make verdicts of these classifiers, on the clock."""
    made: list[Verdicts] = []

    def make(*application: AnyClassifier, modules: tuple[Asked, ...] = (builtin,)) -> Verdicts:
        made.append(Verdicts(application, modules, lambda _: False, clock))
        return made[-1]

    yield make
    for each in made:
        each.close()


async def slow(error: BaseException, subscription: str) -> Category | None:  # noqa: ARG001 - a classifier
    """Answer only when the error says so."""
    assert isinstance(error, Waits)
    error.asked += 1
    await error.answer.wait()
    return SYSTEMIC


class Waits(Exception):  # noqa: N818 - what it does to `slow`
    """An error that says when its classifier answers."""

    def __init__(self) -> None:
        """Do not answer yet."""
        super().__init__()
        self.answer = asyncio.Event()
        self.asked = 0


async def test_without_classifiers_of_others_nothing_is_waited_for(verdicts: Make) -> None:
    """K1: the runtime may judge where it is; so it may where a list decides."""
    plain = verdicts()
    assert not plain.needs_wait
    assert plain.of(ConnectionError(), Handler()) == (SYSTEMIC, "module:builtin")
    judged = plain.gathered(ConnectionError(), Handler())
    with pytest.raises(StopIteration) as end:
        judged.send(None)
    assert end.value.value == (SYSTEMIC, "module:builtin")

    waiting = verdicts(slow)
    assert waiting.needs_wait
    listed = waiting.gathered(KeyError(), Handler(lists=Lists(unrecoverable=(KeyError,))))
    with pytest.raises(StopIteration) as end:
        listed.send(None)
    assert end.value.value == (UNRECOVERABLE, "list")


async def test_plain_and_async_classifiers_are_asked_in_one_order(verdicts: Make) -> None:
    """K1, K4: in the order of the application, along the causes, before the modules; threads and tasks alike."""
    asked: list[tuple[str, str]] = []

    def first(error: BaseException, subscription: str) -> Category | None:
        asked.append(("first", type(error).__name__))
        assert subscription == "Notifier.on_paid"
        assert threading.current_thread() is not threading.main_thread()
        return None

    async def second(error: BaseException, subscription: str) -> Category | None:
        asked.append(("second", type(error).__name__))
        assert subscription == "Notifier.on_paid"
        return BACKPRESSURE if isinstance(error, ConnectionError) else None

    error = KeyError()
    error.__cause__ = ConnectionError()
    judged = await verdicts(first, second).gathered(error, Handler())

    assert judged == (BACKPRESSURE, "classifier:second")
    assert asked == [
        ("first", "KeyError"),
        ("second", "KeyError"),
        ("first", "ConnectionError"),
        ("second", "ConnectionError"),
    ]
    assert await verdicts(first, second).gathered(ValueError(), Handler()) == BY_DEFAULT


async def test_the_leaves_of_a_group_are_asked_one_by_one(verdicts: Make) -> None:
    """K4: judged exactly as without waiting."""

    async def busy(error: BaseException, subscription: str) -> Category | None:  # noqa: ARG001 - a classifier
        return BACKPRESSURE if isinstance(error, KeyError) else None

    judge = verdicts(busy)
    assert await judge.gathered(ExceptionGroup("g", [KeyError(), KeyError()]), Handler()) == (
        BACKPRESSURE,
        "classifier:busy",
    )
    assert await judge.gathered(ExceptionGroup("g", [KeyError(), ValueError()]), Handler()) == BY_DEFAULT


async def test_one_that_raises_or_answers_nonsense_has_no_opinion_and_is_reported_once(
    verdicts: Make, caplog: pytest.LogCaptureFixture
) -> None:
    """K8: plain or async, also with a cancellation or StopIteration of its own; the next one is asked."""

    def raises(error: BaseException, subscription: str) -> Category | None:
        raise StopIteration(subscription) from error

    async def cancels(error: BaseException, subscription: str) -> Category | None:
        raise asyncio.CancelledError(subscription) from error

    async def nonsense(error: BaseException, subscription: str) -> str:
        return f"systemic: {error} {subscription}"

    def forgot(error: BaseException, subscription: str) -> object:
        return slow(error, subscription)

    def last(error: BaseException, subscription: str) -> Category | None:
        return SYSTEMIC if subscription and isinstance(error, ValueError) else None

    broken: list[AnyClassifier] = [raises, cancels, nonsense, forgot, last]  # type: ignore[list-item]
    judge = verdicts(*broken)
    for _ in range(3):
        assert await judge.gathered(ValueError(), Handler()) == (SYSTEMIC, "classifier:last")
    said = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert len(said) == 4
    assert "one that waits is an `async def`" in said[3]


async def test_an_async_classifier_that_hangs_is_given_up_after_a_second(
    verdicts: Make, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """K8: it is cancelled, said once, and the loop goes on meanwhile; the modules are asked next."""
    judge = verdicts(slow, modules=(lambda *_: BACKPRESSURE,))
    error = Waits()
    judging = asyncio.ensure_future(judge.gathered(error, Handler()))
    await clock.advance(0.99)
    assert not judging.done()
    await clock.advance(0.02)

    assert judging.done()
    assert (await judging).category is BACKPRESSURE
    quick = Waits()
    quick.answer.set()
    assert await judge.gathered(quick, Handler()) == (SYSTEMIC, "classifier:slow"), (
        "its call has ended: it was cancelled"
    )
    assert len([record for record in caplog.records if "slow" in record.getMessage()]) == 1


async def test_one_that_does_not_even_end_when_cancelled_is_not_asked_again_before_it_has(
    verdicts: Make, clock: VirtualClock
) -> None:
    """K8: no second call beside one that hangs."""
    end, calls = asyncio.Event(), 0

    async def stubborn(error: BaseException, subscription: str) -> Category | None:  # noqa: ARG001 - a classifier
        nonlocal calls
        calls += 1
        while not end.is_set():
            try:
                await end.wait()
            except asyncio.CancelledError:
                continue
        return SYSTEMIC

    judge = verdicts(stubborn)
    judging = asyncio.ensure_future(judge.gathered(ValueError(), Handler()))
    await clock.advance(1.1)
    assert await judging == BY_DEFAULT
    assert await judge.gathered(ValueError(), Handler()) == BY_DEFAULT
    assert calls == 1
    end.set()
    await clock.advance(0)
    assert await judge.gathered(ValueError(), Handler()) == (SYSTEMIC, "classifier:stubborn")


async def test_a_plain_classifier_that_hangs_keeps_its_thread_and_nobody_else(
    verdicts: Make, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """K8: the others get another thread at once; it is asked again when its call has ended."""
    end, calls = threading.Event(), 0

    def hangs(error: BaseException, subscription: str) -> Category | None:  # noqa: ARG001 - a classifier
        nonlocal calls
        calls += 1
        end.wait(30)
        return SYSTEMIC

    def other(error: BaseException, subscription: str) -> Category | None:  # noqa: ARG001 - a classifier
        return BACKPRESSURE

    judge = verdicts(hangs, other)
    judging = asyncio.ensure_future(judge.gathered(ValueError(), Handler()))
    await until(lambda: calls == 1 and judge.asking, "the call in its thread")
    await clock.advance(1.1)
    assert await judging == (BACKPRESSURE, "classifier:other")
    assert await judge.gathered(ValueError(), Handler()) == (BACKPRESSURE, "classifier:other")
    assert (calls, judge.asking) == (1, False)
    end.set()

    async def asked_again() -> bool:
        return await judge.gathered(ValueError(), Handler()) == (SYSTEMIC, "classifier:hangs")

    await until(asked_again, "the classifier to be asked again")
    assert len([record for record in caplog.records if record.levelno >= logging.ERROR]) == 1


async def test_the_second_is_for_all_that_one_is_asked_about_one_failure(verdicts: Make, clock: VirtualClock) -> None:
    """K8: fifty leaves at 0.4 s each do not take 20 s; what was answered in time counts."""
    asked = 0

    async def dawdling(error: BaseException, subscription: str) -> Category | None:  # noqa: ARG001 - a classifier
        nonlocal asked
        asked += 1
        await clock.sleep(0.4)
        return None

    group = ExceptionGroup("g", [ValueError(str(number)) for number in range(50)])
    judging = asyncio.ensure_future(verdicts(dawdling).gathered(group, Handler()))
    await clock.advance(1.1)
    assert await judging == BY_DEFAULT
    assert asked == 3


async def test_waiting_for_the_thread_is_not_the_classifiers_time(verdicts: Make) -> None:
    """K8: 32 failures at once ask one plain function, one call at a time, and all get its answer."""
    at_once = most = 0

    def plain(error: BaseException, subscription: str) -> Category | None:  # noqa: ARG001 - a classifier
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        at_once -= 1
        return SYSTEMIC

    judge = verdicts(plain)
    found = await asyncio.gather(*(judge.gathered(ValueError(), Handler()) for _ in range(32)))
    assert set(found) == {Classified(SYSTEMIC, "classifier:plain")}
    assert most == 1


async def test_our_own_cancellation_gets_through(verdicts: Make, caplog: pytest.LogCaptureFixture) -> None:
    """K5: a drain that cancels the worker ends the wait; nobody is called broken for it."""
    error = Waits()
    judging = asyncio.ensure_future(verdicts(slow).gathered(error, Handler()))
    await until(lambda: error.asked, "the question")
    judging.cancel()
    await asyncio.wait({judging})
    assert judging.cancelled()
    assert not caplog.records


async def test_classifiers_of_other_packages_are_waited_for_and_our_own_are_not(
    verdicts: Make, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """K1, K8: ours first and inline, then theirs; one that hangs is named with its package."""
    threads: list[threading.Thread] = []

    def ours(error: BaseException, subscription: str) -> Category | None:  # noqa: ARG001 - a classifier
        threads.append(threading.current_thread())
        return None

    def theirs(error: BaseException, subscription: str) -> Category | None:  # noqa: ARG001 - a classifier
        threads.append(threading.current_thread())
        return SYSTEMIC

    judge = verdicts(modules=(ours, Foreign("carrier", "acme", theirs)))
    assert judge.needs_wait
    assert await judge.gathered(ValueError(), Handler()) == (SYSTEMIC, "module:carrier")
    assert [thread is threading.main_thread() for thread in threads] == [True, False]
    hung = verdicts(modules=(Foreign("slow", "acme-slow", slow),))
    judging = asyncio.ensure_future(hung.gathered(Waits(), Handler()))
    await clock.advance(1.1)
    assert await judging == BY_DEFAULT
    assert "slow of the package acme-slow failed" in caplog.text


async def test_a_failure_elsewhere_was_classified_there(verdicts: Make) -> None:
    """S76: nobody is asked about it again."""
    failure = Failure(SYSTEMIC, "list", "app.Down", "down", "", "0" * 16)
    assert await verdicts(slow).gathered(FailedElsewhereError(failure), Handler()) == (SYSTEMIC, "list")
