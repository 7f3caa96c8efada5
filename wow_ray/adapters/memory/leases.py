"""The leases of all owners, and waiting for them to end."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from wow_ray.ports.slots import Owner

if TYPE_CHECKING:
    from wow_ray.adapters.memory.server import Server


class Leases:
    """Who holds a lease.

    One that was started holds until it is stopped or lost: the thread that would renew it is thought of as alive.
    """

    def __init__(self) -> None:
        self._held: dict[str, MemoryLease] = {}
        self._lost: dict[str, MemoryLease] = {}
        self._waiting: list[asyncio.Future[None]] = []

    def held_by(self, owner_id: str) -> bool:
        """Tell whether the owner's lease holds."""
        return owner_id in self._held

    def holders(self) -> Sequence[Owner]:
        """Give whoever holds a lease."""
        return [lease.owner for lease in self._held.values() if lease.owner is not None]

    def take(self, owner_id: str, lease: MemoryLease) -> None:
        """Let a lease begin."""
        self._held[owner_id] = lease
        lease.valid_until = math.inf

    def end(self, owner_id: str) -> None:
        """Let a lease end, if there is one, and wake those who wait for slots."""
        lease = self._held.pop(owner_id, None)
        if lease is not None:
            lease.valid_until = -math.inf
            self._lost[owner_id] = lease
        self.wake()

    def overtaken(self, owner_id: str) -> None:
        """Let an owner whose slots were taken over learn that it is over."""
        lease = self._lost.pop(owner_id, None)
        if lease is not None:
            asyncio.get_running_loop().call_soon(lease.on_lost)

    def wake(self) -> None:
        """Let all who wait for slots look again."""
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)

    async def changed(self) -> None:
        """Wait until a lease has ended or slots were given up."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        await waiter


class MemoryLease:
    """`ports.slots.Lease` in memory."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.owner: Owner | None = None
        self.valid_until = -math.inf
        self.on_lost: Callable[[], None] = lambda: None

    async def start(self, owner: Owner) -> None:
        """See the port; holds until `stop`, or until `MemoryStore.lose_lease`."""
        await self._server.faults.enter("lease.start")
        self.owner = owner
        self._server.leases.take(owner.id, self)
        await self._server.faults.leave("lease.start")

    async def stop(self) -> None:
        """See the port."""
        await self._server.faults.enter("lease.stop")
        if self.owner is not None:
            self.on_lost = lambda: None
            self._server.starts.silent(self.owner.id, self._server.now())
            self._server.leases.end(self.owner.id)
        await self._server.faults.leave("lease.stop")
