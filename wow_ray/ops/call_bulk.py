"""Commands on many durable calls: a retry is followed to its end, a discard is done when it is answered.

A call that waits for its next try again is under way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wow_ray.errors import ConflictError, NotFoundError, OperationError
from wow_ray.ops.bulk import FOLLOW, LOOK_AGAIN, MOST, Batches
from wow_ray.ops.bulk_views import Batch, Came
from wow_ray.ops.call_views import CallView
from wow_ray.ops.calling import CallQuery
from wow_ray.ops.commands import Command
from wow_ray.ops.operations import Operations
from wow_ray.policy.batches import Outcome
from wow_ray.policy.durable_asked import CallVerb
from wow_ray.policy.durable_call import PENDING, CallState
from wow_ray.policy.parked import Verb
from wow_ray.ports.batches import Item

STATES = {
    Verb.RETRY_CALL: frozenset({CallState.WAITING, CallState.EXHAUSTED}),
    Verb.DISCARD_CALL: frozenset({CallState.EXHAUSTED}),
}
"""Of which states each may be asked of many."""
_ASKED: dict[str, CallVerb] = {Verb.RETRY_CALL.value: "retry", Verb.DISCARD_CALL.value: "discard"}


class CallBatches(Batches[CallView, CallQuery]):
    """The batches of durable calls."""

    kind = "calls"
    row = CallView

    async def found(self, operations: Operations, query: CallQuery, verb: str) -> tuple[Sequence[CallView], bool]:
        """Find calls in the states that can be so changed."""
        if verb not in _ASKED:
            raise OperationError(f"a batch of calls may {' or '.join(sorted(_ASKED))}, not {verb}")
        states = query.states & STATES[Verb(verb)]
        page, following = await operations.calls.some(replace(query, states=states, after=None, limit=MOST))
        return page, following is not None

    async def one(self, batch: Batch[CallView], item: Item) -> Came:
        """Command one call as it was seen, and follow a retry to its end."""
        command = Command(batch.actor, batch.reason, f"{batch.id}:{item.id}", item.etag)
        operations = await self.opening()
        try:
            await operations.calls.ask(_ASKED[batch.verb], item.id, command)
        except (ConflictError, NotFoundError):
            return Came(Outcome.CHANGED)
        return Came(Outcome.RECOVERED) if batch.verb == Verb.DISCARD_CALL else await self._followed(operations, item)

    @staticmethod
    async def _followed(operations: Operations, item: Item) -> Came:
        """Wait for the end of what was begun."""
        until = operations.clock.monotonic() + FOLLOW
        while True:
            try:
                now = await operations.calls.view(item.id)
            except NotFoundError:  # over, and deleted already
                return Came(Outcome.RECOVERED)
            state = CallState(now.state)
            if state not in PENDING:
                failed = state is CallState.EXHAUSTED
                return Came(Outcome.FAILED, now.error) if failed else Came(Outcome.RECOVERED)
            if operations.clock.monotonic() >= until:
                return Came(Outcome.UNDER_WAY)
            await operations.clock.sleep(LOOK_AGAIN)
