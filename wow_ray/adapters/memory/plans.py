"""The plan, in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wow_ray.policy.parked import Verb
from wow_ray.policy.plan import Plan
from wow_ray.ports.ledger import NewIntent

if TYPE_CHECKING:
    from wow_ray.adapters.memory.server import Server


class MemoryPlans:
    """`ports.plans.Plans` in memory."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def present(self) -> Plan | None:
        """See the port."""
        return await self._server.faults.run("plans", lambda: self._server.plan)

    async def propose(self, plan: Plan) -> bool:
        """See the port."""
        return await self._server.faults.run("plans", lambda: self._propose(plan))

    def _propose(self, plan: Plan) -> bool:
        """Compare and set, in one step of the loop."""
        present = self._server.plan
        if plan.number != (1 if present is None else present.number + 1):
            return False
        self._server.plan = plan
        if plan.actor:
            asked = NewIntent(
                f"plan {plan.number}", Verb.SCALE, "", 0, "", "", None, None, None, plan.actor, plan.reason
            )
            self._server.rows.acted(asked, plan.outcome(), self._server.now())
        return True
