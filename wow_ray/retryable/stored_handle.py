"""A handle on a call that lies in the store: whoever has its id can ask for it, from any process."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from wow_ray.durations import Duration, seconds, show
from wow_ray.errors import CallFailedError, NotFoundError, WaitTimeoutError
from wow_ray.policy.durable_asked import CallAsked, CallVerb
from wow_ray.policy.durable_call import PENDING, CallRow, CallState
from wow_ray.ports.ledger import Intent
from wow_ray.retryable.codec import Codec
from wow_ray.retryable.door import Door
from wow_ray.retryable.handles import CallHandle
from wow_ray.retryable.surroundings import present

T = TypeVar("T")

FIRST_LOOK, LAST_LOOK = 0.01, 0.5
"""Seconds between two looks whether the call has ended: short at first, since most calls are."""


class StoredHandle(CallHandle[T]):
    """A stored call. It exists once the transaction that stored it has committed."""

    def __init__(self, call_id: str, door: Door, result: Codec, *, new: bool = True) -> None:
        """Made by `.submit(...)`; not `new` = an earlier call stands for it, with the same key."""
        self.id = call_id
        self.new = new
        self._door = door
        self._result = result

    async def state(self) -> CallState:
        """See the base class; raises `NotFoundError` for a call that there is not (yet), or is forgotten."""
        return (await self._row()).state

    async def result(self, timeout: Duration | None = None) -> T:  # noqa: ASYNC109 - the name in the design
        """See the base class; it asks the store again and again, more and more rarely."""
        limit = None if timeout is None else seconds(timeout, "result(timeout)", zero=True)
        try:
            async with asyncio.timeout(limit):
                row = await self._ended()
        except TimeoutError:
            raise WaitTimeoutError(f"call {self.id} has not ended within {show(limit or 0.0)}") from None
        if row.state is CallState.SUCCEEDED:
            result: T = self._result.read(row.result or "null")
            return result
        why = f": {row.reason}" if row.reason is not None else ""
        said = "" if row.failure is None else f" ({row.failure.type}: {row.failure.message[:200]})"
        raise CallFailedError(f"call {self.id} has ended as {row.state}{why}{said}")

    async def cancel(self) -> bool:
        """See the base class."""
        return (await self._ask("cancel", "cancelled by its caller")).state == "done"

    async def retry_now(self) -> bool:
        """Have it tried at once: one that waits becomes due, one that is exhausted gets a fresh budget."""
        return (await self._ask("retry", "retried by its caller")).state == "done"

    async def _ended(self) -> CallRow:
        wait = FIRST_LOOK
        while (row := await self._row()).state in PENDING:
            await present().sleep(wait)
            wait = min(wait * 1.5, LAST_LOOK)
        return row

    async def _row(self) -> CallRow:
        row = await self._door.reach(lambda: self._door.calls.get(self.id))
        if row is None:
            raise NotFoundError(f"there is no call {self.id!r}, not yet or not any more")
        return row

    async def _ask(self, verb: CallVerb, reason: str) -> Intent:
        asked = CallAsked(present().new_id(), verb, self.id, None, "caller", reason)
        answer = await self._door.reach(lambda: self._door.calls.ask(asked))
        self._door.stored()
        return answer
