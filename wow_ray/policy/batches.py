"""Commands on many rows: how far a batch is, what came of its rows, and when it stops by itself (P12, S87)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

CANARY = 3
"""Rows that are tried first, and how many failing alike in a row stop a batch."""


class Stage(StrEnum):
    """How far a batch has come; `interrupted` = the process that ran it is gone, and it can be resumed."""

    PREVIEW = "preview"
    CANARY = "canary"
    RUNNING = "running"
    INTERRUPTED = "interrupted"
    DONE = "done"
    STOPPED = "stopped"


class Outcome(StrEnum):
    """What came of one row: ended well, stopped again, was not as it was seen, or has not ended in time."""

    RECOVERED = "recovered"
    FAILED = "failed"
    CHANGED = "changed"
    UNDER_WAY = "under_way"


AT_WORK = frozenset({Stage.CANARY, Stage.RUNNING})
"""A process asks for rows."""
RESUMABLE = frozenset({Stage.STOPPED, Stage.INTERRUPTED})


def fail_alike(marks: Sequence[str], rows: int) -> int:
    """Give how many of `rows` failed alike at last, 0 = that is no reason to stop.

    `marks` are the fingerprints of those that ended last, at most `CANARY`, empty for one that did not fail.
    """
    enough = min(CANARY, rows)
    return enough if len(marks) >= enough and len(set(marks)) == 1 and marks[0] else 0
