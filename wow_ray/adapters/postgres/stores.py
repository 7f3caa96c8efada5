"""Opening everything a partition or a client needs, and closing it.

The budget of connections (H52): a partition has one each for reader, drains, slots and lease, one for the ledger and
the pauses, and at most `effects` for handlers: 5 + 4 = 9 by default; for a moment one more while it takes over from a
hung owner. A client has at most `writers` for appends, 8 for durable calls and 3 more, and one for wake-ups; a process
that listens for them one more.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from wow_ray.adapters.postgres.batches import PostgresBatches
from wow_ray.adapters.postgres.connect import Database
from wow_ray.adapters.postgres.durable_calls import PostgresDurableCalls
from wow_ray.adapters.postgres.effects import PostgresEffects
from wow_ray.adapters.postgres.event_log import PostgresEventStore
from wow_ray.adapters.postgres.function_pauses import PostgresFunctionPauses
from wow_ray.adapters.postgres.lease import PostgresLease
from wow_ray.adapters.postgres.ledger import PostgresLedger
from wow_ray.adapters.postgres.notices import PostgresOutbox
from wow_ray.adapters.postgres.pauses import PostgresPauses
from wow_ray.adapters.postgres.reader import PostgresLogReader
from wow_ray.adapters.postgres.reports import PostgresReports
from wow_ray.adapters.postgres.retention import PostgresRemains
from wow_ray.adapters.postgres.samples import PostgresSamples
from wow_ray.adapters.postgres.schema import check
from wow_ray.adapters.postgres.slots import PostgresSlotStore
from wow_ray.ports.clock import Clock
from wow_ray.ports.stores import ClientStores, PartitionStores
from wow_ray.ports.wakes import Wakes

PARTITION_CONNECTIONS = 5
"""Connections of a partition besides those for effects."""


@asynccontextmanager
async def open_partition_stores(
    database: Database, clock: Clock, *, effects: int = 4
) -> AsyncIterator[PartitionStores]:
    """Open what one partition uses; raises what `schema.check` raises.

    `effects` is the ceiling on connections for handlers (`ctx.connection`). On leaving, the lease is ended and every
    session closed.
    """
    async with partition_stores(await check(database), clock, effects=effects) as stores:
        yield stores


@asynccontextmanager
async def open_client_stores(
    database: Database,
    clock: Clock,
    *,
    writers: int = 16,
    max_event_bytes: int = 1_000_000,
    wakes: Wakes | None = None,
) -> AsyncIterator[ClientStores]:
    """Open what producers and operators use, at most `writers` appends at a time; raises what `schema.check` raises.

    Appends are told to `wakes`, which stays the caller's to close.
    """
    checked = await check(database)
    async with client_stores(checked, clock, writers=writers, max_event_bytes=max_event_bytes, wakes=wakes) as stores:
        yield stores


@asynccontextmanager
async def partition_stores(database: Database, clock: Clock, *, effects: int = 4) -> AsyncIterator[PartitionStores]:
    """Give what one partition uses of a database that `schema.check` has answered; connects when something is used."""
    reader, drains = PostgresLogReader(database, "reader"), PostgresLogReader(database, "drains")
    slots, ledger = PostgresSlotStore(database, clock), PostgresLedger(database)
    transactions, lease = PostgresEffects(database, effects), PostgresLease(database)
    async with AsyncExitStack() as stack:
        for part in (reader, drains, slots, ledger, transactions):
            stack.push_async_callback(part.close)
        stack.push_async_callback(lease.stop)
        pauses, reports = PostgresPauses(ledger.sessions), PostgresReports(ledger.sessions)
        yield PartitionStores(reader, drains, slots, ledger, transactions, lease, pauses, reports)


@asynccontextmanager
async def client_stores(
    database: Database,
    clock: Clock,
    *,
    writers: int = 16,
    max_event_bytes: int = 1_000_000,
    wakes: Wakes | None = None,
) -> AsyncIterator[ClientStores]:
    """Give what a client uses of a database that `schema.check` has answered; connects when something is used."""
    events = PostgresEventStore(database, writers=writers, max_event_bytes=max_event_bytes, wakes=wakes)
    ledger, slots = PostgresLedger(database), PostgresSlotStore(database, clock)
    calls = PostgresDurableCalls(database)
    reader = PostgresLogReader(database, "client")
    async with AsyncExitStack() as stack:
        for part in (events, ledger, slots, reader, calls):
            stack.push_async_callback(part.close)
        pauses, reports = PostgresPauses(ledger.sessions), PostgresReports(ledger.sessions)
        stops = PostgresFunctionPauses(ledger.sessions)
        outbox, remains = PostgresOutbox(ledger.sessions), PostgresRemains(ledger.sessions)
        batches, samples = PostgresBatches(ledger.sessions), PostgresSamples(ledger.sessions)
        yield ClientStores(
            events, ledger, slots, reader, pauses, reports, calls, stops, outbox, remains, batches, samples
        )
