"""The present plan, and replacing it (H18)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from wow_ray.policy.plan import Plan


class Plans(Protocol):
    """Who is to own what. Raises `StoreUnavailableError`."""

    async def present(self) -> Plan | None:
        """Give the plan with the greatest number; `None` = there never was one."""
        ...

    async def propose(self, plan: Plan) -> bool:
        """Store a plan if its number is one more than the present one's (1 for the first), else change nothing.

        `False` = somebody else's plan was first, or this one is stored already: read it and decide anew.
        """
        ...
