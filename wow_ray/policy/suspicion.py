"""Who is suspected of killing the process, and how carefully a successor begins (P15, H10).

Nothing is noted of a call while all is well. What is known is how the last starts of a partition ended. After two
unclean ends in a row a start is careful: what the former owners can have had under way, its *stretch*, is called eight
at a time, each with a durable mark before it begins; twice as many after each full round that came through, so that a
long stretch is passed soon. Whoever is marked when the process dies is a *suspect*, charged once; nobody else can have
done it. So in the next start only the suspects are called one at a time, most charged first, and whoever comes through
is free. The third charge is a conviction, unless deaths that found the suspect not under way say that something else
kills as well. Who has two is called only in a process that has lived a while without: one that is killed again and
again soon after its start, by whatever, would charge the same three times, who comes first.

Parked retries and drains are marked in their ledger rows, always: see `parked_life.interrupted`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

DEATHS = 3
"""Deaths of the process during its handling after which an event is parked as `crashed_worker` (P15)."""
STEADY = 0.2
"""Seconds a process has lived before it calls whom one more death would convict (H10).

Longer than what dies at once lives; no longer, or those who wait would not be acquitted by lives that are short anyway.
"""
AT_ONCE = 8
"""Marked calls under way at once while nobody is suspected, to begin with."""
MOST_AT_ONCE = 64
"""Marked calls under way at once in the end: as many have come through, and the suspects of a death stay few."""
QUICK = timedelta(seconds=60)
"""An unclean end later than this after its start is a first one: that process had got past whatever killed another."""
IN_A_ROW = 2
"""Unclean ends in a row that make the next start careful; a single one costs nothing."""


class Ending(StrEnum):
    """How a start ended.

    `UNCLEAN`: its process died, of whatever. `CLEAN`: it gave its slots up. `EXCUSED`: it was ended on purpose by
    whoever watches it, its node was lost, or it lost its slots alive; it says nothing for or against anybody.
    """

    CLEAN = "clean"
    UNCLEAN = "unclean"
    EXCUSED = "excused"


@dataclass(frozen=True, slots=True)
class Start:
    """One former start of a partition, by the store's time; `ended_at` is when its owner was last known to live."""

    started_at: datetime
    ended_at: datetime
    ending: Ending


@dataclass(frozen=True, slots=True)
class Trying:
    """A live event of a group that is tried under suspicion.

    `charges` counts the deaths of the process during its handling; `trying`: its call may be under way. One that is
    not waits for its turn, and keeps its charges meanwhile.
    """

    group: int
    position: int
    charges: int = 0
    trying: bool = False


def in_a_row(starts: Sequence[Start]) -> int:
    """Count the unclean ends up to now, given the starts oldest first.

    A clean end begins the count anew, an excused one is passed over. One that came late after its start is the first
    of its row.
    """
    count = 0
    for start in reversed(starts):
        if start.ending is Ending.CLEAN:
            break
        if start.ending is Ending.EXCUSED:
            continue
        count += 1
        if start.ended_at - start.started_at > QUICK:
            break
    return count


def is_careful(starts: Sequence[Start]) -> bool:
    """Tell whether a start after these marks what it calls: after the second unclean end in a row."""
    return in_a_row(starts) >= IN_A_ROW


def stretch_end(cursor: int, head: int, window: int) -> int:
    """Give the last position of a slot that a former owner can have had under way.

    It was there, and no more than `window` (W) beyond what a commit noted (P5).
    """
    return max(cursor, min(cursor + window, head))


def charged(tried: Trying, *, crashed: bool) -> Trying | None:
    """Judge a mark as a successor finds it; `crashed` = the process of the slot's former owner died.

    The call under way at the death is charged. `None` = nothing is held against it.
    """
    charges = tried.charges + (crashed and tried.trying)
    return replace(tried, charges=charges, trying=False) if charges else None


def is_convicted(tried: Trying, deaths: int = 0) -> bool:
    """Tell whether the event is to be parked without another call, given the unclean ends in a row.

    Those that found it not under way, once marks were made, say that something else kills as well: for each two of them
    it takes one charge more (H10).
    """
    others = max(0, deaths - IN_A_ROW - tried.charges)
    return tried.charges >= DEATHS + others // 2


def may_be_called(charges: int, lived: float) -> bool:
    """Tell whether who is charged so often may be called by a process that has lived `lived` seconds."""
    return charges < DEATHS - 1 or lived >= STEADY


def passed_by(suspicions: int) -> int:
    """Give what remains of a draining row's suspicions when the event at its mark is done.

    What was charged to that event ends with it. One suspicion stays with the drain until it ends: it fell on a drain
    whose row did not say at which event it was.
    """
    return min(suspicions, 1)


def widened(room: int, through: int) -> tuple[int, int]:
    """Give how many may be under way at once, and how many of this round came through, after another one has."""
    return (room, through + 1) if through + 1 < room else (min(room * 2, MOST_AT_ONCE), 0)


def admitted(waiting: Sequence[int], running: int, *, alone: bool, room: int = AT_ONCE) -> list[int]:
    """Choose who may begin, as indices into `waiting`, which gives each one's charges, first come first.

    `running` are under way, of at most `room`; `alone` = one of them is a suspect. A suspect begins when nobody else is
    under way, the most charged first, and while one waits nobody else begins; so a death is that one's and nobody
    else's.
    """
    if alone or not waiting:
        return []
    most = max(waiting)
    if most > 0:
        return [] if running else [waiting.index(most)]
    return list(range(min(len(waiting), max(0, room - running))))
