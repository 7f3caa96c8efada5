"""Commands on many rows: frozen at what was seen, a few tried first, few at once, stopped when they fail.

A preview freezes the rows a filter finds, each with its etag: what is parked later is not among them, and what has
changed by its turn is left alone (P12, S86). Started, the first three are resumed and followed; when they fail alike
the batch stops and says so, as it does whenever three in a row do (S87). Every row is a command of its own, in the
audit with its own request id. The batch itself lives in this process: after a restart what was asked is in the audit,
and the rest is still parked, for another preview to find.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from pydantic.json_schema import SkipJsonSchema

from wow_ray.errors import ConflictError, NotFoundError, OperationError, WowError
from wow_ray.ops.commands import Command, check_command
from wow_ray.ops.finding import ParkedQuery
from wow_ray.ops.operations import Operations
from wow_ray.ops.plain import View
from wow_ray.ops.views import Applied, ErrorView, ParkedView
from wow_ray.policy.parked import OPEN, State, Verb

log = logging.getLogger("wow_ray.ops")

MOST = 1_000
"""Rows of one batch."""
CANARY = 3
"""Rows that are tried first, and how many failing alike in a row stop a batch."""
AT_ONCE = 8
"""Rows under way at a time, so that live events keep most of the slots."""
FOLLOW = 30.0
"""Seconds for which a row is followed; one that takes longer counts as under way."""
LOOK_AGAIN = 0.25
KEPT = 10
"""Batches kept in mind, the newest."""
VERBS = frozenset({Verb.RESUME, Verb.SKIP_ONE})

Opening = Callable[[], Awaitable[Operations]]


class Stage(StrEnum):
    """How far a batch has come."""

    PREVIEW = "preview"
    CANARY = "canary"
    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"


class Row(Protocol):
    """What a batch has to know of each of its rows."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def error(self) -> ErrorView | None:
        """What it failed with last."""


R = TypeVar("R", bound=Row)


@dataclass(slots=True)
class Batch(View, Generic[R]):
    """One batch. Of the frozen `rows`, `recovered` ended well, `failed` stopped again, `changed` were left alone.

    `under_way` were asked for and have not ended within half a minute. `more`: the filter found more than are frozen.
    """

    id: str
    verb: Verb
    rows: tuple[R, ...]
    more: bool
    seen_at: datetime
    stage: Stage = Stage.PREVIEW
    actor: str = ""
    reason: str = ""
    asked: int = 0
    recovered: int = 0
    failed: int = 0
    changed: int = 0
    under_way: int = 0
    why: str = ""
    recent: SkipJsonSchema[deque[str]] = field(default_factory=lambda: deque[str](maxlen=CANARY))
    """Fingerprints of the rows that ended last; empty for one that did not fail."""

    def to_json(self) -> dict[str, Any]:
        """Give the fields but for those that it decides by."""
        return {name: value for name, value in View.to_json(self).items() if name != "recent"}

    @property
    def ended(self) -> bool:
        """Whether nothing more is asked for."""
        return self.stage in {Stage.DONE, Stage.STOPPED}


