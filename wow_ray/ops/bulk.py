"""Commands on many rows: frozen at what was seen, a few tried first, few at once, stopped when they fail.

A preview freezes the rows a filter finds, each with its etag: what is parked later is not among them, and what has
changed by its turn is left alone (P12, S86). Started, the first three are commanded and followed; when they fail alike
the batch stops and says so, as it does whenever three in a row do (S87). Every row is a command of its own, in the
audit under a request id made of the batch's and its own.

The batch lies in the store. When the process that runs it ends, it is found as interrupted and can be resumed, by any
process: rows of which nothing is known are commanded under the same request ids, and so never twice.
"""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import Any, ClassVar, Generic, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from wow_ray.errors import ConflictError, NotFoundError, OperationError
from wow_ray.ops.bulk_run import LEASE, Opening, Run
from wow_ray.ops.bulk_views import Batch, BatchHead, BatchList, Came, R, fields_of
from wow_ray.ops.commands import Command, check_command
from wow_ray.ops.finding import is_unstorable
from wow_ray.ops.operations import Operations
from wow_ray.ops.plain import plain
from wow_ray.policy.batches import RESUMABLE, Stage
from wow_ray.ports.batches import Asked, BatchKind, Item, NewBatch, StoredBatch

MOST = 1_000
"""Rows of one batch."""
FOLLOW = 30.0
"""Seconds for which a row is followed; one that takes longer counts as under way."""
LOOK_AGAIN = 0.25
MOST_MESSAGE = 500
"""Characters of an error's message that are kept of a row as it was seen."""
LEAST_RATE, MOST_RATE = 0.001, 1_000.0

Q = TypeVar("Q")


