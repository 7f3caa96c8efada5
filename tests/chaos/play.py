"""Plans of what happens to a world, and playing one: events, failures, commands, crashes, take-overs, in any order."""

from __future__ import annotations

import asyncio

from tests.chaos.network import WatchedStore
from tests.chaos.plans import (
    HANDLERS,
    ORDERS,
    OUTCOMES,
    Append,
    Command,
    Fail,
    Hold,
    Kill,
    Move,
    Pass,
    Plan,
    Slow,
    Start,
    Step,
    Stop,
    Trick,
)
from tests.chaos.watch import WANTED, Watch
from tests.unit.parking.desk import (
    SUMS,
    Courier,
    Mailer,
    Moved,
    Noted,
    Outcome,
    Sums,
    order,
    shop,
)
from tests.unit.parking.process import HASTY, Process
from tests.unit.parking.world import World
from tests.unit.pausing import end, pause, present
from wow_ray.errors import FencedError, StoreUnavailableError
from wow_ray.events import AggregateRef
from wow_ray.policy.parked import State, Verb
from wow_ray.policy.pauses import PauseReason
from wow_ray.testing.clock import at_rest

SETTINGS = {
    "subscription": {
        "retry": {"max_attempts": 2, "initial_backoff": "50ms", "timeout": "3s"},
        "parked": {"max_retries": 3, "initial_delay": "2s", "max_delay": "8s"},
        "backpressure": {"max_attempts": 3},
        "systemic": {"initial_probe": "50ms", "max_probe": "1s", "mass_parks": 0},
    }
}
STOPPED_AT_REST = frozenset({State.PARKED, State.EXHAUSTED})


