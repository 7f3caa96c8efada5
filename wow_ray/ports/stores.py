"""One bundle of everything a runtime needs of its store, so that adapters are picked in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wow_ray.ports.batches import BatchStore
    from wow_ray.ports.durable_calls import DurableCalls
    from wow_ray.ports.event_log import EventStore, LogReader
    from wow_ray.ports.function_pauses import FunctionPauses
    from wow_ray.ports.ledger import Ledger
    from wow_ray.ports.notices import Outbox
    from wow_ray.ports.pauses import Pauses
    from wow_ray.ports.reports import Reports
    from wow_ray.ports.retention import Remains
    from wow_ray.ports.samples import Samples
    from wow_ray.ports.slots import Effects, Lease, SlotStore


@dataclass(frozen=True, slots=True)
class PartitionStores:
    """What one partition uses: each part on connections of its own, so that a page never delays a commit (H52)."""

    reader: LogReader
    drains: LogReader
    slots: SlotStore
    ledger: Ledger
    effects: Effects
    lease: Lease
    pauses: Pauses
    reports: Reports


@dataclass(frozen=True, slots=True)
class ClientStores:
    """What producers and operators use."""

    events: EventStore
    ledger: Ledger
    slots: SlotStore
    reader: LogReader
    pauses: Pauses
    reports: Reports
    calls: DurableCalls
    function_pauses: FunctionPauses
    outbox: Outbox
    remains: Remains
    batches: BatchStore
    samples: Samples
