"""Deleting what is old, in memory."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, assert_never

from wow_ray.policy.parked import OPEN
from wow_ray.ports.notices import DeliveryState
from wow_ray.ports.retention import Forgotten, Old

if TYPE_CHECKING:
    from wow_ray.adapters.memory.server import Server

Found = tuple[datetime, bool, Callable[[], None]]
"""When it was over, whether it may go, and what deletes it."""


class MemoryRemains:
    """`ports.retention.Remains` in memory."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def forget(self, what: Old, older_than: float, most: int, after: datetime | None = None) -> Forgotten:
        """See the port."""
        return await self._server.faults.run("ledger.forget", lambda: self._forget(what, older_than, most, after))

    def _forget(self, what: Old, older_than: float, most: int, after: datetime | None) -> Forgotten:
        until = self._server.now() - timedelta(seconds=older_than)
        old = [each for each in self._found(what) if each[0] <= until and (after is None or each[0] > after)]
        looked = sorted(old, key=lambda each: each[0])[:most]
        gone = [each for each in looked if each[1]]
        for _, _, delete in gone:
            delete()
        place = after if len(gone) == len(looked) else looked[-1][0]
        return Forgotten(len(gone), len(looked) >= most, place)

    def _found(self, what: Old) -> list[Found]:
        """Give everything of a kind."""
        match what:
            case Old.ATTEMPTS:
                return self._attempts()
            case Old.ROWS:
                return self._ended()
            case Old.AUDIT:
                return self._audit()
            case Old.NOTICES:
                return self._notices()
            case Old.SAMPLES:
                return self._samples()
            case _:
                assert_never(what)

    def _attempts(self) -> list[Found]:
        rows = self._server.rows
        found: list[Found] = []
        for row_id, notes in rows.attempts.items():
            row = rows.by_id.get(row_id)
            may_go = row is None or row.state not in OPEN
            found += [(note.at, may_go, lambda notes=notes, note=note: notes.remove(note)) for note in notes]  # type: ignore[misc]
        return found

    def _ended(self) -> list[Found]:
        rows = self._server.rows
        ended = [row for row in rows.by_id.values() if row.state not in OPEN]
        return [(row.updated_at, True, lambda row=row: rows.forget(row.id)) for row in ended]  # type: ignore[misc]

    def _audit(self) -> list[Found]:
        server = self._server
        found: list[Found] = [
            (intent.ended_at, True, lambda key=key: server.rows.intents.pop(key))  # type: ignore[misc]
            for key, intent in server.rows.intents.items()
            if intent.ended_at is not None
        ]
        over = [pause for pause in server.pauses if pause.ended_at is not None and pause.id not in server.told_pauses]
        found += [
            (pause.ended_at, True, lambda pause=pause: server.pauses.remove(pause))  # type: ignore[misc]
            for pause in over
            if pause.ended_at is not None
        ]
        return found

    def _samples(self) -> list[Found]:
        samples = self._server.samples
        return [(key[0], True, lambda key=key: samples.pop(key)) for key in samples]  # type: ignore[misc]

    def _notices(self) -> list[Found]:
        server = self._server
        found: list[Found] = [
            (noted.routed_at, True, lambda noted=noted: server.rows.notices.remove(noted))  # type: ignore[misc]
            for noted in server.rows.notices
            if noted.routed_at is not None
        ]
        found += [
            (one.updated_at, True, lambda one=one: server.deliveries.pop(one.id))  # type: ignore[misc]
            for one in server.deliveries.values()
            if one.state is not DeliveryState.WAITING
        ]
        return found
