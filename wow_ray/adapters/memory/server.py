"""What all adapters of one store share: the server in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from wow_ray.adapters.memory.batches import Batch
from wow_ray.adapters.memory.durable_calls import Calls
from wow_ray.adapters.memory.faults import Faults
from wow_ray.adapters.memory.leases import Leases
from wow_ray.adapters.memory.log import Appending, Log
from wow_ray.adapters.memory.registry import Registry
from wow_ray.adapters.memory.reports import Kept
from wow_ray.adapters.memory.rows import Rows
from wow_ray.adapters.memory.starts import Starts
from wow_ray.errors import AppendError, FencedError
from wow_ray.policy.plan import Plan
from wow_ray.policy.progress import Mark, unpack
from wow_ray.policy.suspicion import Trying
from wow_ray.ports.clock import Clock
from wow_ray.ports.function_pauses import FunctionPause
from wow_ray.ports.notices import Delivery
from wow_ray.ports.pauses import Pause
from wow_ray.ports.samples import Sample
from wow_ray.ports.slots import Owner

if TYPE_CHECKING:
    from wow_ray.adapters.memory.effects import Connection, MemoryTransaction


@dataclass(slots=True)
class SlotState:
    """One slot: whose it is and how far its groups are, as written at `progress_epoch`."""

    epoch: int = 0
    owner: Owner | None = None
    progress: bytes = b""
    progress_epoch: int = -1
    settled: dict[int, set[int]] = field(default_factory=dict)
    trying: tuple[Trying, ...] = ()


class Server:
    """The state of one store. Each change of it is one step of the loop, so every operation is a transaction."""

    def __init__(
        self, context: str, clock: Clock, slots: int, connect: Callable[[], Connection], max_event_bytes: int
    ) -> None:
        self.log = Log(context, slots)
        self.faults = Faults()
        self.leases = Leases()
        self.registry = Registry()
        self.rows = Rows(self.registry)
        self.calls = Calls()
        self.starts = Starts()
        self.plan: Plan | None = None
        self.pauses: list[Pause] = []
        self.function_pauses: list[FunctionPause] = []
        self.batches: dict[str, Batch] = {}
        self.reports: dict[str, Kept] = {}
        self.samples: dict[tuple[datetime, int], Sample] = {}
        self.deliveries: dict[str, Delivery] = {}
        self.told_pauses: set[int] = set()
        self.slots = [SlotState() for _ in range(slots)]
        self.connect = connect
        self.max_event_bytes = max_event_bytes
        self.transactions: dict[int, MemoryTransaction] = {}
        self._clock = clock
        self._started = clock.now()
        self._started_monotonic = clock.monotonic()

    def now(self) -> datetime:
        """Give the server's time: it runs with the clock's monotonic time and knows no steps of its calendar."""
        return self._started + timedelta(seconds=self._clock.monotonic() - self._started_monotonic)

    def marks(self, slot: int) -> dict[int, Mark]:
        """Give every known group's mark in a slot: its progress, or its start where it has none that counts."""
        state = self.slots[slot]
        stored = unpack(state.progress)
        marks: dict[int, Mark] = {}
        for group in self.registry.groups.values():
            counts = group.number in stored and state.progress_epoch > group.void.get(slot, -1)
            marks[group.number] = stored[group.number] if counts else Mark(group.starts.get(slot, 0))
        return marks

    def appending_on(self, connection: Any) -> Appending:  # noqa: ANN401 - whatever the factory made
        """Find the open transaction of a connection; raises `AppendError` when it has none here."""
        transaction = self.transactions.get(id(connection))
        if transaction is None:
            msg = "the connection has no open transaction in this store; append inside one, or without a connection"
            raise AppendError(msg)
        return transaction.appending

    def guard(self, epochs: Iterable[tuple[int, int]]) -> None:
        """Raise `FencedError` naming the slots that stand at another epoch than their writer's."""
        lost = tuple(slot for slot, epoch in epochs if self.slots[slot].epoch != epoch)
        if lost:
            msg = f"slots {', '.join(map(str, lost))} have a newer owner; nothing was written"
            raise FencedError(msg, lost)
