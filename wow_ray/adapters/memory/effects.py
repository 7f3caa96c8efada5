"""Transactions of effects in memory.

The settled marker, the fence and appended events are real; what a handler writes goes to a double.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from wow_ray.adapters.memory.log import Appending
from wow_ray.errors import StoreDataError, StoreUnavailableError
from wow_ray.policy.durable_call import NewCall
from wow_ray.ports.slots import EffectMark

if TYPE_CHECKING:
    from wow_ray.adapters.memory.server import Server


class Connection(Protocol):
    """What the store asks of the connections it hands to handlers; what they can do besides is the factory's affair."""

    def ended(self, *, committed: bool) -> None:
        """Be told how the transaction ended."""
        ...


class Unconnected:
    """The connection of a store that was given no factory: it takes no statements."""

    def ended(self, *, committed: bool) -> None:
        """Be told how the transaction ended; nothing follows from it here."""


class MemoryTransaction:
    """`ports.slots.EffectTransaction` in memory; without a mark it is a producer's own transaction."""

    def __init__(self, server: Server, mark: EffectMark | None) -> None:
        self._server = server
        self._mark = mark
        self._open = True
        self.lost = False
        self.connection = server.connect()
        self.appending = Appending(server.log)
        self.calls: list[NewCall] = []
        server.transactions[id(self.connection)] = self

    async def commit(self) -> None:
        """See the port; `StoreDataError` stands for the driver's error."""
        await self._server.faults.enter("effects.commit")
        if self.lost:
            self._end(committed=False)
            raise StoreUnavailableError("the connection was lost")
        self.finish()
        await self._server.faults.leave("effects.commit")

    def finish(self) -> None:
        """Commit in this very step of the loop; raises as `commit` does."""
        try:
            self._settle()
        except BaseException:
            self._end(committed=False)
            raise
        self.appending.publish()
        for call in self.calls:
            self._server.calls.submit(call, self._server.now())
        self._end(committed=True)

    async def rollback(self) -> None:
        """See the port."""
        if self._open:
            self._end(committed=False)

    def _settle(self) -> None:
        """Insert the marker, then check the epoch, as the database would; raises for either."""
        if not self._open or self.appending.failed:
            msg = "the transaction has ended already, or one of its statements has failed"
            raise StoreDataError(msg)
        mark = self._mark
        if mark is None:
            return
        settled = self._server.slots[mark.slot].settled.setdefault(mark.group, set())
        if mark.position in settled:
            msg = f"position {mark.position} of slot {mark.slot} was settled before for group {mark.group}"
            raise StoreDataError(msg)
        self._server.guard([(mark.slot, mark.epoch)])
        settled.add(mark.position)

    def _end(self, *, committed: bool) -> None:
        """Give the connection back."""
        if not self._open:
            return
        self._open = False
        self.appending.abandon()
        del self._server.transactions[id(self.connection)]
        self.connection.ended(committed=committed)


class MemoryEffects:
    """`ports.slots.Effects` in memory."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def begin(self, mark: EffectMark) -> MemoryTransaction:
        """See the port."""
        await self._server.faults.enter("effects.begin")
        transaction = MemoryTransaction(self._server, mark)
        try:
            await self._server.faults.leave("effects.begin")
        except BaseException:
            await transaction.rollback()
            raise
        return transaction

    async def settled(self, mark: EffectMark) -> bool:
        """See the port; a commit is one step here, so there is never one to wait for."""
        settled = self._server.slots[mark.slot].settled
        return await self._server.faults.run("effects.settled", lambda: mark.position in settled.get(mark.group, ()))
