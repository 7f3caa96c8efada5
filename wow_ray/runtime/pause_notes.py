"""What a partition says of the pauses it makes by itself, so that people see them; nothing rests on it.

Saying it returns at once. One task writes the newest that is to be said of each group and reason, and tries on while
the store is away; a pause that has ended before it could be written is never written.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from wow_ray.errors import NotFoundError, StoreDataError, StoreUnavailableError
from wow_ray.policy.pauses import PauseReason
from wow_ray.ports.pauses import PauseNote
from wow_ray.runtime.trouble import Trouble

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from wow_ray.ports.clock import Clock
    from wow_ray.ports.pauses import Pause, Pauses
    from wow_ray.runtime.group import Group

log = logging.getLogger("wow_ray.partition")

AGAIN = 1.0
"""Seconds until it is tried again."""
MOST_TEXT = 1_000
ANEW, STOPPED = "the partition started anew", "the partition stopped"

Key = tuple[int, "PauseReason"]


class PauseNotes:
    """The notes of one partition."""

    def __init__(self, pauses: Pauses, clock: Clock, name: str) -> None:
        """Write for the partition of that lasting name."""
        self.on_lifted: Callable[[Group, PauseReason], None] = lambda _group, _reason: None
        """Told when an operator has ended a pause that is noted here, as may be done with `MASS_FAILURE` (P16)."""
        self.written = 0
        """How many notes were written so far; see `seen`."""
        self._pauses = pauses
        self._clock = clock
        self._name = name
        self._unsaid: dict[Key, PauseNote | str] = {}
        """What is to be written next: a note, or the text with which one ends."""
        self._shown: dict[Key, int | None] = {}
        """What the store shows, with the number of the write that said so first; `None` = it may show it."""
        self._groups: dict[int, Group] = {}
        self._told = asyncio.Event()
        self._trouble = Trouble(log, clock, "pauses cannot be noted (%r); trying on", "pauses are noted after %.1f s")

    def begun(self, group: Group, reason: PauseReason, text: str, detail: Mapping[str, Any] | None = None) -> None:
        """Say that the group is paused here, or what is the case now of a pause said before; `detail` is plain JSON."""
        self._groups[group.number] = group
        self._unsaid[group.number, reason] = PauseNote(group.number, self._name, reason, _kept(text), detail or {})
        self._told.set()

    def ended(self, group: Group, reason: PauseReason, text: str) -> None:
        """Say that such a pause is over; does nothing when there is none."""
        key = (group.number, reason)
        self._unsaid.pop(key, None)
        if key in self._shown:
            self._unsaid[key] = _kept(text)
            self._told.set()

    async def run(self) -> None:
        """Write for ever; ends by cancellation. Begins with ending what an incarnation that died has left."""
        anew = True
        while True:
            try:
                if anew:
                    await self._pauses.over(self._name, ANEW)
                    anew = False
                await self._told.wait()
                self._told.clear()
                while self._unsaid:
                    await self._say(next(iter(self._unsaid)))
            except Exception as error:  # noqa: BLE001 - nothing rests on these notes
                if not isinstance(error, StoreUnavailableError):
                    self._trouble.failed(error)
                await self._clock.sleep(AGAIN)
                self._told.set()
            else:
                self._trouble.worked()

    async def close(self) -> None:
        """End what is shown, since nobody pauses anything here any more; raises what the store raises."""
        self._unsaid.clear()
        if self._shown:
            await self._pauses.over(self._name, STOPPED)
            self._shown.clear()

    def seen(self, present: Sequence[Pause], written: int) -> None:
        """Look which notes are gone from what the store showed after so many were `written`: somebody lifted them."""
        there = {(pause.number, pause.reason) for pause in present if pause.partition == self._name}
        for key, number in list(self._shown.items()):
            if key not in there and key not in self._unsaid and number is not None and number <= written:
                del self._shown[key]
                group = self._groups[key[0]]
                log.warning("%s: the pause (%s) was lifted", group.name, key[1])
                self.on_lifted(group, key[1])

    async def _say(self, key: Key) -> None:
        """Write one; what is said of it meanwhile is written next."""
        said = self._unsaid[key]
        number, reason = key
        try:
            if isinstance(said, str):
                await self._pauses.over(self._name, said, number, reason)
                del self._shown[key]
            else:
                first = self._shown.setdefault(key, None) is None
                await self._pauses.note(said)
                self.written += 1
                if first:
                    self._shown[key] = self.written
        except (NotFoundError, StoreDataError) as error:
            log.error("a pause (%s) cannot be noted: %s", reason, error)  # noqa: TRY400 - expected, its text says all
            self._shown.pop(key, None)
        if self._unsaid.get(key) is said:
            del self._unsaid[key]


def note_pause(group: Group, notes: PauseNotes, now: float, store_now: datetime) -> None:
    """Say how a group's own pause stands; `now` is monotonic. Says that it is over when there is none."""
    pause = group.pause
    if pause is None:
        for reason in (PauseReason.SYSTEMIC, PauseReason.MASS_FAILURE):
            notes.ended(group, reason, "a probe succeeded, or nobody was left to be tried")
        return
    next_probe = store_now + timedelta(seconds=max(0.0, pause.next_probe - now))
    detail = {
        "subscription": pause.subscription,
        "failing": len(group.outlook.failing),
        "probes_failed": pause.probing.failures,
        "healthy_needed": pause.probing.needs - len(pause.probing.proven),
        "last_probe_error": pause.last_probe_error,
        "next_probe": next_probe.isoformat(),
    }
    notes.begun(group, PauseReason(pause.why), pause.error, detail)


def _kept(text: str) -> str:
    """Bound a text."""
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 1] + "…"
