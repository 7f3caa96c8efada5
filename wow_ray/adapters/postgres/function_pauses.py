"""Pauses of durable functions on Postgres."""

from __future__ import annotations

from collections.abc import Sequence

import asyncpg

from wow_ray.adapters.postgres.connect import Session, Sessions
from wow_ray.adapters.postgres.pause_actions import ended, repeated
from wow_ray.policy.parked import Verb
from wow_ray.policy.pauses import PauseReason
from wow_ray.ports.function_pauses import FunctionPause, FunctionPauseAsked, outcome_of_pause
from wow_ray.ports.ledger import Intent


class PostgresFunctionPauses:
    """`ports.function_pauses.FunctionPauses` on Postgres, on somebody else's sessions: it does little, and shortly."""

    def __init__(self, sessions: Sessions) -> None:
        """Use these sessions; whoever made them closes them."""
        self._sessions = sessions

    async def present(self) -> Sequence[FunctionPause]:
        """See the port."""
        async with self._sessions.use() as session:
            return tuple(map(_pause, await session.fetch("present_function_pauses")))

    async def history(self, function: str, limit: int) -> Sequence[FunctionPause]:
        """See the port."""
        async with self._sessions.use() as session:
            return tuple(map(_pause, await session.fetch("function_pause_history", function, limit)))

    async def set(self, asked: FunctionPauseAsked) -> Intent:
        """See the port."""
        return await self._acted(asked, Verb.PAUSE)

    async def end(self, asked: FunctionPauseAsked) -> Intent:
        """See the port."""
        return await self._acted(asked, Verb.END_PAUSE)

    async def _acted(self, asked: FunctionPauseAsked, verb: Verb) -> Intent:
        """Store the action, carry it out, and store what came of it: one transaction."""
        async with self._sessions.use() as session, session.connection.transaction():
            told = (asked.request_id, verb.value, asked.function, asked.actor, asked.text)
            action = await session.fetch("function_pause_action", *told)
            if not action:
                stored = await repeated(session, asked.request_id)
                assert stored is not None  # noqa: S101 - nothing but the same request keeps an action from being stored
                return stored
            pause, changed = await (_set if verb is Verb.PAUSE else _ended)(session, asked)
            return await ended(session, action[0]["id"], outcome_of_pause(asked, pause, changed=changed))


async def _set(session: Session, asked: FunctionPauseAsked) -> tuple[int | None, bool]:
    """Pause; answers the pause that is present then, and whether it is a new one."""
    key = (asked.function, asked.reason.value)
    made = await session.fetch("set_function_pause", *key, asked.actor, asked.text, asked.request_id)
    if made:
        return made[0]["id"], True
    there = await session.fetch("find_function_pause", *key)
    return (there[0]["id"] if there else None), False  # gone = it was ended by somebody behind us


async def _ended(session: Session, asked: FunctionPauseAsked) -> tuple[int | None, bool]:
    """End; answers the pause that is over, `None` = there was none."""
    key = (asked.function, asked.reason.value)
    over = await session.fetch("end_function_pause", *key, asked.actor, asked.text)
    return (over[0]["id"], True) if over else (None, False)


def _pause(row: asyncpg.Record) -> FunctionPause:
    """Make a pause of its record."""
    return FunctionPause(**{**row, "reason": PauseReason(row["reason"])})
