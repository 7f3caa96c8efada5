"""Attempts: one lane's next events, one call each, in order.

The pipeline of an event: decode, fold state if wanted, call, settle. The hot path (`Rush`: an async handler that needs
nothing but the event and does not wait) makes its call directly; every other goes through `Calls`. What an attempt ends
in is carried out by `Settling`; this module only finds out what it was. An attempt begins only while the lease holds
(L3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wow_ray.errors import StoreUnavailableError, UndecodableError
from wow_ray.events import AggregateRef
from wow_ray.runtime.calls import Attempt, Interrupted, late
from wow_ray.runtime.contexts import context_of
from wow_ray.runtime.decoding import decode, event_of, state_event_of
from wow_ray.runtime.group import WINDOW
from wow_ray.runtime.lane import Status
from wow_ray.runtime.rush import QUOTA
from wow_ray.runtime.stepping import Suspended

if TYPE_CHECKING:
    import asyncio

    from wow_ray.ports.clock import Clock
    from wow_ray.ports.slots import Lease
    from wow_ray.runtime.calls import Calls
    from wow_ray.runtime.effectively_once import EffectivelyOnce
    from wow_ray.runtime.group import Handler
    from wow_ray.runtime.lane import Cell, Lane
    from wow_ray.runtime.outcomes import Settling
    from wow_ray.runtime.rush import Rush
    from wow_ray.runtime.states import States
    from wow_ray.runtime.workers import Workers


class Attempts:
    """Runs lanes for the workers of one partition."""

    def __init__(
        self,
        *,
        context: str,
        key_prefix: str,
        clock: Clock,
        lease: Lease,
        states: States,
        calls: Calls,
        once: EffectivelyOnce,
        outcomes: Settling,
        workers: Workers,
        rush: Rush,
    ) -> None:
        """`context` and `key_prefix` are the app's."""
        self._app = context
        self._key_prefix = key_prefix
        self._clock = clock
        self._lease = lease
        self._states = states
        self._calls = calls
        self._once = once
        self._outcomes = outcomes
        self._workers = workers
        self.rush = rush

    async def run(self, lane: Lane, task: asyncio.Task[None]) -> None:  # noqa: C901 - one branch for each end
        """Handle the lane's next events until it is idle, waits, is parked, or has used its quota."""
        outcomes = self._outcomes
        ended, lane.ended = lane.ended, None
        turns, quota = 0, 1 if self.rush.careful or lane.careful else QUOTA
        while lane.queue and (turns < quota or ended is not None):
            turns += 1
            cell = lane.queue[0]
            if ended is None:
                if not self._may_begin(lane):
                    outcomes.interrupted(lane)
                    return
                if (lane.row is not None or lane.slot.markers) and outcomes.passed(lane, cell):
                    ended = self.rush.lane(lane)
                    continue
            handler = lane.group.handler_of(cell.row.aggregate, cell.row.type)
            try:
                error = await self._attempt(lane, cell, handler, ended, task)
            except UndecodableError as problem:
                if lane.status is Status.RUNNING:
                    outcomes.unreadable(lane, cell, problem)
                return
            except (Interrupted, StoreUnavailableError) as reason:
                if lane.status is Status.RUNNING:
                    (outcomes.interrupted if isinstance(reason, Interrupted) else outcomes.unavailable)(lane)
                return
            if lane.status is not Status.RUNNING:
                return
            if error is not None and handler is not None:
                await self._failed(lane, cell, handler, error)
                return
            outcomes.succeeded(lane, cell)
            if lane.commanded:
                outcomes.command(lane)
                return
            ended = self.rush.lane(lane)
        outcomes.idle(lane)

    async def _failed(self, lane: Lane, cell: Cell, handler: Handler, error: BaseException) -> None:
        """Hand a failed attempt on with what it means, which classifiers of others may take a moment to say."""
        classified = self._outcomes.classified(error, handler)
        if classified is None:
            self._workers.others()
            classified = await self._outcomes.gathered(error, handler)
            if lane.status is not Status.RUNNING:
                return
        self._outcomes.failed(lane, cell, handler, error, classified)

    def _may_begin(self, lane: Lane) -> bool:
        """Tell whether a call of the lane may begin now: gates, pause, lease (L3), and W for a drain (H9)."""
        group = lane.group
        lane.began = self._clock.monotonic()
        if lane.began >= self._lease.valid_until:
            self._outcomes.lease_lost()
        full = lane.row is not None and group.open >= WINDOW
        if full or group.stops or self._workers.closed or lane.slot.leaving:
            return False
        return group.pause is None or group.pause.lane is lane

    async def _attempt(
        self,
        lane: Lane,
        cell: Cell,
        handler: Handler | None,
        ended: BaseException | Suspended | None,
        task: asyncio.Task[None],
    ) -> BaseException | None:
        """Make the attempt, or what is left of one that was begun in the rush; `None` = done, an error = failed."""
        if handler is None:
            await self._fold(lane, cell)
            return None
        if ended is None:
            if not handler.plain or lane.retrying:
                return await self._call(Attempt(lane, cell, handler, task))
            began = self._clock.monotonic()
            ended = self.rush.call(lane, cell, handler)
            if ended is None and self._clock.monotonic() - began > handler.timeout:
                return late(handler.timeout)
        if type(ended) is Suspended:  # an error that is asked what it is may raise
            return await self._calls.watched(Attempt(lane, cell, handler, task), ended)
        return ended

    async def _call(self, attempt: Attempt) -> BaseException | None:
        """Call a handler that wants state, a connection or a thread, or a parked retry with its own timeout."""
        lane, cell, handler = attempt.lane, attempt.cell, attempt.handler
        row = cell.row
        body = decode(row, lane.group.events.get((row.aggregate, row.type)))
        ref = AggregateRef(self._app, row.aggregate, row.aggregate_id)
        argument: Any = body
        state: object = None
        if handler.spec.wants_state is not None:
            try:
                state = await self._states.at(lane, cell, handler.spec.wants_state)
            except (UndecodableError, StoreUnavailableError):
                raise
            except Exception as error:  # noqa: BLE001 - the author's `apply` failed: that is this attempt's failure
                return error
            argument = state_event_of(row, body, ref, state)
        else:
            await self._fold(lane, cell)
            if not handler.body_only:
                argument = event_of(row, body, ref)
        if handler.turn is not None:
            return await self._elsewhere(attempt, ref, state)
        if handler.wants_connection:
            return await self._once.call(
                attempt, argument, lambda connection: self._begun(lane, cell, handler, ref, connection)
            )
        self.still_allowed(lane)
        if handler.wants_context:
            return await self._calls.invoke(attempt, argument, context_of(lane, cell, handler, ref, self._key_prefix))
        return await self._calls.invoke(attempt, argument)

    async def _elsewhere(self, attempt: Attempt, ref: AggregateRef, state: object) -> BaseException | None:
        """Have the call made in another process, with what is stored; waiting for its turn is not part of it."""
        lane, cell, handler = attempt.lane, attempt.cell, attempt.handler
        assert handler.turn is not None  # noqa: S101 - the caller has looked
        self._workers.others()
        async with handler.turn(lane.key):
            self.still_allowed(lane)
            return await self._calls.invoke(
                attempt, cell.row, state, context_of(lane, cell, handler, ref, self._key_prefix)
            )

    def _begun(self, lane: Lane, cell: Cell, handler: Handler, ref: AggregateRef, connection: object) -> object:
        """Make the `ctx` of a call whose connection has come, if the call may still begin."""
        self.still_allowed(lane)
        return context_of(lane, cell, handler, ref, self._key_prefix, connection)

    def still_allowed(self, lane: Lane) -> None:
        """Look again after a wait; raises `Interrupted` when no call may begin now (L3, H9)."""
        group, late_for_lease = lane.group, self._clock.monotonic() >= self._lease.valid_until
        paused = group.pause is not None and group.pause.lane is not lane
        halted = self._workers.closed or group.stops or lane.slot.leaving
        if lane.status is not Status.RUNNING or halted or paused or late_for_lease:
            raise Interrupted

    async def _fold(self, lane: Lane, cell: Cell) -> None:
        """Take an event that no handler wants the state of into the aggregate's states."""
        for cls in lane.group.state_classes.get(cell.row.aggregate, ()):
            try:
                await self._states.at(lane, cell, cls)
            except (UndecodableError, StoreUnavailableError):
                raise
            except Exception:  # noqa: BLE001 - shows again, and is charged, where a handler wants the state
                lane.group.forget_states(lane.key)
