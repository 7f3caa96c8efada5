"""Groups of errors, events of a stream and operators' actions, as they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from wow_ray.ops.plain import View
from wow_ray.policy.parked import Verb
from wow_ray.ports.ledger import Alike, Intent

Place = Literal["passed", "stopped", "held", "ahead", "not_read"]
"""Where an event stands to a row: before it, at it, waiting behind it, not read yet, of no concern to its group."""


@dataclass(frozen=True, slots=True)
class AlikeView(View):
    """Rows with one fingerprint, `None` = without an error; the texts are those of the newest of them.

    Not `exact` = at least so many: of all that are wanted, the newest were looked at.
    """

    fingerprint: str | None
    rows: int
    first_seen: datetime
    last_seen: datetime
    category: str | None
    type: str
    message: str
    subscription: str
    exact: bool = True

    @classmethod
    def of(cls, alike: Alike) -> AlikeView:
        """View a group of rows."""
        category = None if alike.category is None else alike.category.value
        texts = (category, alike.type, alike.message, alike.subscription)
        return cls(alike.fingerprint, alike.rows, alike.first, alike.last, *texts, alike.exact)


@dataclass(frozen=True, slots=True)
class EventView(View):
    """One event of an aggregate's stream; `payload` is masked (P4), `None` = not asked for, or not for who asks."""

    version: int
    sequence: int
    type: str
    revision: int
    occurred_at: datetime
    place: Place
    payload: str | None = None


@dataclass(frozen=True, slots=True)
class ActionView(View):
    """What somebody asked for, and what became of it; `state` is asked, done or refused."""

    id: int
    request_id: str
    verb: Verb
    group: str
    aggregate: str
    aggregate_id: str
    row_id: str | None
    through_version: int | None
    actor: str
    reason: str
    state: str
    code: str
    text: str
    outcome: Mapping[str, Any]
    asked_at: datetime
    ended_at: datetime | None

    @classmethod
    def of(cls, intent: Intent) -> ActionView:
        """View an action."""
        asked = intent.request
        row = intent.outcome.get("row", asked.row_id)
        return cls(
            id=intent.id,
            request_id=asked.request_id,
            verb=asked.verb,
            group=asked.group,
            aggregate=asked.aggregate,
            aggregate_id=asked.aggregate_id,
            row_id=None if row is None else str(row),
            through_version=asked.through_version,
            actor=asked.actor,
            reason=asked.reason,
            state=intent.state,
            code=intent.code,
            text=intent.text,
            outcome=intent.outcome,
            asked_at=intent.asked_at,
            ended_at=intent.ended_at,
        )


@dataclass(frozen=True, slots=True)
class ActionPage(View):
    """Some actions, the newest first; `next` is the `before` of the next page, `None` = this is the last."""

    actions: tuple[ActionView, ...]
    next: int | None
