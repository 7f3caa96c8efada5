"""An operator at work: looks at what is parked, resumes and skips, by the same operations as the `wow-ray` command."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from wow_ray import ConflictError
from wow_ray.ops import Applied, Command, Operations, ParkedQuery, ParkedView, Pending

MOST = 1_000


class Desk:
    """One operator."""

    def __init__(self, operations: Operations) -> None:
        """Sit down."""
        self.operations = operations

    async def look(self) -> Sequence[ParkedView]:
        """List what is parked."""
        return (await self.operations.parked(ParkedQuery(limit=MOST))).rows

    async def resume(self, rows: Sequence[ParkedView], reason: str) -> None:
        """Have these go on from where they stopped."""
        await _all(self.operations.resume, rows, reason)

    async def skip(self, rows: Sequence[ParkedView], reason: str) -> Sequence[tuple[ParkedView, int]]:
        """Pass over everything these hold; answers through which version of each, as the owner of its slot told."""
        answers = await _all(self.operations.skip, rows, reason)
        return [(row, int(answer.outcome["through_version"])) for row, answer in zip(rows, answers, strict=True)]


async def _all(
    ask: Callable[[str, Command], Awaitable[Applied | Pending]], rows: Sequence[ParkedView], reason: str
) -> Sequence[Applied]:
    """Ask the same of all rows at once, each as it was seen; answers once all of it is applied."""
    answers = await asyncio.gather(*(ask(row.id, Command("demo", reason, etag=row.etag)) for row in rows))
    applied = [answer for answer in answers if isinstance(answer, Applied)]
    waiting = [answer for answer in answers if isinstance(answer, Pending)]
    if waiting:
        raise ConflictError(f"{len(waiting)} of {len(rows)} commands are not applied yet: {waiting[0].note}")
    return applied
