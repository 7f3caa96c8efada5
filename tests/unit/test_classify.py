"""What a failure means, and who said so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from wow_ray.adapters.builtin_failures import builtin
from wow_ray.errors import (
    BulkheadFullError,
    CommandBusyError,
    DefinitionError,
    StoreUnavailableError,
    UnrecoverableHandlingError,
    WaitTimeoutError,
)
from wow_ray.failure import Category
from wow_ray.policy.classifiers import Classifier
from wow_ray.policy.classify import (
    Asked,
    Classified,
    Lists,
    ListsGiven,
    checked_list,
    classify,
    control_flow,
    leaves,
    resolve_lists,
)

BACKPRESSURE, RECOVERABLE = Category.BACKPRESSURE, Category.RECOVERABLE
SYSTEMIC, UNRECOVERABLE = Category.SYSTEMIC, Category.UNRECOVERABLE
BY_DEFAULT = Classified(RECOVERABLE, "default")


class UnknownBuyer(Exception):  # noqa: N818 - named as in the scenarios
    """No such buyer."""


def verdict(
    error: BaseException,
    lists: Lists = Lists(),  # noqa: B008 - a value
    application: Sequence[Asked] = (),
    modules: Sequence[Asked] = (builtin,),
    broken: Callable[[Asked, BaseException], None] | None = None,
) -> Classified:
    """Classify for a subscription, failing the test when a classifier breaks unexpectedly."""

    def unexpected(classifier: Asked, problem: BaseException) -> None:
        raise AssertionError(classifier) from problem

    return classify(error, "Shop.on_paid", lists, application, modules, broken or unexpected)


def always(category: Category | None, name: str = "always") -> Classifier:
    """Make a classifier with one opinion."""

    def classifier(error: BaseException, subscription: str) -> Category | None:  # noqa: ARG001 - any error
        return category

    classifier.__name__ = name
    return classifier


def caused(outer: BaseException, *inner: BaseException) -> BaseException:
    """Chain errors by `raise ... from ...`."""
    link = outer
    for cause in inner:
        link.__cause__ = cause
        link = cause
    return outer


def test_nobodys_opinion_is_recoverable_by_default_and_can_be_told_from_a_listed_one() -> None:
    """K1, W2: only failures that are recoverable by default count towards the window."""
    assert verdict(ValueError()) == BY_DEFAULT
    assert verdict(ValueError(), Lists(recoverable=(ValueError,))) == (RECOVERABLE, "list")
    assert verdict(ValueError(), application=[always(RECOVERABLE)]) == (RECOVERABLE, "classifier:always")


def test_authority_goes_from_lists_over_the_application_to_the_modules() -> None:
    """K1: each is asked only where the one before has no opinion, classifiers in order."""
    application = [always(None), always(BACKPRESSURE, "mine"), always(SYSTEMIC, "late")]
    modules = [always(None), always(UNRECOVERABLE, "postgres")]

    assert verdict(ValueError(), Lists(systemic=(ValueError,)), application, modules) == (SYSTEMIC, "list")
    assert verdict(ValueError(), Lists(), application, modules) == (BACKPRESSURE, "classifier:mine")
    assert verdict(ValueError(), Lists(), [always(None)], modules) == (UNRECOVERABLE, "module:postgres")
    assert verdict(ValueError(), Lists(), [], []) == BY_DEFAULT


def test_a_classifier_sees_the_error_and_the_subscription() -> None:
    """K1: both arguments."""
    seen: list[object] = []

    def watching(error: BaseException, subscription: str) -> Category | None:
        seen.extend((error, subscription))
        return None

    error = ValueError()
    verdict(error, application=[watching])

    assert seen == [error, "Shop.on_paid"]


def test_an_entry_covers_its_subclasses_and_the_nearest_entry_decides_across_lists() -> None:
    """K2, S54: with recoverable=[Exception], unrecoverable=[ValueError], systemic=[OSError]."""
    lists = Lists(recoverable=(Exception,), unrecoverable=(ValueError,), systemic=(OSError,))

    assert verdict(UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), lists) == (UNRECOVERABLE, "list")
    assert verdict(ConnectionResetError(), lists) == (SYSTEMIC, "list")
    assert verdict(KeyError(), lists) == (RECOVERABLE, "list")


def test_on_a_tie_recoverable_wins_then_systemic() -> None:
    """K2, S54: the same class in several lists."""
    one = (UnknownBuyer,)

    assert verdict(UnknownBuyer(), Lists(one, one, one)).category is RECOVERABLE
    assert verdict(UnknownBuyer(), Lists((), one, one)).category is SYSTEMIC
    assert verdict(UnknownBuyer(), Lists((), one, ())).category is UNRECOVERABLE


def test_of_two_bases_the_first_in_the_mro_is_nearest() -> None:
    """K2, S54: class E(ValueError, OSError) is unrecoverable, E(OSError, ValueError) systemic."""
    lists = Lists(unrecoverable=(ValueError,), systemic=(OSError,))

    assert verdict(type("E", (ValueError, OSError), {})(), lists).category is UNRECOVERABLE
    assert verdict(type("E", (OSError, ValueError), {})(), lists).category is SYSTEMIC


def test_the_marker_error_is_an_implicit_entry_that_beats_a_listed_base_class() -> None:
    """K1: recoverable=[Exception] does not retry it; listing it explicitly does, by the tie rule."""
    error = type("Hopeless", (UnrecoverableHandlingError,), {})()

    assert verdict(error) == (UNRECOVERABLE, "list")
    assert verdict(error, Lists(recoverable=(Exception,))) == (UNRECOVERABLE, "list")
    assert verdict(error, application=[always(RECOVERABLE)]) == (UNRECOVERABLE, "list")
    assert verdict(error, Lists(recoverable=(UnrecoverableHandlingError,))).category is RECOVERABLE


def test_a_handlers_list_replaces_its_processors_of_the_same_name() -> None:
    """K3: each list by itself; an empty one is given."""
    processor = ListsGiven(recoverable=(KeyError,), unrecoverable=(ValueError,), systemic=(OSError,))
    handler = ListsGiven(unrecoverable=(UnknownBuyer,), systemic=())

    assert resolve_lists(handler, processor) == Lists((KeyError,), (UnknownBuyer,), ())
    assert resolve_lists(ListsGiven(), ListsGiven()) == Lists()


def test_a_listed_cause_decides_where_the_outer_error_is_not_listed() -> None:
    """K4, S53: `raise RuntimeError("ctx") from UnknownBuyer()` is parked at once."""
    lists = Lists(recoverable=(KeyError,), unrecoverable=(UnknownBuyer,))

    assert verdict(caused(RuntimeError("ctx"), UnknownBuyer()), lists) == (UNRECOVERABLE, "list")
    assert verdict(caused(KeyError(), UnknownBuyer()), lists) == (RECOVERABLE, "list"), "the listed outer one wins"


def test_the_context_is_not_looked_at() -> None:
    """K4, S53: `raise RuntimeError() from None` inside `except UnknownBuyer` is recoverable; so without `from`."""
    error = RuntimeError()
    error.__context__ = UnknownBuyer()

    assert verdict(error, Lists(unrecoverable=(UnknownBuyer,))) == BY_DEFAULT


def test_each_source_goes_along_the_causes_before_the_next_is_asked() -> None:
    """K1, K4: a listed cause outranks what a classifier says of the outer error, and so on downwards."""
    error = caused(RuntimeError(), UnknownBuyer(), ConnectionRefusedError())

    def of_buyers(error: BaseException, subscription: str) -> Category | None:  # noqa: ARG001 - a classifier
        return BACKPRESSURE if isinstance(error, UnknownBuyer) else None

    lists = Lists(unrecoverable=(ConnectionError,))
    assert verdict(error, lists, [always(RECOVERABLE)]) == (UNRECOVERABLE, "list")
    assert verdict(error, application=[of_buyers]) == (BACKPRESSURE, "classifier:of_buyers")
    assert verdict(error) == (SYSTEMIC, "module:builtin")


def test_sixteen_links_are_followed_and_cycles_are_safe() -> None:
    """K4: the sixteenth counts, the seventeenth does not."""
    lists = Lists(unrecoverable=(UnknownBuyer,))

    assert verdict(caused(*[RuntimeError() for _ in range(15)], UnknownBuyer()), lists).category is UNRECOVERABLE
    assert verdict(caused(*[RuntimeError() for _ in range(16)], UnknownBuyer()), lists) == BY_DEFAULT
    error = RuntimeError()
    assert verdict(caused(error, KeyError(), error), lists) == BY_DEFAULT


class RayTaskError(Exception):
    """As Ray's, by name and attribute."""

    __module__ = "ray.exceptions"

    def __init__(self, cause: BaseException) -> None:
        """Carry the error of the other process."""
        super().__init__()
        self.cause = cause


