"""The plan on Postgres."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from wow_ray.adapters.postgres.connect import Database, Sessions
from wow_ray.policy.plan import Plan


class PostgresPlans:
    """`ports.plans.Plans` on Postgres, on one connection of its own."""

    def __init__(self, database: Database) -> None:
        """Open nothing yet."""
        self._sessions = Sessions(database, "plans")

    async def present(self) -> Plan | None:
        """See the port."""
        async with self._sessions.use() as session:
            rows = await session.fetch("present_plan")
        if not rows:
            return None
        stored = json.loads(rows[0]["partitions"])
        partitions = {name: tuple(slots) for name, slots in stored.items()}
        row = rows[0]
        more = (row["edition"], row["actor"], row["reason"], row["still"])
        return Plan(row["number"], row["release"], partitions, *more)

    async def propose(self, plan: Plan) -> bool:
        """See the port."""
        async with self._sessions.use() as session:
            partitions = json.dumps(dict(plan.partitions))
            stored = await session.fetch(
                "propose_plan",
                *(plan.number, plan.release, partitions, plan.edition, plan.actor, plan.reason, plan.still),
                json.dumps(plan.outcome()),
            )
            if stored:
                await session.fetch("forget_plans", plan.number)
        return bool(stored)

    async def close(self) -> None:
        """End the session."""
        await self._sessions.close()


@asynccontextmanager
async def open_plans(database: Database) -> AsyncIterator[PostgresPlans]:
    """Open the plan of a checked database; on leaving its session is closed."""
    plans = PostgresPlans(database)
    try:
        yield plans
    finally:
        await plans.close()
