"""Pauses as rows of the store: why groups stand still, since when, and who said so (H44, S83).

Each reason is a row of its own for a group, everywhere or in one partition, so ending one never undoes another. What
is asked from outside is also stored as an operator's action, applied in the same transaction: that is the audit, and
it makes a request repeatable. What a partition notes of itself is for people to look at; nothing rests on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from wow_ray.policy.parked import Verb
from wow_ray.policy.pauses import PauseReason
from wow_ray.ports.ledger import Intent, NewIntent

KEPT_NOTES = 100
"""Ended pauses that partitions noted of themselves, kept for each group and reason of a partition; the newest ones.

What was asked from outside is kept for ever.
"""


@dataclass(frozen=True, slots=True)
class Pause:
    """One pause, present or over.

    `number` is the group's, which a rename keeps; `group` its present name. `partition` is the lasting name of the one
    that stands still, `None` = all, also those that start later. `since` and `ended_at` are by the store's clock;
    `ended_at` is `None` while it is present, and then `ended_by` and `ended_text` are empty.
    """

    id: int
    group: str
    number: int
    partition: str | None
    reason: PauseReason
    since: datetime
    actor: str
    text: str
    request_id: str
    detail: Mapping[str, Any] = field(default_factory=dict)
    ended_at: datetime | None = None
    ended_by: str = ""
    ended_text: str = ""


@dataclass(frozen=True, slots=True)
class PauseAsked:
    """What somebody asks for: that a group be paused for a reason, or be so no longer. `request_id` says it is once."""

    request_id: str
    number: int
    partition: str | None
    reason: PauseReason
    actor: str
    text: str

    def intent(self, verb: Verb, group: str) -> NewIntent:
        """Give it as the action that is stored; `group` is the group's present name."""
        return NewIntent(self.request_id, verb, group, 0, "", "", None, None, None, self.actor, self.text)


def outcome_of(asked: PauseAsked, pause: int | None, *, changed: bool) -> dict[str, Any]:
    """Give the outcome of an action as every adapter stores it; see `Pauses.set`."""
    return {"partition": asked.partition, "pause_reason": asked.reason.value, "pause": pause, "changed": changed}


@dataclass(frozen=True, slots=True)
class PauseNote:
    """What a partition says of itself: it has paused a group for a reason of its own; `detail` is plain JSON."""

    number: int
    partition: str
    reason: PauseReason
    text: str
    detail: Mapping[str, Any] = field(default_factory=dict)


class Pauses(Protocol):
    """Pauses of one store. Raises `StoreUnavailableError`; `StoreDataError` for a text that no database keeps."""

    async def present(self) -> Sequence[Pause]:
        """Give every pause that is present, oldest first."""
        ...

    async def history(self, number: int, limit: int) -> Sequence[Pause]:
        """Give the group's pauses, present ones and those that are over, the newest `limit` of them, newest first."""
        ...

    async def set(self, asked: PauseAsked) -> Intent:
        """Pause a group; one that is paused there for that reason keeps its `since`, its actor and its text.

        Answers the action as stored: `done`, verb `pause`, its outcome `partition`, `pause_reason`, `pause` (the id of
        the row) and `changed` (`False` = it was paused so already). A repeated `request_id` changes nothing and answers
        what is stored under it, also when that was another wish. Raises `NotFoundError` for a group that there is not.
        """
        ...

    async def end(self, asked: PauseAsked) -> Intent:
        """End the one pause of that group, partition and reason; the others stay.

        Answers as `set` does, with verb `end_pause`; not `changed` = there was none, and `pause` is `None`.
        """
        ...

    async def note(self, note: PauseNote) -> None:
        """Let a pause be shown that a partition made by itself; a present one keeps its `since` and is told anew."""
        ...

    async def over(
        self, partition: str, text: str, number: int | None = None, reason: PauseReason | None = None
    ) -> None:
        """End what a partition has noted: of a group (`None` = all), for a reason (`None` = any but the stops)."""
        ...
