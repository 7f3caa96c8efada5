"""A whole app in a test: the real runtime on the store in memory, in virtual time.

`async with Scenario(app, {Buyers: fake}) as running:` takes the place of servers and waiting. Events are appended
through `running.store`; nothing is handled before `await running.advance("16s")` lets time pass: then everything that
falls into that time happens, in order. What is not wow-ray's is real: a handler that itself sleeps or does I/O is
given a few milliseconds for it each time.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any

from wow_ray.adapters.failures import modules, wants_jitter
from wow_ray.adapters.memory import MemoryStore
from wow_ray.durations import Duration, seconds
from wow_ray.errors import ConflictError, NotFoundError
from wow_ray.events import AggregateRef
from wow_ray.policy.durable_call import CallRow, CallState
from wow_ray.policy.parked import Row, State, Verb
from wow_ray.policy.slots import slot_of
from wow_ray.ports.durable_calls import CallFilter
from wow_ray.ports.ledger import Intent, NewIntent, RowFilter
from wow_ray.ports.slots import Owner
from wow_ray.runtime.asking import BOUND
from wow_ray.runtime.durable_calls import CallPace
from wow_ray.runtime.pace import Pace
from wow_ray.runtime.service import Service
from wow_ray.settings import load
from wow_ray.testing.clock import ScriptedDice, VirtualClock, at_rest, dice
from wow_ray.testing.connection import RecordingConnection
from wow_ray.testing.views import ParkedView

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from wow_ray.app import App
    from wow_ray.ports.event_log import EventStore
    from wow_ray.ports.stores import PartitionStores
    from wow_ray.runtime.call_run import CallRun
    from wow_ray.runtime.deadlines import Call

FAR = 3_600.0
"""Seconds between polls: appends and intents made through the scenario wake the runtime by themselves."""
SHOWN = frozenset({State.PARKED, State.RETRYING, State.EXHAUSTED})
_ROW_IDS = itertools.count(1)
_REQUESTS = itertools.count(1)
PATIENCE = 0.05
"""Real seconds given to a call that waits for something real, before time goes on without it."""


class Running:
    """An app that runs in a `Scenario`."""

    def __init__(self, scenario: Scenario, service: Service) -> None:
        """Made by `Scenario`."""
        self._scenario = scenario
        self.service = service
        self.clock = scenario.clock
        self.memory = scenario.memory
        self._waited: set[Call | CallRun] = set()

    @property
    def store(self) -> EventStore:
        """Append here; refs need no context."""
        return self.service.client.events

    async def advance(self, by: Duration) -> None:
        """Let time pass, after a look at what was appended or asked; all that falls due happens before this returns."""
        self.service.wake()
        await self.clock.advance(seconds(by, "advance", zero=True), self._settled)

    async def parked(self) -> Sequence[ParkedView]:
        """Give the aggregates that are parked now, in the order of their rows; spilled ones are not shown (P0)."""
        return [ParkedView.of(row) for row in await self.rows(SHOWN)]

    async def rows(self, states: frozenset[State] | None = None) -> Sequence[Row]:
        """Give the ledger's rows in these states, or all, ended ones too."""
        return await self.service.client.ledger.rows(
            RowFilter(frozenset(State) if states is None else states, limit=100_000)
        )

    async def calls(self, *states: CallState) -> Sequence[CallRow]:
        """Give the durable calls in these states, or all that are kept, in the order of their ids."""
        wanted = CallFilter(frozenset(states or CallState), limit=100_000)
        return await self.service.client.calls.rows(wanted)

    async def resume(self, parked: ParkedView, *, reason: str) -> None:
        """Ask for a resume and let it be applied; raises `ConflictError` with the text when it is refused."""
        await self.ask(Verb.RESUME, parked, reason=reason)

    async def skip(self, parked: ParkedView, *, reason: str, through_version: int | None = None) -> Mapping[str, Any]:
        """Ask for a skip through a version (`None` = all held events); answers what is passed over."""
        return (await self.ask(Verb.SKIP, parked, reason=reason, through_version=through_version)).outcome

    async def skip_one(self, parked: ParkedView, *, reason: str) -> Mapping[str, Any]:
        """Ask to pass over the event it stopped at and go on behind it; answers what is passed over."""
        return (await self.ask(Verb.SKIP_ONE, parked, reason=reason)).outcome

    async def retry_now(self, parked: ParkedView, *, reason: str) -> None:
        """Ask for the next parked retry at once."""
        await self.ask(Verb.RETRY_NOW, parked, reason=reason)

    async def park(self, group: str, ref: AggregateRef, *, reason: str) -> ParkedView:
        """Park an aggregate of a group on purpose."""
        intent = await self.intend(Verb.PARK, group, ref, reason=reason)
        return ParkedView.of(await self._row(str(intent.outcome["row"])))

    async def reset(self, group: str, *, reason: str) -> None:
        """Let a projection begin anew (L6); raises `ConflictError` with the text when it is refused."""
        await self.intend(Verb.RESET, group, AggregateRef("", "", ""), reason=reason)

    async def ask(
        self,
        verb: Verb,
        parked: ParkedView,
        *,
        reason: str,
        through_version: int | None = None,
        etag: int | None = None,
    ) -> Intent:
        """Ask for any command on a row; raises `ConflictError` when it is refused."""
        row = await self._row(parked.id)
        ref = AggregateRef("", row.aggregate, row.aggregate_id)
        return await self.intend(
            verb, row.group, ref, reason=reason, row=row, through_version=through_version, etag=etag
        )

    async def intend(
        self,
        verb: Verb,
        group: str,
        ref: AggregateRef,
        *,
        reason: str,
        row: Row | None = None,
        through_version: int | None = None,
        etag: int | None = None,
        request_id: str | None = None,
    ) -> Intent:
        """Store an intent and let its owner apply it."""
        ledger = self.service.client.ledger
        context, slots = self.service.spec.context, self._scenario.slots
        slot = 0 if verb is Verb.RESET else slot_of(context, ref.aggregate, ref.id, slots)
        request_id = request_id or f"request-{next(_REQUESTS)}"
        await ledger.ask(
            NewIntent(
                request_id=request_id,
                verb=verb,
                group=group,
                slot=slot,
                aggregate=ref.aggregate,
                aggregate_id=ref.id,
                row_id=None if row is None else row.id,
                etag=etag,
                through_version=through_version,
                actor="test",
                reason=reason,
            )
        )
        await self.advance("1s" if verb is Verb.RESET else "0s")
        intent = await ledger.intent(request_id)
        assert intent is not None  # noqa: S101 - stored above
        if intent.state == "refused":
            raise ConflictError(f"{intent.code}: {intent.text}")
        return intent

    async def _row(self, row_id: str) -> Row:
        row = await self.service.client.ledger.row(row_id)
        if row is None:
            raise NotFoundError(f"there is no row {row_id!r}")
        return row

    async def _settled(self) -> None:
        """Let everything happen that needs no more time.

        A call that waits for something real is given a little real time, once; a classifier in its thread a second, as
        everywhere.
        """
        await at_rest()
        await self._answered()
        present = self._calls()
        self._waited &= present
        fresh = present - self._waited
        loop = asyncio.get_running_loop()
        until = loop.time() + PATIENCE
        while fresh and loop.time() < until:
            await asyncio.sleep(0.001)  # noqa: TID251 - real time for what is really waiting
            await at_rest()
            await self._answered()
            fresh &= self._calls()
        self._waited |= fresh

    async def _answered(self) -> None:
        """Wait for the answers of classifiers that are asked in a thread."""
        loop = asyncio.get_running_loop()
        until = loop.time() + BOUND
        while self.service.verdicts.asking and loop.time() < until:
            await asyncio.sleep(0.001)  # noqa: TID251 - real time for a real thread
            await at_rest()

    def _calls(self) -> set[Call | CallRun]:
        """Give the calls that are under way and have waited, of handlers and of durable functions."""
        found: set[Call | CallRun] = {call for each in self.service.partitions for call in each.deadlines.calls}
        worker = self.service.call_worker
        return found if worker is None else found | {run for run in worker.runs.values() if run.attempt.waiting}


