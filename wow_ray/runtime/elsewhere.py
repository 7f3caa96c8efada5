"""Calls that are made in another process, as the runtime knows them: `isolation="actor"` on a host that has processes.

What goes there is plain data, the stored row and the state; what comes back is nothing or a failure as plain data,
classified where it was raised: an exception may not survive the trip, and a class of it need not exist here (S76).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

from wow_ray.failure import CARRIED, Failure

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from wow_ray.events import StoredEvent
    from wow_ray.handlers.contexts import Context
    from wow_ray.handlers.specs import GroupSpec, HandlerSpec
    from wow_ray.runtime.lane import Key

DEATHS = 3
"""Processes an event may take with it before it is parked as `crashed_worker` (P15)."""


class FailedElsewhereError(Exception):
    """A call in another process failed, or took its process with it; `deaths` counts how often in a row it did that.

    `retry_after` (seconds) and `sqlstate` are what the error there carried, under the names by which errors tell them.
    """

    def __init__(self, failure: Failure, retry_after: float | None = None, sqlstate: str = "", deaths: int = 0) -> None:
        """Take everything as data."""
        super().__init__(failure, retry_after, sqlstate, deaths)
        setattr(self, CARRIED, failure)
        self.failure = failure
        self.retry_after = retry_after
        self.sqlstate = sqlstate
        self.deaths = deaths

    def __str__(self) -> str:
        """Read as the error there."""
        return f"{self.failure.type}: {self.failure.message}"


def failed_elsewhere(error: BaseException) -> FailedElsewhereError | None:
    """Answer the error if it comes from another process, else `None`; asks nothing of an author's error."""
    return cast("FailedElsewhereError", error) if issubclass(type(error), FailedElsewhereError) else None


class FunctionElsewhere(Protocol):
    """A handler's function in another process."""

    def turn(self, key: Key) -> AbstractAsyncContextManager[None]:
        """Wait for the aggregate's turn: its process makes one call at a time. Not part of an attempt."""
        ...

    async def __call__(self, row: StoredEvent, state: object, ctx: Context) -> None:
        """Have the call made, inside its turn; raises `FailedElsewhereError`.

        When cancelled it has the call cancelled there, and its process ended if it does not end by itself; nothing
        is raised before the call has really ended (B4).
        """
        ...


class Elsewhere(Protocol):
    """The processes of one partition."""

    def function(self, group: GroupSpec, handler: HandlerSpec) -> FunctionElsewhere:
        """Give what is called in place of the handler."""
        ...
