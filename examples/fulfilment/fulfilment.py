"""Four calls of a shop that must come true in the end: they are tried again, durably, until they have.

Each service is idempotent by a key, and the key is the call's own id: the same at every attempt, in whatever process.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Protocol

from wow_ray import App, Durable, current_call

app = App("fulfilment")
PATIENT = Durable(max_retries=50, initial_delay="1s", max_delay="10m", multiplier=2, timeout="5s")


class Services(Protocol):
    """What is called; every method may fail, also after it has done its work, and repeats nothing under one key."""

    async def grant_coupon(self, member: str, coupon: str, key: str) -> None:
        """Give a member a coupon."""

    async def put_back(self, lines: dict[str, int], key: str) -> None:
        """Add to the stock what an order had taken."""

    async def refund(self, order: str, amount: Decimal, key: str) -> None:
        """Pay an order back."""


class Connected:
    """The services as a resource; tests put a double in its place."""

    def __init__(self, services: Services) -> None:
        """Hold them."""
        self.services = services


CONNECTED: list[Connected] = []
"""What this process has connected to."""


@app.provide
async def services() -> AsyncIterator[Connected]:
    """Connect to the services: here there is nothing to connect to, and tests give a double in its place."""
    if not CONNECTED:
        raise NotImplementedError("write the provider of your own services, or give Scenario(app, {Connected: ...})")
    yield CONNECTED[0]


class Fulfilment:
    """What follows an order; its instance is made of the app's resources."""

    def __init__(self, connected: Connected) -> None:
        """Hold the services."""
        self.services = connected.services

    @app.retryable(durable=PATIENT)
    async def grant_coupon(self, member: str, coupon: str) -> None:
        """Case 1: the member has paid, so the coupon comes, however often granting it fails."""
        await self.services.grant_coupon(member, coupon, current_call().id)

    @app.retryable(durable=PATIENT)
    async def put_back_refunded(self, lines: dict[str, int]) -> None:
        """Case 2: the refund is done, so the stock gets its things back."""
        await self.services.put_back(lines, current_call().id)

    @app.retryable(durable=PATIENT, priority=2)
    async def put_back_failed(self, lines: dict[str, int]) -> None:
        """Case 3: the order failed after it took from the stock; nobody waits for this, it is only submitted."""
        await self.services.put_back(lines, current_call().id)

    @app.retryable(durable=PATIENT, priority=8)
    async def refund(self, order: str, amount: Decimal) -> None:
        """Case 4: the member's goods are taken back already; a refund that timed out is asked for again, not undone."""
        await self.services.refund(order, amount, current_call().id)
