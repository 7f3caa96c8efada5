"""Batches of commands as they are shown: how far each is, and the rows that were frozen."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

from wow_ray.ops.plain import View
from wow_ray.ops.views import ErrorView
from wow_ray.policy.batches import RESUMABLE, Outcome, Stage
from wow_ray.ports.batches import StoredBatch


class Row(Protocol):
    """What a batch has to know of each of its rows."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def etag(self) -> int:
        """The state in which it was seen."""

    @property
    def error(self) -> ErrorView | None:
        """What it failed with last."""


R = TypeVar("R", bound=Row)


@dataclass(frozen=True, slots=True)
class Came:
    """What came of one row, and with which error it stopped again."""

    outcome: Outcome
    error: ErrorView | None = None


@dataclass(slots=True)
class BatchHead(View):
    """How far a batch is. Of `size` frozen rows `asked` were commanded; what came of those that have ended is counted.

    `recovered` ended well, `failed` stopped again, `changed` were not as they were seen and left alone, `under_way` had
    not ended within half a minute. `more`: the filter found more than are frozen; `rate` = rows a second at most.
    """

    id: str
    verb: str
    size: int
    more: bool
    seen_at: datetime
    stage: Stage = Stage.PREVIEW
    actor: str = ""
    reason: str = ""
    rate: float | None = None
    asked: int = 0
    recovered: int = 0
    failed: int = 0
    changed: int = 0
    under_way: int = 0
    why: str = ""

    @property
    def ended(self) -> bool:
        """Whether nothing more is asked for."""
        return self.stage is Stage.DONE or self.stage in RESUMABLE

    @property
    def resumable(self) -> bool:
        """Whether it can go on with the rows that were not asked for."""
        return self.stage in RESUMABLE and self.asked < self.size


@dataclass(slots=True)
class Batch(BatchHead, Generic[R]):
    """One batch with its rows as they were seen, errors cut short."""

    rows: tuple[R, ...] = ()


@dataclass(frozen=True, slots=True)
class BatchList(View):
    """Batches, the newest first."""

    batches: tuple[BatchHead, ...]


def fields_of(stored: StoredBatch) -> dict[str, Any]:
    """Give the fields of `BatchHead` of a stored batch."""
    counts = {outcome.value: stored.counts.get(outcome, 0) for outcome in Outcome}
    names = ("id", "verb", "size", "more", "seen_at", "stage", "actor", "reason", "rate", "why")
    return {name: getattr(stored, name) for name in names} | counts | {"asked": sum(counts.values())}
