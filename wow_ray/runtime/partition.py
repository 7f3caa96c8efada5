"""A partition: some slots, all groups, one event loop; everything of `wow_ray.runtime` put together.

It owns its slots from `start` to `stop` and runs whole in one process. Its tasks are the feed, the commits, the
drains and the intents; the workers come and go with the work. When one of them fails, or the last slot is lost, or
the log went back, the partition is over: `ended` carries the reason, and whoever hosts it starts a new one, which
loads what the store says (H14, H18).
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from wow_ray.errors import FencedError, StoreDataError, StoreUnavailableError
from wow_ray.runtime.calls import Calls
from wow_ray.runtime.caution import Caution
from wow_ray.runtime.commits import Commits
from wow_ray.runtime.deadlines import Deadlines
from wow_ray.runtime.drains import Drains
from wow_ray.runtime.feed import Feed, LogRewoundError
from wow_ray.runtime.going_on import GoingOn
from wow_ray.runtime.holdings import Holdings
from wow_ray.runtime.intents import Intents
from wow_ray.runtime.joining import Joining
from wow_ray.runtime.leaving import Leaving
from wow_ray.runtime.loading import take_over
from wow_ray.runtime.outages import Outages
from wow_ray.runtime.parking import Parking
from wow_ray.runtime.pause_notes import PauseNotes, note_pause
from wow_ray.runtime.reporting import Reporting
from wow_ray.runtime.rows import Rows
from wow_ray.runtime.stops import Stops
from wow_ray.runtime.store_time import StoreTime
from wow_ray.runtime.timers import Timers
from wow_ray.runtime.turns import Turns
from wow_ray.runtime.unparking import Unparking
from wow_ray.runtime.waiting import within
from wow_ray.runtime.wiring import attempts_of, settling_of
from wow_ray.runtime.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from datetime import datetime

    from wow_ray.handlers.specs import AppSpec
    from wow_ray.ports.clock import Clock, Dice
    from wow_ray.ports.slots import Owner
    from wow_ray.ports.stores import PartitionStores
    from wow_ray.runtime.deadlines import Call
    from wow_ray.runtime.group import Group
    from wow_ray.runtime.lane import Lane
    from wow_ray.runtime.pace import Pace
    from wow_ray.runtime.verdicts import Verdicts

log = logging.getLogger("wow_ray.partition")

INTERRUPT_BOUND, COMMIT_BOUND = 1.0, 10.0
"""Seconds given to calls that were interrupted, and to the last commit."""


class Partition:
    """Owns slots and handles their events."""

    def __init__(
        self,
        owner: Owner,
        spec: AppSpec,
        groups: Sequence[Group],
        stores: PartitionStores,
        *,
        clock: Clock,
        dice: Dice,
        ids: Callable[[], str],
        verdicts: Verdicts,
        pace: Pace,
        turns: Turns | None = None,
        release: str = "",
    ) -> None:
        """`groups` are made for this partition alone; `ids` gives the ids of new ledger rows.

        `turns` are those of the process, shared by its partitions; `release` is what people are told of the program.
        """
        self.owner = owner
        self.release = release
        self.stores = stores
        self.pace = pace
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.on_due: Callable[[datetime], None] = lambda _: None
        """Told of each time at which a parked row comes due."""
        self._clock = clock
        self._tasks: list[asyncio.Task[None]] = []
        self.stopping = False
        self._threads = ThreadPoolExecutor(max_workers=1024, thread_name_prefix=f"wow-ray-{owner.partition}")
        self.time = StoreTime(clock)
        self.timers = Timers(clock, self._due)
        self.deadlines = Deadlines(clock, self._abandoned)
        self.workers = Workers(pace.concurrency, clock, self._run_lane, self._quick, self._slice)
        self.holdings = Holdings(groups, self.workers, self.time)
        self.slots, self.groups, self.by_name = self.holdings.slots, self.holdings.groups, self.holdings.by_name
        self.commits = Commits(stores.slots, clock, dice, pace.commit_interval, self.holdings)
        rows = Rows(clock, dice, ids, self)
        self.unparking = Unparking(rows)
        self.drains = Drains(stores.drains, clock, self.workers, self.unparking)
        self.unparking.drains = self.holdings.drains = self.drains
        self.unparking.going_on = self.going_on = GoingOn(stores.ledger, clock, self)
        self.parking = Parking(rows, self.drains, self.unparking)
        self.feed = Feed(stores.reader, clock, self, pace.idle_poll)
        self.holdings.room, self.holdings.empty = self.feed.wake, self._overtaken
        self.intents = Intents(stores.ledger, stores.drains, clock, ids, pace.intent_poll, self)
        self.notes = PauseNotes(stores.pauses, clock, owner.partition)
        self.stops = Stops(stores.pauses, clock, pace.intent_poll, owner.partition, self)
        self.reporting = Reporting(stores.reports, clock, self)
        self.outages = Outages(clock, dice, self.time.now, self.timers, self.workers, self.unparking)
        self.outages.probes.changed = self._pause_changed
        self.notes.on_lifted = lambda group, _: self.outages.lift(group)
        self.settling = settling_of(self, clock, dice, verdicts)
        calls = Calls(clock, self.deadlines, self._threads, self.workers.others)
        self.attempts = attempts_of(self, spec, clock, calls)
        self.leaving, self.joining = Leaving(clock, self), Joining(clock, self)
        self.caution = self.unparking.caution = Caution(clock, rows, turns or Turns(), self)

    # --- life

    async def start(self, slots: Sequence[int]) -> None:
        """Take the lease and the slots, load what they hold, and begin.

        Raises what the store raises; then nothing runs.
        """
        self.stores.lease.on_lost = self._overtaken
        await self.stores.lease.start(self.owner)
        acquired = await self.stores.slots.acquire(self.owner, slots)
        self.time.heard(acquired.now)
        await self.stops.load()
        await take_over(self, acquired, self.stores.reader, self.feed, self.unparking, joins=False)
        parts = (self.feed, self.commits, self.drains, self.intents, self.going_on, self.leaving, self.joining)
        for part in (*parts, self.stops, self.notes, self.reporting):
            self._tasks.append(asyncio.get_running_loop().create_task(self._watched(part.run())))
        self.workers.failed.add_done_callback(lambda failed: self._end(failed.exception()))
        self.commits.poke()

    async def stop(self) -> None:
        """End in order: calls under way may end, what is done is committed, the slots are released (B4, S48).

        Calls that have not ended within the bound are interrupted, which is no attempt. A slot with a call that does
        not end even then is not released: it moves only once this process has ended (H25). When the store is away
        nothing is written any more; a successor waits for the lease and repeats at most W (L2).
        """
        if self.stopping:
            return
        self.stopping = True
        self.workers.close("stop")
        await self._calls_end(self.pace.drain_bound)
        self.deadlines.interrupt()
        await self._calls_end(INTERRUPT_BOUND)
        stuck = {call.lane.slot.number for call in self.deadlines.calls}
        self.workers.stop()
        try:
            await within(self._clock, COMMIT_BOUND, self.commits.close())
            for group in self.groups.values():
                for lane in group.lanes.values():
                    self.unparking.give_back(lane)
            leaving = [write for write in self.holdings.snapshot(everything=True) if write.slot not in stuck]
            await within(self._clock, COMMIT_BOUND, self.stores.slots.release(leaving, self.owner))
            await within(self._clock, COMMIT_BOUND, self.notes.close())
            await within(self._clock, COMMIT_BOUND, self.reporting.close())
        except (StoreUnavailableError, StoreDataError, FencedError, TimeoutError) as error:
            log.warning("%s: not everything could be released (%s); a successor waits", self.owner.partition, error)
        if stuck:
            log.error("slots %s keep calls that do not end; they move once this process has ended", sorted(stuck))
        await self._over(keep_lease=bool(stuck))

    async def abandon(self) -> None:
        """Stop at once without writing anything, as a crash would; for a partition that is over (L3)."""
        self.stopping = True
        self.workers.close("stop")
        self.deadlines.interrupt()
        await self._calls_end(INTERRUPT_BOUND)
        self.workers.stop()
        await self._over(keep_lease=False)

    async def _over(self, *, keep_lease: bool) -> None:
        self.timers.stop()
        self.caution.close()
        self.outages.probes.stop(list(self.groups.values()))
        self.deadlines.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if not keep_lease:
            await self.stores.lease.stop()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._end(None)

    async def _calls_end(self, bound: float) -> None:
        until = self._clock.monotonic() + bound
        while self.workers.busy and self._clock.monotonic() < until:
            await self._clock.sleep(0.01)

    async def _watched(self, loop: Coroutine[Any, Any, None]) -> None:
        try:
            await loop
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever ended the loop ends the partition
            self._end(error)

    def _end(self, error: BaseException | None) -> None:
        if self.ended.done():
            return
        if error is None:
            self.ended.set_result(None)
        else:
            self.workers.close("ended")
            self.ended.set_exception(error)
            self.ended.exception()  # seen: whoever hosts it asks, and may be gone already

    def _overtaken(self, slots: tuple[int, ...] = ()) -> None:
        self._end(FencedError(f"the slots of {self.owner.partition} have newer owners", slots))

    # --- for the feed

    def has_work(self, group: Group) -> None:
        """See `Dispatching`."""
        self.workers.activate(group)

    def spill(self, lane: Lane) -> None:
        """See `Dispatching`."""
        self.parking.spill_full(lane)

    def dispatched(self) -> None:
        """See `Dispatching`."""
        self.commits.poke()
        now = self._clock.monotonic()
        for group in self.groups.values():
            group.mass.beat(now, group.lanes_done)

    def rewound(self, slot: int, cursor: int, head: int) -> None:
        """See `Dispatching`: end, so that everything is loaded anew."""
        text = f"slot {slot}: read up to {cursor}, but the log ends at {head}: the database was replaced or set back"
        log.critical("%s; events above %d may be handled again", text, head)
        raise LogRewoundError(text)

    # --- for the ledger's side and the outcomes

    def store_now(self) -> datetime:
        """See `Home`, `Facts`, `Owning`."""
        return self.time.now()

    def command(self, lane: Lane) -> None:
        """See `Facts`: the call that an intent waited for has ended; the lane stands still until it is applied."""
        del lane
        self.intents.nudge()

    def _pause_changed(self, group: Group) -> None:
        """Have people see how a pause of the partition's own stands, or that it is over."""
        note_pause(group, self.notes, self._clock.monotonic(), self.store_now())
        self.reporting.hurry()
        self.feed.wake()
        self.going_on.look()
        self.on_due(self.store_now())

    # --- for the workers, timers and deadlines

    async def _run_lane(self, lane: Lane, task: asyncio.Task[None]) -> None:
        await (self.caution if self.caution.active or lane.careful else self.attempts).run(lane, task)

    def _quick(self, lane: Lane, most: int, until: float) -> tuple[Lane | None, int]:
        return self.attempts.rush.quick(lane, most, until)

    def _due(self, lane: Lane) -> None:
        self.settling.due(lane)

    def _abandoned(self, call: Call) -> None:
        self.parking.not_ending(call)
        self.workers.abandon(call.lane)

    def _slice(self) -> None:
        for group in self.groups.values():
            if group.settled >= self.pace.commit_events:
                self.commits.poke(now=True)
                return
            if group.settled:
                self.commits.poke()
