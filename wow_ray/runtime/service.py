"""An app in one process: its resources, its partitions, and the sweep for due rows.

`Service` is what `wow-ray dev` runs and what the test kit runs on memory adapters. It registers the groups once,
opens the resources once, gives each partition its share of the slots, and starts a partition anew when its log went
back. A partition that ended for any other reason ends the service: somebody else owns its slots, or a fault of ours
must not be hidden.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from wow_ray.errors import StoreUnavailableError
from wow_ray.handlers.resources import Resources
from wow_ray.policy.slots import shares
from wow_ray.runtime.assembly import away, declared, groups_of
from wow_ray.runtime.durable_calls import CallPace, CallWorker
from wow_ray.runtime.feed import LogRewoundError
from wow_ray.runtime.pace import Pace
from wow_ray.runtime.partition import Partition
from wow_ray.runtime.resetting import reset
from wow_ray.runtime.sweep import Sweep
from wow_ray.runtime.trouble import Trouble
from wow_ray.runtime.turns import Turns
from wow_ray.runtime.verdicts import Verdicts

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager
    from types import TracebackType
    from typing import Literal

    from wow_ray.handlers.specs import AppSpec
    from wow_ray.policy.classify import Asked
    from wow_ray.ports.clock import Clock, Dice
    from wow_ray.ports.ledger import Intent
    from wow_ray.ports.slots import Owner
    from wow_ray.ports.stores import ClientStores, PartitionStores
    from wow_ray.runtime.elsewhere import Elsewhere
    from wow_ray.runtime.tracing import Tracing

log = logging.getLogger("wow_ray.service")


class Service:
    """Runs an app's partitions while inside `async with`; enter and leave it in one task."""

    def __init__(
        self,
        spec: AppSpec,
        stores: Callable[[], AbstractAsyncContextManager[PartitionStores]],
        client: ClientStores,
        *,
        owner: Callable[[str], Owner],
        clock: Clock,
        dice: Dice,
        ids: Callable[[], str],
        modules: Sequence[Asked],
        wants_jitter: Callable[[BaseException], bool],
        partitions: int | Mapping[str, Sequence[int]] = 1,
        sweeps: bool = True,
        pace: Pace | None = None,
        overrides: Mapping[Any, Any] | None = None,
        returning: Literal["stored", "end"] | None = None,
        elsewhere: Elsewhere | None = None,
        calls: CallPace | None = None,
        release: str = "",
        tracing: Tracing | None = None,
    ) -> None:
        """`stores()` opens one partition's stores; `owner(name)` names a new incarnation of a partition.

        `modules` are the modules' classifiers. `partitions` is how many share all slots, or each one's slots by its
        lasting name; with `sweeps=False` somebody else brings due rows. `overrides` are resources given from outside;
        `returning` says where a group goes on that was away (L5). `elsewhere` makes the calls of processors declared
        `isolation="actor"`; without it they are made here. `calls` is how durable calls are run here, `None` = they are
        run elsewhere. `release` is what people are told of the program. `tracing` has spans made, `None` = none.
        """
        self.spec = spec
        self.client = client
        self.partitions: list[Partition] = []
        self._stores = stores
        self._owner = owner
        self._clock = clock
        self._dice = dice
        self._ids = ids
        self.verdicts = Verdicts(spec.classifiers, modules, wants_jitter, clock)
        self._partitions = partitions
        self._release = release
        self._sweeps = sweeps
        self._pace = pace or Pace()
        self._returning = returning
        self._elsewhere = elsewhere
        self._tracing = tracing
        self._resources = Resources(spec.providers, overrides)
        self._attached = spec.attached(client, self._wake_calls)
        self.call_worker: CallWorker | None = None
        self._call_pace = calls
        self._stacks: dict[str, AsyncExitStack] = {}
        self._keepers: list[asyncio.Task[None]] = []
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.processors: dict[type[Any], Any] = {}
        self._resets: set[asyncio.Task[None]] = set()
        self._resetting = asyncio.Lock()
        self._sweep = Sweep(client.ledger, clock, self)
        self._turns = Turns()

    async def __aenter__(self) -> Self:
        """Open the resources, register the groups, take all slots.

        Raises before anything is handled when something is wrong.
        """
        await self._resources.__aenter__()
        self._attached.__enter__()
        try:
            elsewhere = away(self.spec, self._elsewhere)
            if kept := sorted({group.processor.__name__ for group in self.spec.groups if group.isolation == "actor"}):
                where = "in processes of their own" if elsewhere else "in this process; run on Ray it has its own"
                log.info("isolation='actor': %s is called %s", ", ".join(kept), where)
            for cls in self.spec.processors():
                self.processors[cls] = None if cls in elsewhere else await self._resources.build(cls)
            slots = await self.client.slots.slot_count()
            self._registered = await self.client.slots.register(declared(self.spec), self._returning)
            for name, share in self._shares(slots).items():
                self.partitions.append(await self._started(name, share))
                self._keepers.append(asyncio.get_running_loop().create_task(self._kept(name, share)))
            await self._start_calls()
        except BaseException as error:
            await self._close(type(error), error, error.__traceback__)
            raise
        if self._sweeps:
            self._keepers.append(asyncio.get_running_loop().create_task(self._sweep.run()))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop in order: calls under way may end, everything is committed, all is given up and closed."""
        await self._close(kind, error, trace)

    async def wait(self) -> None:
        """Wait until a partition is over; raises what ended it."""
        await asyncio.shield(self._ended)

    def wake(self) -> None:
        """Have every partition look for events, intents and pauses now."""
        for partition in self.partitions:
            partition.feed.wake()
            partition.intents.nudge()
            partition.stops.nudge()
        self._wake_calls()

    @property
    def busy(self) -> bool:
        """Whether any worker has a call under way or a lane to take."""
        calling = self.call_worker is not None and self.call_worker.busy
        return calling or any(partition.workers.busy for partition in self.partitions)

    def _shares(self, slots: int) -> Mapping[str, Sequence[int]]:
        """Give each partition's slots by the partition's lasting name."""
        if not isinstance(self._partitions, int):
            return self._partitions
        split = shares(slots, min(self._partitions, slots))
        return {f"{self.spec.context}-{index}": share for index, share in enumerate(split)}

    def _wake_calls(self) -> None:
        if self.call_worker is not None:
            self.call_worker.wake()

    async def _start_calls(self) -> None:
        """Begin to run durable calls, where the app has durable functions and they are run here."""
        if self._call_pace is None or not self.spec.functions:
            return
        worker = CallWorker(
            self._owner(f"{self.spec.context}-calls").id,
            self.spec.functions,
            self.client.calls,
            self._resources.receiver,
            clock=self._clock,
            dice=self._dice,
            verdicts=self.verdicts,
            pace=self._call_pace,
            pauses=self.client.function_pauses,
        )
        await worker.start()
        self.call_worker = worker

    async def _started(self, name: str, share: Sequence[int]) -> Partition:
        stack = AsyncExitStack()
        stores = await stack.enter_async_context(self._stores())
        groups = groups_of(self.spec, self._registered, self.processors, self._pace.concurrency, self._elsewhere)
        if self._tracing is not None:
            stores = self._tracing.stores(stores)
            for group in groups:
                for handler in {*group.handlers.values(), *group.catch_all.values()}:
                    self._tracing.handler(handler)
        partition = Partition(
            self._owner(name),
            self.spec,
            groups,
            stores,
            clock=self._clock,
            dice=self._dice,
            ids=self._ids,
            verdicts=self.verdicts,
            pace=replace(self._pace),
            turns=self._turns,
            release=self._release,
        )
        partition.on_due = self._sweep.due_at
        partition.intents.on_reset = self._reset
        try:
            await partition.start(share)
        except BaseException:
            await partition.abandon()
            await stack.aclose()
            raise
        self._stacks[name] = stack
        return partition

    def _reset(self, intent: Intent) -> None:
        task = asyncio.get_running_loop().create_task(self._reset_alone(intent))
        self._resets.add(task)
        task.add_done_callback(self._resets.discard)

    async def _reset_alone(self, intent: Intent) -> None:
        async with self._resetting:  # two at once would open the group inside each other's transaction
            await reset(self, self._clock, intent)

    async def _kept(self, name: str, share: Sequence[int]) -> None:
        """Watch one partition; start it anew when its log went back, else let its end be the service's (H14, H18)."""
        index = next(n for n, partition in enumerate(self.partitions) if partition.owner.partition == name)
        try:
            while True:
                partition = self.partitions[index]
                try:
                    await asyncio.shield(partition.ended)
                except LogRewoundError:
                    await partition.abandon()
                    await self._stacks.pop(name).aclose()
                    # What moved meanwhile is not this one's any more.
                    share = [number for number, slot in partition.slots.items() if not slot.parting]
                    self.partitions[index] = await self._again(name, share)
                else:
                    return
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            if not self._ended.done():
                log.critical("%s is over: %s", name, error, exc_info=error)
                self._ended.set_exception(error)

    async def _again(self, name: str, share: Sequence[int]) -> Partition:
        trouble = Trouble(log, self._clock, f"{name} cannot start (%s); trying on", f"{name} starts after %.1f s")
        while True:
            try:
                started = await self._started(name, share)
            except StoreUnavailableError as error:
                trouble.failed(error)
                await self._clock.sleep(1.0)
            else:
                trouble.worked()
                return started

    async def _close(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in (*self._keepers, *self._resets):
            task.cancel()
        await asyncio.gather(*self._resets, return_exceptions=True)
        # A handler's SystemExit may bring us here a turn before its partition is told what ended the worker (H32).
        await asyncio.sleep(0)  # noqa: TID251 - one turn of the loop, no time
        stops: list[Awaitable[None]] = [
            # What no worker survives may be told before the partition itself has ended of it: nothing is released then.
            partition.abandon() if partition.ended.done() or partition.workers.failed.done() else partition.stop()
            for partition in self.partitions
        ]
        if self.call_worker is not None:
            stops.append(self.call_worker.stop())
        results = await asyncio.gather(*stops, return_exceptions=True)
        for stack in self._stacks.values():
            await stack.aclose()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        self.verdicts.close()
        self._attached.__exit__(None, None, None)
        if self._ended.done() and not self._ended.cancelled():
            self._ended.exception()
        await self._resources.__aexit__(kind, error, trace)
        failures = [result for result in results if isinstance(result, Exception)]
        if failures and error is None:
            raise failures[0]
