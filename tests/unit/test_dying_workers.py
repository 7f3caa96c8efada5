"""Wherever a worker of durable calls dies, its call is claimable or terminal, and goes on (F6, F7, S100, S103)."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from tests.dying_worker import die_at
from wow_ray.adapters.memory import MemoryStore
from wow_ray.testing import VirtualClock
from wow_ray.testing.clock import at_rest


@pytest.mark.parametrize("amounts", [("0.10",), ("-1",), ("0.10", "-1", "0.20")])
async def test_a_worker_may_die_anywhere(amounts: tuple[str, ...]) -> None:
    """S103: at every await between claim and end, of calls that succeed in the end and of such that never do.

    Alone and of several that are claimed together and end together.
    """
    clock = VirtualClock()
    calls = MemoryStore("dying", clock, slots=1).client_stores().calls

    async def wait(condition: Callable[[], Any]) -> None:
        for _ in range(200):
            await at_rest()
            if await condition():
                return
            await clock.advance(1.0)
        raise AssertionError("it does not come to an end")

    places = 0
    while await die_at(places + 1, calls, clock, 10.0, wait, [Decimal(amount) for amount in amounts]):
        places += 1
    assert places >= 12
