"""Orders and parcels, and a desk with a memory that handles their events as a test has written down.

`Desk` is what the processors of these tests are made with: it remembers every call and carries out, for each
aggregate, one step after the other. A step is an error to raise, `None` to return, or a function to await.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from pydantic import BaseModel

from wow_ray import Aggregate, App, Context, Event
from wow_ray.testing import Running, Scenario, VirtualClock

order = Aggregate("order")
parcel = Aggregate("parcel")


@order.event("order_paid")
class Paid(BaseModel):
    """An order was paid."""

    cents: int = 0
    tags: list[str] = []


@order.event("order_shipped")
class Shipped(BaseModel):
    """An order was shipped."""

    by: str = ""


@parcel.event("parcel_sent")
class Sent(BaseModel):
    """A parcel was sent."""


class Unlisted(Exception):  # noqa: N818 - named as an author would
    """An error that nobody has an opinion on: recoverable by default."""


class BadParcel(Exception):  # noqa: N818 - named as an author would
    """An error that the processors of these tests list as recoverable: the aggregate's own, and no outage."""


class UnknownBuyer(Exception):  # noqa: N818 - named as an author would
    """An error that the processors of these tests list as unrecoverable."""


class CarrierDown(Exception):  # noqa: N818 - named as an author would
    """An error that the processors of these tests list as systemic."""


class TooBusy(Exception):  # noqa: N818 - named as an author would
    """The other side answered 429, perhaps with a `Retry-After`."""

    def __init__(self, retry_after: object = None) -> None:
        """Carry what an HTTP client's exception would."""
        super().__init__("too many requests")
        self.status_code = 429
        self.headers = {} if retry_after is None else {"Retry-After": retry_after}


class Call(NamedTuple):
    """One call, as the desk remembers it; `at` in seconds since the clock's start."""

    at: float
    subscription: str
    id: str
    version: int
    sequence: int
    attempt: int
    key: str


Step = BaseException | None | Callable[[Event[Any]], Awaitable[object]]


class Desk:
    """Handles events as written down; what is not written down succeeds."""

    def __init__(self) -> None:
        """Begin with an empty memory, at the clock's start."""
        self.clock = VirtualClock()
        self.calls: list[Call] = []
        self.done: list[tuple[str, int]] = []
        self.running: dict[str, int] = {}
        self.most_running: dict[str, int] = {}
        self._steps: dict[str, list[Step]] = {}
        self._always: dict[str, Step] = {}
        self._start = self.clock.monotonic()

    def now(self) -> float:
        """Give the seconds since the clock's start."""
        return round(self.clock.monotonic() - self._start, 6)

    def next(self, aggregate_id: str, *steps: Step) -> None:
        """Write down what the next calls for an aggregate end in, one step a call."""
        self._steps.setdefault(aggregate_id, []).extend(steps)

    def always(self, aggregate_id: str, step: Step) -> None:
        """Write down what every further call for an aggregate ends in, behind the steps of `next`."""
        self._always[aggregate_id] = step

    async def handle(self, event: Event[Any], ctx: Context) -> None:
        """Remember the call and carry out its step."""
        self.note(event, ctx)
        await self.carry_out(event)

    def note(self, event: Event[Any], ctx: Context) -> None:
        """Remember the call."""
        self.calls.append(
            Call(
                self.now(),
                ctx.subscription,
                event.ref.id,
                event.version,
                event.sequence,
                ctx.attempt,
                ctx.invocation_key,
            )
        )

    async def carry_out(self, event: Event[Any]) -> None:
        """Do what is written down for the call, counting how many of the aggregate run at once."""
        name = event.ref.id
        self.running[name] = self.running.get(name, 0) + 1
        self.most_running[name] = max(self.most_running.get(name, 0), self.running[name])
        try:
            step = self.step_for(name)
            if isinstance(step, BaseException):
                raise step
            if step is not None:
                await step(event)
        finally:
            self.running[name] -= 1
        self.done.append((name, event.version))

    def drop_steps(self, aggregate_id: str) -> None:
        """Forget what is written down for an aggregate: everything succeeds from here on."""
        self._steps.pop(aggregate_id, None)
        self._always.pop(aggregate_id, None)

    def step_for(self, aggregate_id: str) -> Step:
        """Take the next step for an aggregate."""
        steps = self._steps.get(aggregate_id)
        return steps.pop(0) if steps else self._always.get(aggregate_id)

    def times(self, aggregate_id: str) -> list[float]:
        """Give when an aggregate was called."""
        return [call.at for call in self.calls if call.id == aggregate_id]

    def waits(self, aggregate_id: str) -> list[float]:
        """Give the seconds between an aggregate's calls."""
        times = self.times(aggregate_id)
        return [round(after - before, 6) for before, after in pairwise(times)]

    def versions(self, aggregate_id: str) -> list[int]:
        """Give the versions an aggregate was called with, repeats included."""
        return [call.version for call in self.calls if call.id == aggregate_id]

    def sleeping(self, seconds: float) -> Callable[[Event[Any]], Awaitable[object]]:
        """Give a step that takes so long on the clock."""

        async def sleep(event: Event[Any]) -> None:
            del event
            await self.clock.sleep(seconds)

        return sleep

    def failing(self, seconds: float, error: BaseException) -> Callable[[Event[Any]], Awaitable[object]]:
        """Give a step that takes so long on the clock and then fails."""

        async def fail(event: Event[Any]) -> None:
            del event
            await self.clock.sleep(seconds)
            raise error

        return fail


