"""The port of pauses, in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from wow_ray.adapters.memory.rows import check_texts
from wow_ray.errors import NotFoundError
from wow_ray.policy.parked import Verb
from wow_ray.policy.pauses import STOPS, PauseReason
from wow_ray.ports.ledger import Intent
from wow_ray.ports.pauses import KEPT_NOTES, Pause, PauseAsked, PauseNote, outcome_of

if TYPE_CHECKING:
    from wow_ray.adapters.memory.server import Server


class MemoryPauses:
    """`ports.pauses.Pauses` in memory."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def present(self) -> Sequence[Pause]:
        """See the port."""
        return await self._server.faults.run("pauses.read", self._present)

    async def history(self, number: int, limit: int) -> Sequence[Pause]:
        """See the port."""
        return await self._server.faults.run("pauses.read", lambda: self._history(number, limit))

    async def set(self, asked: PauseAsked) -> Intent:
        """See the port."""
        return await self._server.faults.run("pauses.ask", lambda: self._acted(asked, Verb.PAUSE, self._set))

    async def end(self, asked: PauseAsked) -> Intent:
        """See the port."""
        return await self._server.faults.run("pauses.ask", lambda: self._acted(asked, Verb.END_PAUSE, self._end))

    async def note(self, note: PauseNote) -> None:
        """See the port."""
        await self._server.faults.run("pauses.note", lambda: self._note(note))

    async def over(
        self, partition: str, text: str, number: int | None = None, reason: PauseReason | None = None
    ) -> None:
        """See the port."""
        await self._server.faults.run("pauses.note", lambda: self._over(partition, text, number, reason))

    def _present(self) -> tuple[Pause, ...]:
        return tuple(self._named(pause) for pause in self._server.pauses if pause.ended_at is None)

    def _history(self, number: int, limit: int) -> tuple[Pause, ...]:
        found = [self._named(pause) for pause in reversed(self._server.pauses) if pause.number == number]
        return tuple(found[:limit])

    def _acted(
        self, asked: PauseAsked, verb: Verb, act: Callable[[PauseAsked, str], tuple[int | None, bool]]
    ) -> Intent:
        """Carry out a request once, and store it with its outcome."""
        check_texts(asked.request_id, (asked.request_id, asked.actor, asked.text, asked.partition))
        server = self._server
        known = server.rows.intents.get(asked.request_id)
        if known is not None:
            return known
        group = self._name(asked.number)
        pause, changed = act(asked, group)
        outcome = outcome_of(asked, pause, changed=changed)
        return server.rows.acted(asked.intent(verb, group), outcome, server.now())

    def _set(self, asked: PauseAsked, group: str) -> tuple[int, bool]:
        present = self._find(asked.number, asked.partition, asked.reason)
        if present is not None:
            return present.id, False
        pause = Pause(
            self._next_id(),
            group,
            asked.number,
            asked.partition,
            asked.reason,
            self._server.now(),
            asked.actor,
            asked.text,
            asked.request_id,
        )
        self._server.pauses.append(pause)
        return pause.id, True

    def _end(self, asked: PauseAsked, _: str) -> tuple[int | None, bool]:
        present = self._find(asked.number, asked.partition, asked.reason)
        if present is None:
            return None, False
        self._close(present, asked.actor, asked.text)
        return present.id, True

    def _note(self, note: PauseNote) -> None:
        check_texts(note.partition, (note.partition, note.text))
        group = self._name(note.number)
        present = self._find(note.number, note.partition, note.reason)
        if present is not None:
            self._put(replace(present, text=note.text, detail=dict(note.detail)))
            return
        actor = note.partition
        self._server.pauses.append(
            Pause(
                self._next_id(),
                group,
                note.number,
                note.partition,
                note.reason,
                self._server.now(),
                actor,
                note.text,
                "",
                dict(note.detail),
            )
        )
        over = [pause for pause in self._server.pauses if pause.ended_at is not None and _key(pause) == _key(note)]
        for pause in over[:-KEPT_NOTES]:
            self._server.pauses.remove(pause)

    def _over(self, partition: str, text: str, number: int | None, reason: PauseReason | None) -> None:
        check_texts(partition, (partition, text))
        for pause in self._present():
            mine = pause.partition == partition and pause.reason not in STOPS
            if mine and number in {None, pause.number} and reason in {None, pause.reason}:
                self._close(pause, partition, text)

    def _close(self, pause: Pause, actor: str, text: str) -> None:
        self._put(replace(pause, ended_at=self._server.now(), ended_by=actor, ended_text=text))

    def _put(self, pause: Pause) -> None:
        pauses = self._server.pauses
        pauses[next(n for n, each in enumerate(pauses) if each.id == pause.id)] = pause

    def _next_id(self) -> int:
        return 1 + max((pause.id for pause in self._server.pauses), default=0)

    def _find(self, number: int, partition: str | None, reason: PauseReason) -> Pause | None:
        key = (number, partition, reason)
        return next((pause for pause in self._present() if _key(pause) == key), None)

    def _named(self, pause: Pause) -> Pause:
        """Give it under the group's present name."""
        return replace(pause, group=self._name(pause.number))

    def _name(self, number: int) -> str:
        """Give the present name of a group; raises `NotFoundError`."""
        group = next((each for each in self._server.registry.groups.values() if each.number == number), None)
        if group is None:
            msg = f"there is no group of number {number}"
            raise NotFoundError(msg)
        return group.name


def _key(pause: Pause | PauseNote) -> tuple[int, str | None, PauseReason]:
    """Give what there is one present pause for."""
    return pause.number, pause.partition, pause.reason
