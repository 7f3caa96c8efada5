"""What a test can do to a store's operations: let them fail, or hold them at a gate.

Every operation can be stopped at either end: before it has done anything, or after it has done everything and only the
answer is missing.
"""

from __future__ import annotations

import asyncio
import types
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Literal, Self, TypeVar, get_args

T = TypeVar("T")

Operation = Literal[
    "events.append",
    "events.stream",
    "reader.heads",
    "reader.page",
    "reader.at",
    "reader.streams",
    "reader.identity",
    "drains.heads",
    "drains.page",
    "drains.at",
    "drains.streams",
    "drains.identity",
    "slots.register",
    "slots.admit",
    "slots.slot_count",
    "slots.acquire",
    "slots.acquire_free",
    "slots.commit",
    "slots.release",
    "slots.excuse",
    "slots.let_go",
    "slots.reset",
    "ledger.read",
    "ledger.ask",
    "ledger.forget",
    "outbox.read",
    "outbox.write",
    "lease.start",
    "lease.stop",
    "effects.begin",
    "effects.commit",
    "effects.settled",
    "pauses.ask",
    "pauses.note",
    "pauses.read",
    "plans",
    "batches",
    "reports.read",
    "reports.write",
    "calls.submit",
    "calls.claim",
    "calls.extend",
    "calls.finish",
    "calls.read",
    "calls.ask",
]
"""A part of the store and its method; `events.append` is also `append_many`, `ledger.read` all that only read."""

Place = Literal["start", "end"]
"""Where an operation is met: before it has done anything, or when it is done and about to answer."""

_OPERATIONS = frozenset(get_args(Operation))


@types.coroutine
def _turn() -> Generator[None, None, None]:
    """Let the loop turn once."""
    yield


class Gate:
    """Holds every call of one operation, at one place, until it is opened; made by `MemoryStore.gate`.

    `async with store.gate("reader.page") as gate:` opens it at the end of the block.
    """

    def __init__(self, remove: Callable[[], object]) -> None:
        self._open = asyncio.Event()
        self._arrived = asyncio.Event()
        self._remove = remove
        self._error: BaseException | None = None
        self.held = 0

    async def reached(self) -> None:
        """Wait until a call stands at the gate."""
        await self._arrived.wait()

    def open(self, error: BaseException | None = None) -> None:
        """Let through all who stand here, and everybody later; with `error` those who stand here fail instead."""
        self._error = error
        self._remove()
        self._open.set()

    async def pass_through(self) -> None:
        """Stand at the gate; raises what it was opened with."""
        self.held += 1
        self._arrived.set()
        try:
            await self._open.wait()
        finally:
            self.held -= 1
        if self._error is not None:
            raise self._error

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.open()


@dataclass(slots=True)
class _Failure:
    """An error that so many more calls are to raise."""

    error: BaseException
    left: int


class Faults:
    """The faults and gates of one store."""

    def __init__(self) -> None:
        self._failures: dict[tuple[str, Place], _Failure] = {}
        self._gates: dict[tuple[str, Place], Gate] = {}

    def fail_next(self, operation: Operation, error: BaseException, times: int, at: Place) -> None:
        """Let the next calls of the operation fail; replaces what was asked for the same place before."""
        self._failures[_known(operation), at] = _Failure(error, times)

    def gate(self, operation: Operation, at: Place) -> Gate:
        """Put up a gate."""
        place = (_known(operation), at)
        if place in self._gates:
            msg = f"there is a gate at the {at} of {operation} already; open it first"
            raise ValueError(msg)
        gate = Gate(lambda: self._gates.pop(place, None))
        self._gates[place] = gate
        return gate

    async def enter(self, operation: str) -> None:
        """Begin an operation: the loop turns, as it does for every real store, then gate and failure."""
        await _turn()
        if self._gates or self._failures:
            await self._meet(operation, "start")

    async def leave(self, operation: str) -> None:
        """End an operation that is done: gate and failure before the answer."""
        if self._gates or self._failures:
            await self._meet(operation, "end")

    async def run(self, operation: str, work: Callable[[], T]) -> T:
        """Carry out an operation that is one step, with what was put in its way."""
        await self.enter(operation)
        answer = work()
        await self.leave(operation)
        return answer

    async def _meet(self, operation: str, at: Place) -> None:
        """Stand at the gate, if there is one, then fail, if that was asked for."""
        place = (operation, at)
        gate = self._gates.get(place)
        if gate is not None:
            await gate.pass_through()
        failure = self._failures.get(place)
        if failure is not None and failure.left > 0:
            failure.left -= 1
            raise failure.error.with_traceback(None)


def _known(operation: Operation) -> Operation:
    """Refuse an operation there is not: a fault that never happens would make its test pass for nothing."""
    if operation not in _OPERATIONS:
        msg = f"no operation is called {operation!r}; one of {', '.join(sorted(_OPERATIONS))}"
        raise ValueError(msg)
    return operation
