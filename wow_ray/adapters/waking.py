"""What the buses of wake-ups have in common: channel names, one message for many hints, going on while one is away.

A message is `slot:position`, several with blanks between. An append only puts its hint down; a task of the bus's own
sends it, so that no append waits for the bus or fails with it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

from wow_ray.policy import outcry
from wow_ray.ports.clock import Clock
from wow_ray.ports.wakes import Heads
from wow_ray.redaction import safe

log = logging.getLogger("wow_ray.wakes")

PAUSE = 0.004
"""Seconds between two messages: eager ones at 2,000 appends/s are slower than a poll every 10 ms."""
ANSWER = 1.0
"""Seconds that a bus may take for anything before it counts as away."""
CHECK = 10.0
"""Seconds without a message until a listener asks whether the other end is still there (a half-open socket)."""
FIRST_RETRY, LAST_RETRY = 0.1, 5.0
"""Seconds until a bus that is away is tried again: doubled each time."""

LATE = 0.01
"""Seconds after the time is over at which it is looked, so that it surely is."""

_CHANNEL_BYTES = 63  # of a name in Postgres
_MESSAGE_HINTS = 250  # far below the 8,000 bytes of a NOTIFY
_HINT = re.compile(r"(\d{1,9}):(\d{1,19})")


def channel_of(schema: str, context: str) -> str:
    """Name the channel of one app, so that apps in one database or on one Redis do not wake each other (H57)."""
    name = f"wow-ray/{schema}/{context}"
    if len(name) <= _CHANNEL_BYTES:
        return name
    return f"{name[:46]}/{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def written(heads: Heads) -> Iterator[str]:
    """Give the messages that tell these heads."""
    hints = [f"{slot}:{position}" for slot, position in heads.items()]
    for first in range(0, len(hints), _MESSAGE_HINTS):
        yield " ".join(hints[first : first + _MESSAGE_HINTS])


def read(message: str) -> dict[int, int]:
    """Give the heads of a message; what is no hint of ours is passed over."""
    found = (_HINT.fullmatch(word) for word in message.split())
    return {int(hint[1]): int(hint[2]) for hint in found if hint is not None}


class Bus(ABC):
    """`ports.wakes.Wakes` but for the sending and the hearing themselves."""

    check = CHECK

    def __init__(self, clock: Clock) -> None:
        """Connect to nothing yet."""
        self._clock = clock
        self._heads: dict[int, int] = {}
        self._sending: asyncio.Task[None] | None = None
        self._away = False
        self._mute, self._deaf = outcry.Outcry(), outcry.Outcry()
        self._closed = False

    def told(self, heads: Heads) -> None:
        """See the port."""
        if self._closed:
            return
        for slot, position in heads.items():
            self._heads[slot] = max(position, self._heads.get(slot, 0))
        if self._heads and (self._sending is None or self._sending.done()):
            self._sending = asyncio.get_running_loop().create_task(self._sent())

    @asynccontextmanager
    async def listening(self, callback: Callable[[Heads], None]) -> AsyncIterator[None]:
        """See the port."""
        task = asyncio.get_running_loop().create_task(self._heard(callback))
        try:
            yield
        finally:
            await _ended(task)

    async def close(self) -> None:
        """See the port."""
        self._closed = True
        if self._sending is not None:
            if not self._away:
                await asyncio.wait({self._sending}, timeout=ANSWER)
            await _ended(self._sending)
        await self._end()

    @abstractmethod
    async def _send(self, messages: list[str]) -> None:
        """Send messages; raises whatever when it cannot."""

    @abstractmethod
    async def _listen(self, begun: Callable[[], None], hear: Callable[[str], None]) -> None:
        """Connect, say `begun`, and give each message to `hear`; raises when the other end is gone."""

    @abstractmethod
    async def _end(self) -> None:
        """Give up the connections for sending."""

    async def _sent(self) -> None:
        """Send until nothing is left: at once, then after a pause what gathered meanwhile."""
        wait = FIRST_RETRY
        while self._heads:
            heads, self._heads = self._heads, {}
            try:
                async with asyncio.timeout(ANSWER):
                    await self._send(list(written(heads)))
            except Exception as error:  # noqa: BLE001 - whatever a bus has, appends must not notice
                if self._mute.failed(self._clock.monotonic()):
                    log.warning("wake-ups cannot be sent (%s); partitions poll meanwhile", _said(error))
                self._away = True
                self._heads = {**heads, **self._heads}
                if self._closed:
                    return
                await self._clock.sleep(wait)
                wait = min(wait * 2, LAST_RETRY)
                continue
            if self._away:
                self._works(self._mute, "wake-ups are sent again")
            self._away, wait = False, FIRST_RETRY
            await self._clock.sleep(PAUSE)

    async def _heard(self, callback: Callable[[Heads], None]) -> None:
        """Listen for ever, connecting anew whenever the other end is gone; ends by cancellation."""
        wait = FIRST_RETRY

        def begun() -> None:
            nonlocal wait
            wait = FIRST_RETRY
            if self._deaf.lasting:
                self._works(self._deaf, "wake-ups come again")

        def hear(message: str) -> None:
            if heads := read(message):
                callback(heads)

        while True:
            try:
                await self._listen(begun, hear)
            except Exception as error:  # noqa: BLE001 - whatever a bus has, the poll goes on
                if self._deaf.failed(self._clock.monotonic()):
                    log.warning("wake-ups do not come (%s); polling meanwhile", _said(error))
            await self._clock.sleep(wait)
            wait = min(wait * 2, LAST_RETRY)

    def _works(self, trouble: outcry.Outcry, text: str) -> None:
        """Say so once it has worked for a while."""

        def settled() -> None:
            if trouble.over(self._clock.monotonic()) is not None:
                log.info(text)

        now = self._clock.monotonic()
        trouble.worked(now)
        self._clock.call_at(now + outcry.SETTLED + LATE, settled)


async def _ended(task: asyncio.Task[None]) -> None:
    """Cancel a task until it is over: a client's own timeout that ends in the same turn may swallow the first one."""
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=0.1)


def _said(error: Exception) -> str:
    """Give the kind of an error and what it says, on one line, bounded and without secrets."""
    return f"{type(error).__name__}: {safe(' '.join(str(error).split())[:300])}"
