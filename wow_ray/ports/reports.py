"""Reports: what each partition says of itself, as one row of the store that it replaces every two seconds.

People look at them, so that those who look need not talk to any process. Nothing rests on a report: it may be missing,
old, or of another release.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from wow_ray.policy.report import PartitionReport
    from wow_ray.ports.slots import Owner

KEPT = 86_400.0
"""Seconds after which a report that nobody replaces is forgotten, when another partition withdraws its own."""


@dataclass(frozen=True, slots=True)
class ReportSeen:
    """The last report of a partition, by its lasting name, and which incarnation wrote it.

    `at` is when, `age` how many seconds ago, both by the store's clock. `report` is `None` when it cannot be read.
    """

    partition: str
    owner: str
    at: datetime
    age: float
    report: PartitionReport | None


class Reports(Protocol):
    """Reports of one store. Raises `StoreUnavailableError`."""

    async def write(self, owner: Owner, report: PartitionReport) -> bool:
        """Replace the report of the owner's partition; `False` = its lease does not hold, and nothing was written."""
        ...

    async def withdraw(self, owner: Owner) -> None:
        """Take the owner's report away, since it has nothing to do any more; that of a successor stays."""
        ...

    async def present(self) -> Sequence[ReportSeen]:
        """Give all reports there are, by partition, also old ones and those of owners that are gone."""
        ...
