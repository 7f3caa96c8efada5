"""One claimed call from its claim to its end: read, call, classify, decide, write (F5, F7)."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import partial
from inspect import BoundArguments
from typing import TYPE_CHECKING, Any, assert_never

from wow_ray.errors import CallFailedError, CannotTravelError
from wow_ray.failure import Category, capture
from wow_ray.policy.classify import Classified
from wow_ray.policy.decide import Park, Pause, Retry, SlowDown
from wow_ray.policy.durable_call import MOST_FALLBACKS, PENDING, CallReason, CallRow, CallState, Fallback
from wow_ray.policy.durable_endings import (
    Again,
    Busy,
    Ending,
    Exhausted,
    FallBack,
    Succeeded,
    Uncharged,
    applied,
    written,
)
from wow_ray.policy.durable_fit import Unfit, decide_unfit
from wow_ray.policy.retry_after import retry_after_of
from wow_ray.retryable.current import CurrentCall, calling
from wow_ray.runtime.call_attempt import NotEnding, Raised, Returned, Stopped

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from wow_ray.failure import Failure
    from wow_ray.runtime.call_attempt import CallAttempt, Outcome
    from wow_ray.runtime.call_ends import CallEnds
    from wow_ray.runtime.call_queue import CallQueue
    from wow_ray.runtime.verdicts import Verdicts

log = logging.getLogger("wow_ray.calls")

EXCLUDED = Classified(Category.UNRECOVERABLE, "list")
STOPPED = Uncharged(0.0, "its worker stopped")


@dataclass(slots=True, eq=False)
class CallRun:
    """One claim. `receiver` is what a method is called on; `store_now()` gives the store's time."""

    row: CallRow
    queue: CallQueue
    receiver: object
    attempt: CallAttempt
    verdicts: Verdicts
    ends: CallEnds
    monotonic: Callable[[], float]
    store_now: Callable[[], datetime]
    lost: bool = False
    pending: bool = True
    """Whether it may be due again once this has ended."""
    succeeded: bool = False
    error: BaseException | None = None
    """What this run's own call failed with."""

    async def run(self) -> None:
        """Do all of it; writes nothing once the claim is lost."""
        ending = await self._ending()
        if isinstance(ending, FallBack):
            if self.lost or not await self.ends.write(written(self.row, ending)):
                return
            self.row = applied(self.row, written(self.row, ending), self.store_now())
            ending = await self._fallen_back(self._arguments(), self._error())
        if not self.lost:
            end = written(self.row, ending)
            self.pending = end.state in PENDING
            self.succeeded = await self.ends.write(end) and end.state is CallState.SUCCEEDED

    async def _ending(self) -> Ending:  # noqa: PLR0911 - one way to end after the other
        """Find how the claim ends; a `FallBack` is the end of the calls only."""
        row, function = self.row, self.queue.function
        arguments = function.read(row.payload)
        if isinstance(arguments, Unfit):
            unfit = decide_unfit(arguments, row.aside_since, self.store_now())
            return replace(unfit, fallback=row.fallback) if isinstance(unfit, Exhausted) else unfit
        if row.fallback is Fallback.BEGUN:
            if row.fallbacks > MOST_FALLBACKS:
                return Exhausted(row.reason or CallReason.CRASHED_WORKER, fallback=Fallback.INTERRUPTED)
            return await self._fallen_back(arguments, self._error())
        if row.spent > function.budget.max_attempts:
            self.row = replace(row, attempts=row.attempts - 1, spent=row.spent - 1)  # no call is made for this claim
            lowered = row.spent - 1 > function.budget.max_attempts  # by settings or a release, since it was stored
            return self._at_the_end(CallReason.BUDGET_SPENT if lowered else CallReason.CRASHED_WORKER, None)
        began = self.monotonic()
        outcome = await self._called(partial(function.call, self.receiver, arguments), is_async=function.is_async)
        match outcome:
            case Returned(value):
                return self._returned(value, began)
            case Raised(error):
                return await self._failed(error, began)
            case Stopped():
                return STOPPED
            case NotEnding(error):
                self.queue.probed()
                return Exhausted(CallReason.NOT_ENDING, capture(error, Category.RECOVERABLE, "default"))
            case _:
                assert_never(outcome)

    def _returned(self, value: object, began: float) -> Succeeded | Exhausted:
        """Keep what it returned; what cannot be kept would not be kept the next time either (S75)."""
        self.queue.succeeded(self.row.id, began)
        try:
            return Succeeded(self.queue.function.write_result(value))
        except CannotTravelError as error:
            failure = capture(error, Category.UNRECOVERABLE, "default")
            return Exhausted(CallReason.UNRECOVERABLE, failure, note="it returned what cannot be stored")

    async def _failed(self, error: BaseException, began: float) -> Ending:
        """Classify and decide (K1, section 4)."""
        function, queue, row = self.queue.function, self.queue, self.row
        self.error = error
        classified = await self.verdicts.gathered(error, function) if function.covers(error) else EXCLUDED
        classified = queue.judged(row, began, classified)
        failure = capture(error, classified.category, classified.source)
        asked = retry_after_of(error, self.store_now(), queue.limits.backpressure.retry_after_cap)
        decision = queue.decided(row, classified, asked, jittered=self.verdicts.wants_jitter(error))
        queue.probed()
        match decision:
            case Retry(after):
                return Again(after, failure)
            case SlowDown(after):
                queue.busy(after)
                return Busy(after, failure)
            case Pause(after):
                return Uncharged(after, "its surroundings fail", failure)
            case Park(reason):
                queue.left(row.id)
                why = CallReason(reason.value)
                # What no retry could help is no end of retries: neither is the fallback called (F1, S100).
                return Exhausted(why, failure) if why is CallReason.UNRECOVERABLE else self._at_the_end(why, failure)
            case _:
                assert_never(decision)

    def _at_the_end(self, reason: CallReason, failure: Failure | None) -> FallBack | Exhausted:
        return FallBack(reason, failure) if self.queue.function.has_fallback else Exhausted(reason, failure)

    async def _fallen_back(self, arguments: BoundArguments, error: BaseException) -> Ending:
        """Call the fallback, once; its error is kept beside that of the calls, and nobody tries it again (F7)."""
        function, reason = self.queue.function, self.row.reason or CallReason.BUDGET_SPENT
        outcome = await self._called(
            partial(function.fall_back, error, self.receiver, arguments), is_async=function.fallback_is_async(error)
        )
        match outcome:
            case Returned():
                return Exhausted(reason, fallback=Fallback.DONE)
            case Raised(problem) | NotEnding(problem):
                log.error("the fallback of %s failed for call %s", function.subscription, self.row.id, exc_info=problem)
                failure = capture(problem, Category.RECOVERABLE, "default")
                return Exhausted(reason, fallback=Fallback.FAILED, fallback_failure=failure)
            case Stopped():
                return STOPPED
            case _:
                assert_never(outcome)

    async def _called(self, call: Callable[[], Any], *, is_async: bool) -> Outcome:
        """Make one call under its own `current_call()` (F5)."""
        row, budget = self.row, self.queue.function.budget
        last = row.spent >= budget.max_attempts
        current = CurrentCall(row.id, self.queue.function.subscription, row.attempts, last, row.headers)

        async def awaited() -> object:
            with calling(current):
                return await call()

        def plain() -> object:
            with calling(current):
                return call()

        return await self.attempt.make(awaited if is_async else plain, budget.timeout, is_async=is_async)

    def _arguments(self) -> BoundArguments:
        """Read the arguments anew: the calls may have changed the first ones."""
        arguments = self.queue.function.read(self.row.payload)
        assert isinstance(arguments, BoundArguments)  # noqa: S101 - they were read before
        return arguments

    def _error(self) -> BaseException:
        """Give the fallback the error of this run's call, else the last one as it was stored."""
        if self.error is not None:
            return self.error
        failure = self.row.failure
        if failure is None:
            return CallFailedError(f"the worker of call {self.row.id} died, again and again")
        return CallFailedError(f"{failure.type}: {failure.message}")