class Player:
    """Plays one plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.world = World(slots=2, store=WatchedStore)
        store = self.world.memory
        assert isinstance(store, WatchedStore)
        self.store = store
        self.store.seeded(plan.seed)
        self.watch = self.store.watch = Watch(self.world)
        self.app = shop(Mailer, Courier, Sums)
        self.present: Process | None = None
        self.former: list[Process] = []
        self.first: frozenset[int] | None = None
        """What the first partition is to own by the plan; `None` = as at the start."""
        for trick in plan.tricks:
            self._script(trick)

    async def play(self) -> None:
        """Play all of it, then let everything come to rest and check it."""
        try:
            for step in self.plan.steps:
                await self._step(step)
                self._judge()
            await self._rest()
            self.watch.finish()
            self._judge()
        finally:
            for process in (*self.former, self.present):
                if process is not None:
                    await process.kill()

    def _script(self, trick: Trick) -> None:
        outcomes: list[Outcome] = [OUTCOMES[name] for name in trick.outcomes]
        desk, where = self.world.desk, (ORDERS[trick.order], trick.version)
        desk.then(*where, *outcomes, handler=HANDLERS[trick.handler])
        if trick.always:
            desk.always(*where, outcomes[-1], handler=HANDLERS[trick.handler])

    async def _step(self, step: Step) -> None:  # noqa: C901, PLR0912 - one case a step
        process = self.present
        match step:
            case Append():
                await self._append(step)
            case Pass(seconds, look):
                if process is None:
                    await self._start(1, over=False)
                elif look:
                    process.service.wake()
                await self.world.clock.advance(seconds)
            case Kill(0):
                if process is not None:
                    await self._gone(process)
            case Kill(operations):
                if process is not None:
                    self.store.network.fuse = (process.life, operations)
            case Stop():
                if process is not None:
                    await process.stop()
                    await self._gone(process)
            case Start(partitions, over):
                await self._start(partitions, over=over)
            case Command():
                await self._command(step)
            case Fail(operation, at, times):
                self.store.fail_next(operation, StoreUnavailableError("away"), times, at=at)
            case Hold():
                await self._hold(step)
            case Move(first):
                self.first = frozenset(first)
            case Slow(share):
                self.store.network.slowness = share
        self._follow()
        if self.present is not None and not self.present.life.alive:
            await self._gone(self.present)

    def _follow(self) -> None:
        """Have slots move as the plan says; as an actor does it looks again and again, since slots come late."""
        first, process = self.first, self.present
        if first is None or process is None:
            return
        partitions = process.service.partitions
        if len(partitions) == self.world.slots:
            for partition, share in zip(partitions, (first, frozenset({0, 1}) - first), strict=True):
                partition.joining.want(share)
                partition.leaving.want(partition.slots.keys() - share)

    async def _append(self, step: Append) -> None:
        ref = order(ORDERS[step.order])
        for number in range(step.commits):
            events = [Noted() if number < step.notes else Moved()]
            if number % 3 == 1:
                events.append(Moved())
            await self.world.store.append(ref, events, expected_version=None)

    async def _start(self, partitions: int, *, over: bool) -> None:
        process = self.present
        if process is not None:
            if not over:
                return
            process.lose_leases()
            self.former.append(process)
        self.present = Process(self.world, self.app, partitions=partitions, pace=HASTY, settings=SETTINGS)
        self.watch.begins(self.present.life)
        self.first = None
        try:
            await self.present.start()
        except StoreUnavailableError:
            await self._gone(self.present)

    async def _gone(self, process: Process) -> None:
        self.store.network.fuse = None
        await process.kill()
        self.present = None

    async def _command(self, step: Command) -> None:
        rows = self.store._server.rows  # noqa: SLF001 - looks into the store
        opened = sorted(rows.open)
        if opened:
            group, aggregate, id_ = opened[step.row % len(opened)]
            ref = AggregateRef("", aggregate, id_)
        else:
            group, ref = tuple(WANTED)[step.group], order(ORDERS[step.order])
        group = SUMS if step.verb is Verb.RESET else group
        row = rows.by_id.get(rows.open.get((group, ref.aggregate, ref.id), ""))
        etag = None if row is None or step.etag == "any" else row.etag - (step.etag == "stale")
        for _ in range(1 + step.twice):
            await self.world.ask(step.verb, group, ref, row=row, etag=etag, through_version=step.through)
        if self.present is not None:
            self.present.service.wake()

    async def _hold(self, step: Hold) -> None:
        group = tuple(WANTED)[step.group]
        if group not in self.store._server.registry.groups:  # noqa: SLF001 - as above
            return
        await (pause if step.on else end)(self.store, group, PauseReason(step.reason), step.partition)

    async def _rest(self) -> None:
        """Take away every trouble, end every pause, and resume until nobody is parked."""
        store, clock = self.store, self.world.clock
        store.network.jumpy, store.network.slowness, store.network.fuse = False, 0.0, None
        for operation in (
            "slots.commit",
            "slots.let_go",
            "slots.acquire_free",
            "effects.commit",
            "drains.streams",
            "reader.page",
            "effects.begin",
            "ledger.read",
        ):
            store.fail_next(operation, RuntimeError(), times=0, at="start")
            store.fail_next(operation, RuntimeError(), times=0, at="end")
        self.world.desk.forgive()
        for group, reason, partition in await present(self.store):
            await end(self.store, group, PauseReason(reason), partition)
        await at_rest()
        if self.present is not None and not self.present.life.alive:
            await self._gone(self.present)
        if self.present is None:
            await self._start(1, over=False)
        assert self.present is not None
        for _ in range(12):
            self._follow()
            self.present.service.wake()
            await clock.advance(15.0)
            rows = await self.world.rows(*STOPPED_AT_REST)
            for row in rows:
                await self.world.ask(Verb.RESUME, row.group, AggregateRef("", row.aggregate, row.aggregate_id))
            if not rows and not await self.world.rows(State.WAITING, State.RETRYING):
                break

    def _judge(self) -> None:
        """Fail with everything that was found wrong, and with what ended a process that nobody ended."""
        faults = list(self.watch.faults)
        for process in (self.present,) if self.present is not None else ():
            for partition in process.service.partitions:
                error = partition.ended.exception() if partition.ended.done() else None
                if error is not None:
                    faults.append(f"a partition ended by itself: {error!r}")
        for process in self.former:
            for partition in process.service.partitions:
                error = partition.ended.exception() if partition.ended.done() else None
                if error is not None and not isinstance(error, FencedError):
                    faults.append(f"a zombie ended otherwise than by its fence: {error!r}")
        assert not faults, "\n".join(["", *faults, f"in {self.plan}"])


def play(plan: Plan) -> Player:
    """Play a plan in a loop of its own; raises `AssertionError` with what was wrong and the plan."""
    player = Player(plan)
    asyncio.run(player.play())
    return player
