"""The lease of an owner, renewed by a thread of its own with a loop and a connection of its own (H8).

So a loop that is blocked by a handler, or a pool that is used up, does not cost the slots. What counts for the owner is
its own monotonic clock from before each renewal was sent, with a margin; what counts for successors is the database's
clock.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import threading
from collections.abc import Callable
from datetime import datetime

from wow_ray.adapters.clock import monotonic
from wow_ray.adapters.postgres.connect import Database, Sessions
from wow_ray.errors import FencedError, StoreUnavailableError
from wow_ray.policy.outcry import Outcry
from wow_ray.ports.slots import Owner

LEASE_SECONDS = 10.0
RENEW_SECONDS = 1.0
MARGIN_SECONDS = 3.0
PATIENCE_SECONDS = 3.0
"""How long one renewal may take before its connection is given up and another one tried."""
RETRY_SECONDS = 0.2
"""How soon it is tried again: four seconds are left then of the lease, and a new connection takes a moment."""

log = logging.getLogger("wow_ray.partition")


class PostgresLease:
    """`ports.slots.Lease` on Postgres; `valid_until` is in the past while there is no lease."""

    def __init__(self, database: Database, now: Callable[[], float] = monotonic) -> None:
        """Take nothing yet; `now` is the monotonic clock that calls are judged by."""
        self.valid_until = -math.inf
        self.on_lost: Callable[[], None] = lambda: None
        self._database = database
        self._now = now
        self._keeper: _Keeper | None = None

    async def start(self, owner: Owner) -> None:
        """See the port; raises `StoreUnavailableError` when the lease cannot be taken."""
        await self.stop()
        loop = asyncio.get_running_loop()

        def lost() -> None:
            with contextlib.suppress(RuntimeError):  # that loop has ended already
                loop.call_soon_threadsafe(self.on_lost)

        keeper = self._keeper = _Keeper(self._database, owner, self._now, self._valid, lost)
        try:
            await asyncio.to_thread(keeper.begin)
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """See the port; a server that cannot be reached lets the lease run out by itself."""
        keeper, self._keeper = self._keeper, None
        self.valid_until = -math.inf
        if keeper is not None:
            keeper.ask_to_end()
            await asyncio.to_thread(keeper.wait)

    def _valid(self, keeper: _Keeper, until: float) -> None:
        """Be told by the keeper's thread; one that was asked to end has nothing to say any more."""
        if keeper is self._keeper:
            self.valid_until = until


class _Keeper:
    """The thread that renews one owner's lease until it is asked to end, or finds that the lease was taken over."""

    def __init__(
        self,
        database: Database,
        owner: Owner,
        now: Callable[[], float],
        valid: Callable[[_Keeper, float], None],
        lost: Callable[[], None],
    ) -> None:
        self._database = database
        self._owner = owner
        self._now = now
        self._valid = valid
        self._lost = lost
        self._taken = threading.Event()
        self._error: BaseException | None = None
        self._loop = asyncio.new_event_loop()
        self._end = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name=f"wow-ray lease {owner.partition}", daemon=True)

    def begin(self) -> None:
        """Start the thread and wait until the lease is taken; raises what went wrong."""
        self._thread.start()
        self._taken.wait()
        if self._error is not None:
            raise self._error

    def ask_to_end(self) -> None:
        """Let no further call begin, and tell the thread to end the lease."""
        with contextlib.suppress(RuntimeError):  # the loop has ended already
            self._loop.call_soon_threadsafe(self._end.set)

    def wait(self) -> None:
        """Wait until the thread has ended."""
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        """Live in the thread."""
        with contextlib.closing(self._loop):
            self._loop.run_until_complete(self._kept())

    async def _kept(self) -> None:
        """Take the lease, renew it, end it."""
        sessions = Sessions(self._database, "lease")
        try:
            await self._begin(sessions)
            if self._error is None:
                await self._renewed(sessions)
        finally:
            self._valid(self, -math.inf)
            self._taken.set()
            with contextlib.suppress(Exception):  # it runs out by itself
                async with asyncio.timeout(PATIENCE_SECONDS), sessions.use() as session:
                    await session.fetch("end_lease", self._owner.id)
            await sessions.close()

    async def _begin(self, sessions: Sessions) -> None:
        """Take the lease."""
        sent = self._now()
        owner = self._owner
        try:
            async with asyncio.timeout(PATIENCE_SECONDS + RENEW_SECONDS), sessions.use() as session:
                await session.fetch(
                    "begin_lease",
                    owner.id,
                    owner.partition,
                    owner.host,
                    owner.pid,
                    owner.process_started,
                    LEASE_SECONDS,
                    not self._database.pgbouncer,
                )
        except Exception as error:  # noqa: BLE001 - handed to the thread that asked
            self._error = (
                error if isinstance(error, StoreUnavailableError) else StoreUnavailableError(f"no lease: {error!r}")
            )
        else:
            self._valid(self, sent + LEASE_SECONDS - MARGIN_SECONDS)
        self._taken.set()

    async def _renewed(self, sessions: Sessions) -> None:
        """Renew each second; a server that does not answer, or refuses us, is asked again.

        Meanwhile the lease runs out. Nothing but its end ends the thread: without it no call would ever begin again.
        """
        outcry, wait = Outcry(), RENEW_SECONDS
        while not await self._asked_to_end(wait):
            sent = self._now()
            try:
                await self._renew(sessions)
            except FencedError:
                self._valid(self, -math.inf)
                self._lost()
                return
            except Exception as error:  # noqa: BLE001 - whatever it is, the next try may get past it
                wait = RETRY_SECONDS
                if outcry.failed(self._now()):
                    log.warning("the lease of %s cannot be renewed (%r); trying on", self._owner.partition, error)
            else:
                wait = RENEW_SECONDS
                outcry.worked(sent)
                self._valid(self, sent + LEASE_SECONDS - MARGIN_SECONDS)

    async def _renew(self, sessions: Sessions) -> None:
        """Renew once; raises `FencedError` when the lease was taken over."""
        async with asyncio.timeout(PATIENCE_SECONDS), sessions.use() as session:
            pid: int | None = None
            started: datetime | None = None
            if not self._database.pgbouncer:
                pid, started = await session.one("own_session")
            if not await session.fetch("renew_lease", self._owner.id, LEASE_SECONDS, pid, started):
                msg = f"the lease of {self._owner.partition} was taken over"
                raise FencedError(msg)

    async def _asked_to_end(self, wait: float) -> bool:
        """Wait for the next renewal; `True` = it is time to end."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._end.wait(), wait)
        return self._end.is_set()
