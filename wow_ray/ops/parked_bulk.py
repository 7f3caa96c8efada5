"""Commands on many parked aggregates: resumes, and skips of the one event each stood at when it was seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wow_ray.errors import ConflictError, NotFoundError, OperationError
from wow_ray.ops.bulk import FOLLOW, LOOK_AGAIN, MOST, Batches
from wow_ray.ops.bulk_views import Batch, Came
from wow_ray.ops.commands import Command
from wow_ray.ops.finding import ParkedQuery
from wow_ray.ops.operations import Operations
from wow_ray.ops.views import Applied, ParkedView
from wow_ray.policy.batches import Outcome
from wow_ray.policy.parked import OPEN, State, Verb
from wow_ray.ports.batches import Item

VERBS = (Verb.RESUME, Verb.SKIP_ONE)


class ParkedBatches(Batches[ParkedView, ParkedQuery]):
    """The batches of parked aggregates."""

    kind = "parked"
    row = ParkedView

    async def found(self, operations: Operations, query: ParkedQuery, verb: str) -> tuple[Sequence[ParkedView], bool]:
        """Find open rows."""
        if verb not in VERBS:
            raise OperationError(f"a batch may {' or '.join(sorted(VERBS))}, not {verb}")
        page = await operations.parked(replace(query, states=query.states & OPEN, after=None, limit=MOST))
        return page.rows, page.next is not None

    async def one(self, batch: Batch[ParkedView], item: Item) -> Came:
        """Command one row as it was seen, and follow what becomes of it."""
        command = Command(batch.actor, batch.reason, f"{batch.id}:{item.id}", item.etag)
        operations = await self.opening()
        try:
            if batch.verb == Verb.SKIP_ONE:
                answer = await operations.skip(item.id, command, only=True)
            else:
                answer = await operations.resume(item.id, command)
        except (ConflictError, NotFoundError):
            return Came(Outcome.CHANGED)
        return await self._followed(operations, item) if isinstance(answer, Applied) else Came(Outcome.UNDER_WAY)

    @staticmethod
    async def _followed(operations: Operations, item: Item) -> Came:
        """Wait for the end of what was begun."""
        until = operations.clock.monotonic() + FOLLOW
        while True:
            now = await operations.row(item.id)
            state = State(now.state)
            if state not in OPEN:
                return Came(Outcome.RECOVERED)
            if state in {State.PARKED, State.EXHAUSTED}:
                return Came(Outcome.FAILED, now.error)
            if operations.clock.monotonic() >= until:
                return Came(Outcome.UNDER_WAY)
            await operations.clock.sleep(LOOK_AGAIN)
