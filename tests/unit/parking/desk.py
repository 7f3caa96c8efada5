"""The app whose failures are tested here, and the desk its handlers work at: it notes every call and does as scripted.

`Mailer.on_moved` and `Courier.on_moved` are two groups without a connection; `Sums` is one group of two handlers, of
which `on_moved` writes through the connection (effectively once) and `on_noted` does not.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict

from wow_ray import Aggregate, App, CommandBusyError, Context, Event, ProjectContext, ReactContext, on_event, retry
from wow_ray.events import AggregateRef
from wow_ray.testing import RecordingConnection, VirtualClock
from wow_ray.testing.connection import RecordingDatabase

order = Aggregate("order")

MAILER = "Mailer.on_moved"
COURIER = "Courier.on_moved"
SUMS = "Sums"


@order.event("moved")
class Moved(BaseModel):
    """The order moved on."""

    model_config = ConfigDict(frozen=True)


@order.event("noted")
class Noted(BaseModel):
    """Somebody wrote something on the order."""

    model_config = ConfigDict(frozen=True)


class Trouble(Exception):  # noqa: N818 - as a handler's author would call it
    """A failure that no list knows: recoverable by default."""


class Busy(CommandBusyError):  # noqa: N818 - as above
    """Somebody is busy, for so many seconds."""

    def __init__(self, retry_after: float) -> None:
        super().__init__("busy")
        self.retry_after = retry_after


Outcome = BaseException | float | asyncio.Event | Callable[[], Awaitable[None]] | None
"""What a call does: raise, take seconds, wait for somebody, whatever a function does, or return at once."""


@dataclass(slots=True)
class Call:
    """One call as the outside saw it; `ended` is set when it returned without an error."""

    subscription: str
    id: str
    version: int
    sequence: int
    attempt: int
    key: str
    at: float
    ended: bool = False

    @property
    def place(self) -> tuple[int, int]:
        """Where in its stream the event stands."""
        return self.version, self.sequence


@dataclass(slots=True)
class Desk:
    """Where handlers do their work.

    `met(call)` is told of each call before it does anything, `left(call)` when it is over, however it ended.
    """

    clock: VirtualClock
    calls: list[Call] = field(default_factory=list)
    met: Callable[[Call], object] = lambda _: None
    left: Callable[[Call], object] = lambda _: None
    _script: dict[tuple[str, str, int], list[Outcome]] = field(default_factory=lambda: defaultdict(list))
    _always: dict[tuple[str, str, int], Outcome] = field(default_factory=dict)

    def then(self, id: str, version: int, *outcomes: Outcome, handler: str = MAILER) -> None:  # noqa: A002 - the word for it
        """Let the next calls of that event end so, one each; those after them succeed at once."""
        self._script[handler, id, version] += outcomes

    def always(self, id: str, version: int, outcome: Outcome, *, handler: str = MAILER) -> None:  # noqa: A002 - as above
        """Let every call of that event end so, once what `then` said is used up; `None` = it succeeds from now on."""
        self._always[handler, id, version] = outcome

    async def work(self, subscription: str, event: Event[Any], ctx: Context) -> None:
        """Be called by a handler."""
        place = (subscription, event.ref.id, event.version)
        now = self.clock.monotonic()
        call = Call(*place, event.sequence, ctx.attempt, ctx.invocation_key, now)
        self.calls.append(call)
        self.met(call)
        script = self._script[place]
        outcome = script.pop(0) if script else self._always.get(place)
        try:
            if isinstance(outcome, BaseException):
                raise outcome.with_traceback(None)
            if isinstance(outcome, asyncio.Event):
                await outcome.wait()
            elif callable(outcome):
                await outcome()
            elif outcome is not None:
                await self.clock.sleep(outcome)
            call.ended = True
        finally:
            self.left(call)

    def forgive(self) -> None:
        """Let every call succeed from now on."""
        self._script.clear()
        self._always.clear()

    def versions(self, id: str, handler: str = MAILER) -> list[int]:  # noqa: A002 - as above
        """Give the versions of one aggregate as one handler was called with them, every call."""
        return [call.version for call in self.calls if (call.subscription, call.id) == (handler, id)]

    def done(self, id: str, handler: str = MAILER) -> list[int]:  # noqa: A002 - as above
        """Give the versions whose calls returned."""
        return [call.version for call in self.calls if (call.subscription, call.id) == (handler, id) and call.ended]

    def times(self, id: str, version: int, handler: str = MAILER) -> list[float]:  # noqa: A002 - as above
        """Give when one event was called."""
        return [call.at for call in self.calls if (call.subscription, call.id, call.version) == (handler, id, version)]


@retry(recoverable=[Trouble])
class Mailer:
    """Acts on the outside."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    @on_event
    async def on_moved(self, event: Event[Moved], ctx: ReactContext) -> None:
        """Send a mail."""
        await self.desk.work(MAILER, event, ctx)


@retry(recoverable=[Trouble])
class Courier:
    """Acts on the outside, independently of the mailer."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    @on_event
    async def on_moved(self, event: Event[Moved], ctx: ReactContext) -> None:
        """Send somebody."""
        await self.desk.work(COURIER, event, ctx)


@retry(recoverable=[Trouble])
class Sums:
    """Counts the moves of an order, effectively once, and follows its notes."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    @on_event
    async def on_moved(self, event: Event[Moved], ctx: ProjectContext) -> None:
        """Count the move."""
        await self.desk.work(f"{SUMS}.on_moved", event, ctx)
        await ctx.connection.execute("count", event.ref.id, event.version, event.sequence)

    @on_event
    async def on_noted(self, event: Event[Noted], ctx: Context) -> None:
        """Follow the note."""
        await self.desk.work(f"{SUMS}.on_noted", event, ctx)

    async def on_reset(self, connection: Any) -> None:  # noqa: ANN401 - the driver's own
        """Forget all counts."""
        await connection.execute("reset")


def shop(*processors: type[Any]) -> App:
    """Make an app of these processors, the mailer alone by default; reactors begin at the beginning of the log."""
    app = App("shop")
    for processor in processors or (Mailer,):
        if processor is Sums:
            app.projection(processor)
        else:
            app.reactor(start="beginning")(processor)
    return app


class Tables(RecordingDatabase):
    """What the connections of all processes wrote."""

    def connect(self) -> RecordingConnection:
        """See `RecordingDatabase`."""
        return RecordingConnection(self)

    def counted(self, id: str) -> list[int]:  # noqa: A002 - as above
        """Give the versions of an order that were counted for good."""
        versions: list[int] = []
        for one in self.committed:
            if one.sql == "reset":
                versions = []
            elif one.sql == "count" and one.arguments[0] == id:
                versions.append(one.arguments[1])
        return versions


async def moves(store: Any, ref: AggregateRef | str, times: int = 1) -> None:  # noqa: ANN401 - an `EventStore`
    """Append so many moves to an order, each a version of its own."""
    ref = order(ref) if isinstance(ref, str) else ref
    for _ in range(times):
        await store.append(ref, [Moved()], expected_version=None)
