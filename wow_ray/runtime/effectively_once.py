"""Calls of projections that write through `ctx.connection`: effects and progress commit together (L1, H4).

The transaction inserts a marker of the settled position and checks the slot's epoch last. Only an acknowledged commit
is folded into the progress; after an unknown outcome the marker is looked for before anything else happens, and a
refused commit is that attempt's failure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wow_ray.errors import FencedError, StoreUnavailableError
from wow_ray.ports.slots import EffectMark
from wow_ray.runtime.calls import Interrupted
from wow_ray.runtime.lane import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from wow_ray.ports.clock import Clock
    from wow_ray.ports.slots import Effects, EffectTransaction
    from wow_ray.runtime.calls import Attempt, Calls
    from wow_ray.runtime.lane import Lane

CUTS = 5
"""Calls of an event whose connection may be lost one after the other before it counts as a failure of the attempt.

Connections are lost when our own store is in trouble, which is nobody's attempt (D3); but a statement may also be what
the server ends its session for, time after time, and that is the aggregate's own (W5).
"""
LOOKUP_WAIT = 0.5
"""Seconds between two looks for a marker after a commit of unknown outcome, while the store is away."""


class EffectivelyOnce:
    """Makes such calls for one partition."""

    def __init__(self, effects: Effects, calls: Calls, clock: Clock, fenced: Callable[[tuple[int, ...]], None]) -> None:
        """`fenced(slots)` is told of slots that turn out to have a newer owner."""
        self._effects = effects
        self._calls = calls
        self._clock = clock
        self._fenced = fenced

    async def call(self, attempt: Attempt, argument: object, context: Callable[[Any], object]) -> BaseException | None:
        """Call the handler inside a transaction; `context(connection)` makes its `ctx`. Raises `StoreUnavailableError`.

        Getting the connection is not part of the attempt (H30).
        """
        lane = attempt.lane
        mark = EffectMark(lane.group.number, lane.slot.number, lane.slot.epoch, attempt.cell.position)
        transaction = await self._effects.begin(mark)
        try:
            error = await self._calls.invoke(attempt, argument, context(transaction.connection))
        except BaseException:
            await transaction.rollback()
            raise
        if error is not None or lane.status is not Status.RUNNING:
            await transaction.rollback()
            if error is not None and transaction.lost:
                self._cut(lane, error)
            return error
        error = await self._committed(transaction, mark)
        if isinstance(error, StoreUnavailableError):
            self._cut(lane, error)
        if error is None:
            lane.cuts = 0
            if not lane.slot.lost:
                lane.slot.folded.append((mark.group, mark.position))
                lane.slot.dirty = True
        return error

    @staticmethod
    def _cut(lane: Lane, error: BaseException) -> None:
        """Have a call made again, uncharged, whose connection was lost; does nothing when that happens too often."""
        lane.cuts += 1
        if lane.cuts <= CUTS:
            raise StoreUnavailableError(f"the connection of the call was lost: {type(error).__name__}") from error

    async def _committed(self, transaction: EffectTransaction, mark: EffectMark) -> BaseException | None:
        try:
            await transaction.commit()
        except FencedError as error:
            await transaction.rollback()
            self._fenced(error.slots)
            raise Interrupted from error
        except StoreUnavailableError as unknown:
            await transaction.rollback()
            return await self._looked_up(mark, unknown)
        except Exception as error:  # noqa: BLE001 - a refused commit is this attempt's failure (L1)
            await transaction.rollback()
            return error
        return None

    async def _looked_up(self, mark: EffectMark, unknown: StoreUnavailableError) -> StoreUnavailableError | None:
        """Find out what became of a commit of `unknown` outcome, however long the store is away; `None` = it happened.

        Raises `StoreUnavailableError` when it did not and the store was away: then it was no attempt at all (D3).
        """
        away = False
        while True:
            try:
                found = await self._effects.settled(mark)
            except StoreUnavailableError:
                away = True
                await self._clock.sleep(LOOKUP_WAIT)
            else:
                break
        if away and not found:
            raise unknown
        return None if found else unknown
