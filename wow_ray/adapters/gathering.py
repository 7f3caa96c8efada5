"""Single requests that go to a server together: what comes while one statement is under way goes with the next.

Alone a request goes at once, so nobody waits for others to come; under load a round trip and a commit are shared by all
who waited. Each is answered, or fails, as if it had gone by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from wow_ray.errors import StoreDataError

A = TypeVar("A")
B = TypeVar("B")


class Gathering(Generic[A, B]):
    """Gathers requests of one kind in one event loop."""

    def __init__(
        self, carry_out: Callable[[Sequence[A]], Awaitable[Sequence[B]]], most: int, weigh: Callable[[A], int]
    ) -> None:
        """`carry_out` does all or nothing and answers in order; together they `weigh` at most `most`, or go alone."""
        self._carry_out = carry_out
        self._most = most
        self._weigh = weigh
        self._waiting: list[tuple[A, asyncio.Future[B]]] = []
        self._going: asyncio.Task[None] | None = None

    async def one(self, request: A) -> B:
        """Have a request carried out; raises what that raises. Cancelled before it has gone, it does not go."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[B] = loop.create_future()
        self._waiting.append((request, answer))
        if self._going is None or self._going.done():
            self._going = loop.create_task(self._go())
        return await answer

    async def close(self) -> None:
        """End what is under way; whoever waits is cancelled."""
        if self._going is not None:
            self._going.cancel()
            await asyncio.gather(self._going, return_exceptions=True)
        for _, answer in self._waiting:
            answer.cancel()

    async def _go(self) -> None:
        while batch := self._next():
            try:
                await self._answer(batch)
            except asyncio.CancelledError:
                for _, answer in batch:
                    answer.cancel()
                raise

    def _next(self) -> list[tuple[A, asyncio.Future[B]]]:
        """Take those that may go together, first come first."""
        batch: list[tuple[A, asyncio.Future[B]]] = []
        weight = 0
        for taken, (request, answer) in enumerate(self._waiting):
            weight += self._weigh(request)
            if batch and weight > self._most:
                del self._waiting[:taken]
                return batch
            if not answer.done():
                batch.append((request, answer))
        self._waiting.clear()
        return batch

    async def _answer(self, batch: Sequence[tuple[A, asyncio.Future[B]]]) -> None:
        """Carry out a batch; where it is refused for the data of one, each by itself."""
        try:
            answers = await self._carry_out([request for request, _ in batch])
        except StoreDataError as error:
            if len(batch) > 1:
                for each in batch:
                    await self._answer([each])
            else:
                _fail(batch, error)
        except Exception as error:  # noqa: BLE001 - it is theirs who asked
            _fail(batch, error)
        else:
            for (_, waiting), answer in zip(batch, answers, strict=True):
                if not waiting.done():
                    waiting.set_result(answer)


def _fail(batch: Sequence[tuple[A, asyncio.Future[B]]], error: Exception) -> None:
    for _, waiting in batch:
        if not waiting.done():
            waiting.set_exception(error)
