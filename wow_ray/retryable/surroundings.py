"""What retryable functions take from their process: how one waits, and where ids come from; and a mode for tests.

The package installs the machine's own when it is imported; a test replaces them for a block with `surrounded`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from wow_ray.errors import DefinitionError


@dataclass(frozen=True, slots=True)
class Surroundings:
    """How long waits are made and calls are named.

    `sleep(seconds)` waits in a loop, `block(seconds)` in a thread; `new_id()` gives an id that nothing else has.
    `most` caps the calls made at once (`None` = as declared); with `instant` no wait is made at all.
    """

    sleep: Callable[[float], Awaitable[None]]
    block: Callable[[float], None]
    new_id: Callable[[], str]
    most: int | None = None
    instant: bool = False


_present: list[Surroundings] = []


def install(surroundings: Surroundings) -> None:
    """Say what this process has; done once, by the package."""
    _present[:1] = [surroundings]


def present() -> Surroundings:
    """Answer what counts now, the innermost block's."""
    return _present[-1]


@contextmanager
def surrounded(surroundings: Surroundings) -> Iterator[None]:
    """Let something else count during a block, for every thread and task of the process: for tests."""
    _present.append(surroundings)
    try:
        yield
    finally:
        _present.pop()


@contextmanager
def instant_retries(max_attempts: int | None = None) -> Iterator[None]:
    """Test mode: inside the block retryable functions do not wait, and make at most `max_attempts` calls at once.

    `None` leaves the number of calls as declared. It counts for every thread and task of the process. What is stored
    is due when it would be without this; `Scenario` passes that time.
    """
    if max_attempts is not None and max_attempts < 1:
        raise DefinitionError(
            f"max_attempts is {max_attempts!r}; it counts calls and is a whole number from 1", "WOW-B2"
        )
    with surrounded(replace(present(), most=max_attempts, instant=True)):
        yield
