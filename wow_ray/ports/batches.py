"""Where batches of commands are kept, so that one outlives the process that ran it (S87). Proof: `BatchesContract`.

A batch is run by one process at a time, under a lease by the store's clock. Whoever takes over a batch whose runner is
gone asks for rows under the same request ids as that one did, so that no row is commanded twice even if both run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from wow_ray.policy.batches import Outcome, Stage

BatchKind = Literal["parked", "calls"]
KEPT = 7 * 86_400.0
"""Seconds for which a batch is kept that nothing happens to."""


@dataclass(frozen=True, slots=True)
class Item:
    """One row as it was seen: its id, its etag, and how it is shown, as JSON text."""

    id: str
    etag: int
    view: str


@dataclass(frozen=True, slots=True)
class NewBatch:
    """Rows that were frozen for a verb; `more` = the filter found more."""

    id: str
    kind: BatchKind
    verb: str
    more: bool
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """Who begins a batch, why, under which name it runs, and how many rows a second at most (`None` = any number)."""

    runner: str
    actor: str
    reason: str
    rate: float | None = None


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """A batch as it stands; its stage is `interrupted` when its runner's lease is over. `size` = rows in all."""

    id: str
    kind: BatchKind
    verb: str
    more: bool
    stage: Stage
    actor: str
    reason: str
    rate: float | None
    why: str
    seen_at: datetime
    size: int
    counts: Mapping[Outcome, int]


class BatchStore(Protocol):
    """The batches of one context. Raises `StoreUnavailableError`."""

    async def keep(self, batch: NewBatch) -> None:
        """Store a batch of which nothing is asked yet; those of before `KEPT` seconds go meanwhile."""
        ...

    async def find(self, kind: BatchKind, batch_id: str) -> StoredBatch | None:
        """Give a batch; `None` = there is none of this kind."""
        ...

    async def listed(self, kind: BatchKind, limit: int) -> Sequence[StoredBatch]:
        """List batches, the newest first."""
        ...

    async def items(self, batch_id: str) -> Sequence[tuple[Item, Outcome | None]]:
        """Give the rows of a batch in their order, and what came of each; `None` = nothing is known of it."""
        ...

    async def begin(self, kind: BatchKind, batch_id: str, stages: frozenset[Stage], asked: Asked, lease: float) -> bool:
        """Have a batch in one of these stages run, for `lease` seconds; `False` = it is in another one, or gone."""
        ...

    async def beat(self, batch_id: str, runner: str, stage: Stage, lease: float) -> bool:
        """Say that it still runs, and how far it is; `False` = it was stopped, or another process runs it."""
        ...

    async def came(self, batch_id: str, item: str, outcome: Outcome) -> None:
        """Note what came of a row; what was noted first stays."""
        ...

    async def end(self, batch_id: str, runner: str, stage: Stage, why: str) -> None:
        """End a batch that this process runs; `interrupted` = somebody may resume it at once."""
        ...

    async def stop(self, kind: BatchKind, batch_id: str, why: str) -> bool:
        """Stop a batch, whoever runs it; `False` = it has ended before, or there is none."""
        ...
