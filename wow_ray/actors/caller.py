"""The actor that runs durable calls and nothing else: whatever of them is due, as far as it has room (F2, F6).

It owns nothing. Claims have leases in the store: killed, it is started anew, and what it ran is claimed by whoever
is free once those are over. Nothing is opened when it is made; what goes wrong is tried again, for as long as it takes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable
from typing import Any, Literal

from wow_ray.actors.life import Life
from wow_ray.actors.moving import NO_MOVES
from wow_ray.actors.site import Site
from wow_ray.runtime.call_service import CallService
from wow_ray.runtime.waiting import within

log = logging.getLogger("wow_ray.actors")

FIRST_RETRY, LAST_RETRY = 0.2, 5.0
"""Seconds until a start that failed is tried again: doubled each time."""


class CallerActor:
    """Hosts one worker of durable calls."""

    def __init__(self, name: str, site: Site, end: Callable[[int], Any] = os._exit) -> None:
        """Schedule the start of the worker of that lasting name; `end` ends the process."""
        self.name = name
        self._site = site
        self._clock = site.clock()
        self._standing: Literal["starting", "running", "draining", "drained"] = "starting"
        self._trouble = ""
        self._service: CallService | None = None
        self._asked = asyncio.Event()
        self._drained = asyncio.Event()
        self.life = Life(name, self._clock, self._lived(), end)

    async def status(self) -> dict[str, Any]:
        """Tell how it stands, as a partition without slots does; `running` are the calls under way."""
        service = self._service
        return {
            "partition": self.name,
            "pid": os.getpid(),
            "standing": self._standing,
            "trouble": self._trouble,
            "plan": 0,
            "moves": NO_MOVES,
            "release": self._site.release,
            "edition": self._site.edition,
            "past": True,
            "silence": self.life.silence,
            "age": self._clock.monotonic() - self.life.began,
            "slots": [],
            "groups": {},
            "running": 0 if service is None else len(service.worker.runs),
        }

    async def wake(self) -> None:
        """Look for calls now."""
        service = self._service
        if service is not None:
            self.life.loop.call_soon_threadsafe(service.worker.wake)

    async def drain(self) -> None:
        """Let calls under way end for a while, give the rest back uncharged; answers when that is done."""
        await self.life.hop(self._drain())

    async def _drain(self) -> None:
        self._asked.set()
        await self._drained.wait()

    async def _lived(self) -> None:
        wait = FIRST_RETRY
        while not self._asked.is_set():
            try:
                async with self._site.durable_calls(self.name) as self._service:
                    self._standing, self._trouble, wait = "running", "", FIRST_RETRY
                    await self._asked.wait()
                    self._standing = "draining"
            except Exception as error:  # noqa: BLE001 - whatever it is, the next try may get past it
                if str(error) != self._trouble:
                    log.warning("%s cannot start (%s); trying on", self.name, error)
                self._standing, self._trouble = "starting", str(error) or repr(error)
                with contextlib.suppress(TimeoutError):
                    await within(self._clock, wait, self._asked.wait())
                wait = min(wait * 2, LAST_RETRY)
            finally:
                self._service = None
        self._standing = "drained"
        self._drained.set()
