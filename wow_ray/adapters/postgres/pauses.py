"""Pauses on Postgres."""

from __future__ import annotations

import json
from collections.abc import Sequence

import asyncpg

from wow_ray.adapters.postgres.connect import Session, Sessions
from wow_ray.adapters.postgres.pause_actions import ended, repeated
from wow_ray.errors import NotFoundError
from wow_ray.policy.parked import Verb
from wow_ray.policy.pauses import STOPS, PauseReason
from wow_ray.ports.ledger import Intent
from wow_ray.ports.pauses import KEPT_NOTES, Pause, PauseAsked, PauseNote, outcome_of

EVERYWHERE = ""
"""How the table says that a pause is of all partitions."""


class PostgresPauses:
    """`ports.pauses.Pauses` on Postgres, on somebody else's sessions: what it does is little and short."""

    def __init__(self, sessions: Sessions) -> None:
        """Use these sessions; whoever made them closes them."""
        self._sessions = sessions

    async def present(self) -> Sequence[Pause]:
        """See the port."""
        async with self._sessions.use() as session:
            return tuple(map(_pause, await session.fetch("present_pauses")))

    async def history(self, number: int, limit: int) -> Sequence[Pause]:
        """See the port."""
        async with self._sessions.use() as session:
            return tuple(map(_pause, await session.fetch("pause_history", number, limit)))

    async def set(self, asked: PauseAsked) -> Intent:
        """See the port."""
        return await self._acted(asked, Verb.PAUSE)

    async def end(self, asked: PauseAsked) -> Intent:
        """See the port."""
        return await self._acted(asked, Verb.END_PAUSE)

    async def note(self, note: PauseNote) -> None:
        """See the port."""
        key = (note.number, note.partition, note.reason.value)
        async with self._sessions.use() as session:
            if not await session.fetch("note_pause", *key, note.text, json.dumps(dict(note.detail))):
                raise _no_group(note.number)
            await session.fetch("forget_notes", *key, KEPT_NOTES)

    async def over(
        self, partition: str, text: str, number: int | None = None, reason: PauseReason | None = None
    ) -> None:
        """See the port."""
        async with self._sessions.use() as session:
            await session.fetch("over_pauses", partition, text, number, reason, sorted(STOPS))

    async def _acted(self, asked: PauseAsked, verb: Verb) -> Intent:
        """Store the action, carry it out, and store what came of it: one transaction."""
        async with self._sessions.use() as session, session.connection.transaction():
            action = await session.fetch(
                "pause_action", asked.request_id, verb.value, asked.number, asked.actor, asked.text
            )
            if not action:
                stored = await repeated(session, asked.request_id)
                if stored is None:
                    raise _no_group(asked.number)
                return stored
            pause, changed = await (_set if verb is Verb.PAUSE else _ended)(session, asked)
            return await ended(session, action[0]["id"], outcome_of(asked, pause, changed=changed))


async def _set(session: Session, asked: PauseAsked) -> tuple[int | None, bool]:
    """Pause; answers the pause that is present then, and whether it is a new one."""
    made = await session.fetch("set_pause", *_key(asked), asked.actor, asked.text, asked.request_id)
    if made:
        return made[0]["id"], True
    there = await session.fetch("find_pause", *_key(asked))
    return (there[0]["id"] if there else None), False  # gone = it was ended by somebody behind us


async def _ended(session: Session, asked: PauseAsked) -> tuple[int | None, bool]:
    """End; answers the pause that is over, `None` = there was none."""
    over = await session.fetch("end_pause", *_key(asked), asked.actor, asked.text)
    return (over[0]["id"], True) if over else (None, False)


def _key(asked: PauseAsked) -> tuple[int, str, str]:
    """Give what there is one present pause for, as the table has it."""
    return asked.number, asked.partition or EVERYWHERE, asked.reason.value


def _no_group(number: int) -> NotFoundError:
    """Say that there is no such group."""
    return NotFoundError(f"there is no group of number {number}")


def _pause(row: asyncpg.Record) -> Pause:
    """Make a pause of its record."""
    return Pause(
        id=row["id"],
        group=row["name"],
        number=row["group_number"],
        partition=row["partition"] or None,
        reason=PauseReason(row["reason"]),
        since=row["since"],
        actor=row["actor"],
        text=row["text"],
        request_id=row["request_id"],
        detail=json.loads(row["detail"]),
        ended_at=row["ended_at"],
        ended_by=row["ended_by"],
        ended_text=row["ended_text"],
    )