class Door:
    """A step that waits until it is opened; `async with` sees that nobody is left standing."""

    def __init__(self) -> None:
        """Begin shut."""
        self._open = asyncio.Event()
        self.waiting = 0
        self.cancelled = 0
        self.error: BaseException | None = None

    def open(self, error: BaseException | None = None) -> None:
        """Let everybody through, or fail with `error`."""
        self.error = error
        self._open.set()

    async def __call__(self, event: Event[Any]) -> None:
        """Wait at the door."""
        del event
        self.waiting += 1
        try:
            await self._open.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.waiting -= 1
        if self.error is not None:
            raise self.error


class StubbornDoor(Door):
    """A door whose waiting swallows the cancellation of its timeout and goes on; a second one ends it."""

    async def __call__(self, event: Event[Any]) -> None:
        """Wait at the door, whatever is asked the first time."""
        try:
            await super().__call__(event)
        except asyncio.CancelledError:
            await super().__call__(event)


async def paid(running: Running, *ids: str, times: int = 1) -> None:
    """Append so many commits of one `Paid` to each order, in turn."""
    for number in range(times):
        for each in ids:
            await running.store.append(order(each), [Paid(cents=number)], expected_version=None)


async def sent(running: Running, *ids: str) -> None:
    """Append one `Sent` to each parcel."""
    for each in ids:
        await running.store.append(parcel(each), [Sent()], expected_version=None)


async def notices(running: Running) -> list[str]:
    """Give the kinds of what people were told so far, oldest first."""
    return [kind for _, kind, _ in await running.service.client.ledger.notices(0, 100_000)]


async def outline(running: Running) -> Sequence[tuple[str, str, str, int]]:
    """Give what is parked: aggregate id, state, reason, version."""
    return [(row.ref.id, row.state, row.reason, row.stopped_version) for row in await running.parked()]


def scenario(
    app: App,
    desk: Desk,
    *,
    more: Mapping[type[Any], Any] | None = None,
    **options: Any,  # noqa: ANN401 - what `Scenario` takes
) -> Scenario:
    """Run an app whose processors take a `Desk` (and `more`, by type), on the desk's clock."""
    return Scenario(app, {Desk: desk, **(more or {})}, clock=desk.clock, **options)


async def crash(running: Running) -> None:
    """Let the app's process die: nothing is written or given up in order any more, but its death is known."""
    for partition in running.service.partitions:
        dying = asyncio.ensure_future(partition.abandon())
        while not dying.done():
            await running.clock.advance(0.05)
        await dying
