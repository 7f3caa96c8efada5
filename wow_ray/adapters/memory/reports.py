"""The port of reports, in memory."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from wow_ray.policy.report import read, written
from wow_ray.ports.reports import KEPT, ReportSeen

if TYPE_CHECKING:
    from wow_ray.adapters.memory.server import Server
    from wow_ray.policy.report import PartitionReport
    from wow_ray.ports.slots import Owner


class Kept(NamedTuple):
    """A report as it is kept: as a database would, as text."""

    owner: str
    at: datetime
    text: str


class MemoryReports:
    """`ports.reports.Reports` in memory."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def write(self, owner: Owner, report: PartitionReport) -> bool:
        """See the port."""
        text = written(report)
        return await self._server.faults.run("reports.write", lambda: self._write(owner, text))

    async def withdraw(self, owner: Owner) -> None:
        """See the port."""
        await self._server.faults.run("reports.write", lambda: self._withdraw(owner))

    async def present(self) -> Sequence[ReportSeen]:
        """See the port."""
        return await self._server.faults.run("reports.read", self._present)

    def _write(self, owner: Owner, text: str) -> bool:
        if not self._server.leases.held_by(owner.id):
            return False
        self._server.reports[owner.partition] = Kept(owner.id, self._server.now(), text)
        return True

    def _withdraw(self, owner: Owner) -> None:
        for seen in self._present():
            mine = (seen.partition, seen.owner) == (owner.partition, owner.id)
            if mine or seen.age > KEPT:
                del self._server.reports[seen.partition]

    def _present(self) -> tuple[ReportSeen, ...]:
        now = self._server.now()
        return tuple(
            ReportSeen(name, kept.owner, kept.at, (now - kept.at).total_seconds(), read(kept.text))
            for name, kept in sorted(self._server.reports.items())
        )
