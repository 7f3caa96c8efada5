"""The port of batches of commands, in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from wow_ray.adapters.memory.rows import check_texts
from wow_ray.policy.batches import AT_WORK, Outcome, Stage
from wow_ray.ports.batches import KEPT, Asked, BatchKind, Item, NewBatch, StoredBatch

if TYPE_CHECKING:
    from wow_ray.adapters.memory.server import Server

T = TypeVar("T")


@dataclass(slots=True)
class Batch:
    """One batch as it lies there."""

    new: NewBatch
    seen_at: datetime
    updated_at: datetime
    stage: Stage = Stage.PREVIEW
    asked: Asked | None = None
    lease_until: datetime | None = None
    why: str = ""
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def stage_at(self, now: datetime) -> Stage:
        """Give the stage; one at work whose lease is over was interrupted."""
        gone = self.stage in AT_WORK and self.lease_until is not None and self.lease_until <= now
        return Stage.INTERRUPTED if gone else self.stage


class MemoryBatches:
    """`ports.batches.BatchStore` in memory."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def keep(self, batch: NewBatch) -> None:
        """See the port."""

        def kept() -> None:
            check_texts(batch.id, (batch.id, batch.verb, *(each.id for each in batch.items)))
            now, batches = self._server.now(), self._server.batches
            for old in [each for each in batches.values() if now - each.updated_at > timedelta(seconds=KEPT)]:
                del batches[old.new.id]
            batches[batch.id] = Batch(batch, now, now)

        await self._run(kept)

    async def find(self, kind: BatchKind, batch_id: str) -> StoredBatch | None:
        """See the port."""

        def found() -> StoredBatch | None:
            batch = self._of(kind, batch_id)
            return None if batch is None else self._stored(batch)

        return await self._run(found)

    async def listed(self, kind: BatchKind, limit: int) -> Sequence[StoredBatch]:
        """See the port."""

        def found() -> Sequence[StoredBatch]:
            mine = [each for each in self._server.batches.values() if each.new.kind == kind]
            newest = sorted(mine, key=lambda each: (each.seen_at, each.new.id), reverse=True)
            return [self._stored(each) for each in newest[:limit]]

        return await self._run(found)

    async def items(self, batch_id: str) -> Sequence[tuple[Item, Outcome | None]]:
        """See the port."""

        def found() -> Sequence[tuple[Item, Outcome | None]]:
            batch = self._server.batches.get(batch_id)
            return () if batch is None else [(each, batch.outcomes.get(each.id)) for each in batch.new.items]

        return await self._run(found)

    async def begin(self, kind: BatchKind, batch_id: str, stages: frozenset[Stage], asked: Asked, lease: float) -> bool:
        """See the port."""

        def begun() -> bool:
            check_texts(batch_id, (asked.runner, asked.actor, asked.reason))
            batch, now = self._of(kind, batch_id), self._server.now()
            if batch is None or batch.stage_at(now) not in stages:
                return False
            batch.stage, batch.asked, batch.why = Stage.CANARY, asked, ""
            batch.lease_until, batch.updated_at = now + timedelta(seconds=lease), now
            return True

        return await self._run(begun)

    async def beat(self, batch_id: str, runner: str, stage: Stage, lease: float) -> bool:
        """See the port."""

        def beaten() -> bool:
            batch, now = self._run_by(batch_id, runner), self._server.now()
            if batch is None:
                return False
            batch.stage, batch.lease_until, batch.updated_at = stage, now + timedelta(seconds=lease), now
            return True

        return await self._run(beaten)

    async def came(self, batch_id: str, item: str, outcome: Outcome) -> None:
        """See the port."""

        def noted() -> None:
            batch = self._server.batches.get(batch_id)
            if batch is not None and any(each.id == item for each in batch.new.items):
                batch.outcomes.setdefault(item, outcome)

        await self._run(noted)

    async def end(self, batch_id: str, runner: str, stage: Stage, why: str) -> None:
        """See the port."""

        def ended() -> None:
            batch, now = self._run_by(batch_id, runner), self._server.now()
            if batch is None:
                return
            batch.updated_at = now
            if stage is Stage.INTERRUPTED:
                batch.lease_until = now
            else:
                batch.stage, batch.why = stage, why

        await self._run(ended)

    async def stop(self, kind: BatchKind, batch_id: str, why: str) -> bool:
        """See the port."""

        def stopped() -> bool:
            batch = self._of(kind, batch_id)
            if batch is None or batch.stage not in {Stage.PREVIEW, *AT_WORK}:
                return False
            batch.stage, batch.why, batch.updated_at = Stage.STOPPED, why, self._server.now()
            return True

        return await self._run(stopped)

    async def _run(self, step: Callable[[], T]) -> T:
        return await self._server.faults.run("batches", step)

    def _of(self, kind: BatchKind, batch_id: str) -> Batch | None:
        batch = self._server.batches.get(batch_id)
        return batch if batch is not None and batch.new.kind == kind else None

    def _run_by(self, batch_id: str, runner: str) -> Batch | None:
        """Give a batch if this process runs it, the lease over or not."""
        batch = self._server.batches.get(batch_id)
        mine = batch is not None and batch.asked is not None and batch.asked.runner == runner
        return batch if mine and batch is not None and batch.stage in AT_WORK else None

    def _stored(self, batch: Batch) -> StoredBatch:
        new, asked = batch.new, batch.asked or Asked("", "", "")
        counts = Counter(batch.outcomes.values())
        return StoredBatch(
            id=new.id,
            kind=new.kind,
            verb=new.verb,
            more=new.more,
            stage=batch.stage_at(self._server.now()),
            actor=asked.actor,
            reason=asked.reason,
            rate=asked.rate,
            why=batch.why,
            seen_at=batch.seen_at,
            size=len(new.items),
            counts={outcome: counts[outcome] for outcome in Outcome},
        )
