"""The floor: what the plainest loop does with the same events.

It reads pages of 2,000 by position over one connection, validates each payload with pydantic and awaits the handler:
no lanes, no order to keep, no checkpoints, no failures. The table is a plain copy of the payloads in the order of the
log, so nothing of our storage slows it down. Every claim about throughput is a share of this, measured in the same run.
"""

import time

from benchmarks.checkers import Checker
from benchmarks.servers import connected
from benchmarks.workload import Booked
from wow_ray.adapters.postgres import Database

PAGE = 2_000


async def copy_payloads(database: Database) -> None:
    """Make the plain table."""
    async with connected(database) as connection:
        await connection.execute(
            f"create table floor as select row_number() over (order by slot, position) as position, payload "  # noqa: S608 - our own schema
            f"from {database.schema}.events"
        )
        await connection.execute("alter table floor add primary key (position)")
        await connection.execute("vacuum analyze floor")


async def run_floor(database: Database, checker: Checker, events: int) -> float:
    """Handle all events once; answers the seconds from the first call to the last."""

    async def handle(body: Booked) -> None:
        checker.saw(body.account, body.number)

    async with connected(database) as connection:
        page = await connection.prepare(
            f"select position, payload from floor where position > $1 order by position limit {PAGE}"  # noqa: S608 - a number
        )
        position, first = 0, 0.0
        while rows := await page.fetch(position):
            first = first or time.perf_counter()
            for row in rows:
                await handle(Booked.model_validate_json(row[1]))
            position = rows[-1][0]
    seconds = time.perf_counter() - first
    if checker.seen != events:
        raise RuntimeError(f"the floor handled {checker.seen} of {events} events")
    return seconds
