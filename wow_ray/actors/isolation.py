"""The processes that a partition has for processors declared `isolation="actor"`: a pool of each, in the partition.

An aggregate's calls go to the same process always, so what that keeps in memory of it is kept. A process makes one
call at a time: when it dies, whoever was called is who did it, and nobody else is charged (P15).
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self
from zlib import crc32

from pydantic import TypeAdapter

from wow_ray.errors import StoreUnavailableError
from wow_ray.events import StoredEvent
from wow_ray.failure import Category, Failure
from wow_ray.handlers.contexts import Context
from wow_ray.handlers.specs import GroupSpec, HandlerSpec
from wow_ray.runtime.elsewhere import FailedElsewhereError

log = logging.getLogger("wow_ray.actors")

SIZE = 2
"""Processes of a processor in each partition, unless its `subscription.concurrency` says otherwise."""
MERCY = 0.7
"""Seconds a cancelled call may take to end before its process is ended; below what a stopping partition waits."""

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Told:
    """One call as it travels: plain data. `state` is JSON, `None` where the handler takes none."""

    subscription: str
    row: tuple[Any, ...]
    state: bytes | None
    key: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Reply:
    """A failure as it travels back, with what its error told of waiting and of its database, if it did."""

    failure: Failure
    retry_after: float | None = None
    sqlstate: str = ""


def processor_of(group: GroupSpec) -> str:
    """Give the name of a group's processor, which is unique in its app."""
    return group.name.partition(".")[0]


class WorkerGoneError(Exception):
    """The process has ended, during the call or before it."""


class Worker(Protocol):
    """One process that makes calls."""

    async def ready(self) -> str:
        """Open what the processor takes; answers what is wrong, or an empty text. Raises `WorkerGoneError`."""
        ...

    async def call(self, number: int, told: Told) -> Reply | None:
        """Make a call; `None` = it ended well. Raises `WorkerGoneError`."""
        ...

    async def cancel(self, number: int) -> None:
        """Cancel a call that is under way; it ends when it ends."""
        ...

    async def close(self) -> None:
        """Close what it opened, then end the process."""
        ...

    def end(self) -> None:
        """End the process at once."""
        ...


Hire = Callable[[GroupSpec], Worker]
"""Starts a process for the processor of a group."""


class Member:
    """One place in a pool: a process, and another one when that has ended."""

    def __init__(self, hire: Callable[[], Worker]) -> None:
        """Start nothing before it is needed."""
        self.lock = asyncio.Lock()
        self.worker: Worker | None = None
        self._hire = hire
        self._numbers = itertools.count(1)

    async def ready(self) -> None:
        """Have a process that can be called; raises `StoreUnavailableError` when there is none, which is no attempt."""
        worker = self.worker = self.worker or self._hire()
        try:
            wrong = await worker.ready()
        except WorkerGoneError as error:
            self.worker = None
            raise StoreUnavailableError(f"no process can be had: {error}") from error
        if wrong:
            raise StoreUnavailableError(f"the process cannot begin: {wrong}")

    async def made(self, told: Told) -> Reply | None:
        """Make one call; cancelled, it raises only once the call has really ended (B4)."""
        worker, number = self.worker, next(self._numbers)
        assert worker is not None  # noqa: S101 - calls are made in their turn, which begins with `ready`
        asked = asyncio.ensure_future(worker.call(number, told))
        try:
            return await asyncio.shield(asked)
        except asyncio.CancelledError:
            await _whatever_happens(self._stopped(worker, number, asked))
            raise
        except WorkerGoneError:
            self.worker = None
            raise

    async def _stopped(self, worker: Worker, number: int, asked: asyncio.Future[Reply | None]) -> None:
        """Have a call end: by cancelling it, else by ending its process."""
        cancelling = asyncio.ensure_future(worker.cancel(number))
        await asyncio.wait({asked}, timeout=MERCY)
        cancelling.cancel()
        if not asked.done():
            log.warning("a call of isolation='actor' does not end after it was cancelled; its process is ended")
            worker.end()
            self.worker = None
        outcome = (await asyncio.gather(asked, cancelling, return_exceptions=True))[0]
        if isinstance(outcome, WorkerGoneError):
            self.worker = None


async def _whatever_happens(work: Coroutine[Any, Any, None]) -> None:
    """Wait for the end of bounded work, also when cancelled once more meanwhile."""
    task = asyncio.ensure_future(work)
    while not task.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(task)


class CallElsewhere:
    """`FunctionElsewhere` on a pool."""

    def __init__(self, pool: list[Member], handler: HandlerSpec) -> None:
        """Stand for one handler."""
        self._pool = pool
        self._handler = handler
        self._deaths: dict[Key, tuple[int, int]] = {}
        self._state: TypeAdapter[Any] | None = None
        if handler.wants_state is not None:
            self._state = TypeAdapter(handler.wants_state)

    @asynccontextmanager
    async def turn(self, key: Key) -> AsyncIterator[None]:
        """See the protocol; raises `StoreUnavailableError` when no process can be had."""
        member = self._member(key)
        async with member.lock:
            await member.ready()
            yield

    async def __call__(self, row: StoredEvent, state: object, ctx: Context) -> None:
        """See the protocol."""
        key = (row.aggregate, row.aggregate_id)
        written = None if self._state is None else self._state.dump_json(state)
        told = Told(self._handler.subscription, tuple(row), written, ctx.invocation_key, ctx.attempt)
        try:
            reply = await self._member(key).made(told)
        except WorkerGoneError as error:
            raise self._crashed(key, row.position, error) from error
        if reply is not None:
            raise FailedElsewhereError(reply.failure, reply.retry_after, reply.sqlstate)
        self._deaths.pop(key, None)

    def _member(self, key: Key) -> Member:
        """Give the place of an aggregate: the same one always, also after a restart."""
        return self._pool[crc32(f"{key[0]}:{key[1]}".encode()) % len(self._pool)]

    def _crashed(self, key: Key, position: int, error: WorkerGoneError) -> FailedElsewhereError:
        """Count one process that this event has taken with it."""
        at, deaths = self._deaths.get(key, (position, 0))
        deaths = deaths + 1 if at == position else 1
        self._deaths[key] = (position, deaths)
        said = f"crashed worker process: it ended during the call ({deaths} in a row): {error}"
        kind, mark = "wow_ray.CrashedWorker", f"{crc32(self._handler.subscription.encode()):016x}"
        return FailedElsewhereError(Failure(Category.RECOVERABLE, "crash", kind, said, "", mark), deaths=deaths)


class Pools:
    """`Elsewhere` for one partition; the processes end with the block."""

    def __init__(self, hire: Hire | None) -> None:
        """Hire nobody yet."""
        self._hire = hire
        self._members: dict[type[Any], list[Member]] = {}

    async def __aenter__(self) -> Self:
        """Begin."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let every process close what it opened, then end it."""
        workers = [member.worker for pool in self._members.values() for member in pool if member.worker is not None]
        await asyncio.gather(*(worker.close() for worker in workers), return_exceptions=True)

    def function(self, group: GroupSpec, handler: HandlerSpec) -> CallElsewhere:
        """See the protocol. All handlers of a processor share its processes."""
        hire = self._hire
        assert hire is not None  # noqa: S101 - without it the partition is not given these pools
        pool = self._members.setdefault(group.processor, [])
        wanted = max((each.concurrency or SIZE for each in group.handlers), default=SIZE)
        pool += [Member(lambda: hire(group)) for _ in range(wanted - len(pool))]
        return CallElsewhere(pool, handler)