def test_a_wrapper_is_taken_off_before_anything_is_asked() -> None:
    """K4, S53: a listed class inside RayTaskError, also as a cause, also where Exception is listed."""
    lists = Lists(recoverable=(Exception,), unrecoverable=(UnknownBuyer,))

    assert verdict(RayTaskError(UnknownBuyer()), lists).category is UNRECOVERABLE
    assert verdict(caused(RuntimeError(), RayTaskError(UnknownBuyer()))) == BY_DEFAULT
    assert (
        verdict(caused(RuntimeError(), RayTaskError(UnknownBuyer())), Lists((), (UnknownBuyer,))).category
        is UNRECOVERABLE
    )


def group(*errors: BaseException) -> BaseExceptionGroup[BaseException]:
    """Group errors as a TaskGroup does."""
    return BaseExceptionGroup("unhandled errors in a TaskGroup", errors)


REFUSED = ConnectionRefusedError()


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (group(UnknownBuyer()), UNRECOVERABLE),
        (group(TimeoutError(), UnknownBuyer()), UNRECOVERABLE),
        (group(UnknownBuyer(), TimeoutError()), UNRECOVERABLE),
        (group(REFUSED, UnknownBuyer()), UNRECOVERABLE),
        (group(REFUSED, ConnectionResetError()), SYSTEMIC),
        (group(REFUSED, KeyError()), RECOVERABLE),
        (group(CommandBusyError("b"), WaitTimeoutError("w")), BACKPRESSURE),
        (group(CommandBusyError("b"), REFUSED), RECOVERABLE),
        (group(group(REFUSED), group(group(ConnectionResetError()))), SYSTEMIC),
        (group(group(KeyError()), group(group(UnknownBuyer()))), UNRECOVERABLE),
        (group(asyncio.CancelledError(), REFUSED), RECOVERABLE),
        (group(RayTaskError(group(UnknownBuyer()))), UNRECOVERABLE),
        (group(caused(KeyError(), UnknownBuyer())), UNRECOVERABLE),
        (caused(RuntimeError(), group(UnknownBuyer())), UNRECOVERABLE),
        (caused(RuntimeError(), group(REFUSED, REFUSED)), SYSTEMIC),
    ],
)
def test_a_group_is_judged_by_all_its_leaves(error: BaseException, expected: Category) -> None:
    """K4, S58: any unrecoverable leaf, else all systemic, else all backpressure, else recoverable; nested likewise."""
    assert verdict(error, Lists(unrecoverable=(UnknownBuyer,))).category is expected


