"""One start of an app that can be killed: at any moment, with nothing of it going on afterwards and nothing written.

`Process` is a `Scenario` whose tasks and timers die at once in `kill`, as a process under SIGKILL: what the store has
stays, what was only in memory is gone, and calls under way never return. Another `Process` on the same `World` goes
on as the restarted program.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextvars import ContextVar, copy_context
from datetime import datetime
from typing import Any, Self

from tests.unit.parking.desk import Desk
from tests.unit.parking.world import World
from wow_ray.app import App
from wow_ray.errors import ConflictError
from wow_ray.events import AggregateRef
from wow_ray.policy.parked import Verb
from wow_ray.ports.ledger import Intent
from wow_ray.runtime.group import Group
from wow_ray.runtime.pace import Pace
from wow_ray.runtime.partition import Partition
from wow_ray.runtime.service import Service
from wow_ray.testing import Scenario, VirtualClock
from wow_ray.testing.clock import VirtualTimer, at_rest

FAR = 3_600.0
CALM = Pace(idle_poll=FAR, intent_poll=FAR, report_interval=FAR)
"""Polls that do not disturb: `advance` looks for what was appended or asked."""
HASTY = Pace()
"""The polls of a real process."""
PATIENCE = 2_000
"""Steps of 50 ms that a start or a stop may take."""

_PRESENT: ContextVar[Life | None] = ContextVar("_PRESENT", default=None)


class Life:
    """What of one process can end: its tasks, and whether its timers still fire."""

    def __init__(self) -> None:
        self.alive = True
        self.leaseless = False
        self.tasks: set[asyncio.Task[Any]] = set()

    def end(self) -> None:
        """Stop everything at once."""
        self.alive = False
        for task in self.tasks:
            task.cancel()


def _made(loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> asyncio.Task[Any]:  # noqa: ANN401 - the loop's own form
    """Make a task that belongs to the process it was made in."""
    task: asyncio.Task[Any] = asyncio.Task(work, loop=loop, **options)
    life = _PRESENT.get()
    if life is not None:
        life.tasks.add(task)
        task.add_done_callback(life.tasks.discard)
        if not life.alive:
            task.cancel()
    return task


def present() -> Life | None:
    """Give the process that the running code belongs to; `None` = the test itself."""
    return _PRESENT.get()


class ProcessClock(VirtualClock):
    """The world's clock as one process has it: what it asked for does not happen once it is dead."""

    def __init__(self, clock: VirtualClock, life: Life) -> None:
        self._clock = clock
        self._life = life

    def now(self) -> datetime:
        """See `VirtualClock`."""
        return self._clock.now()

    def monotonic(self) -> float:
        """See `VirtualClock`."""
        return self._clock.monotonic()

    def call_at(self, when: float, callback: Callable[[], None]) -> VirtualTimer:
        """See `VirtualClock`; the call is made inside the process that asked for it."""
        context, life = copy_context(), self._life
        return self._clock.call_at(when, lambda: context.run(callback) if life.alive else None)

    async def sleep(self, seconds: float) -> None:
        """See `VirtualClock`."""
        await self._clock.sleep(seconds)

    def next_timer(self) -> float | None:
        """See `VirtualClock`."""
        return self._clock.next_timer()

    async def advance(self, seconds: float, settle: Any = None) -> None:  # noqa: ANN401 - as there
        """Do nothing: time passes only in the world."""


class Process:
    """One start of the app; use it with `async with`, which stops it in order unless it was killed."""

    def __init__(
        self,
        world: World,
        app: App,
        *,
        partitions: int | Mapping[str, Sequence[int]] = 1,
        pace: Pace = CALM,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.world = world
        self.life = Life()
        self._owners: frozenset[str] = frozenset()
        self.scenario = Scenario(
            app,
            {Desk: world.desk},
            partitions=partitions,
            slots=world.slots,
            memory=world.memory,
            clock=ProcessClock(world.clock, self.life),
            pace=pace,
            settings=settings,
        )

    @property
    def service(self) -> Service:
        """What runs."""
        return self.scenario.service

    @property
    def partition(self) -> Partition:
        """The first partition."""
        return self.service.partitions[0]

    def group(self, name: str) -> Group:
        """Give a group of the first partition."""
        return self.partition.by_name[name]

    async def __aenter__(self) -> Self:
        """Start."""
        await self.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        """Stop in order, unless it was killed or the test has failed already."""
        if error[0] is not None:
            await self.kill()
        elif self.life.alive:
            await self.stop()

    async def start(self) -> None:
        """Start; time passes when it needs some. Raises what kept it from starting."""
        await self.world.clock.advance(0.001)  # owners are named by the time they start at
        others = self.world.leases
        try:
            await self._driven(self.scenario.__aenter__())
        finally:
            self._owners = self.world.leases - others

    async def stop(self) -> None:
        """End in order, as for a deployment; time passes meanwhile."""
        await self.stopped(self.begin_to_stop())

    async def kill(self) -> None:
        """End at once; its leases are over, as when another process has seen that it is dead."""
        tasks = list(self.life.tasks)
        self.life.end()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.lose_leases()
        ended = self.service._ended  # noqa: SLF001 - nobody else will ask a dead process what ended it
        if ended.done():
            ended.exception()

    def lose_leases(self) -> None:
        """Let its leases end: it may begin no call any more, and others get its slots."""
        self.life.leaseless = True
        for owner_id in self._owners | {partition.owner.id for partition in self.service.partitions}:
            self.world.memory.lose_lease(owner_id)

    async def _driven(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do something inside the process while time passes as far as it is needed; ends when the process is killed."""
        await self._waited_for(self._inside(work))

    def begin_to_stop(self) -> asyncio.Task[None]:
        """Begin to end in order; `stopped` waits for it."""
        return self._inside(self.service.__aexit__(None, None, None))

    async def stopped(self, stopping: asyncio.Task[None]) -> None:
        """Wait for an end that has begun; time passes meanwhile."""
        await self._waited_for(stopping)
        self.life.end()

    def _inside(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        asyncio.get_running_loop().set_task_factory(_made)
        token = _PRESENT.set(self.life)
        try:
            return asyncio.get_running_loop().create_task(work)
        finally:
            _PRESENT.reset(token)

    async def _waited_for(self, doing: asyncio.Task[Any]) -> None:
        for _ in range(PATIENCE):
            await at_rest()
            if doing.done():
                break
            if self.world.clock.next_timer() is not None:
                await self.world.clock.advance(0.05)
        assert doing.done(), f"not done after {PATIENCE} steps of 50 ms: {doing}"
        if not doing.cancelled() or self.life.alive:
            await doing

    async def advance(self, seconds: float = 0.0) -> None:
        """Look for what was appended or asked, then let time pass."""
        self.service.wake()
        await self.world.clock.advance(seconds)

    async def apply(self, verb: Verb, group: str, ref: AggregateRef, **asked: Any) -> Intent:  # noqa: ANN401 - see `World.ask`
        """Ask for a command and let it be applied; raises `ConflictError` when it is refused."""
        intent = await self.world.answer(await self.ask_and_advance(verb, group, ref, **asked))
        if intent.state == "refused":
            raise ConflictError(f"{intent.code}: {intent.text}")
        assert intent.state == "done", intent
        return intent

    async def ask_and_advance(self, verb: Verb, group: str, ref: AggregateRef, **asked: Any) -> str:  # noqa: ANN401 - as above
        """Ask for a command and give it the time that needs no time."""
        request = await self.world.ask(verb, group, ref, **asked)
        await self.advance()
        return request
