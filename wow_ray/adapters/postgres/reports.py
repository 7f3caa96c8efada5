"""Reports on Postgres."""

from __future__ import annotations

from collections.abc import Sequence

from wow_ray.adapters.postgres.connect import Sessions
from wow_ray.policy.report import PartitionReport, read, written
from wow_ray.ports.reports import KEPT, ReportSeen
from wow_ray.ports.slots import Owner


class PostgresReports:
    """`ports.reports.Reports` on Postgres, on somebody else's sessions: what it does is little and short."""

    def __init__(self, sessions: Sessions) -> None:
        """Use these sessions; whoever made them closes them."""
        self._sessions = sessions

    async def write(self, owner: Owner, report: PartitionReport) -> bool:
        """See the port."""
        text = written(report)
        async with self._sessions.use() as session:
            return bool(await session.fetch("write_report", owner.partition, owner.id, text))

    async def withdraw(self, owner: Owner) -> None:
        """See the port."""
        async with self._sessions.use() as session:
            await session.fetch("withdraw_report", owner.partition, owner.id, KEPT)

    async def present(self) -> Sequence[ReportSeen]:
        """See the port."""
        async with self._sessions.use() as session:
            rows = await session.fetch("present_reports")
        return tuple(
            ReportSeen(row["partition"], row["owner"], row["at"], row["age"], read(row["report"])) for row in rows
        )
