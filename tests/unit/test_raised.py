"""Errors whose own code breaks when they are looked at: they are failures like any other."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.unit.runtime.desk import Desk, outline, paid, scenario
from tests.unit.runtime.shop import app
from wow_ray import Category
from wow_ray.adapters.failures import modules
from wow_ray.failure import Failure, causes, fingerprint, unwrapped
from wow_ray.policy.classify import Asked, Lists, classify, control_flow, leaves
from wow_ray.policy.retry_after import retry_after_of


class Delegating(Exception):  # noqa: N818 - what these do wrong is what they are called for
    """Looks what it does not have up in a dictionary, and forgets that this raises another error."""

    def __getattr__(self, name: str) -> object:
        return dict[str, object]()[name]


class Endless(Exception):  # noqa: N818
    """Hands everything on to what it never got, as after a copy that did not call `__init__`."""

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)


class Locked(Exception):  # noqa: N818
    """Answers nothing at all."""

    def __getattribute__(self, name: str) -> object:
        raise RuntimeError(name)


class Asking(Exception):  # noqa: N818
    """Asks somebody for what others keep, who is away."""

    @property
    def asked(self) -> Any:  # noqa: ANN401 - it never answers
        """Ask."""
        raise RuntimeError("away")

    __cause__ = __context__ = __dict__ = __traceback__ = __notes__ = asked
    cause = status = headers = response = sqlstate = retry_after = orig = asked


class Leaving(Exception):  # noqa: N818
    """Ends the program when it is asked for its status."""

    @property
    def status(self) -> Any:  # noqa: ANN401 - it never answers
        """Leave."""
        raise SystemExit(9)

    headers = response = sqlstate = retry_after = orig = status


class Carrying(Exception):  # noqa: N818
    """A wrapper that does not find what it carries."""

    __wow_wrapper__ = True

    @property
    def cause(self) -> object:
        """Look for it."""
        raise SystemExit(8)


class Nowhere(Exception):  # noqa: N818
    """Is of no module, as a class made by a program may be."""

    __module__ = None  # type: ignore[assignment]


def nested(depth: int) -> BaseException:
    """Put an error into a group, and that into a group, and so on."""
    error: Exception = ValueError("at the bottom")
    for _ in range(depth):
        error = ExceptionGroup("again", [error])
    return error


def doubled(depth: int) -> BaseException:
    """Put a group into a group twice, and that into a group twice, and so on: few objects, very many paths."""
    error: Exception = ValueError("at the bottom")
    for _ in range(depth):
        error = ExceptionGroup("twice", [error, error])
    return error


def from_groups(depth: int) -> BaseException:
    """Raise a group from a group, whose error is raised from a group, and so on."""
    error: Exception = ValueError("at the bottom")
    for _ in range(depth):
        inner = ValueError("because")
        inner.__cause__ = error
        error = ExceptionGroup("because", [inner])
    return error


ODD: dict[str, Callable[[], BaseException]] = {
    **dict[str, Callable[[], BaseException]](
        {kind.__name__: kind for kind in (Delegating, Endless, Locked, Asking, Leaving, Carrying, Nowhere)}
    ),
    "nested": lambda: nested(3_000),
    "doubled": lambda: doubled(64),
    "from groups": lambda: from_groups(1_000),
}
"""Made inside the tests: pytest looks at its parameters, too."""


@pytest.mark.parametrize("odd", ODD)
def test_whatever_an_error_does_when_it_is_looked_at_it_can_be_judged_and_kept(odd: str) -> None:
    """P4, K4, K8, S71: nothing of an error's own comes out of what looks at it."""

    def broken(classifier: Asked, problem: BaseException) -> None:
        del classifier, problem

    error = ODD[odd]()
    lists = Lists(unrecoverable=(KeyError,))
    assert control_flow(error) is False
    assert classify(error, "Notifier.on_paid", lists, (), modules(), broken).category is Category.RECOVERABLE
    assert retry_after_of(error, datetime(2026, 5, 1, tzinfo=UTC), 60) is None
    found = len(leaves(unwrapped(error))), len(list(causes(error)))
    assert found in {(1, 1), (2, 1)}
    assert len(fingerprint(error)) == len(Failure.capture(error, Category.RECOVERABLE, "default").fingerprint)


def test_an_exit_deep_in_a_group_is_found() -> None:
    """K5: however deep, `SystemExit` in a group ends the program."""
    error: BaseException = SystemExit(1)
    for _ in range(3_000):
        error = BaseExceptionGroup("again", [error, ValueError()])
    assert control_flow(error)


@pytest.mark.parametrize("odd", list(ODD))
async def test_such_an_error_parks_its_aggregate_and_nobody_else_notices(odd: str) -> None:
    """P1, S71: it is charged, retried and parked like any other; the partition lives on."""
    desk = Desk()
    desk.always("A", ODD[odd]())
    async with scenario(app, desk) as running:
        await paid(running, "A", "B")
        await running.advance("1m")
        assert await outline(running) == [("A", "parked", "budget_spent", 1)]
        await paid(running, "B")
        await running.advance("1s")
        assert desk.versions("B") == [1, 2]