def test_a_listed_cause_outranks_what_modules_say_of_a_group_before_it() -> None:
    """K1, K4: a group takes part in its chain with the authority of those who judged its leaves."""
    error = caused(RuntimeError(), group(REFUSED), UnknownBuyer())

    assert verdict(error) == (SYSTEMIC, "module:builtin")
    assert verdict(error, Lists(unrecoverable=(UnknownBuyer,))) == (UNRECOVERABLE, "list")


def test_a_group_is_recoverable_by_default_unless_somebody_called_every_leaf_so() -> None:
    """K4, W2: what counts towards the window is told from the source."""
    lists = Lists(recoverable=(KeyError,))

    assert verdict(group(KeyError(), KeyError()), lists) == (RECOVERABLE, "list")
    assert verdict(group(KeyError(), ValueError()), lists) == BY_DEFAULT
    assert verdict(group(REFUSED, KeyError()), lists) == BY_DEFAULT


def test_an_entry_that_covers_groups_by_accident_does_not_hide_their_leaves() -> None:
    """K4: `recoverable=[Exception]` says nothing of a group; a group's own class, listed, does."""
    mine = type("MyGroup", (ExceptionGroup,), {})
    lists = Lists(recoverable=(Exception,), unrecoverable=(UnknownBuyer,), systemic=(mine,))

    assert verdict(ExceptionGroup("g", [UnknownBuyer()]), lists).category is UNRECOVERABLE
    assert verdict(mine("g", [UnknownBuyer()]), lists) == (SYSTEMIC, "list")


def test_of_very_many_errors_in_a_group_so_many_are_asked_about_and_no_more() -> None:
    """K4: one failure never keeps the loop, however many errors it is made of."""
    asked: list[BaseException] = []

    def asking(error: BaseException, subscription: str) -> None:
        del subscription
        asked.append(error)

    assert verdict(group(*(KeyError() for _ in range(50_000))), application=[asking]) == BY_DEFAULT
    assert len(asked) == 1_000


def test_groups_that_contain_each_other_by_their_causes_end() -> None:
    """K4: cycles safe, and fast however the leaves multiply."""
    errors = [KeyError() for _ in range(50)]
    outer = group(*errors)
    for error in errors:
        error.__cause__ = outer

    assert verdict(outer) == BY_DEFAULT
    assert leaves(group(outer, outer)) == errors


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ConnectionError(), SYSTEMIC),
        (ConnectionRefusedError(), SYSTEMIC),
        (BrokenPipeError(), SYSTEMIC),
        (StoreUnavailableError("away"), SYSTEMIC),
        (CommandBusyError("busy"), BACKPRESSURE),
        (WaitTimeoutError("late"), BACKPRESSURE),
        (BulkheadFullError("full"), BACKPRESSURE),
        (TimeoutError(), RECOVERABLE),
        (OSError(), RECOVERABLE),
        (FileNotFoundError(), RECOVERABLE),
        (asyncio.CancelledError(), RECOVERABLE),
        (type("MyBase", (BaseException,), {})(), RECOVERABLE),
    ],
)
def test_what_needs_no_driver_is_classified_built_in(error: BaseException, expected: Category) -> None:
    """K5, K7, H34, S54: never by being an OSError, since a timeout is one; a cancellation from inside is a failure."""
    assert verdict(error).category is expected


