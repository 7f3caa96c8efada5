"""Systemic failures where parked aggregates meet them: nobody is paused for them, and they are charged nothing."""

from __future__ import annotations

from tests.unit.runtime.desk import CarrierDown, Desk, UnknownBuyer, Unlisted, notices, paid, scenario
from tests.unit.runtime.shop import app


async def test_a_resume_is_carried_out_when_a_pause_has_nobody_left_to_probe() -> None:
    """W4, P9: the only aggregate was parked during the pause; resumed, it is called, and parked retries go on too."""
    desk = Desk()
    desk.next("A", CarrierDown(), UnknownBuyer())
    async with scenario(app, desk, slots=1) as running:
        await paid(running, "A")
        await running.advance("10s")
        (row,) = await running.parked()
        await running.resume(row, reason="buyer was added")
        await running.advance("10s")
        assert desk.done == [("A", 1)]
        assert await running.parked() == []


async def test_a_drain_that_meets_an_outage_pauses_nobody_and_is_charged_nothing() -> None:
    """W2, H11, P7: the live flow goes on; the drain tries again at the probes' pace until it is over."""
    desk = Desk()
    desk.next("A", UnknownBuyer(), *[CarrierDown()] * 12)
    async with scenario(app, desk, slots=1) as running:
        await paid(running, "A", "A")
        await running.advance("1s")
        (row,) = await running.parked()
        await running.resume(row, reason="try")
        await running.advance("10s")
        await paid(running, "B")
        await running.advance("1s")
        assert desk.done == [("B", 1)]
        await running.advance("1m")
        assert desk.done == [("B", 1), ("A", 1), ("A", 2)]
        assert await notices(running) == ["parked", "resumed", "resolved"]


async def test_a_parked_retry_that_meets_an_outage_costs_none_of_the_ten() -> None:
    """P7, W2: it is moved by the first delay, nobody is paused, the count stays."""
    desk = Desk()
    desk.next("A", *[Unlisted()] * 5, CarrierDown(), CarrierDown())
    async with scenario(app, desk, slots=1) as running:
        await paid(running, "A")
        await running.advance("5m")
        await paid(running, "B")
        await running.advance("1s")
        assert desk.done == [("B", 1)]
        (row,) = await running.parked()
        assert (row.state, row.retries) == ("parked", 0)
        await running.advance("20m")
        assert desk.done == [("B", 1), ("A", 1)]
