"""Every start of a partition, and how it ended, in memory."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from wow_ray.policy.suspicion import Ending, Start
from wow_ray.ports.slots import Owner

KEPT = 20
"""How many ended starts of a partition a new owner is told of."""


@dataclass(slots=True)
class _Noted:
    """One start; `seen` is when its owner was last known to live, `None` = it still does."""

    owner: Owner
    started_at: datetime
    seen: datetime | None = None
    ending: Ending | None = None
    excused: bool = False


class Starts:
    """All starts of one store, by the owner's id, in the order they were made."""

    def __init__(self) -> None:
        self._noted: dict[str, _Noted] = {}

    def began(self, owner: Owner, now: datetime) -> None:
        """Note a start, once."""
        self._noted.setdefault(owner.id, _Noted(owner, now))

    def silent(self, owner_id: str, now: datetime) -> None:
        """Note that the owner is heard of no more."""
        noted = self._noted.get(owner_id)
        if noted is not None and noted.seen is None:
            noted.seen = now

    def overtaken(self, owner: Owner, by: Owner, now: datetime) -> None:
        """Judge how an owner ended whose slots are taken over; in memory a process that is gone has died."""
        alive = owner.process_started is not None and (owner.host, owner.pid, owner.process_started) == (
            by.host,
            by.pid,
            by.process_started,
        )
        noted = self._noted.get(owner.id)
        if noted is not None:
            self._end(noted, Ending.EXCUSED if alive or noted.excused else Ending.UNCLEAN, noted.seen or now)

    def released(self, owner: Owner, now: datetime) -> None:
        """Note a clean end."""
        noted = self._noted.get(owner.id)
        if noted is not None:
            self._end(noted, Ending.CLEAN, now)

    def excuse(self, partition: str) -> None:
        """Excuse the newest start of a partition."""
        for noted in reversed(self._noted.values()):
            if noted.owner.partition == partition:
                noted.excused = True
                return

    def crashed(self, owner: Owner | None) -> bool:
        """Tell whether this owner's process is known to have died."""
        noted = None if owner is None else self._noted.get(owner.id)
        return noted is not None and noted.ending is Ending.UNCLEAN

    def of(self, owner: Owner) -> tuple[Start, ...]:
        """Give the ended starts of the owner's partition, oldest first."""
        ended = [
            Start(noted.started_at, noted.seen or noted.started_at, noted.ending)
            for noted in self._noted.values()
            if noted.owner.partition == owner.partition and noted.owner.id != owner.id and noted.ending is not None
        ]
        return tuple(ended[-KEPT:])

    @staticmethod
    def _end(noted: _Noted, ending: Ending, at: datetime) -> None:
        if noted.ending is None:
            noted.ending, noted.seen = ending, at