class Batches(ABC, Generic[R, Q]):
    """The batches of one kind of rows, of one program that serves operators; `Q` is what finds such rows."""

    kind: ClassVar[BatchKind]
    row: ClassVar[type]
    """What a row is shown as."""

    def __init__(self, opening: Opening) -> None:
        """Work with whatever operations are open by then."""
        self.opening = opening
        self._runs: dict[str, Run[R]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    @abstractmethod
    async def found(self, operations: Operations, query: Q, verb: str) -> tuple[Sequence[R], bool]:
        """Find the rows of which a verb may be asked, and say whether there are more; raises `OperationError`."""

    @abstractmethod
    async def one(self, batch: Batch[R], item: Item) -> Came:
        """Command one row as it was seen, and follow what becomes of it."""

    async def preview(self, query: Q, verb: str) -> Batch[R]:
        """Freeze what a filter finds now; nothing is asked for yet. Raises `OperationError`."""
        operations = await self.opening()
        rows, more = await self.found(operations, query, verb)
        identity = operations.new_id()
        items = tuple(Item(row.id, row.etag, json.dumps(plain(_short(row)))) for row in rows)
        await operations.batches.keep(NewBatch(identity, self.kind, verb, more, items))
        return await self.batch(identity)

    async def batch(self, batch_id: str) -> Batch[R]:
        """Give a batch, whichever process runs it; raises `NotFoundError`."""
        run = self._here(batch_id)
        return (await self._stored(batch_id))[0] if run is None else run.batch

    async def listed(self, limit: int = 50) -> BatchList:
        """List batches, the newest first."""
        stored = await (await self.opening()).batches.listed(self.kind, limit)
        return BatchList(tuple(_of_now(each, self._here(each.id)) for each in stored))

    async def start(self, batch_id: str, command: Command, rate: float | None = None) -> Batch[R]:
        """Begin, once: twice is as good as once. `rate` = rows a second at most, `None` = as they come.

        Raises `NotFoundError`, and `OperationError` without a reason.
        """
        return await self._begin(batch_id, command, frozenset({Stage.PREVIEW}), rate)

    async def resume(self, batch_id: str, command: Command, rate: float | None = None) -> Batch[R]:
        """Go on with the rows that were not asked for, of a batch that was interrupted or has stopped.

        One that runs is answered as it is. Raises as `start`, and `ConflictError` before it begins and when it is done.
        """
        stage = (await self.batch(batch_id)).stage
        if stage in {Stage.PREVIEW, Stage.DONE}:
            raise ConflictError(f"{stage.value}: a batch is resumed that was interrupted or has stopped")
        return await self._begin(batch_id, command, RESUMABLE, rate)

    async def stop(self, batch_id: str, actor: str) -> Batch[R]:
        """Ask for nothing more; what was asked for goes on. Raises `NotFoundError`."""
        await self.batch(batch_id)
        why = f"{actor} stopped it"
        if (run := self._runs.get(batch_id)) is not None:
            run.stopped(why)
        await (await self.opening()).batches.stop(self.kind, batch_id, why)
        return await self.batch(batch_id)

    async def ended(self, batch_id: str) -> None:
        """Wait until this process asks for nothing more of a batch."""
        if (task := self._tasks.get(batch_id)) is not None:
            await asyncio.wait([task])

    async def close(self) -> None:
        """End all: what was asked for is stored and goes on, the rest is left for others to resume."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _begin(self, batch_id: str, command: Command, stages: frozenset[Stage], rate: float | None) -> Batch[R]:
        """Have this process run it, unless another one does."""
        check_command(command)
        if rate is not None and not LEAST_RATE <= rate <= MOST_RATE:
            raise OperationError(f"rate is {rate:g}; rows a second, from {LEAST_RATE:g} to {MOST_RATE:g}")
        await self.batch(batch_id)
        operations = await self.opening()
        asked = Asked(operations.new_id(), command.actor.strip(), command.reason.strip(), rate)
        if not await operations.batches.begin(self.kind, batch_id, stages, asked, LEASE):
            return await self.batch(batch_id)
        batch, todo = await self._stored(batch_id)
        run = self._runs[batch_id] = Run(batch, todo, asked.runner, self.opening, self.one)
        task = self._tasks[batch_id] = asyncio.ensure_future(run.go(operations.clock))
        task.add_done_callback(lambda _: self._over(batch_id, run))
        return batch

    def _here(self, batch_id: str) -> Run[R] | None:
        """Give the run of a batch that is this process's; `None` = the store knows how it stands."""
        run = self._runs.get(batch_id)
        return None if run is None or run.lost else run

    def _over(self, batch_id: str, run: Run[R]) -> None:
        """Forget a run: the store knows how it ended."""
        if self._runs.get(batch_id) is run:
            del self._runs[batch_id], self._tasks[batch_id]

    async def _stored(self, batch_id: str) -> tuple[Batch[R], list[Item]]:
        """Read a batch, and the rows of which nothing is known yet; raises `NotFoundError`."""
        store = (await self.opening()).batches
        stored = None if is_unstorable(batch_id) else await store.find(self.kind, batch_id)
        if stored is None:
            raise NotFoundError(f"there is no batch {batch_id!r} of {self.kind}; they are kept for a week")
        items = await store.items(batch_id)
        rows = tuple(self._shown(each for each, _ in items))
        return Batch(**fields_of(stored), rows=rows), [item for item, outcome in items if outcome is None]

    def _shown(self, items: Iterable[Item]) -> Iterable[R]:
        """Give the rows as they were seen, without those of another release that this one cannot read."""
        reader: TypeAdapter[Any] = TypeAdapter(self.row)
        for item in items:
            try:
                yield cast("R", reader.validate_json(item.view))
            except ValidationError:
                continue


def _short(row: R) -> R:
    """Give a row as it is kept: without the length of its error."""
    if row.error is None or len(row.error.message) <= MOST_MESSAGE:
        return row
    error = replace(row.error, message=f"{row.error.message[:MOST_MESSAGE]}…")
    return cast("R", replace(cast("Any", row), error=error))


def _of_now(stored: StoredBatch, run: Run[R] | None) -> BatchHead:
    """Give a batch without its rows, as its run has it where that is here."""
    if run is None:
        return BatchHead(**fields_of(stored))
    return BatchHead(**{each.name: getattr(run.batch, each.name) for each in fields(BatchHead)})