@pytest.mark.parametrize("problem", [ValueError("broken"), asyncio.CancelledError(), RecursionError()])
def test_a_classifier_that_raises_has_no_opinion_and_is_reported(problem: BaseException) -> None:
    """K8: the next one is asked; the loop never stops."""
    told: list[tuple[object, BaseException]] = []

    def breaks(_error: BaseException, _subscription: str) -> Category | None:
        raise problem

    answer = verdict(
        KeyError(), application=[breaks, always(SYSTEMIC)], broken=lambda who, what: told.append((who, what))
    )

    assert answer == (SYSTEMIC, "classifier:always")
    assert told == [(breaks, problem)]


@pytest.mark.parametrize("answer", ["systemic", True, 0, object()])
def test_an_answer_that_is_no_category_is_no_opinion(answer: object) -> None:
    """K8: also the text of one."""
    told: list[str] = []
    classifier = always(answer)  # type: ignore[arg-type]

    assert verdict(KeyError(), application=[classifier], broken=lambda _, what: told.append(str(what))) == BY_DEFAULT
    assert type(answer).__name__ in told[0]


def test_an_async_classifier_asked_here_and_now_has_no_opinion() -> None:
    """K8: its answer is a coroutine, which is closed, so that nothing warns of it later; `Verdicts` waits for it."""
    told: list[str] = []

    async def asynchronous(_error: BaseException, _subscription: str) -> Category | None:
        return SYSTEMIC

    assert verdict(KeyError(), application=[asynchronous], broken=lambda _, what: told.append(str(what))) == BY_DEFAULT
    assert "coroutine; one that waits is an `async def`" in told[0]


def test_ctrl_c_inside_a_classifier_gets_through() -> None:
    """K5, K8: it is meant for the process."""

    def interrupted(_error: BaseException, _subscription: str) -> Category | None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verdict(KeyError(), application=[interrupted])


def test_the_class_may_change_between_attempts() -> None:
    """K6, S51: nothing is remembered of the attempt before."""
    lists = Lists(unrecoverable=(UnknownBuyer,))

    assert verdict(TimeoutError(), lists).category is RECOVERABLE
    assert verdict(UnknownBuyer(), lists).category is UNRECOVERABLE
    assert verdict(TimeoutError(), lists).category is RECOVERABLE


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (KeyboardInterrupt(), True),
        (SystemExit(1), True),
        (GeneratorExit(), True),
        (group(ValueError(), group(KeyboardInterrupt())), True),
        (asyncio.CancelledError(), False),
        (group(asyncio.CancelledError()), False),
        (ValueError(), False),
    ],
)
def test_what_steers_the_program_is_no_failure_of_a_handler(error: BaseException, expected: bool) -> None:  # noqa: FBT001
    """K5, S56, S58: also as a leaf of a group; a cancellation depends on who asked for it."""
    assert control_flow(error) is expected


def test_a_list_is_kept_in_order_without_repeats() -> None:
    """K5: any sequence or set of exception classes, custom BaseExceptions included."""
    mine = type("MyBase", (BaseException,), {})

    assert checked_list([ValueError, OSError, ValueError], "recoverable", "Shop") == (ValueError, OSError)
    assert checked_list((mine,), "systemic", "Shop") == (mine,)
    assert checked_list([], "systemic", "Shop") == ()


@pytest.mark.parametrize(
    "entry",
    [
        KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError, BaseException,
        type("Mine", (asyncio.CancelledError,), {}), int, "ValueError", None, ValueError("made"), type,
    ],
)  # fmt: skip
def test_what_may_not_be_listed_is_refused_with_its_place(entry: object) -> None:
    """K5, S56: naming the list, the handler and the code."""
    with pytest.raises(DefinitionError, match=r"WOW-K5 unrecoverable of Shop\.on_paid \(shop\.py:7\) has"):
        checked_list([ValueError, entry], "unrecoverable", "Shop.on_paid (shop.py:7)")


def test_a_single_class_or_text_instead_of_a_list_is_refused_with_a_hint() -> None:
    """K5: the likeliest slip says what to write."""
    with pytest.raises(DefinitionError, match=r"write recoverable=\[ValueError\]"):
        checked_list(ValueError, "recoverable", "Shop")
    with pytest.raises(DefinitionError, match="write ValueError, the class"):
        checked_list([ValueError()], "recoverable", "Shop")
    for wrong in ("ValueError", b"x", 5, None):
        with pytest.raises(DefinitionError, match="list of exception classes"):
            checked_list(wrong, "recoverable", "Shop")
