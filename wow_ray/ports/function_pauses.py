"""Pauses of durable functions as rows: why no worker claims their calls, since when, and who said so (H44, S83).

Each reason is a row of its own, so ending one never undoes another. What is asked is stored as an operator's action in
the same transaction: that is the audit, and it makes a request repeatable. They lie in Postgres, also where the calls
lie elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from wow_ray.policy.parked import Verb
from wow_ray.policy.pauses import PauseReason
from wow_ray.ports.ledger import Intent, NewIntent


@dataclass(frozen=True, slots=True)
class FunctionPause:
    """One pause, present or over; times by the store's clock.

    `ended_at` is `None` while it is present, and then `ended_by` and `ended_text` are empty.
    """

    id: int
    function: str
    reason: PauseReason
    since: datetime
    actor: str
    text: str
    request_id: str
    ended_at: datetime | None = None
    ended_by: str = ""
    ended_text: str = ""


@dataclass(frozen=True, slots=True)
class FunctionPauseAsked:
    """What somebody asks for: that a function be paused for a reason, or be so no longer; once for a `request_id`."""

    request_id: str
    function: str
    reason: PauseReason
    actor: str
    text: str

    def intent(self, verb: Verb) -> NewIntent:
        """Give it as the action that is stored."""
        return NewIntent(self.request_id, verb, self.function, 0, "call", "", None, None, None, self.actor, self.text)


def outcome_of_pause(asked: FunctionPauseAsked, pause: int | None, *, changed: bool) -> dict[str, Any]:
    """Give the outcome of an action as every adapter stores it; see `FunctionPauses.set`."""
    return {"pause_reason": asked.reason.value, "pause": pause, "changed": changed}


def stops_of_function(present: Iterable[FunctionPause], names: Iterable[str]) -> frozenset[str]:
    """Give the reasons for which a function, under its present name or a former one, is to be left alone."""
    known = frozenset(names)
    return frozenset(pause.reason.value for pause in present if pause.function in known)


class FunctionPauses(Protocol):
    """Pauses of one store. Raises `StoreUnavailableError`; `StoreDataError` for a text that no database keeps."""

    async def present(self) -> Sequence[FunctionPause]:
        """Give every pause that is present, oldest first."""
        ...

    async def history(self, function: str, limit: int) -> Sequence[FunctionPause]:
        """Give a function's pauses, present ones and those that are over, the newest `limit`, newest first."""
        ...

    async def set(self, asked: FunctionPauseAsked) -> Intent:
        """Pause a function; one that is paused for that reason keeps its `since`, its actor and its text.

        Answers the action as stored: `done`, verb `pause`, its outcome `pause_reason`, `pause` (the id of the row) and
        `changed` (`False` = it was paused so already). A repeated `request_id` changes nothing and answers what is
        stored under it, also when that was another wish.
        """
        ...

    async def end(self, asked: FunctionPauseAsked) -> Intent:
        """End the one pause of that function and reason; the others stay.

        Answers as `set` does, with verb `end_pause`; not `changed` = there was none, and `pause` is `None`.
        """
        ...
