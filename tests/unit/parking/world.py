"""What outlives a process: the store, time, the desk where handlers work, the tables they write."""

from __future__ import annotations

from collections.abc import Callable

from tests.unit.parking.desk import Call, Desk, Tables
from wow_ray.adapters.memory import MemoryStore
from wow_ray.adapters.memory.faults import Gate
from wow_ray.events import AggregateRef
from wow_ray.policy.parked import Row, State, Verb
from wow_ray.policy.slots import slot_of
from wow_ray.ports.event_log import EventStore
from wow_ray.ports.ledger import Intent, NewIntent, RowFilter
from wow_ray.ports.stores import ClientStores
from wow_ray.testing import VirtualClock


class World:
    """One world; see the module."""

    def __init__(self, *, slots: int = 4, store: Callable[..., MemoryStore] = MemoryStore) -> None:
        self.clock = VirtualClock()
        self.desk = Desk(self.clock)
        self.tables = Tables()
        self.memory = store("shop", self.clock, slots=slots, connect=self.tables.connect)
        self.slots = slots
        self.client: ClientStores = self.memory.client_stores()
        self._requests = 0

    @property
    def store(self) -> EventStore:
        """Append here."""
        return self.client.events

    @property
    def leases(self) -> frozenset[str]:
        """The ids of all owners whose lease holds."""
        return frozenset(self.memory._server.leases._held)  # noqa: SLF001 - looks into the store

    def slot(self, ref: AggregateRef) -> int:
        """Give the slot of an aggregate."""
        return slot_of("shop", ref.aggregate, ref.id, self.slots)

    async def rows(self, *states: State) -> list[Row]:
        """Give the ledger's rows in these states, or all of them."""
        return list(await self.client.ledger.rows(RowFilter(frozenset(states or State), limit=100_000)))

    async def row(self, ref: AggregateRef, group: str) -> Row:
        """Give the newest row of an aggregate in a group; there must be one."""
        rows = [row for row in await self.rows() if (row.group, row.aggregate_id) == (group, ref.id)]
        return rows[-1]

    async def ask(
        self,
        verb: Verb,
        group: str,
        ref: AggregateRef,
        *,
        row: Row | None = None,
        etag: int | None = None,
        through_version: int | None = None,
        request_id: str | None = None,
        actor: str = "ann",
    ) -> str:
        """Store an intent, as a console does; answers the request."""
        self._requests += 1
        request = request_id or f"request-{self._requests}"
        row_id = None if row is None else row.id
        await self.client.ledger.ask(
            NewIntent(
                request,
                verb,
                group,
                self.slot(ref),
                ref.aggregate,
                ref.id,
                row_id,
                etag,
                through_version,
                actor,
                "test",
            )
        )
        return request

    async def answer(self, request_id: str) -> Intent:
        """Give an intent as it stands."""
        intent = await self.client.ledger.intent(request_id)
        assert intent is not None
        return intent

    async def notices(self) -> list[str]:
        """Give the kinds of all facts in the outbox, oldest first."""
        return [kind for _, kind, _ in await self.client.ledger.notices(0, 100_000)]

    def cursor(self, ref: AggregateRef, group: str) -> int:
        """Give how far the store says that a group has read the aggregate's slot."""
        server = self.memory._server  # noqa: SLF001 - looks at what is stored, as a test of Postgres would with SQL
        loaded = self.memory.partition_stores().slots._loaded(self.slot(ref), [])  # type: ignore[attr-defined]  # noqa: SLF001
        cursor: int = loaded.marks[server.registry.groups[group].number].cursor
        return cursor

    def hang_commits_at_next_call(self) -> list[Gate]:
        """Let no commit get through any more from the next call of a handler on; the list then holds the gate."""
        gates: list[Gate] = []

        def met(_: Call) -> None:
            if not gates:
                gates.append(self.memory.gate("slots.commit"))

        self.desk.met = met
        return gates
