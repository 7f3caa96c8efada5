"""The port of looking at a store as a whole, in memory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from wow_ray.adapters.memory.slots import MemorySlotStore
from wow_ray.policy.progress import Mark
from wow_ray.ports.overview import GroupSeen, HolderSeen, OwnerSeen, SlotSeen, Snapshot, TableSeen, standing
from wow_ray.ports.slots import Owner

if TYPE_CHECKING:
    from wow_ray.adapters.memory.server import Server


class MemoryOverview:
    """`ports.overview.Overview` in memory; a lease there has no end until it is stopped or lost."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def groups(self) -> Sequence[GroupSeen]:
        """See the port."""
        return await self._server.faults.run("ledger.read", self._groups)

    async def snapshot(self) -> Snapshot:
        """See the port."""
        return await self._server.faults.run("ledger.read", self._snapshot)

    async def sizes(self) -> Sequence[TableSeen]:
        """See the port."""
        return await self._server.faults.run("ledger.read", self._sizes)

    async def holders(self) -> Sequence[HolderSeen]:
        """See the port; there is nothing to clean up."""
        return await self._server.faults.run("ledger.read", tuple[HolderSeen, ...])

    def _sizes(self) -> tuple[TableSeen, ...]:
        """Count what there is."""
        server, rows = self._server, self._server.rows
        counts = {
            "events": sum(server.log.heads().values()),
            "parked": len(rows.by_id),
            "parked_attempts": sum(map(len, rows.attempts.values())),
            "operator_actions": len(rows.intents),
            "notices": len(rows.notices),
            "deliveries": len(server.deliveries),
            "durable_calls": len(server.calls.rows),
        }
        return tuple(TableSeen(name, count, 0) for name, count in sorted(counts.items(), key=lambda one: -one[1]))

    def _groups(self) -> tuple[GroupSeen, ...]:
        """Give the registry's groups."""
        known = sorted(self._server.registry.groups.values(), key=lambda group: group.number)
        return tuple(
            GroupSeen(group.number, group.name, group.retired, tuple(sorted(group.first_names))) for group in known
        )

    def _snapshot(self) -> Snapshot:
        """Look at everything in one step of the loop."""
        server = self._server
        heads = server.log.heads()
        slots = tuple(
            SlotSeen(
                slot,
                heads[slot],
                None if state.owner is None else state.owner.partition,
                None if state.owner is None else state.owner.id,
                self._marks(slot),
            )
            for slot, state in enumerate(server.slots)
        )
        return Snapshot(server.now(), "memory", 0, self._groups(), slots, tuple(self._owners()))

    def _marks(self, slot: int) -> Mapping[int, Mark]:
        """Give every group's mark in a slot, as a new owner would find it."""
        loaded = MemorySlotStore(self._server)._loaded(slot, ())  # noqa: SLF001 - the same store
        return {number: standing(mark, loaded.settled.get(number, ())) for number, mark in loaded.marks.items()}

    def _owners(self) -> Sequence[OwnerSeen]:
        """Give the owners of slots and whoever holds a lease, each once, by partition."""
        owners: dict[str, Owner] = {state.owner.id: state.owner for state in self._server.slots if state.owner}
        owners |= {owner.id: owner for owner in self._server.leases.holders()}
        return [
            OwnerSeen(
                owner.id,
                owner.partition,
                owner.host,
                owner.pid,
                math.inf if self._server.leases.held_by(owner.id) else 0.0,
            )
            for owner in sorted(owners.values(), key=lambda owner: (owner.partition, owner.id))
        ]
