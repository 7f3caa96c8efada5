"""Commands on many durable calls: frozen at what was seen, a few tried first, few at once, stopped when they fail.

As batches of parked aggregates (`bulk`), but that a call is changed at once: a retry is followed until the call has
ended or is exhausted again, a discard is done when it is answered. One that waits for its next try is under way.
"""

from __future__ import annotations

from dataclasses import replace

from wow_ray.errors import ConflictError, NotFoundError, OperationError, WowError
from wow_ray.ops.bulk import FOLLOW, LOOK_AGAIN, MOST, Batch, Batches, judge, stopped
from wow_ray.ops.call_views import CallView
from wow_ray.ops.calling import CallQuery
from wow_ray.ops.commands import Command
from wow_ray.ops.operations import Operations
from wow_ray.policy.durable_asked import CallVerb
from wow_ray.policy.durable_call import PENDING, CallState
from wow_ray.policy.parked import Verb
from wow_ray.ports.durable_calls import VERBS

STATES = {"retry": frozenset({CallState.WAITING, CallState.EXHAUSTED}), "discard": frozenset({CallState.EXHAUSTED})}
"""Of which states each may be asked of many."""
_ASKED: dict[Verb, CallVerb] = {Verb.RETRY_CALL: "retry", Verb.DISCARD_CALL: "discard"}


class CallBatches(Batches[CallView]):
    """The batches of durable calls of one program that serves operators."""

    gone = "there is no batch {!r} of calls in this process; what one asked for is in the audit, the rest is as it was"

    async def of_calls(self, query: CallQuery, verb: CallVerb) -> Batch[CallView]:
        """Freeze what a filter finds now, of the states that can be so changed; raises `OperationError`."""
        if verb not in STATES:
            raise OperationError(f"a batch of calls may {' or '.join(sorted(STATES))}, not {verb}")
        operations = await self.opening()
        states = query.states & STATES[verb]
        page = await operations.calls.listed(replace(query, states=states, after=None, limit=MOST))
        batch = Batch(operations.new_id(), VERBS[verb], page.calls, page.next is not None, operations.clock.now())
        return self.keep(batch)

    async def one(self, batch: Batch[CallView], row: CallView) -> None:
        """Command one call as it was seen, and follow a retry to its end."""
        batch.asked += 1
        command = Command(batch.actor, batch.reason, f"{batch.id}:{row.id}", row.etag)
        try:
            operations = await self.opening()
            await operations.calls.ask(_ASKED[batch.verb], row.id, command)
        except (ConflictError, NotFoundError):
            batch.changed += 1
            return
        except WowError as error:
            stopped(batch, error.message)
            return
        if batch.verb is Verb.DISCARD_CALL:
            batch.recovered += 1
        else:
            await self._followed(batch, operations, row)

    @staticmethod
    async def _followed(batch: Batch[CallView], operations: Operations, row: CallView) -> None:
        """Wait for the end of what was begun, and count it; stop the batch when several in a row fail alike."""
        until = operations.clock.monotonic() + FOLLOW
        while True:
            try:
                now = (await operations.calls.shown(row.id)).call
            except NotFoundError:  # over, and deleted already
                now = replace(row, state=CallState.SUCCEEDED.value)
            state = CallState(now.state)
            if state not in PENDING:
                failed = state is CallState.EXHAUSTED
                batch.failed += failed
                batch.recovered += not failed
                batch.recent.append(now.error.fingerprint if failed and now.error is not None else "")
                if failed:
                    judge(batch, now)
                return
            if operations.clock.monotonic() >= until:
                batch.under_way += 1
                return
            await operations.clock.sleep(LOOK_AGAIN)
