"""Pauses as operators are shown them, and what they are answered who pause or resume."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from wow_ray.ops.views import View
from wow_ray.policy.parked import Verb
from wow_ray.policy.pauses import STOPS
from wow_ray.ports.pauses import Pause


@dataclass(frozen=True, slots=True)
class PauseView(View):
    """One pause. `stops`: the group stands still for it, else the partition probes by itself and goes on by itself.

    `partition` is the one it is of, `None` = all; `actor` and `text` say who and why; `ended_at` is `None` while it is
    present.
    """

    reason: str
    stops: bool
    partition: str | None
    since: datetime
    actor: str
    text: str
    request_id: str
    detail: Mapping[str, Any]
    ended_at: datetime | None
    ended_by: str
    ended_text: str

    @classmethod
    def of(cls, pause: Pause) -> PauseView:
        """View a pause."""
        return cls(
            pause.reason.value,
            pause.reason in STOPS,
            pause.partition,
            pause.since,
            pause.actor,
            pause.text,
            pause.request_id,
            pause.detail,
            pause.ended_at,
            pause.ended_by,
            pause.ended_text,
        )


@dataclass(frozen=True, slots=True)
class PauseAnswer(View):
    """What became of a pause or a resume of a group: it is stored, and every partition does it within a second or two.

    `handlers` are the subscriptions that stand still, or go on, with it. Not `changed` = it was so already. `pauses`
    are all that the group has now; while one of them `stops` it, it stands still there.
    """

    request_id: str
    verb: Verb
    group: str
    handlers: tuple[str, ...]
    reason: str
    partition: str | None
    changed: bool
    pauses: tuple[PauseView, ...]
    asked_at: datetime
    state: Literal["done"] = field(default="done", init=False)


def pauses_of(present: Iterable[Pause], number: int) -> tuple[PauseView, ...]:
    """View the pauses of one group."""
    return tuple(PauseView.of(pause) for pause in present if pause.number == number)
