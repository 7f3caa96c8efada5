"""The store in memory as its user holds it: adapters to plug in, and what a test can do to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime

from wow_ray.adapters.memory.batches import MemoryBatches
from wow_ray.adapters.memory.durable_calls import MemoryCallAudit, MemoryDurableCalls
from wow_ray.adapters.memory.effects import Connection, MemoryEffects, MemoryTransaction, Unconnected
from wow_ray.adapters.memory.event_log import MemoryEventStore, MemoryLogReader
from wow_ray.adapters.memory.faults import Gate, Operation, Place
from wow_ray.adapters.memory.function_pauses import MemoryFunctionPauses
from wow_ray.adapters.memory.leases import MemoryLease
from wow_ray.adapters.memory.ledger import MemoryLedger
from wow_ray.adapters.memory.notices import MemoryOutbox
from wow_ray.adapters.memory.overview import MemoryOverview
from wow_ray.adapters.memory.pauses import MemoryPauses
from wow_ray.adapters.memory.plans import MemoryPlans
from wow_ray.adapters.memory.reports import MemoryReports
from wow_ray.adapters.memory.retention import MemoryRemains
from wow_ray.adapters.memory.samples import MemorySamples
from wow_ray.adapters.memory.server import Server
from wow_ray.adapters.memory.slots import MemorySlotStore
from wow_ray.ports.clock import Clock
from wow_ray.ports.stores import ClientStores, PartitionStores


class MemoryStore:
    """One log with its slots and ledger, in memory; lives as long as this object.

    `connect` makes the connections that handlers get as `ctx.connection`, one for each transaction. The store's own
    calendar runs with the clock's monotonic time and does not follow steps of the clock's calendar.
    """

    def __init__(
        self,
        context: str,
        clock: Clock,
        *,
        slots: int = 256,
        connect: Callable[[], Connection] = Unconnected,
        max_event_bytes: int = 1_000_000,
    ) -> None:
        self._server = Server(context, clock, slots, connect, max_event_bytes)

    def partition_stores(self) -> PartitionStores:
        """Make what one partition uses; call it once for each partition."""
        server = self._server
        return PartitionStores(
            reader=MemoryLogReader(server, "reader"),
            drains=MemoryLogReader(server, "drains"),
            slots=MemorySlotStore(server),
            ledger=MemoryLedger(server),
            effects=MemoryEffects(server),
            lease=MemoryLease(server),
            pauses=MemoryPauses(server),
            reports=MemoryReports(server),
        )

    def client_stores(self) -> ClientStores:
        """Make what producers and operators use."""
        server = self._server
        return ClientStores(
            events=MemoryEventStore(server),
            ledger=MemoryLedger(server),
            slots=MemorySlotStore(server),
            reader=MemoryLogReader(server, "reader"),
            pauses=MemoryPauses(server),
            reports=MemoryReports(server),
            calls=MemoryDurableCalls(server),
            function_pauses=MemoryFunctionPauses(server),
            outbox=MemoryOutbox(server),
            remains=MemoryRemains(server),
            batches=MemoryBatches(server),
            samples=MemorySamples(server),
        )

    def overview(self) -> MemoryOverview:
        """Make what operators look at the whole store with."""
        return MemoryOverview(self._server)

    def call_audit(self) -> MemoryCallAudit:
        """Make what requests on durable calls are kept in, for a store of calls elsewhere."""
        return MemoryCallAudit(self._server)

    def plans(self) -> MemoryPlans:
        """Make what the plan is read and proposed with."""
        return MemoryPlans(self._server)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """Open a producer's own transaction and give its connection.

        It commits at the end of the block, and rolls back when the block raises.
        """
        transaction = MemoryTransaction(self._server, None)
        try:
            yield transaction.connection
            await transaction.commit()
        finally:
            await transaction.rollback()

    def now(self) -> datetime:
        """Give the store's time."""
        return self._server.now()

    @property
    def open_transactions(self) -> int:
        """Count the transactions that have not ended: a runtime at rest has none."""
        return len(self._server.transactions)

    def fail_next(self, operation: Operation, error: BaseException, times: int = 1, *, at: Place = "start") -> None:
        """Let the next calls of an operation raise `error`: at the start nothing was done, at the end everything was.

        `times=0` ends it early. At a place with a gate the call passes the gate first.
        """
        self._server.faults.fail_next(operation, error, times, at)

    def gate(self, operation: Operation, at: Place = "start") -> Gate:
        """Hold calls of an operation before they have done anything, or (`end`) when only the answer is missing."""
        return self._server.faults.gate(operation, at)

    def lose_lease(self, owner_id: str) -> None:
        """Let an owner's lease end, as when its process died or was cut off from the store.

        It may begin no call any more, and a successor that waits for its slots gets them.
        """
        self._server.starts.silent(owner_id, self._server.now())
        self._server.leases.end(owner_id)

    def lose_connections(self) -> None:
        """Let every open transaction of a call lose its connection: it is undone, whatever becomes of the call."""
        for transaction in list(self._server.transactions.values()):
            transaction.lost = True

    def rewind(self, slot: int, to: int) -> None:
        """Take back the slot's events above a position, as a restored server does; `identity` answers anew."""
        self._server.log.rewind(slot, to)
