"""Deleting what is old, a little at a time (H53). Never what waits, and never what is still to be told.

Deleted rows were over for so long that nobody sends them again: an age below some minutes is not for a store at work.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol


class Old(StrEnum):
    """What may be old.

    `ATTEMPTS`: the history of rows that have ended; `ROWS`: ended rows with it; `AUDIT`: what people asked for and has
    been done or refused, and pauses that are over; `NOTICES`: routed facts, and deliveries sent or given up; `SAMPLES`:
    how groups stood.
    """

    ATTEMPTS = "attempts"
    ROWS = "rows"
    AUDIT = "audit"
    NOTICES = "notices"
    SAMPLES = "samples"


@dataclass(frozen=True, slots=True)
class Forgotten:
    """How many were deleted; whether there may be `more`, and the place to look on from, `None` = the beginning."""

    deleted: int
    more: bool
    after: datetime | None


class Remains(Protocol):
    """What is left of the past in one store. Raises `StoreUnavailableError`."""

    async def forget(self, what: Old, older_than: float, most: int, after: datetime | None = None) -> Forgotten:
        """Look at `most` of a kind at most, older than so many seconds, behind `after`, and delete what may go.

        What somebody else is deleting is left to them.
        """
        ...
