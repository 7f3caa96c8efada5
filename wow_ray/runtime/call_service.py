"""An app's durable calls in a process that owns no slots: its resources, its worker, and a sign that it lives.

It holds a lease under its lasting name and reports beside the partitions, so that people see it where they see those;
nothing rests on either. Claims have leases of their own, so what it runs when it dies is run by another (F6).
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Self

from wow_ray.errors import StoreUnavailableError
from wow_ray.handlers.resources import Resources
from wow_ray.policy.report import GroupReport, PartitionReport
from wow_ray.runtime.durable_calls import CallPace, CallWorker
from wow_ray.runtime.reporting import Rates
from wow_ray.runtime.verdicts import Verdicts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    from wow_ray.handlers.specs import AppSpec
    from wow_ray.policy.classify import Asked
    from wow_ray.ports.clock import Clock, Dice
    from wow_ray.ports.reports import Reports
    from wow_ray.ports.slots import Lease, Owner
    from wow_ray.ports.stores import ClientStores

log = logging.getLogger("wow_ray.calls")

EVERY = 2.0
"""Seconds between two reports."""
CALLS = "durable calls"
"""What the report calls what is done here; no group of handlers can have that name."""


class CallService:
    """Runs an app's durable calls while inside `async with`; enter and leave it in one task."""

    def __init__(
        self,
        spec: AppSpec,
        client: ClientStores,
        lease: Lease,
        reports: Reports,
        *,
        owner: Owner,
        clock: Clock,
        dice: Dice,
        modules: Sequence[Asked],
        wants_jitter: Callable[[BaseException], bool],
        pace: CallPace | None = None,
        overrides: Mapping[Any, Any] | None = None,
    ) -> None:
        """`owner` names this incarnation; `overrides` are resources given from outside."""
        self._lease = lease
        self._reports = reports
        self._owner = owner
        self._clock = clock
        self._resources = Resources(spec.providers, overrides)
        self._verdicts = Verdicts(spec.classifiers, modules, wants_jitter, clock)
        self._began = clock.monotonic()
        self._rates = Rates(self._began)
        self._reporting: asyncio.Task[None] | None = None
        self.worker = CallWorker(
            owner.id,
            spec.functions,
            client.calls,
            self._resources.receiver,
            clock=clock,
            dice=dice,
            verdicts=self._verdicts,
            pace=pace,
            pauses=client.function_pauses,
        )
        self._attached = spec.attached(client, self.worker.wake)

    async def __aenter__(self) -> Self:
        """Open what methods are called on, then begin; raises what that raises."""
        await self._resources.__aenter__()
        self._attached.__enter__()
        try:
            await self._lease.start(self._owner)
            await self.worker.start()
        except BaseException as error:
            await self._close(type(error), error, error.__traceback__)
            raise
        self._reporting = asyncio.get_running_loop().create_task(self._report())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let calls under way end for a while, give the rest back uncharged, close."""
        await self.worker.stop()
        await self._close(kind, error, trace)

    async def _close(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._reporting is not None:
            self._reporting.cancel()
            await asyncio.gather(self._reporting, return_exceptions=True)
            try:
                await self._reports.withdraw(self._owner)
            except StoreUnavailableError as away:
                log.debug("the report of %s stays (%s)", self._owner.partition, away)
        await self._lease.stop()
        self._verdicts.close()
        self._attached.__exit__(None, None, None)
        await self._resources.__aexit__(kind, error, trace)

    async def _report(self) -> None:
        """Say for ever how it goes; what cannot be said is not said later."""
        while True:
            try:
                await self._reports.write(self._owner, self._said())
            except StoreUnavailableError as error:
                log.debug("%s cannot report (%s)", self._owner.partition, error)
            await self._clock.sleep(EVERY)

    def _said(self) -> PartitionReport:
        now, worker = self._clock.monotonic(), self.worker
        rate, failed_rate = self._rates.at(now, {CALLS: (worker.handled, worker.failed)})[CALLS]
        group = GroupReport(
            handled=worker.handled,
            failed=worker.failed,
            rate=rate,
            failed_rate=failed_rate,
            running=len(worker.runs),
            limit=worker.pace.concurrency,
            share=worker.pace.concurrency,
        )
        return PartitionReport(every=EVERY, up=now - self._began, groups={CALLS: group})