class Batches(ABC, Generic[R]):
    """The batches of one kind of rows, of one program that serves operators."""

    gone: ClassVar[str]
    """What is said of a batch that there is not."""

    def __init__(self, opening: Opening) -> None:
        """Work with whatever operations are open by then."""
        self.opening = opening
        self._batches: dict[str, Batch[R]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    @abstractmethod
    async def one(self, batch: Batch[R], row: R) -> None:
        """Command one row as it was seen, follow what becomes of it, and count that."""

    def keep(self, batch: Batch[R]) -> Batch[R]:
        """Keep a batch in mind; nothing is asked for yet."""
        self._batches[batch.id] = batch
        for old in [each for each in self._batches if each not in self._tasks][:-KEPT]:
            del self._batches[old]
        return batch

    def batch(self, batch_id: str) -> Batch[R]:
        """Give a batch; raises `NotFoundError`."""
        batch = self._batches.get(batch_id)
        if batch is None:
            raise NotFoundError(self.gone.format(batch_id))
        return batch

    def start(self, batch_id: str, command: Command) -> Batch[R]:
        """Begin, once: twice is as good as once. Raises `NotFoundError`, and `OperationError` without a reason."""
        batch = self.batch(batch_id)
        check_command(command)
        if batch.stage is Stage.PREVIEW:
            batch.actor, batch.reason, batch.stage = command.actor, command.reason.strip(), Stage.CANARY
            task = asyncio.ensure_future(self._run(batch))
            self._tasks[batch.id] = task
            # The set of tasks keeps it alive.
            task.add_done_callback(lambda _: self._tasks.pop(batch.id, None))
        return batch

    def stop(self, batch_id: str, actor: str) -> Batch[R]:
        """Ask for nothing more; what was asked for goes on."""
        batch = self.batch(batch_id)
        if not batch.ended:
            stopped(batch, f"{actor} stopped it")
        return batch

    async def close(self) -> None:
        """End all: what was asked for is stored and goes on, the rest stays parked."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, batch: Batch[R]) -> None:
        """Try the first few, then the others, few at a time."""
        try:
            await asyncio.gather(*(self.one(batch, row) for row in batch.rows[:CANARY]))
            if not batch.ended:
                batch.stage = Stage.RUNNING
                rest = iter(batch.rows[CANARY:])
                await asyncio.gather(*(self._some(batch, rest) for _ in range(AT_ONCE)))
            if not batch.ended:
                batch.stage = Stage.DONE
        except Exception:
            log.exception("batch %s ended unforeseen", batch.id)
            stopped(batch, "something unforeseen; see the log of the process that serves this")

    async def _some(self, batch: Batch[R], rows: Iterator[R]) -> None:
        """Take rows of an iterator that others take of, too, until there are none, or the batch stops."""
        for row in rows:
            if batch.ended:
                return
            await self.one(batch, row)


class ParkedBatches(Batches[ParkedView]):
    """The batches of parked aggregates."""

    gone = "there is no batch {!r} in this process; what one asked for is in the audit, the rest is still parked"

    async def preview(self, query: ParkedQuery, verb: Verb) -> Batch[ParkedView]:
        """Freeze what a filter finds now; nothing is asked for yet. Raises `OperationError`."""
        if verb not in VERBS:
            raise OperationError(f"a batch may {' or '.join(sorted(VERBS))}, not {verb.value}")
        operations = await self.opening()
        states = query.states & OPEN
        page = await operations.parked(replace(query, states=states, after=None, limit=MOST))
        return self.keep(Batch(operations.new_id(), verb, page.rows, page.next is not None, operations.clock.now()))

    async def one(self, batch: Batch[ParkedView], row: ParkedView) -> None:
        """Command one row as it was seen, and follow what becomes of it."""
        batch.asked += 1
        command = Command(batch.actor, batch.reason, f"{batch.id}:{row.id}", row.etag)
        try:
            operations = await self.opening()
            if batch.verb is Verb.SKIP_ONE:
                answer = await operations.skip(row.id, command, only=True)
            else:
                answer = await operations.resume(row.id, command)
        except (ConflictError, NotFoundError):
            batch.changed += 1
            return
        except WowError as error:
            stopped(batch, error.message)
            return
        if not isinstance(answer, Applied):
            batch.under_way += 1
            return
        await self._followed(batch, operations, row)

    async def _followed(self, batch: Batch[ParkedView], operations: Operations, row: ParkedView) -> None:
        """Wait for the end of what was begun, and count it; stop the batch when several in a row fail alike."""
        until = operations.clock.monotonic() + FOLLOW
        while True:
            now = await operations.row(row.id)
            state = State(now.state)
            if state not in OPEN:
                batch.recovered += 1
                batch.recent.append("")
                return
            if state in {State.PARKED, State.EXHAUSTED}:
                batch.failed += 1
                batch.recent.append("" if now.error is None else now.error.fingerprint)
                judge(batch, now)
                return
            if operations.clock.monotonic() >= until:
                batch.under_way += 1
                return
            await operations.clock.sleep(LOOK_AGAIN)


def judge(batch: Batch[R], row: R) -> None:
    """Stop when the last few failed alike, or all there were at first."""
    enough = min(CANARY, len(batch.rows))
    marks = list(batch.recent)
    if row.error is not None and len(marks) >= enough and len(set(marks)) == 1 and marks[0]:
        stopped(batch, f"{enough} in a row stopped again with {row.error.type}: the cause is not gone")


def stopped(batch: Batch[R], why: str) -> None:
    """Ask for nothing more."""
    batch.stage, batch.why = Stage.STOPPED, why
