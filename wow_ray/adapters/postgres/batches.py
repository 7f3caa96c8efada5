"""Batches of commands on Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import asyncpg

from wow_ray.adapters.postgres.connect import Sessions
from wow_ray.policy.batches import Outcome, Stage
from wow_ray.ports.batches import KEPT, Asked, BatchKind, Item, NewBatch, StoredBatch


class PostgresBatches:
    """`ports.batches.BatchStore` on Postgres, on somebody else's sessions: it does little, and shortly."""

    def __init__(self, sessions: Sessions) -> None:
        """Use these sessions; whoever made them closes them."""
        self._sessions = sessions

    async def keep(self, batch: NewBatch) -> None:
        """See the port."""
        items = batch.items
        columns = ([each.id for each in items], [each.etag for each in items], [each.view for each in items])
        async with self._sessions.use() as session, session.connection.transaction():
            await session.fetch("forget_batches", KEPT)
            await session.fetch("keep_batch", batch.id, batch.kind, batch.verb, batch.more)
            await session.fetch("keep_batch_items", batch.id, *columns)

    async def find(self, kind: BatchKind, batch_id: str) -> StoredBatch | None:
        """See the port."""
        return next(iter(await self._found(kind, batch_id, 1)), None)

    async def listed(self, kind: BatchKind, limit: int) -> Sequence[StoredBatch]:
        """See the port."""
        return await self._found(kind, None, limit)

    async def items(self, batch_id: str) -> Sequence[tuple[Item, Outcome | None]]:
        """See the port."""
        async with self._sessions.use() as session:
            rows = await session.fetch("batch_items", batch_id)
        return tuple((Item(row["item"], row["etag"], row["view"]), _outcome(row["outcome"])) for row in rows)

    async def begin(self, kind: BatchKind, batch_id: str, stages: frozenset[Stage], asked: Asked, lease: float) -> bool:
        """See the port."""
        told = (sorted(stages), asked.runner, asked.actor, asked.reason, asked.rate, lease)
        async with self._sessions.use() as session:
            return bool(await session.fetch("begin_batch", kind, batch_id, *told))

    async def beat(self, batch_id: str, runner: str, stage: Stage, lease: float) -> bool:
        """See the port."""
        async with self._sessions.use() as session:
            return bool(await session.fetch("beat_batch", batch_id, runner, stage, lease))

    async def came(self, batch_id: str, item: str, outcome: Outcome) -> None:
        """See the port."""
        async with self._sessions.use() as session:
            await session.fetch("batch_came", batch_id, item, outcome)

    async def end(self, batch_id: str, runner: str, stage: Stage, why: str) -> None:
        """See the port."""
        async with self._sessions.use() as session:
            if stage is Stage.INTERRUPTED:
                await session.fetch("interrupt_batch", batch_id, runner)
            else:
                await session.fetch("end_batch", batch_id, runner, stage, why)

    async def stop(self, kind: BatchKind, batch_id: str, why: str) -> bool:
        """See the port."""
        async with self._sessions.use() as session:
            return bool(await session.fetch("stop_batch", kind, batch_id, why))

    async def _found(self, kind: BatchKind, batch_id: str | None, limit: int) -> Sequence[StoredBatch]:
        async with self._sessions.use() as session:
            return tuple(map(_batch, await session.fetch("find_batches", kind, batch_id, limit)))


def _outcome(text: str | None) -> Outcome | None:
    return None if text is None else Outcome(text)


def _batch(row: asyncpg.Record) -> StoredBatch:
    """Make a batch of its record."""
    return StoredBatch(
        id=row["id"],
        kind=cast("BatchKind", row["kind"]),
        verb=row["verb"],
        more=row["more"],
        stage=Stage(row["stage"]),
        actor=row["actor"],
        reason=row["reason"],
        rate=row["rate"],
        why=row["why"],
        seen_at=row["seen_at"],
        size=row["size"],
        counts={outcome: row[outcome.value] for outcome in Outcome},
    )
