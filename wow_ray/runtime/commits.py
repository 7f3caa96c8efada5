"""The group commit: what all slots of a partition have to say, in one guarded transaction, one at a time (H9, H26).

A batch is a snapshot of one loop turn. It is sent again unchanged until it is acknowledged; while our own store is
what failed no handler is called, the waiting commit is the probe (P2). Slots that turn out to be somebody else's are
dropped and the rest is sent. A batch refused for its data is halved until the slot at fault is alone; its rows go in
minimal form, else that slot alone stops (H27).
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from wow_ray.errors import FencedError, StoreDataError, StoreUnavailableError
from wow_ray.failure import minimal
from wow_ray.policy.budget import jitter, wait
from wow_ray.runtime.trouble import Trouble

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from datetime import datetime

    from wow_ray.policy.parked import Row
    from wow_ray.ports.clock import Cancellable, Clock, Dice
    from wow_ray.ports.slots import SlotStore, SlotWrite

log = logging.getLogger("wow_ray.commits")

FIRST_WAIT = 0.1
LONGEST_WAIT = 5.0
"""Waits between two tries of a commit that the store did not take (W4's)."""


class Ledgered(Protocol):
    """The partition, as the commits see it."""

    def snapshot(self) -> list[SlotWrite]:
        """Take what all slots have to say now; empty when nothing has changed."""

    def acknowledged(self, writes: Sequence[SlotWrite], now: datetime) -> None:
        """The batch is in the store, whose time was `now`."""

    def take_back(self, writes: Sequence[SlotWrite]) -> None:
        """The batch was not sent to its end; have the next snapshot contain what it had to say."""

    def batch_done(self) -> None:
        """Every part of the last snapshot is in the store, or belongs to slots that were lost."""

    def store_down(self) -> None:
        """The store did not take the batch; no handler may be called until `store_up`."""

    def store_up(self) -> None:
        """The store took a batch again."""

    def fenced(self, slots: tuple[int, ...]) -> None:
        """These slots have a newer owner."""

    def refused(self, slot: int, error: Exception) -> None:
        """The store will not take this slot's state in any form; the slot alone stops."""


class Commits:
    """Sends batches for one partition."""

    def __init__(self, store: SlotStore, clock: Clock, dice: Dice, interval: float, partition: Ledgered) -> None:
        """Commit every `interval` seconds while there is something to say, or when asked to hurry."""
        self._store = store
        self._clock = clock
        self._dice = dice
        self._interval = interval
        self._partition = partition
        self._go = asyncio.Event()
        self._timer: Cancellable | None = None
        self._after: list[Callable[[], None]] = []
        self._sending = asyncio.Lock()
        self.down_since: float | None = None
        self.last_error = ""
        self._trouble = Trouble(
            log,
            clock,
            "the store is away (%s); no handler is called until the waiting commit is taken",
            "the store is back after %.1f s",
            (logging.ERROR, logging.WARNING),
        )
        self.committed = 0
        """Batches acknowledged so far."""
        self.committed_at = clock.monotonic()
        """When the last one was, monotonic; at first when it began."""
        self._unsaid_since: float | None = None
        self._sending_since: float | None = None

    def poke(self, *, now: bool = False) -> None:
        """Say that something has changed: it is committed within one interval, or at once with `now`."""
        if self._unsaid_since is None:
            self._unsaid_since = self._clock.monotonic()
        if now:
            self._go.set()
        elif self._timer is None:
            self._timer = self._clock.call_at(self._clock.monotonic() + self._interval, self._go.set)

    def after(self, callback: Callable[[], None]) -> None:
        """Call `callback` once everything said up to now is in the store, and hurry."""
        self._after.append(callback)
        self.poke(now=True)

    def waiting(self, now: float) -> float:
        """Give for how many seconds something waits to be in the store; 0 = nothing does (H60)."""
        since = self._sending_since or self._unsaid_since
        return 0.0 if since is None else max(0.0, now - since)

    async def run(self) -> None:
        """Commit for ever; ends by cancellation, between two batches or with one on its way."""
        while True:
            await self._go.wait()
            await self.flush()

    async def flush(self) -> None:
        """Commit what there is now and return once it is acknowledged; waits as long as the store is away."""
        async with self._sending:
            self._go.clear()
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            after, self._after = self._after, []
            since, self._unsaid_since = self._unsaid_since, None
            writes = self._partition.snapshot()
            if writes:
                self._sending_since = since or self._clock.monotonic()
                try:
                    await self._send(writes)
                except BaseException:
                    # Whoever asked was cancelled: what was to be said is said by the next one, again if need be (H26).
                    self._partition.take_back(writes)
                    self._after[:0] = after
                    self._unsaid_since = self._sending_since
                    self._go.set()
                    raise
                finally:
                    self._sending_since = None
            self._partition.batch_done()
            for callback in after:
                callback()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Commit what there is, and let no other commit run inside the block."""
        await self.flush()
        async with self._sending:
            yield

    async def close(self) -> None:
        """Commit what there is and send nothing ever after; what is written then is the caller's."""
        await self.flush()
        await self._sending.acquire()

    async def _send(self, writes: list[SlotWrite]) -> None:
        tries = 0
        while writes:
            try:
                now = await self._store.commit(writes)
            except FencedError as error:
                lost = set(error.slots)
                self._partition.fenced(error.slots)
                writes = [write for write in writes if write.slot not in lost]
            except StoreDataError as error:
                await self._halve(writes, error)
                return
            except StoreUnavailableError as error:
                tries += 1
                await self._away(error, tries)
            else:
                self._back()
                self.committed += 1
                self.committed_at = self._clock.monotonic()
                self._partition.acknowledged(writes, now)
                return

    async def _halve(self, writes: list[SlotWrite], error: StoreDataError) -> None:
        if len(writes) > 1:
            middle = len(writes) // 2
            await self._send(writes[:middle])
            await self._send(writes[middle:])
            return
        write = writes[0]
        plain = replace(
            write,
            rows=tuple(_plain(row) for row in write.rows),
            attempts=tuple(
                replace(note, failure=None if note.failure is None else minimal(note.failure))
                for note in write.attempts
            ),
        )
        if plain == write:
            self._partition.refused(write.slot, error)
            return
        log.warning(
            "slot %d: the store refused a ledger row for its data (%s); written in minimal form", write.slot, error
        )
        await self._send([plain])

    async def _away(self, error: StoreUnavailableError, tries: int) -> None:
        self.last_error = str(error)
        if self.down_since is None:
            self.down_since = self._clock.monotonic()
            self._partition.store_down()
        self._trouble.failed(error)
        await self._clock.sleep(jitter(wait(FIRST_WAIT, 2.0, LONGEST_WAIT, tries), self._dice(), LONGEST_WAIT))

    def _back(self) -> None:
        self._trouble.worked()
        if self.down_since is not None:
            self.down_since = None
            self._partition.store_up()


def _plain(row: Row) -> Row:
    return replace(
        row,
        failure=None if row.failure is None else minimal(row.failure),
        first_cause=None if row.first_cause is None else minimal(row.first_cause),
    )
