"""Obeying pauses of durable functions: who is paused is not claimed for; calls under way end (H44, S83).

Known pauses hold while the store cannot be read. A pause by a former name holds, too.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from wow_ray.errors import StoreUnavailableError
from wow_ray.ports.function_pauses import stops_of_function
from wow_ray.runtime.trouble import Trouble

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wow_ray.ports.clock import Clock
    from wow_ray.ports.function_pauses import FunctionPauses
    from wow_ray.runtime.call_queue import CallQueue

log = logging.getLogger("wow_ray.calls")

POLL = 1.0
"""Seconds between two looks."""


class FunctionStops:
    """Has the queues of one worker stand still, and go on."""

    def __init__(
        self, pauses: FunctionPauses, clock: Clock, queues: Sequence[CallQueue], go_on: Callable[[], None]
    ) -> None:
        """`go_on()` is told when a queue may be claimed for again."""
        self._pauses = pauses
        self._clock = clock
        self._queues = queues
        self._go_on = go_on
        said = "pauses of functions cannot be read (%s); those known go on to hold"
        self._trouble = Trouble(log, clock, said, "pauses of functions are read again after %.1f s")

    async def load(self) -> None:
        """Take over what the store says, before anything is claimed; raises what the store raises."""
        present = await self._pauses.present()
        for queue in self._queues:
            function = queue.function
            before = queue.stops
            queue.stops = stops_of_function(present, (function.subscription, *function.aliases))
            if queue.stops != before:
                said = f"stands still ({', '.join(sorted(queue.stops))})" if queue.stops else "goes on"
                log.warning("%s %s here", function.subscription, said)
                self._go_on()

    async def run(self) -> None:
        """Look for ever; ends by cancellation."""
        while True:
            await self._clock.sleep(POLL)
            try:
                await self.load()
            except StoreUnavailableError as error:
                self._trouble.failed(error)
            else:
                self._trouble.worked()
