"""The port of pauses of durable functions, in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from wow_ray.adapters.memory.rows import check_texts
from wow_ray.policy.parked import Verb
from wow_ray.ports.function_pauses import FunctionPause, FunctionPauseAsked, outcome_of_pause
from wow_ray.ports.ledger import Intent

if TYPE_CHECKING:
    from wow_ray.adapters.memory.server import Server


class MemoryFunctionPauses:
    """`ports.function_pauses.FunctionPauses` in memory."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def present(self) -> Sequence[FunctionPause]:
        """See the port."""
        return await self._server.faults.run("pauses.read", self._present)

    async def history(self, function: str, limit: int) -> Sequence[FunctionPause]:
        """See the port."""
        found = [pause for pause in reversed(self._server.function_pauses) if pause.function == function]
        return await self._server.faults.run("pauses.read", lambda: tuple(found[:limit]))

    async def set(self, asked: FunctionPauseAsked) -> Intent:
        """See the port."""
        return await self._server.faults.run("pauses.ask", lambda: self._acted(asked, Verb.PAUSE))

    async def end(self, asked: FunctionPauseAsked) -> Intent:
        """See the port."""
        return await self._server.faults.run("pauses.ask", lambda: self._acted(asked, Verb.END_PAUSE))

    def _present(self) -> tuple[FunctionPause, ...]:
        return tuple(pause for pause in self._server.function_pauses if pause.ended_at is None)

    def _acted(self, asked: FunctionPauseAsked, verb: Verb) -> Intent:
        """Carry out a request once, and store it with its outcome."""
        check_texts(asked.request_id, (asked.request_id, asked.function, asked.actor, asked.text))
        server = self._server
        known = server.rows.intents.get(asked.request_id)
        if known is not None:
            return known
        pause, changed = self._set(asked) if verb is Verb.PAUSE else self._end(asked)
        return server.rows.acted(asked.intent(verb), outcome_of_pause(asked, pause, changed=changed), server.now())

    def _set(self, asked: FunctionPauseAsked) -> tuple[int, bool]:
        there = self._find(asked)
        if there is not None:
            return there.id, False
        number = len(self._server.function_pauses) + 1
        since = self._server.now()
        self._server.function_pauses.append(
            FunctionPause(number, asked.function, asked.reason, since, asked.actor, asked.text, asked.request_id)
        )
        return number, True

    def _end(self, asked: FunctionPauseAsked) -> tuple[int | None, bool]:
        there = self._find(asked)
        if there is None:
            return None, False
        over = replace(there, ended_at=self._server.now(), ended_by=asked.actor, ended_text=asked.text)
        self._server.function_pauses[there.id - 1] = over
        return there.id, True

    def _find(self, asked: FunctionPauseAsked) -> FunctionPause | None:
        key = (asked.function, asked.reason)
        return next((pause for pause in self._present() if (pause.function, pause.reason) == key), None)
