"""Where the handlers of a run work: they call the other side over HTTP, and every call is noted.

The client is aiohttp: httpx takes 4.5 ms of a core for a request on the machine this was written on, aiohttp 0.16 ms,
and a client that fills the core would be all that is measured.
"""

import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import ClientSession, TCPConnector

from benchmarks.checkers import Checker
from benchmarks.running import until
from benchmarks.workload import CONTEXT, Booked, account
from wow_ray import App, Event, on_event
from wow_ray.adapters.postgres import Database
from wow_ray.handlers.specs import Start
from wow_ray.policy.slots import shares, slot_of

NEVER = float("inf")


@dataclass(slots=True)
class Call:
    """One call of the handler, with its times on the monotonic clock; `error` is empty once it has succeeded."""

    account: str
    partition: str
    began: float
    ended: float = NEVER
    error: str = "not ended"


class Desk:
    """What one run's handlers do and what is seen of it."""

    def __init__(self, session: ClientSession, url: str, database: Database, partitions: int = 1) -> None:
        """Call `url`, from a service of so many partitions."""
        self.calls: list[Call] = []
        self.checker = Checker()
        self.by_partition: dict[str, int] = defaultdict(int)
        """Events handled so far."""
        self.under_way = 0
        self.latest = time.monotonic()
        """When the latest call ended."""
        self.early = 0.0
        """The share of the events that are handled without touching the other side."""
        self.elsewhere: dict[str, str] = {}
        """Accounts whose calls go to an address of their own."""
        self.broken: frozenset[str] = frozenset()
        """Accounts at which the handler fails by itself, as after a bad deploy."""
        self._session = session
        self._url = url
        self._slots = database.slots
        self._partition_of = {
            slot: f"{CONTEXT}-{index}"
            for index, share in enumerate(shares(database.slots, partitions))
            for slot in share
        }

    def partition_of(self, name: str) -> str:
        """Name the partition that an account lies in."""
        return self._partition_of[slot_of(CONTEXT, account.name, name, self._slots)]

    async def handle(self, body: Booked) -> None:
        """Handle one event."""
        call = Call(body.account, self.partition_of(body.account), time.monotonic())
        self.calls.append(call)
        self.under_way += 1
        try:
            if body.items[0].cents % 100 >= self.early * 100:
                await self._post(body)
        except Exception as error:
            call.error = type(error).__name__
            raise
        else:
            call.error = ""
            self.checker.saw(body.account, body.number)
            self.by_partition[call.partition] += 1
        finally:
            call.ended = self.latest = time.monotonic()
            self.under_way -= 1

    async def _post(self, body: Booked) -> None:
        if body.account in self.broken:
            raise KeyError(body.account)
        url = self.elsewhere.get(body.account, self._url)
        async with self._session.post(url, data=body.note) as answer:
            answer.raise_for_status()

    def reactor(self, app: App, start: Start, name: str = "Ship") -> None:
        """Give the app the reactor that works here."""
        desk = self

        class Ship:
            @on_event
            async def on_booked(self, event: Event[Booked]) -> None:
                await desk.handle(event.body)

        app.reactor(name=name, start=start)(Ship)

    def of(self, partition: str) -> list[Call]:
        """List the calls of one partition, in the order in which they began."""
        return [call for call in self.calls if call.partition == partition]

    async def handled(self, events: int) -> float:
        """Wait until so many are handled; answers the time."""
        return await until(lambda: self.checker.seen >= events, f"{events:,} events are handled", 120.0)

    def quiet(self, seconds: float = 2.0) -> bool:
        """Tell whether no call is under way, and none was for so many seconds: longer than a live retry waits."""
        now = time.monotonic()
        return not self.under_way and now - self.latest >= seconds

    def begun(self, since: float, until: float) -> list[Call]:
        """List the calls that began within."""
        return [call for call in self.calls if since <= call.began < until]


@asynccontextmanager
async def desk_at(url: str, database: Database, partitions: int = 1) -> AsyncIterator[Desk]:
    """Open the client, with as many connections as there are calls."""
    async with ClientSession(connector=TCPConnector(limit=0)) as session:
        yield Desk(session, url, database, partitions)


def third_failure(calls: Sequence[Call], since: float) -> float | None:
    """Give the time at which, after `since`, the third different account failed; `None` = so many never did."""
    failed: set[str] = set()
    for call in sorted(
        (call for call in calls if call.error and since <= call.ended < NEVER), key=lambda call: call.ended
    ):
        failed.add(call.account)
        if len(failed) == 3:
            return call.ended
    return None


def at_once(calls: Iterable[Call]) -> int:
    """Count the most of these calls that were under way at the same time."""
    moments = sorted((at, change) for call in calls for at, change in ((call.began, 1), (call.ended, -1)))
    most = now = 0
    for _, change in moments:
        now += change
        most = max(most, now)
    return most


def rate_back(calls: Sequence[Call], rate: float, since: float, window: float = 0.2) -> float:
    """Give the seconds after `since` until first as many were handled within a window as at that rate.

    Where that never came, it is as long as until the last was handled, and longer.
    """
    done = [call.ended for call in calls if not call.error and since <= call.ended < NEVER]
    done.sort()
    wanted = max(1, round(rate * window))
    ends = (last - since for first, last in zip(done, done[wanted - 1 :], strict=False) if last - first <= window)
    return next(ends, done[-1] - since + window if done else 3600.0)
