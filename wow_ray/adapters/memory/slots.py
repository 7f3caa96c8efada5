"""The port of slots, in memory: registering groups, taking slots over, committing progress and ledger together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from wow_ray.adapters.memory.effects import MemoryTransaction
from wow_ray.adapters.memory.registry import Cut
from wow_ray.errors import ConflictError, StoreDataError
from wow_ray.policy.parked import Row, State, ended
from wow_ray.policy.progress import pack
from wow_ray.ports.slots import Acquired, GroupDeclared, GroupRegistered, GroupReset, Owner, SlotLoaded, SlotWrite

if TYPE_CHECKING:
    from wow_ray.adapters.memory.server import Server

_GOES_ON = frozenset({State.WAITING, State.RETRYING})


class MemorySlotStore:
    """`ports.slots.SlotStore` in memory."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def register(
        self, groups: Sequence[GroupDeclared], returning: Literal["stored", "end"] | None = None
    ) -> dict[str, GroupRegistered]:
        """See the port."""
        return await self._server.faults.run("slots.register", lambda: self._register(groups, returning))

    async def admit(self, groups: Sequence[GroupDeclared], returning: Literal["stored", "end"] | None = None) -> None:
        """See the port."""
        await self._server.faults.run("slots.admit", lambda: self._server.registry.admit(groups, returning))

    async def slot_count(self) -> int:
        """See the port; the number this store was made with."""
        return await self._server.faults.run("slots.slot_count", lambda: len(self._server.slots))

    async def acquire(self, owner: Owner, slots: Sequence[int]) -> Acquired:
        """See the port; waits for the leases of present owners, see `MemoryStore.lose_lease`."""
        server = self._server
        await server.faults.enter("slots.acquire")
        while any(self._defended(slot, owner) for slot in slots):
            await server.leases.changed()
        acquired = self._taken(owner, slots)
        await server.faults.leave("slots.acquire")
        return acquired

    async def acquire_free(self, owner: Owner, slots: Sequence[int]) -> Acquired:
        """See the port."""

        def take() -> Acquired:
            free = [slot for slot in slots if not self._defended(slot, owner)]
            return self._taken(owner, free) if free else Acquired((), self._server.now())

        return await self._server.faults.run("slots.acquire_free", take)

    async def commit(self, writes: Sequence[SlotWrite]) -> datetime:
        """See the port."""
        return await self._server.faults.run("slots.commit", lambda: self._commit(writes))

    async def reset(
        self, writes: Sequence[SlotWrite], reset: GroupReset, hook: Callable[[Any], Awaitable[None]] | None
    ) -> int:
        """See the port; the hook gets a connection of the factory, which is told how it ended."""
        server = self._server
        await server.faults.enter("slots.reset")
        server.guard((write.slot, write.epoch) for write in writes)
        if len({write.slot for write in writes}) != len(server.slots):
            msg = f"{reset.group} can only be reset by the owner of all slots"
            raise ConflictError(msg)
        transaction = MemoryTransaction(server, None)
        try:
            if hook is not None:
                await hook(transaction.connection)
            self._commit(writes)
            transaction.finish()
        finally:
            await transaction.rollback()
        for state in server.slots:
            state.settled.pop(reset.number, None)
        closing = [row for row in server.rows.opened() if row.group == reset.group and row.stopped_position > reset.to]
        now = server.now()
        for row in closing:
            server.rows.close(ended(row, now, State.RESET))
        await server.faults.leave("slots.reset")
        return len(closing)

    async def release(self, writes: Sequence[SlotWrite], owner: Owner) -> None:
        """See the port."""
        await self._server.faults.run("slots.release", lambda: self._release(writes, owner))

    async def let_go(self, writes: Sequence[SlotWrite], owner: Owner) -> None:
        """See the port."""
        await self._server.faults.run("slots.let_go", lambda: self._given_up(writes, owner))

    async def excuse(self, partition: str) -> None:
        """See the port."""
        await self._server.faults.run("slots.excuse", lambda: self._server.starts.excuse(partition))

    def _register(
        self, groups: Sequence[GroupDeclared], returning: Literal["stored", "end"] | None
    ) -> dict[str, GroupRegistered]:
        """Register as of one cut, and rename rows."""
        server = self._server
        cut = Cut(server.log.heads(), {slot: state.epoch for slot, state in enumerate(server.slots)})
        registration = server.registry.register(groups, returning, cut)
        for renamed in registration.renamed:
            server.rows.rename(renamed)
        return registration.registered

    def _taken(self, owner: Owner, slots: Sequence[int]) -> Acquired:
        """Take slots that nobody defends: raise the epochs, load."""
        server = self._server
        now, starts = server.now(), server.starts
        former = {slot: server.slots[slot].owner for slot in slots}
        for slot, before in former.items():
            if before is not None and before.id != owner.id:
                server.leases.overtaken(before.id)
                starts.overtaken(before, owner, now)
            server.slots[slot].epoch += 1
            server.slots[slot].owner = owner
        starts.began(owner, now)
        rows = self._open_rows_by_slot()
        loaded = [
            replace(self._loaded(slot, rows.get(slot, [])), crashed=starts.crashed(former[slot])) for slot in slots
        ]
        return Acquired(tuple(loaded), now, starts.of(owner))

    def _defended(self, slot: int, owner: Owner) -> bool:
        """Tell whether the slot belongs to somebody else whose lease holds."""
        present = self._server.slots[slot].owner
        return present is not None and present.id != owner.id and self._server.leases.held_by(present.id)

    def _open_rows_by_slot(self) -> Mapping[int, list[Row]]:
        """Group the open rows, in one pass over them."""
        rows: dict[int, list[Row]] = {}
        for row in self._server.rows.opened():
            rows.setdefault(row.slot, []).append(row)
        return rows

    def _loaded(self, slot: int, rows: Sequence[Row]) -> SlotLoaded:
        """Give what a new owner finds."""
        state = self._server.slots[slot]
        return SlotLoaded(
            slot=slot,
            epoch=state.epoch,
            marks=self._server.marks(slot),
            settled={number: frozenset(positions) for number, positions in state.settled.items() if positions},
            held=tuple((row.group, row.aggregate, row.aggregate_id) for row in rows),
            live=tuple(row for row in rows if row.state in _GOES_ON),
            trying=state.trying,
        )

    def _commit(self, writes: Sequence[SlotWrite]) -> datetime:
        """Guard, check, then write; nothing is written unless everything is."""
        server = self._server
        server.guard((write.slot, write.epoch) for write in writes)
        server.rows.check(writes)
        progress = [_packed(write) for write in writes]
        now = server.now()
        for write, packed in zip(writes, progress, strict=True):
            state = server.slots[write.slot]
            state.progress, state.progress_epoch = packed, state.epoch
            state.trying = state.trying if write.trying is None else write.trying
            for group, position in write.folded:
                state.settled.get(group, set()).discard(position)
            server.rows.apply(write, now)
        return now

    def _release(self, writes: Sequence[SlotWrite], owner: Owner) -> None:
        """Give up, and note the end."""
        self._given_up(writes, owner)
        self._server.starts.released(owner, self._server.now())

    def _given_up(self, writes: Sequence[SlotWrite], owner: Owner) -> None:
        """Commit, then let the slots have no owner; sent again it finds nothing left to do."""
        self._commit(writes)
        for write in writes:
            state = self._server.slots[write.slot]
            if state.owner is not None and state.owner.id == owner.id:
                state.owner = None
        self._server.leases.wake()


def _packed(write: SlotWrite) -> bytes:
    """Pack a slot's marks as the database keeps them; raises `StoreDataError` for one that is none."""
    try:
        return pack(write.marks)
    except ValueError as error:
        msg = f"the marks of slot {write.slot} cannot be stored: {error}"
        raise StoreDataError(msg) from error
