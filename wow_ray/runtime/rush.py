"""The hot path: live events of plain handlers, lane after lane, as long as none waits or fails.

A plain handler is an async one that needs nothing but the event. Nothing is awaited here, so nobody else can close a
gate, pause the group or spill a lane meanwhile; what bars a group is therefore looked at once for many lanes. Whatever
is not plain, waits or fails is left to `Attempts`, which looks at everything again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wow_ray.errors import UndecodableError
from wow_ray.events import AggregateRef
from wow_ray.policy.classify import control_flow
from wow_ray.runtime.calls import late
from wow_ray.runtime.contexts import context_of
from wow_ray.runtime.decoding import decode, event_of
from wow_ray.runtime.lane import NOTHING_SPENT, Status
from wow_ray.runtime.stepping import Suspended

if TYPE_CHECKING:
    from wow_ray.ports.clock import Clock
    from wow_ray.ports.slots import Lease
    from wow_ray.runtime.calls import Calls
    from wow_ray.runtime.group import Group, Handler
    from wow_ray.runtime.lane import Cell, Lane
    from wow_ray.runtime.workers import Workers

QUOTA = 16
"""Events of one lane handled before the lane goes to the end of its queue."""
READY, GONE = Status.READY, Status.GONE


class Rush:
    """Runs lanes for the workers of one partition as far as that needs no wait."""

    def __init__(
        self, *, context: str, key_prefix: str, clock: Clock, lease: Lease, calls: Calls, workers: Workers
    ) -> None:
        """`context` and `key_prefix` are the app's."""
        self._app = context
        self._key_prefix = key_prefix
        self._clock = clock
        self._lease = lease
        self._calls = calls
        self._workers = workers
        self.careful = False
        """Whether nothing may be done by this way (H10)."""

    def quick(self, lane: Lane, most: int, until: float) -> tuple[Lane | None, int]:
        """Do what needs no wait: the lane's events, and then those of the lanes that are ready behind it in its group.

        Of `most` lanes at most, and none begins after `until`, monotonic. Answers the lane that needs more, which is to
        be `run`, and how many lanes were taken; those that have nothing else are gone.
        """
        group = lane.group
        if self._barred(group):
            return lane, 1
        if group.drains:  # they take turns with the live lanes
            most = 1
        lanes, ready = group.lanes, group.ready
        now, taken = self._clock.monotonic(), 0
        while True:
            taken += 1
            if lane.row is not None or lane.slot.markers or lane.slot.leaving:
                return lane, taken
            lane.ended, now = self._go_on(lane, now)
            if lane.queue:
                return lane, taken
            lane.status = GONE
            del lanes[lane.key]
            group.lanes_done += 1
            if taken >= most or now >= until:
                return None, taken
            while ready:
                lane = ready.popleft()
                if lane.status is READY:
                    break
            else:
                return None, taken

    def _barred(self, group: Group) -> bool:
        """Tell whether every call of the group is to be looked at by the careful way."""
        return group.pause is not None or bool(group.stops) or self._workers.closed or self.careful

    def lane(self, lane: Lane) -> BaseException | Suspended | None:
        """Go on in one go with a lane that runs, if it may; see `_go_on`."""
        if lane.row is not None or lane.slot.markers or lane.slot.leaving or self._barred(lane.group):
            return None
        return self._go_on(lane, self._clock.monotonic())[0]

    def _go_on(self, lane: Lane, now: float) -> tuple[BaseException | Suspended | None, float]:
        """Handle live events of plain handlers in one go, as long as none waits or fails: the hot path.

        Nothing is awaited, so nobody else can close a gate, pause the group or spill the lane meanwhile. Answers what
        the event now at the head of the queue ended in, and the time; `None` = it was not called, the careful way has
        to look at it.
        """
        group, slot, queue = lane.group, lane.slot, lane.queue
        clock, valid_until, handlers = self._clock.monotonic, self._lease.valid_until, group.handlers
        unfinished = slot.progress[group.number].unfinished
        ended: BaseException | Suspended | None = None
        done = 0
        good = now
        for cell in queue if len(queue) <= QUOTA else queue[:QUOTA]:
            handler = handlers.get(cell.kind)
            if handler is None or not handler.plain or now >= valid_until:
                break
            try:
                ended = self.call(lane, cell, handler)
            except UndecodableError:
                break
            began, now = now, clock()
            if ended is None and now - began > handler.timeout:
                ended = late(handler.timeout)
            if ended is not None:
                lane.began = began
                break
            good = began
            del unfinished[cell.position]
            done += 1
            if lane.spent is not NOTHING_SPENT:
                lane.spent = NOTHING_SPENT
        if done:
            if done == len(queue):
                queue.clear()
            else:
                del queue[:done]
            if lane.first_cause is not None or lane.due:
                lane.first_cause = None
                lane.due = 0.0
            slot.dirty = True
            group.settled += done
            group.handled += done
            group.did_well(lane.key, done, good, now)
        return ended, now

    def call(self, lane: Lane, cell: Cell, handler: Handler) -> BaseException | Suspended | None:
        """Call a plain handler: `None` = done, an error = failed, `Suspended` = it waits for something."""
        row = cell.row
        body = cell.body
        if body is None or lane.spent is not NOTHING_SPENT:
            body = decode(row, lane.group.events.get(cell.kind))
            if cell.kind in lane.group.shared:
                cell.body = body
        ref = lane.ref
        if ref is None:
            ref = lane.ref = AggregateRef(self._app, row.aggregate, row.aggregate_id)
        argument = body if handler.body_only else event_of(row, body, ref)
        try:
            if handler.wants_context:
                coroutine = handler.function(argument, context_of(lane, cell, handler, ref, self._key_prefix))
            else:
                coroutine = handler.function(argument)
            context = self._calls.fresh_context()
            waits_for = context.run(coroutine.send, None)
        except StopIteration:
            return None
        except BaseException as error:
            if control_flow(error):
                raise
            return error
        return Suspended(coroutine, context, waits_for)