class Scenario:
    """An app on the store in memory and in virtual time; see the module.

    `resources` take the place of providers, by type.
    """

    def __init__(
        self,
        app: App,
        resources: Mapping[type[Any], Any] | None = None,
        *,
        connect: Callable[[], Any] = RecordingConnection,
        partitions: int | Mapping[str, Sequence[int]] = 1,
        slots: int = 16,
        memory: MemoryStore | None = None,
        clock: VirtualClock | None = None,
        chance: ScriptedDice | None = None,
        pace: Pace | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """`connect` makes what projections get as `ctx.connection`; `partitions` as for `Service`.

        `memory` and `clock` of an earlier scenario continue it as a restarted process would; `chance` are the dice
        (0.5 by default); `settings` go over those of the `App`; neither a file nor the environment is read.
        """
        self._app = app
        self._resources = dict(resources or {})
        self.slots = slots
        self.clock = clock or VirtualClock()
        host = load({**app.settings, **(settings or {})}, None, {})
        self.spec = app.resolved(host, overridden=tuple(self._resources))
        self.memory = memory or MemoryStore(self.spec.context, self.clock, slots=slots, connect=connect)
        self._partitions = partitions
        self._dice = chance or dice(0.5)
        self._pace = pace or Pace(idle_poll=FAR, intent_poll=FAR, report_interval=FAR)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Running:
        """Start the app."""
        names = itertools.count(1)
        service = Service(
            self.spec,
            self._stores,
            self.memory.client_stores(),
            owner=lambda name: Owner(f"{name}-{self.memory.now().timestamp()}-{next(names)}", name, "test", 1, None),
            clock=self.clock,
            dice=self._dice,
            ids=lambda: f"row-{next(_ROW_IDS):09}",
            modules=modules(),
            wants_jitter=wants_jitter,
            partitions=self._partitions,
            pace=self._pace,
            overrides=self._resources,
            calls=CallPace(lease=FAR, poll=FAR),
        )
        self.service = service
        await service.__aenter__()
        running = Running(self, service)
        await running.advance("0s")
        return running

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the app in order; time passes by itself meanwhile."""
        stopping = asyncio.ensure_future(self.service.__aexit__(kind, error, trace))
        while not stopping.done():
            await at_rest()
            await asyncio.sleep(0)  # noqa: TID251 - one turn of the loop
            if not stopping.done() and self.clock.next_timer() is not None:
                await self.clock.advance(0.05)
        await stopping

    @asynccontextmanager
    async def _stores(self) -> AsyncIterator[PartitionStores]:
        yield self.memory.partition_stores()
