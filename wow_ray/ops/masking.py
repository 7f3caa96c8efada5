"""Payloads as operators are shown them: masked by the app's rule, which may raise, wait or hang.

Rules of the app's own are called in a thread, one at a time, and have a second for all that is shown at once, as has
what is long; when it takes longer nothing of it is shown, and the thread is left to itself. Where the app is not known
neither is its rule, so nothing is shown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from wow_ray.policy.masking import MASK, Masking
from wow_ray.ports.clock import Clock
from wow_ray.runtime.asking import Thread

BOUND = 1.0
"""Seconds that rules of an app may take for all payloads that are shown at once."""
SMALL = 100_000
"""Characters that are masked at once where no rule of an app is asked; more would keep the loop from others."""
UNKNOWN = Masking(whole=("*",))
"""Of an app that is not known."""

Payload = tuple[str, str]
"""The name of an event's type or of a function, and the JSON text."""


class Masked:
    """Masks what one program shows."""

    def __init__(self, masking: Masking, clock: Clock) -> None:
        """Mask by this rule."""
        self._masking = masking
        self._clock = clock
        self._thread: Thread | None = None
        self._turn = asyncio.Lock()
        self._hung: asyncio.Future[object] | None = None

    async def of(self, payloads: Sequence[Payload]) -> list[str]:
        """Give what may be shown of each, in that order."""
        if not self._masking.maskers and sum(len(text) for _, text in payloads) <= SMALL:
            return self._all(payloads)
        async with self._turn:
            return await self._in_thread(payloads)

    def _all(self, payloads: Sequence[Payload]) -> list[str]:
        return [self._masking.shown(name, text) for name, text in payloads]

    async def _in_thread(self, payloads: Sequence[Payload]) -> list[str]:
        """Wait for the rules a second; while those of an earlier call hang, they are not asked."""
        if self._hung is not None and not self._hung.done():
            return [MASK] * len(payloads)
        thread = self._thread = self._thread or Thread()
        call, over = thread.call(lambda: self._all(payloads)), asyncio.Event()
        call.add_done_callback(lambda _: over.set())
        timer = self._clock.call_at(self._clock.monotonic() + BOUND, over.set)
        try:
            await over.wait()
        finally:
            timer.cancel()
            if not call.done():
                thread.leave()
                self._thread, self._hung = None, call
        return self._found(call, payloads)

    @staticmethod
    def _found(call: asyncio.Future[object], payloads: Sequence[Payload]) -> list[str]:
        """Give what was found, nothing of it when the rules hang, or want to end the program."""
        found = call.result() if call.done() and call.exception() is None else None
        return found if isinstance(found, list) else [MASK] * len(payloads)
