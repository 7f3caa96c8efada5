# ruff: noqa: S101 - assert is how a test speaks
"""The four cases end consistent while one call in five fails and workers are killed."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest

from examples.fulfilment.fulfilment import Connected, Fulfilment, app
from wow_ray import CallState
from wow_ray.testing import Running, Scenario

ORDERS = 40
SHARE = 0.2


class Flaky:
    """Services of which a fifth of the calls fails: half of those before, half after they have done their work."""

    def __init__(self, seed: int) -> None:
        """Begin with nothing done."""
        self.dice = random.Random(seed)
        self.done: set[str] = set()
        self.coupons: Counter[str] = Counter()
        self.stock: Counter[str] = Counter()
        self.refunds: Counter[str] = Counter()
        self.failures = 0

    async def grant_coupon(self, member: str, coupon: str, key: str) -> None:
        """Give a coupon, once for each key."""
        await self._do(key, lambda: self.coupons.update([f"{member}/{coupon}"]))

    async def put_back(self, lines: dict[str, int], key: str) -> None:
        """Put things back, once for each key."""
        await self._do(key, lambda: self.stock.update(lines))

    async def refund(self, order: str, amount: Decimal, key: str) -> None:
        """Pay back, once for each key."""
        await self._do(key, lambda: self.refunds.update({order: int(amount * 100)}))

    async def _do(self, key: str, work: Any) -> None:  # noqa: ANN401 - a change of one of the counters
        chance = self.dice.random()
        if chance < SHARE / 2:
            self.failures += 1
            raise ConnectionResetError("not reached")
        if key not in self.done:
            self.done.add(key)
            work()
        if chance < SHARE:
            self.failures += 1
            raise TimeoutError("done, but nobody heard of it")


def kill(running: Running) -> None:
    """End the worker of durable calls as kill -9 would: nothing is given back, its leases run out."""
    assert running.service.call_worker is not None
    names = ("CallWorker.", "CallEnds.", "_awaited")
    for task in asyncio.all_tasks():
        if any(name in getattr(task.get_coro(), "__qualname__", "") for name in names):
            task.cancel()


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_everything_comes_true_in_the_end(seed: int) -> None:
    """Coupon grant, stock after a refund, stock after a failed order, refund with timeouts: each exactly once."""
    flaky, chance = Flaky(seed), random.Random(seed + 100)
    resources = {Connected: Connected(flaky)}
    async with Scenario(app, resources) as running:
        memory, clock = running.memory, running.clock
        shop = Fulfilment(Connected(flaky))
        for n in range(ORDERS):
            await shop.grant_coupon(f"m-{n}", "ten")
            await shop.put_back_refunded({"sku": n})
            await shop.put_back_failed.submit({"sku": 1})
            await shop.refund(f"o-{n}", Decimal("9.90"))
            if chance.random() < SHARE:
                await running.advance("100ms")
        kill(running)
    for _ in range(6):
        async with Scenario(app, resources, memory=memory, clock=clock) as running:
            await running.advance(f"{chance.randrange(1, 20)}s")
            kill(running)
    async with Scenario(app, resources, memory=memory, clock=clock) as running:
        await running.advance("1d")
        assert not await running.calls(CallState.WAITING, CallState.RUNNING, CallState.EXHAUSTED)

    assert flaky.failures > ORDERS * 4 * SHARE / 2
    assert flaky.coupons == {f"m-{n}/ten": 1 for n in range(ORDERS)}
    assert flaky.stock == {"sku": sum(range(ORDERS)) + ORDERS}
    assert flaky.refunds == {f"o-{n}": 990 for n in range(ORDERS)}
